//! The needs of the person, as the hub lists them, with their sessions.

use hub_protocol::{Need, Session};

use crate::store::Store;
use crate::text::line;

/// A need in the list.
#[derive(Debug)]
pub(crate) struct NeedRow<'a> {
    pub(crate) need: &'a Need,
    /// The asker's name on one line.
    pub(crate) name: String,
    /// Its brief text on one line.
    pub(crate) text: String,
    /// The session, unless it has ended.
    pub(crate) session: Option<&'a Session>,
}

impl NeedRow<'_> {
    /// Whether a message of the person reaches its session.
    pub(crate) fn takes_reply(&self) -> bool {
        !self.need.kind.asks() && self.need.answerable && self.session.is_some()
    }
}

/// Whether a need's session runs in a tmux pane.
pub(crate) fn has_pane(need: &Need, session: Option<&Session>) -> bool {
    let place = need.place.as_ref().and_then(|it| it.pane.as_deref());
    let pane = place.or_else(|| session?.info.pane.as_deref());
    pane.is_some_and(|it| !it.is_empty())
}

/// The session of a need, unless it has ended.
pub(crate) fn session_of<'a>(store: &'a Store, need: &Need) -> Option<&'a Session> {
    let is_own =
        |it: &&Session| it.project == need.project && Some(&it.id) == need.session.as_ref();
    store.sessions.iter().find(is_own)
}

/// Everything that needs the person, in the hub's order.
pub(crate) fn needs(store: &Store) -> Vec<NeedRow<'_>> {
    let open = store.needs.iter().filter(|it| it.is_open());
    open.map(|need| NeedRow {
        need,
        name: line(&need.name),
        text: line(&need.line),
        session: session_of(store, need),
    })
    .collect()
}

/// The number of needs that every view shows.
pub(crate) fn count(needs: &[NeedRow<'_>]) -> usize {
    needs.iter().filter(|it| it.need.counts).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixture::store;

    #[test]
    fn needs_are_in_the_hubs_order_with_questions_errors_and_turns() {
        let store = store();
        let found = needs(&store);
        let shown: Vec<_> = found
            .iter()
            .map(|it| (it.need.kind.words(), it.name.as_str(), it.text.as_str()))
            .collect();
        assert_eq!(
            shown,
            [
                ("question", "db", "Which db?"),
                ("error", "ci", "main is red"),
                ("permission", "web", "git push"),
                ("your turn", "docs", "The page is written."),
                ("plan", "api", "A plan"),
            ]
        );
    }
}
