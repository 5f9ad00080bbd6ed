//! `OpenCode` and Pi: the hub's extension within the agent reports the events of both in one form. `OpenCode` 1 and 2
//! name some events differently.

use serde_json::{Map, Value, json};

use super::{
    HookReply, InvalidSessionId, ParsedHook, claude, edited, hook, session, stopped, text,
};
use crate::core::command::AgentEvent;

pub(super) fn parse(payload: &Map<String, Value>) -> Result<ParsedHook, InvalidSessionId> {
    let name = text(payload, "hook_event_name");
    let empty = Map::new();
    let properties = payload.get("properties").and_then(Value::as_object);
    let properties = properties.unwrap_or(&empty);
    Ok(ParsedHook {
        accepts_context: matches!(name, "chat.message" | "tool.execute.after"),
        happened: happened(name, payload, properties),
        edited: edited(payload),
        ..hook(payload, session(payload, "session_id")?, name)
    })
}

fn happened(
    name: &str,
    payload: &Map<String, Value>,
    properties: &Map<String, Value>,
) -> AgentEvent {
    match name {
        // These events make notifications.
        "session.idle" | "session.execution.succeeded" => {
            stopped(text(payload, "last_assistant_message"))
        }
        "question.asked" | "form.created" => AgentEvent::Asks {
            text: text(properties, "title").to_owned(),
            options: Vec::new(),
            data: json!({ "question": properties }),
        },
        "permission.asked" => AgentEvent::Permission {
            text: permission(properties),
            data: Some(json!({ "permission": properties })),
        },
        "session.error" | "session.execution.failed" => failed(properties),
        "session.execution.interrupted" => AgentEvent::Interrupted,
        "session.deleted" => AgentEvent::Ended,
        // These change only the session's state.
        "session.created" => AgentEvent::Started,
        "chat.message" => claude::prompt(text(properties, "text")),
        "tool.execute.after" | "permission.replied" | "question.replied" | "question.rejected"
        | "form.replied" | "form.cancelled" => AgentEvent::Worked,
        _ => AgentEvent::Seen,
    }
}

/// The permission, and the command or the resources that it is for: `permission`, `metadata.command` and `patterns` in
/// `OpenCode` 1, `action` and `resources` in `OpenCode` 2.
fn permission(properties: &Map<String, Value>) -> String {
    let named = |fields: [&'static str; 2]| fields.into_iter().find_map(|it| properties.get(it));
    let kind = named(["permission", "action"]).and_then(Value::as_str);
    let command = properties
        .get("metadata")
        .and_then(|it| it["command"].as_str());
    let listed = || {
        let all = named(["patterns", "resources"])?.as_array()?;
        let all: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
        Some(all.join(", "))
    };
    let object = command.map(str::to_owned).or_else(listed);
    let words = kind.map(str::to_owned).into_iter().chain(object);
    words.collect::<Vec<_>>().join(": ")
}

/// A failed turn. `OpenCode` 1 reports an interrupted one as an error too.
fn failed(properties: &Map<String, Value>) -> AgentEvent {
    let error = properties.get("error").and_then(Value::as_object);
    let name = error.map_or("", |error| text(error, "name"));
    if name == "MessageAbortedError" {
        return AgentEvent::Interrupted;
    }
    let kind = error.map_or("", |error| text(error, "type"));
    let reason = [name, kind, "error"].into_iter().find(|it| !it.is_empty());
    AgentEvent::Failed {
        reason: reason.unwrap_or_default().into(),
        permanent: true,
        until: None,
    }
}

/// The answer that the extension reads: a text for the model.
pub(super) fn render(_: &ParsedHook, reply: HookReply) -> Option<Value> {
    Some(json!({ "context": reply.context? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, properties: &Value) -> AgentEvent {
        let payload =
            json!({ "hook_event_name": name, "session_id": "s1", "properties": properties });
        parse(payload.as_object().unwrap()).unwrap().happened
    }

    #[test]
    fn a_permission_shows_what_it_is_for() {
        for (properties, shown) in [
            (
                json!({ "permission": "bash", "metadata": { "command": "ls" }, "patterns": ["ls *"] }),
                "bash: ls",
            ),
            (
                json!({ "permission": "edit", "patterns": ["a", "b"] }),
                "edit: a, b",
            ),
            (
                json!({ "action": "shell", "resources": ["ls"] }),
                "shell: ls",
            ),
            (json!({}), ""),
        ] {
            let asked = event("permission.asked", &properties);
            let AgentEvent::Permission { text, .. } = asked else {
                panic!("{asked:?}")
            };
            assert_eq!(text, shown);
        }
    }

    #[test]
    fn an_interrupted_turn_is_told_apart_from_a_failed_one() {
        let aborted = json!({ "error": { "name": "MessageAbortedError" } });
        assert_eq!(event("session.error", &aborted), AgentEvent::Interrupted);
        for (error, reason) in [
            (json!({ "name": "APIError" }), "APIError"),
            (
                json!({ "type": "provider.transport" }),
                "provider.transport",
            ),
            (json!(null), "error"),
        ] {
            let failed = event("session.execution.failed", &json!({ "error": error }));
            let AgentEvent::Failed { reason: found, .. } = failed else {
                panic!("{failed:?}")
            };
            assert_eq!(found, reason);
        }
    }
}
