//! The needs of the person: open questions, blocked sessions, and sessions whose turn has ended.

use hub_needs::Halt;
use hub_protocol::{Question, Seq, Session, Timestamp};

use crate::dialog::{Dialog, dialog};
use crate::store::Store;
use crate::text::{line, without_name};

/// One thing that needs the person.
#[derive(Debug)]
pub(crate) struct Need<'a> {
    /// Names it for as long as it exists.
    pub(crate) key: String,
    /// Its kind, in a word or two.
    pub(crate) kind: &'static str,
    /// Since when it needs the person.
    pub(crate) since: Timestamp,
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
    let all = hub_needs::needs(&store.sessions, &store.questions, |id| {
        store.notification(id)
    });
    let is_muted = |it: &hub_needs::Need<'_>| match it {
        hub_needs::Need::Question(..) => false,
        hub_needs::Need::Session { session, .. } => store.is_muted(session, now),
    };
    let unmuted = all.into_iter().filter(|it| !is_muted(it));
    let mut shown: Vec<_> = unmuted.map(shown).collect();
    shown.sort_by(|a, b| (a.since, &a.key).cmp(&(b.since, &b.key)));
    shown
}

fn shown(need: hub_needs::Need<'_>) -> Need<'_> {
    let text = line(need.text());
    let (kind, name, text, question) = match need {
        hub_needs::Need::Question(question, session) => {
            let from = question.from_name.as_deref();
            let from = from.unwrap_or(question.from.as_str());
            let name = session.map_or(from, |it| &it.name);
            (kind_of(question), name, text, Some(question))
        }
        hub_needs::Need::Session { session, halt, .. } => {
            let kind = match halt {
                Halt::YourTurn => "your turn",
                Halt::Died => "died",
                Halt::Silent => "silent",
                Halt::Error => "error",
            };
            let text = without_name(&text, &session.name).to_owned();
            (kind, session.name.as_str(), text, None)
        }
    };
    Need {
        key: need.tag(),
        kind,
        since: need.since(),
        name: line(name),
        text,
        notification: need.notification(),
        session: need.session(),
        question,
    }
}

fn kind_of(question: &Question) -> &'static str {
    match dialog(question) {
        Dialog::Permission { .. } => "approve",
        Dialog::Plan { .. } => "plan",
        Dialog::Form { .. } => "form",
        Dialog::Asks(_) | Dialog::Text(_) => "question",
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
