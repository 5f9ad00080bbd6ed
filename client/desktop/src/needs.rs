//! The reasons to call the person: the hub's needs, and urgent notifications. What may be shown, and with which buttons, is
//! decided as in `web/core/alerts.js`.

use hub_protocol::{
    Alert, InboxName, Kind, NeedKind, Notification, Priority, ProjectName, Question, Seq, Timestamp,
};
use serde_json::Value;

use crate::feed::Snapshot;
use crate::request::show_direction;

/// The number of characters, and of lines, that a notification shows.
const MAX_BODY: usize = 240;
const MAX_LINES: usize = 4;
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
    pub verb: String,
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

/// All needs of a snapshot, without those that a rule muted. An urgent message calls when it arrives, and is shown once.
pub(crate) fn needs_of(hub: &Snapshot) -> Vec<Need> {
    let is_urgent = |id: Seq| hub.urgent.iter().any(|urgent| urgent.id == id);
    let is_shown = |it: &&hub_protocol::Need| {
        let state = state_of(it.kind);
        let twice = state == Some(Alert::Blocked) && it.notification.is_some_and(is_urgent);
        state.is_some() && !twice && it.muted_by.is_none()
    };
    let needs = hub.needs.iter().filter(is_shown);
    let needs = needs.map(|it| need_of(it, &hub.questions));
    needs.chain(hub.urgent.iter().map(of_urgent)).collect()
}

/// A need as it is shown.
fn need_of(need: &hub_protocol::Need, questions: &[Question]) -> Need {
    let is_its = |it: &&Question| Some(it.id) == need.notification && !need.kind.is_closable();
    let question = questions.iter().find(is_its);
    let text = question.map_or(&need.brief, |it| &it.text);
    Need {
        tag: need.id.clone(),
        state: state_of(need.kind),
        id: need.notification,
        ts: need.since,
        project: need.project.clone(),
        from: question.map_or(need.name.clone(), |it| it.from.to_string()),
        session: need.session.clone(),
        name: need.name.clone(),
        priority: need.priority,
        verb: need.title.clone(),
        text: truncate(text),
        answers: question.map_or_else(Vec::new, |it| answers_to(it, text)),
    }
}

/// The state that alerts.
fn state_of(kind: NeedKind) -> Option<Alert> {
    use NeedKind::{Died, Error, Form, Limit, Permission, Plan, Question, Silent, Turn, Urgent};
    match kind {
        Permission | Question | Plan | Form => Some(Alert::NeedsYou),
        Died | Error | Limit | Silent => Some(Alert::Blocked),
        Turn => Some(Alert::YourTurn),
        Urgent => None,
    }
}

/// The answers that need nothing but what a notification shows: the whole request, drawn to its end.
fn answers_to(question: &Question, text: &str) -> Vec<Choice> {
    if !question.deliverable || !question.complete || !fits(text) {
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
        verb: "sends an urgent message".into(),
        text: truncate(&text),
        answers: Vec::new(),
    }
}

fn fits(text: &str) -> bool {
    text.chars().count() <= MAX_BODY && text.split('\n').count() <= MAX_LINES
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
            assert_eq!(Value::from(plain), case["alerts"], "{}", case["name"]);
            let (shown, _) = select(&hub.preferences, &needs, hub.now);
            let tags: Vec<&str> = shown.iter().map(|it| it.tag.as_str()).collect();
            assert_eq!(json!(tags), case["show"], "{}", case["name"]);
        }
    }

    fn snapshot(case: &Value) -> Snapshot {
        let part = |name: &str| case[name].clone();
        Snapshot {
            needs: from_value(part("needs")).unwrap(),
            questions: from_value(part("questions")).unwrap(),
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
