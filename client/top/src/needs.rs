//! The needs of the person, as the hub lists them, with their sessions and questions.

use hub_protocol::{Alert, Question, Seq, Session, Timestamp};

use crate::store::Store;
use crate::text::line;

/// One thing that needs the person.
#[derive(Debug)]
pub(crate) struct Need<'a> {
    /// Names it for as long as it exists.
    pub(crate) id: &'a str,
    /// Its kind in a word or two.
    pub(crate) kind: &'static str,
    /// Since when it needs the person.
    pub(crate) since: Timestamp,
    /// When a limit ends, or its dialog stops waiting for the hub's answer.
    pub(crate) until: Option<Timestamp>,
    /// Whether it is one of the number of needs that every view shows.
    pub(crate) counts: bool,
    /// Whether the person can end it without an answer.
    pub(crate) is_closable: bool,
    /// The state by which it calls the person.
    pub(crate) alert: Option<Alert>,
    /// The asker's project.
    pub(crate) project: &'a str,
    /// The asker's name.
    pub(crate) name: String,
    /// Its text on one line.
    pub(crate) text: String,
    /// The notification that it is about.
    pub(crate) notification: Option<Seq>,
    /// The session, unless it has ended.
    pub(crate) session: Option<&'a Session>,
    /// The question, unless the session itself needs the person.
    pub(crate) question: Option<&'a Question>,
}

/// The number of needs that every view shows.
pub(crate) fn count(needs: &[Need<'_>]) -> usize {
    needs.iter().filter(|it| it.counts).count()
}

/// Everything that needs the person, in the hub's order.
pub(crate) fn needs(store: &Store) -> Vec<Need<'_>> {
    let open = store.needs.iter().filter(|it| it.is_open());
    let all = open.map(|it| shown(store, it));
    // The question is loaded after its need, and settled before it.
    all.filter(|it| it.is_closable || it.question.is_some())
        .collect()
}

fn shown<'a>(store: &'a Store, need: &'a hub_protocol::Need) -> Need<'a> {
    let is_own =
        |it: &&Session| it.project == need.project && Some(&it.id) == need.session.as_ref();
    Need {
        id: &need.id,
        kind: need.kind.words(),
        counts: need.counts,
        is_closable: need.closable,
        alert: need.alert,
        project: need.project.as_str(),
        since: need.since,
        until: need.until,
        name: line(&need.name),
        text: line(&need.brief),
        notification: need.notification,
        session: store.sessions.iter().find(is_own),
        question: need.notification.and_then(|id| store.question(id)),
    }
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
            .map(|it| (it.kind, it.name.as_str(), it.text.as_str()))
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
