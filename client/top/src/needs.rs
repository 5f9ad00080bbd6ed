//! The needs of the person, as the hub lists them, with their sessions and questions.

use hub_protocol::{NeedKind, Question, Seq, Session, Timestamp};

use crate::store::Store;
use crate::text::line;

/// One thing that needs the person.
#[derive(Debug)]
pub(crate) struct Need<'a> {
    /// Names it for as long as it exists.
    pub(crate) id: &'a str,
    /// What it is about.
    pub(crate) about: NeedKind,
    /// The same in a word or two.
    pub(crate) kind: &'static str,
    /// Since when it needs the person.
    pub(crate) since: Timestamp,
    /// When a limit ends.
    pub(crate) until: Option<Timestamp>,
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

/// Everything that needs the person at `now` of the hub's clock, oldest first. A muted session only with its questions.
pub(crate) fn needs(store: &Store, now: Timestamp) -> Vec<Need<'_>> {
    let all = store.needs.iter().map(|it| shown(store, it));
    let is_muted = |it: &Need<'_>| {
        let session = it.session.filter(|_| it.question.is_none());
        session.is_some_and(|it| store.is_muted(it, now))
    };
    // The question is loaded after its need, and settled before it.
    let is_known = |it: &Need<'_>| it.about.is_closable() || it.question.is_some();
    let mut shown: Vec<_> = all.filter(|it| is_known(it) && !is_muted(it)).collect();
    shown.sort_by(|a, b| (a.since, a.id).cmp(&(b.since, b.id)));
    shown
}

fn shown<'a>(store: &'a Store, need: &'a hub_protocol::Need) -> Need<'a> {
    let is_own =
        |it: &&Session| it.project == need.project && Some(&it.id) == need.session.as_ref();
    Need {
        id: &need.id,
        about: need.kind,
        kind: kind_of(need.kind),
        since: need.since,
        until: need.until,
        name: line(&need.name),
        text: line(&need.brief),
        notification: need.notification,
        session: store.sessions.iter().find(is_own),
        question: need.notification.and_then(|id| store.question(id)),
    }
}

fn kind_of(kind: NeedKind) -> &'static str {
    match kind {
        NeedKind::Urgent => "urgent",
        NeedKind::Permission => "approve",
        NeedKind::Question => "question",
        NeedKind::Plan => "plan",
        NeedKind::Form => "form",
        NeedKind::Died => "died",
        NeedKind::Error => "error",
        NeedKind::Turn => "your turn",
        NeedKind::Limit => "limit",
        NeedKind::Silent => "silent",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixture::{at, store};

    #[test]
    fn needs_are_oldest_first_with_questions_errors_and_turns() {
        let store = store();
        let found = needs(&store, at(100));
        let shown: Vec<_> = found
            .iter()
            .map(|it| (it.kind, it.name.as_str(), it.text.as_str()))
            .collect();
        assert_eq!(
            shown,
            [
                ("question", "db", "Which db?"),
                ("error", "ci", "main is red"),
                ("approve", "web", "git push"),
                ("your turn", "docs", "The page is written."),
                ("plan", "api", "A plan"),
            ]
        );
    }

    #[test]
    fn a_muted_session_shows_only_its_questions() {
        let mut store = store();
        let mutes = r#"{"mutes":[{"project":"default","session":"ci"},{"project":"default","session":"web"},
            {"project":"default","session":"docs","until":"1970-01-01T00:01:00.000Z"}],"notify":[],"sound":[]}"#;
        store.set_preferences(serde_json::from_str(mutes).unwrap());
        let kinds = |now| -> Vec<_> { needs(&store, at(now)).iter().map(|it| it.kind).collect() };
        assert_eq!(kinds(59), ["question", "approve", "plan"]);
        assert_eq!(kinds(61), ["question", "approve", "your turn", "plan"]);
    }
}
