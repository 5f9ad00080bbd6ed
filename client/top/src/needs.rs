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

/// Everything that needs the person, in the hub's order.
pub(crate) fn needs(store: &Store) -> Vec<NeedRow<'_>> {
    let open = store.needs.iter().filter(|it| it.is_open());
    open.map(|need| {
        let is_own =
            |it: &&Session| it.project == need.project && Some(&it.id) == need.session.as_ref();
        NeedRow {
            need,
            name: line(&need.name),
            text: line(&need.line),
            session: store.sessions.iter().find(is_own),
        }
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
