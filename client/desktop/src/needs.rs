//! The reasons to call the person: questions, approvals, blocked sessions, sessions that have stopped, and urgent
//! notifications. The rules are those of `web/core/attention.js` and `web/core/alerts.js`.

use hub_protocol::{
    Alert, InboxName, Kind, Notification, Phase, PhaseName, Priority, ProjectName, Question,
    QuestionState, Seq, Session, Timestamp,
};
use serde_json::Value;

use crate::feed::Snapshot;
use crate::request::{request_text, show_direction};

/// The number of characters that a notification shows. A request that does not fit is not approved there.
const MAX_BODY: usize = 240;
/// The number of options that fit as buttons.
const MAX_OPTIONS: usize = 3;
/// The number of characters that fit on a button.
const MAX_LABEL: usize = 24;

/// A reason to call the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Need {
    /// The same as long as the need exists.
    pub tag: String,
    /// `None` for an urgent notification, which alerts whatever the person has chosen.
    pub state: Option<Alert>,
    /// The notification to open.
    pub id: Option<Seq>,
    /// When it began.
    pub ts: Timestamp,
    /// The project of the session.
    pub project: ProjectName,
    /// The sender as its mutes name it.
    pub from: String,
    /// The session's id.
    pub session: Option<InboxName>,
    /// The session's name.
    pub name: String,
    /// The priority of the notification that reports it.
    pub priority: Priority,
    /// A verb phrase for the session.
    pub verb: &'static str,
    /// The question, the request or the last words.
    pub text: String,
    /// Answers that can be given without opening the page.
    pub answers: Vec<Choice>,
}

/// An answer as a button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The text of the button.
    pub label: String,
    /// The answer that it gives.
    pub answer: String,
}

/// All needs of a snapshot.
pub(crate) fn needs_of(hub: &Snapshot) -> Vec<Need> {
    let open = hub.questions.iter().filter(|it| is_open(it));
    let mut needs: Vec<Need> = open.map(|question| of_question(question, hub)).collect();
    let asking: Vec<_> = needs
        .iter()
        .map(|it| (it.project.clone(), it.session.clone()))
        .collect();
    let asks = |it: &Session| asking.contains(&(it.project.clone(), Some(it.id.clone())));
    let blocked = hub
        .sessions
        .iter()
        .filter(|it| it.phase.name == PhaseName::Blocked);
    // An urgent error is shown once, as what it is.
    let is_urgent = |it: &Need| hub.urgent.iter().any(|urgent| Some(urgent.id) == it.id);
    needs.extend(
        blocked
            .map(|it| of_trouble(it, hub))
            .filter(|it| !is_urgent(it)),
    );
    for session in hub
        .sessions
        .iter()
        .filter(|it| it.phase.name == PhaseName::YourTurn && !asks(it))
    {
        let text = session.phase.text.clone().unwrap_or_default();
        needs.push(of_phase(session, Alert::YourTurn, "has stopped", &text));
    }
    needs.extend(hub.urgent.iter().map(of_urgent));
    needs
}

fn is_open(question: &Question) -> bool {
    matches!(question.state, QuestionState::Open | QuestionState::Claimed)
}

fn of_question(question: &Question, hub: &Snapshot) -> Need {
    let session = hub.session(&question.project, question.from.as_str());
    let text = question_text(question);
    let (verb, text) = match question.kind {
        Kind::Approval => (
            "asks for permission",
            request_text(question.data.as_ref(), text),
        ),
        _ => ("asks", text.to_owned()),
    };
    let report = hub.notifications.get(&question.id).and_then(Option::as_ref);
    Need {
        tag: question.id.to_string(),
        state: Some(Alert::NeedsYou),
        id: Some(question.id),
        ts: question.ts,
        project: question.project.clone(),
        from: question.from.to_string(),
        session: session.map(|it| it.id.clone()),
        name: session.map_or_else(|| question.from.to_string(), |it| it.name.clone()),
        priority: report.map_or(Priority::Normal, |it| it.priority),
        verb,
        answers: answers_to(question, &text),
        text: truncate(&text),
    }
}

/// The answers that need nothing but what a notification shows.
fn answers_to(question: &Question, text: &str) -> Vec<Choice> {
    if !question.deliverable || text.chars().count() > MAX_BODY {
        return Vec::new();
    }
    let choice = |(label, answer): (&str, &str)| Choice {
        label: show_direction(label),
        answer: answer.to_owned(),
    };
    let dialog = question.data.as_ref().and_then(|data| data.get("dialog"));
    if question.kind == Kind::Approval {
        let verdicts = [("Approve", "allow"), ("Deny", "deny")];
        let is_dialog = dialog.is_some_and(|it| !it.is_null());
        return verdicts
            .into_iter()
            .filter(|_| !is_dialog)
            .map(choice)
            .collect();
    }
    let questions = dialog
        .and_then(|it| it.pointer("/tool_input/questions"))
        .and_then(Value::as_array);
    let is_long = questions.is_some_and(|all| {
        all.len() > 1
            || all
                .first()
                .is_some_and(|it| it["multiSelect"] == Value::Bool(true))
    });
    let options = question.options.as_deref().unwrap_or_default();
    let fits = |option: &String| option.chars().count() <= MAX_LABEL;
    if is_long || options.len() > MAX_OPTIONS || !options.iter().all(fits) {
        return Vec::new();
    }
    options.iter().map(|it| choice((it, it))).collect()
}

fn of_trouble(session: &Session, hub: &Snapshot) -> Need {
    let report = session
        .last
        .and_then(|last| hub.notifications.get(&last)?.as_ref());
    let error = report.filter(|it| it.kind == Kind::Error);
    let is_silent = session.silent && error.is_none() && !session.gone;
    let text = match error.or_else(|| report.filter(|_| is_silent)) {
        Some(report) => report.msg.as_str(),
        None if is_silent => "",
        None => session.phase.text.as_deref().unwrap_or_default(),
    };
    let verb = match session.gone {
        true => "has died",
        false if is_silent => "has fallen silent",
        false => "has an error",
    };
    let mut need = of_phase(session, Alert::Blocked, verb, text);
    need.id = report.map(|it| it.id).or(session.last);
    need.priority = report.map_or(Priority::Normal, |it| it.priority);
    need
}

/// A need that a session has by its phase.
fn of_phase(session: &Session, state: Alert, verb: &'static str, text: &str) -> Need {
    let Session {
        id,
        project,
        phase: Phase { name, since, .. },
        ..
    } = session;
    Need {
        tag: format!("{name} {project}/{id} {since}"),
        state: Some(state),
        id: session.last,
        ts: *since,
        project: project.clone(),
        from: session.name.clone(),
        session: Some(id.clone()),
        name: session.name.clone(),
        priority: Priority::Normal,
        verb,
        text: truncate(text),
        answers: Vec::new(),
    }
}

fn of_urgent(urgent: &Notification) -> Need {
    let text = match &urgent.title {
        Some(title) => format!("{title}\n{}", urgent.msg),
        None => urgent.msg.clone(),
    };
    Need {
        tag: urgent.id.to_string(),
        state: None,
        id: Some(urgent.id),
        ts: urgent.ts,
        project: urgent.project.clone(),
        from: urgent.from.to_string(),
        session: urgent.session.clone(),
        name: urgent
            .from_name
            .clone()
            .unwrap_or_else(|| urgent.from.to_string()),
        priority: urgent.priority,
        verb: "sends an urgent message",
        text: truncate(&text),
        answers: Vec::new(),
    }
}

/// The text of a question without the hook's words before it, which repeat the asker.
fn question_text(question: &Question) -> &str {
    let msg = question.msg.as_str();
    let is_of_hook = question
        .data
        .as_ref()
        .is_some_and(|data| data["via"] == "hook");
    let framed = msg.strip_prefix("Agent ").filter(|_| is_of_hook);
    let after = |frame: &str| {
        let (name, text) = framed?.split_once(frame)?;
        (!name.is_empty() && !name.contains('\n')).then_some(text)
    };
    if question.kind == Kind::Approval {
        return match after(" needs a permission") {
            Some("") => "It needs a permission.",
            Some(text) => text.strip_prefix(": ").unwrap_or(msg),
            None => msg,
        };
    }
    after(" asks: ").map_or(msg, without_hint)
}

/// A question without the hint at its end how to answer it.
fn without_hint(text: &str) -> &str {
    let Some((question, hint)) = text.strip_suffix(')').and_then(|it| it.rsplit_once(" (")) else {
        return text;
    };
    let number = hint
        .strip_prefix("hubctl answer ")
        .and_then(|it| it.strip_suffix(" \"…\""));
    let is_number =
        number.is_some_and(|it| !it.is_empty() && it.bytes().all(|b| b.is_ascii_digit()));
    if is_number || hint == "answer it in its own terminal" {
        question
    } else {
        text
    }
}

fn truncate(text: &str) -> String {
    if text.chars().count() <= MAX_BODY {
        return text.to_owned();
    }
    text.chars().take(MAX_BODY - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::select;
    use serde_json::{from_value, json};

    /// Each case of the fixture is also one of `tests/web/alerts.test.js`.
    #[test]
    fn needs_and_their_choice_are_those_of_the_dashboard() {
        let cases: Vec<Value> =
            serde_json::from_str(include_str!("../../../tests/fixtures/alerts.json")).unwrap();
        assert!(!cases.is_empty());
        for case in cases {
            let hub = snapshot(&case);
            let needs = needs_of(&hub);
            let plain: Vec<Value> = needs.iter().map(plain).collect();
            assert_eq!(Value::from(plain), case["needs"], "{}", case["name"]);
            let (shown, _) = select(&hub.preferences, &needs, hub.now);
            let tags: Vec<&str> = shown.iter().map(|it| it.tag.as_str()).collect();
            assert_eq!(json!(tags), case["show"], "{}", case["name"]);
        }
    }

    fn snapshot(case: &Value) -> Snapshot {
        let part = |name: &str| case[name].clone();
        let known: Vec<Notification> = from_value(part("notifications")).unwrap();
        Snapshot {
            sessions: from_value(part("sessions")).unwrap(),
            questions: from_value(part("questions")).unwrap(),
            notifications: known.into_iter().map(|it| (it.id, Some(it))).collect(),
            urgent: from_value(part("urgent")).unwrap(),
            preferences: from_value(part("preferences")).unwrap(),
            focused: false,
            now: from_value(part("now")).unwrap(),
        }
    }

    fn plain(need: &Need) -> Value {
        let answers: Vec<&str> = need.answers.iter().map(|it| it.answer.as_str()).collect();
        let mut plain = json!({
            "tag": need.tag, "state": need.state, "id": need.id, "from": need.from, "session": need.session,
            "priority": need.priority, "text": need.text, "answers": answers,
        });
        for name in ["id", "session"] {
            if plain[name].is_null() {
                plain.as_object_mut().unwrap().shift_remove(name);
            }
        }
        plain
    }
}
