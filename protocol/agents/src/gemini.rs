//! Gemini CLI: its `settings.json`, with timeouts in milliseconds.

use hub_protocol::Way;
use serde_json::{Map, Value, json};

use crate::acp::Acp;
use crate::claude;
use crate::event::AgentEvent;
use crate::facts::{Docs, Facts, OneAnswer};
use crate::form::{
    Form, HookReply, InvalidSessionId, ParsedHook, edited, flag, hook, prompted, session, stopped,
    text,
};
use crate::request;
use crate::settings::{Allow, Content, Event, Files, Json, Managed, Settings, Shape};

pub(crate) static FACTS: Facts = Facts {
    name: "gemini",
    product: "Gemini CLI",
    verified: &["@google/gemini-cli@0.61.0"],
    docs: Docs {
        hooks: "settings",
        limits: "hooks can be disabled in `/hooks`",
    },
    ways: &[Way::Wait, Way::Pane],
    marks: &["GEMINI_CLI"],
    session_variable: Some("GEMINI_SESSION_ID"),
    one_answer: OneAnswer {
        reads_pipes: true,
        ..OneAnswer::PROMPT
    },
    stops: &["AfterAgent"],
    heartbeats: &[
        "BeforeTool",
        "AfterTool",
        "BeforeModel",
        "AfterModel",
        "BeforeToolSelection",
    ],
    acp: Some(Acp {
        command: &["gemini", "--acp"],
        limits: "a second prompt cancels the first; it outlives the end of its input during a call of the model; it \
                 loads no session",
        ..Acp::NONE
    }),
    ..Facts::NONE
};

/// The name of our hooks.
const NAME: &str = "hub";

pub(crate) static SETTINGS: Settings = Settings {
    files: Files {
        moved: &[("GEMINI_CLI_HOME", ".gemini")],
        home: ".gemini",
        user: "settings.json",
        project: Some(".gemini/settings.json"),
        local: None,
        beside: None,
    },
    content: Content::Json(Json {
        allow: Allow {
            at: ["tools", "allowed"],
            rules: &[
                "run_shell_command(hubctl wait)",
                "run_shell_command(hubctl notify)",
                "run_shell_command(hubctl ask)",
                "run_shell_command(hubctl answer)",
            ],
        },
        comments: true,
        name: Some(NAME),
        ..Json::of(Shape::Grouped, handler, &EVENTS)
    }),
    left_to_do: &[
        "restart the running sessions",
        "check /hooks panel in Gemini: hooks can be disabled there",
    ],
    switches: &[("/hooksConfig/enabled", false)],
    managed: Some(Managed {
        variable: Some("GEMINI_CLI_SYSTEM_SETTINGS_PATH"),
        linux: "/etc/gemini-cli/settings.json",
        mac: "/Library/Application Support/GeminiCli/settings.json",
        parts: None,
    }),
};

const EVENTS: [Event; 6] = [
    Event::within(TIMEOUT_MS, "SessionStart"),
    Event::within(TIMEOUT_MS, "SessionEnd"),
    Event::within(TIMEOUT_MS, "BeforeAgent"),
    Event::within(TIMEOUT_MS, "AfterAgent"),
    Event::within(TIMEOUT_MS, "AfterTool"),
    Event::within(TIMEOUT_MS, "Notification"),
];

const TIMEOUT_MS: u32 = 30_000;

fn handler(event: &Event, command: &str) -> Value {
    json!({"name": NAME, "type": "command", "command": command, "timeout": event.timeout})
}

pub(crate) static FORM: Form = Form { parse, render };

pub(crate) fn parse(payload: &Map<String, Value>) -> Result<ParsedHook, InvalidSessionId> {
    let name = text(payload, "hook_event_name");
    let is_first_stop = name == "AfterAgent" && !flag(payload, "stop_hook_active");
    Ok(ParsedHook {
        accepts_context: matches!(name, "BeforeAgent" | "AfterTool") || is_first_stop,
        happened: happened(name, payload),
        edited: match name {
            "AfterTool" => edited(payload),
            _ => Vec::new(),
        },
        ..hook(payload, session(payload, "session_id")?, name)
    })
}

fn happened(name: &str, payload: &Map<String, Value>) -> AgentEvent {
    match name {
        // These events make notifications.
        "AfterAgent" => stopped(text(payload, "prompt_response")),
        "Notification" if text(payload, "notification_type") == "ToolPermission" => {
            let details = payload.get("details").cloned();
            let request = details.as_ref().and_then(request::line_of);
            AgentEvent::Permission {
                text: request.unwrap_or_else(|| text(payload, "message").to_owned()),
                data: details,
            }
        }
        "SessionEnd" => claude::session_end(payload),
        // These change only the session's state.
        "SessionStart" => claude::session_start(payload),
        "BeforeAgent" => prompted(text(payload, "prompt")),
        "AfterTool" => AgentEvent::Worked,
        _ => AgentEvent::Seen,
    }
}

pub(crate) fn render(hook: &ParsedHook, reply: HookReply) -> Option<Value> {
    let context = reply.context?;
    if hook.name == "AfterAgent" {
        // The reason of this denial becomes the next prompt.
        return Some(json!({ "decision": "deny", "reason": context }));
    }
    Some(json!({
        "hookSpecificOutput": { "hookEventName": hook.name, "additionalContext": context }
    }))
}
