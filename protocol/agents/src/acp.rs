//! The Agent Client Protocol: how each agent speaks it, and the events that `hub-acp` reports of a session that it runs or
//! carries. An agent's own hooks may run in the same session; the fold then ignores what `hub-acp` reports too.

mod launch;
mod request;
mod vibe;

use hub_protocol::{Verdict, Way};
use serde_json::{Map, Value, json};

use crate::answer::{AnswerKind, FormAnswer};
use crate::claude;
use crate::dialog_news::DialogNews;
use crate::event::{AgentEvent, tells_limit};
use crate::facts::Facts;
use crate::form::{
    Form, HookReply, InvalidSessionId, ParsedHook, ToolUse, answer_kind, flag, hook, permission,
    prompted, session, stopped, text,
};
use crate::turn_cause::TurnCause;

pub use launch::{Acp, Known, known};
pub use request::{of as request, questions};

/// The variable that `hub-acp` sets for the agent that it starts: its own process number.
pub const MARK: &str = "HUB_ACP_PID";

/// The facts about `hub-acp`'s events. Its poll for notifications is that of a module: it submits the prompt itself.
pub(crate) static FACTS: Facts = Facts {
    name: "acp",
    product: "an agent by the Agent Client Protocol",
    ways: &[Way::Module],
    has_extension: true,
    stops: &["acp.stopped"],
    heartbeats: &["acp.tool"],
    ..Facts::NONE
};

pub(crate) static FORM: Form = Form { parse, render };

fn parse(payload: &Map<String, Value>) -> Result<ParsedHook, InvalidSessionId> {
    let name = text(payload, "hook_event_name");
    let title = text(payload, "title").trim();
    Ok(ParsedHook {
        title: (!title.is_empty()).then(|| title.to_owned()),
        accepts_context: name == "acp.prompt" && text(payload, "by") != "task"
            || name == "acp.tool" && flag(payload, "steers"),
        happened: happened(name, payload),
        takes: takes(name, payload),
        tool: tool(payload),
        news: Some(news(name, payload)),
        edited: edited(payload),
        ..hook(payload, session(payload, "session_id")?, name)
    })
}

fn happened(name: &str, payload: &Map<String, Value>) -> AgentEvent {
    match name {
        // These events make notifications.
        "acp.permission" => asks_permission(payload),
        "acp.form" => form(payload),
        "acp.stopped" => stop(payload),
        "acp.failed" => failed(text(payload, "reason")),
        "acp.ended" => AgentEvent::Ended,
        // These change only the session's state.
        "acp.started" => AgentEvent::Started,
        "acp.loaded" => AgentEvent::Resumed,
        "acp.prompt" => prompt(payload),
        "acp.closed" => AgentEvent::Worked,
        // A dialog that is open waits on, although another call ends.
        "acp.tool" if flag(payload, "asks") => AgentEvent::Seen,
        "acp.tool" if tool(payload).is_some_and(|it| it.ended) => AgentEvent::Worked,
        _ => AgentEvent::Seen,
    }
}

/// A prompt, or a turn that the agent began by itself.
fn prompt(payload: &Map<String, Value>) -> AgentEvent {
    let words = text(payload, "prompt");
    let by = match text(payload, "by") {
        "task" => TurnCause::Task,
        "wake" => TurnCause::Wake,
        _ => return prompted(words),
    };
    let text = words.to_owned();
    AgentEvent::Prompt { by, text }
}

fn asks_permission(payload: &Map<String, Value>) -> AgentEvent {
    let asked = payload.get("request").unwrap_or(&Value::Null);
    if let Some(questions) = request::questions(asked) {
        let dialog = json!({ "tool_name": "question", "tool_input": { "questions": questions } });
        return claude::questions(dialog.as_object().unwrap_or(&Map::new()));
    }
    match request::plan(asked) {
        Some(plan) => {
            let dialog = json!({ "tool_name": "ExitPlanMode", "tool_input": { "plan": plan } });
            claude::plan(dialog.as_object().unwrap_or(&Map::new()))
        }
        None => permission(request::of(asked)),
    }
}

fn form(payload: &Map<String, Value>) -> AgentEvent {
    let message = text(payload, "message");
    AgentEvent::Asks {
        text: message.to_owned(),
        options: Vec::new(),
        data: json!({ "message": message, "requested_schema": payload.get("requestedSchema") }),
    }
}

fn takes(name: &str, payload: &Map<String, Value>) -> Option<AnswerKind> {
    let asked = payload.get("request").unwrap_or(&Value::Null);
    match name {
        "acp.form" => Some(AnswerKind::Form),
        "acp.permission" => Some(match request::questions(asked) {
            Some(questions) => answer_kind(questions),
            None if request::plan(asked).is_some() => AnswerKind::Plan,
            None => AnswerKind::Permission,
        }),
        _ => None,
    }
}

/// The end of a turn. The protocol names its reason; only the first is the agent's own end.
fn stop(payload: &Map<String, Value>) -> AgentEvent {
    let cut = |what: &str| failed(&format!("the turn was cut off: {what}"));
    match text(payload, "reason") {
        "cancelled" => AgentEvent::Interrupted,
        "max_tokens" => cut("the model's limit of tokens"),
        "max_turn_requests" => cut("the limit of the turn's requests"),
        "refusal" => cut("the agent refuses to go on"),
        _ => stopped(text(payload, "text")),
    }
}

fn failed(reason: &str) -> AgentEvent {
    AgentEvent::failed(hub_protocol::first_chars(reason, 200), !tells_limit(reason))
}

fn tool(payload: &Map<String, Value>) -> Option<ToolUse> {
    let of = payload.get("tool")?.as_object()?;
    Some(ToolUse {
        id: text(of, "id").to_owned(),
        name: text(of, "name").to_owned(),
        on: text(of, "on").to_owned(),
        ended: flag(of, "ended"),
    })
}

fn edited(payload: &Map<String, Value>) -> Vec<String> {
    let paths = payload.get("edited").and_then(Value::as_array);
    let paths = paths.into_iter().flatten().filter_map(Value::as_str);
    paths.map(str::to_owned).collect()
}

/// How a dialog was closed: `hub-acp` tells which answer the agent got.
fn news(name: &str, payload: &Map<String, Value>) -> DialogNews {
    if name != "acp.closed" {
        return DialogNews::Nothing;
    }
    if let Some(allowed) = payload.get("allowed").and_then(Value::as_bool) {
        return DialogNews::Decided { allowed };
    }
    let answers = payload.get("answers").and_then(Value::as_array);
    answers.map_or(DialogNews::Nothing, |all| {
        let texts = all.iter().filter_map(Value::as_str);
        DialogNews::Answered(texts.map(str::to_owned).collect())
    })
}

/// The answer that `hub-acp` reads: a text for the model, or the person's answer in the protocol's terms.
fn render(hook: &ParsedHook, reply: HookReply) -> Option<Value> {
    if let [answer, ..] = &reply.answers[..] {
        if hook.takes == Some(AnswerKind::Form) {
            let form = claude::form_answer(FormAnswer::parse(answer)?);
            return Some(json!({ "form": form }));
        }
        return Some(json!({ "answers": reply.answers }));
    }
    Some(match reply.decision {
        Some(Verdict::Deny(reason)) => json!({ "kind": "reject_once", "message": reason }),
        Some(Verdict::AllowAlways | Verdict::AcceptEdits) => json!({ "kind": "allow_always" }),
        Some(Verdict::Allow) => json!({ "kind": "allow_once" }),
        None => json!({ "context": reply.context? }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(payload: &Value) -> ParsedHook {
        let mut payload = payload.as_object().unwrap().clone();
        payload.insert("session_id".into(), "s1".into());
        parse(&payload).unwrap()
    }

    #[test]
    fn the_reason_of_a_stop_is_a_stop_an_interruption_or_an_error() {
        let stop = |reason: &str| {
            let payload =
                json!({"hook_event_name": "acp.stopped", "reason": reason, "text": "Done."});
            event(&payload).happened
        };
        assert_eq!(stop("end_turn"), stopped("Done."));
        assert_eq!(stop("cancelled"), AgentEvent::Interrupted);
        for cut in ["max_tokens", "max_turn_requests", "refusal"] {
            let stop = stop(cut);
            let AgentEvent::Failed { permanent, .. } = stop else {
                panic!("{stop:?}")
            };
            assert!(permanent, "{cut}");
        }
    }

    #[test]
    fn a_limit_is_no_permanent_failure() {
        for (reason, permanent) in [
            ("You've hit your session limit · resets 3pm (UTC)", false),
            ("API Error: 529 overloaded_error", false),
            ("HTTP 429: slow down", false),
            ("session 42aeb529-0e42-4294 ended after 1429 ms", true),
            ("API Error: 500 Internal server error", true),
            ("Authentication required", true),
        ] {
            let AgentEvent::Failed {
                permanent: found, ..
            } = failed(reason)
            else {
                panic!("{reason}")
            };
            assert_eq!(found, permanent, "{reason}");
        }
    }

    #[test]
    fn an_answer_is_a_kind_of_option_a_form_or_texts() {
        let rendered = |payload: &Value, reply: HookReply| render(&event(payload), reply).unwrap();
        let asks = json!({"hook_event_name": "acp.permission", "request": {"toolCall": {"kind": "execute"}}});
        for (verdict, answer) in [
            (Verdict::Allow, json!({"kind": "allow_once"})),
            (Verdict::AllowAlways, json!({"kind": "allow_always"})),
            (
                Verdict::Deny(Some("no".into())),
                json!({"kind": "reject_once", "message": "no"}),
            ),
        ] {
            let decision = HookReply {
                decision: Some(verdict),
                ..HookReply::default()
            };
            assert_eq!(rendered(&asks, decision), answer);
        }
        let given = |text: &str| HookReply {
            answers: vec![text.to_owned()],
            ..HookReply::default()
        };
        let form = json!({"hook_event_name": "acp.form", "message": "Which?"});
        let content = json!({"form": {"action": "accept", "content": {"db": "sqlite"}}});
        assert_eq!(
            rendered(&form, given(r#"accept: {"db": "sqlite"}"#)),
            content
        );
        assert_eq!(rendered(&asks, given("Red")), json!({"answers": ["Red"]}));
    }

    #[test]
    fn a_call_that_ends_beside_an_open_dialog_settles_nothing() {
        let ends = |asks: bool| {
            let payload = json!({
                "hook_event_name": "acp.tool", "tool": {"id": "t", "ended": true}, "asks": asks,
            });
            event(&payload).happened
        };
        assert_eq!(ends(false), AgentEvent::Worked);
        assert_eq!(ends(true), AgentEvent::Seen);
    }

    #[test]
    fn a_wake_a_task_and_a_person_begin_a_turn() {
        let by = |payload: Value| match event(&payload).happened {
            AgentEvent::Prompt { by, .. } => by,
            other => panic!("{other:?}"),
        };
        let prompt = |text: &str| json!({"hook_event_name": "acp.prompt", "prompt": text});
        assert_eq!(by(prompt("Go on")), TurnCause::Person);
        let wake = format!("{} are pending", hub_protocol::WAKE_MARK);
        assert_eq!(by(prompt(&wake)), TurnCause::Wake);
        assert_eq!(
            by(json!({"hook_event_name": "acp.prompt", "by": "task"})),
            TurnCause::Task
        );
    }
}
