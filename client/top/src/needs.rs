//! The needs of the person: open questions, blocked sessions, and sessions whose turn has ended.

use hub_protocol::{Kind, PhaseName, Question, Seq, Session, Timestamp};

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
    /// The session, unless it has ended.
    pub(crate) session: Option<&'a Session>,
    /// The question, unless the session itself needs the person.
    pub(crate) question: Option<&'a Question>,
}

impl Need<'_> {
    /// The notification that it is about.
    pub(crate) fn notification(&self) -> Option<Seq> {
        match (self.question, self.session) {
            (Some(question), _) => Some(question.id),
            (None, session) => session?.last,
        }
    }
}

/// Everything that needs the person at `now` of the hub's clock, oldest first. A muted session only with its questions.
pub(crate) fn needs(store: &Store, now: Timestamp) -> Vec<Need<'_>> {
    let finder = store.finder();
    let open = store.questions.iter().filter(|it| !it.state.is_final());
    let mut all: Vec<Need<'_>> = open
        .map(|it| of_question(it, finder.find(it.project.as_str(), it.from.as_str())))
        .collect();
    let unmuted = store.sessions.iter();
    let unmuted = unmuted.filter(|it| !store.is_muted(it, now));
    all.extend(unmuted.filter_map(|it| of_session(it, store)));
    all.sort_by(|a, b| (a.since, &a.key).cmp(&(b.since, &b.key)));
    all
}

fn of_question<'a>(question: &'a Question, session: Option<&'a Session>) -> Need<'a> {
    let kind = match dialog(question) {
        Dialog::Permission { .. } => "approve",
        Dialog::Plan { .. } => "plan",
        Dialog::Form { .. } => "form",
        Dialog::Asks(_) | Dialog::Text(_) => "question",
    };
    let name = question.from_name.as_deref();
    let name = name.unwrap_or(question.from.as_str());
    Need {
        key: format!("question {}", question.id),
        kind,
        since: question.ts,
        name: line(session.map_or(name, |it| &it.name)),
        text: line(question_text(question)),
        session,
        question: Some(question),
    }
}

fn of_session<'a>(session: &'a Session, store: &'a Store) -> Option<Need<'a>> {
    let last = session.last.and_then(|id| store.notification(id));
    let failed = last.filter(|it| it.kind == Kind::Error);
    let kind = match session.phase.name {
        PhaseName::YourTurn => "your turn",
        PhaseName::Blocked if session.gone => "died",
        PhaseName::Blocked if session.silent && failed.is_none() => "silent",
        PhaseName::Blocked => "error",
        _ => return None,
    };
    let text = match failed {
        Some(failed) => &failed.msg,
        None => session.phase.text.as_deref().unwrap_or_default(),
    };
    Some(Need {
        key: format!(
            "{kind} {}/{} {}",
            session.project, session.id, session.phase.since
        ),
        kind,
        since: session.phase.since,
        name: line(&session.name),
        text: without_name(&line(text), &session.name).to_owned(),
        session: Some(session),
        question: None,
    })
}

/// A question's text, without the words that a hook adds and that are shown elsewhere.
pub(crate) fn question_text(question: &Question) -> &str {
    let msg = question.msg.as_str();
    let via = question.data.as_ref().and_then(|it| it.get("via"));
    if via.and_then(|it| it.as_str()) != Some("hook") || !msg.starts_with("Agent ") {
        return msg;
    }
    if question.kind == Kind::Approval {
        return match msg.split_once(" needs a permission") {
            Some((_, "")) => "It needs a permission.",
            Some((_, rest)) => rest.strip_prefix(": ").unwrap_or(msg),
            None => msg,
        };
    }
    let Some((_, text)) = msg.split_once(" asks: ") else {
        return msg;
    };
    let framed = text.rsplit_once(" (").filter(|(_, how)| {
        how.starts_with("hubctl answer ") || *how == "answer it in its own terminal)"
    });
    framed.map_or(text, |(text, _)| text)
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

    #[test]
    fn words_that_are_shown_elsewhere_are_left_out() {
        let mut question = store().questions[0].clone();
        question.data = Some(serde_json::json!({"via": "hook"}));
        let mut shown = |kind, msg: &str| {
            question.kind = kind;
            question.msg = msg.into();
            question_text(&question).to_owned()
        };
        assert_eq!(
            shown(
                Kind::Question,
                "Agent a b asks: x (y)? (hubctl answer 7 \"…\")"
            ),
            "x (y)?"
        );
        assert_eq!(
            shown(Kind::Approval, "Agent w needs a permission: Bash"),
            "Bash"
        );
        assert_eq!(shown(Kind::Question, "plain (text)"), "plain (text)");
        assert_eq!(
            without_name("Agent w completed (worker of x): ok", "w"),
            "ok"
        );
        assert_eq!(without_name("Agent w is waiting for input: hm", "w"), "hm");
        assert_eq!(without_name("Agent other says", "w"), "Agent other says");
    }
}
