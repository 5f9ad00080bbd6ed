//! Cursor: its `hooks.json`. Experimental: written from its documentation, not run.

use serde_json::{Map, Value, json};

use crate::claude;
use crate::event::AgentEvent;
use crate::facts::{Docs, Facts};
use crate::form::{
    Form, HookReply, InvalidSessionId, ParsedHook, hook, prompted, session, stopped, text,
};
use crate::settings::{Content, Event, Files, Json, Settings, Shape};

pub(crate) static FACTS: Facts = Facts {
    name: "cursor",
    product: "Cursor",
    docs: Docs {
        hooks: "`hooks.json`",
        limits: "written from its documentation",
    },
    // Its hook of the prompt takes no text, so a pasted line would deliver nothing.
    ways: &[],
    marks: &["CURSOR_AGENT"],
    stops: &["stop"],
    heartbeats: &[
        "beforeShellExecution",
        "afterShellExecution",
        "beforeMCPExecution",
        "afterMCPExecution",
        "beforeReadFile",
        "afterFileEdit",
        "afterAgentThought",
    ],
    ..Facts::NONE
};

pub(crate) static SETTINGS: Settings = Settings {
    files: Files {
        moved: &[],
        home: ".cursor",
        user: "hooks.json",
        project: Some(".cursor/hooks.json"),
        local: None,
        beside: None,
    },
    content: Content::Json(Json {
        version: Some(1),
        ..Json::of(Shape::Flat("command"), element, &EVENTS)
    }),
    left_to_do: &["restart Cursor"],
    switches: &[],
    managed: None,
};

const EVENTS: [Event; 4] = [
    Event::within(0, "sessionStart"),
    Event::within(0, "sessionEnd"),
    Event::within(0, "beforeSubmitPrompt"),
    Event::within(0, "stop"),
];

/// Cursor's own timeout applies.
fn element(_: &Event, command: &str) -> Value {
    json!({"command": command})
}

pub(crate) static FORM: Form = Form { parse, render };

pub(crate) fn parse(payload: &Map<String, Value>) -> Result<ParsedHook, InvalidSessionId> {
    let name = text(payload, "hook_event_name");
    let roots = payload.get("workspace_roots").and_then(Value::as_array);
    let loops = payload.get("loop_count").and_then(Value::as_u64);
    Ok(ParsedHook {
        cwd: roots.and_then(|roots| Some(roots.first()?.as_str()?.to_owned())),
        // A followup starts another turn, whose own stop raises the count. Answering only the first stop prevents a
        // loop.
        accepts_context: name == "stop" && loops.unwrap_or(0) == 0,
        happened: happened(name, payload),
        edited: match name {
            "afterFileEdit" => vec![text(payload, "file_path").to_owned()],
            _ => Vec::new(),
        },
        ..hook(payload, session(payload, "conversation_id")?, name)
    })
}

fn happened(name: &str, payload: &Map<String, Value>) -> AgentEvent {
    match name {
        // These events make notifications.
        "stop" if text(payload, "status") == "error" => AgentEvent::failed("error", true),
        "stop" => stopped(""),
        "sessionEnd" => claude::session_end(payload),
        // These change only the session's state.
        "beforeSubmitPrompt" => prompted(text(payload, "prompt")),
        "afterShellExecution" | "afterMCPExecution" | "afterFileEdit" => AgentEvent::Worked,
        _ => AgentEvent::Seen,
    }
}

pub(crate) fn render(_: &ParsedHook, reply: HookReply) -> Option<Value> {
    Some(json!({ "followup_message": reply.context? }))
}
