//! Codex CLI: its `hooks.json`. Codex also runs the hooks in the `config.toml` beside it, to which the person may have
//! moved ours.

use hub_protocol::Way;
use serde_json::{Map, Value, json};

use crate::acp::Acp;
use crate::claude;
use crate::event::AgentEvent;
use crate::facts::{Docs, Facts, OneAnswer};
use crate::form::{
    Form, HookReply, InvalidSessionId, ParsedHook, answered_by_refusal, hook, refusal_with,
    session, stopped, text,
};
use crate::settings::{Content, Event, Files, Json, Managed, Settings, Shape, handler};

pub(crate) static FACTS: Facts = Facts {
    name: "codex",
    product: "Codex CLI",
    verified: &["@openai/codex@0.169.0"],
    docs: Docs {
        hooks: "`hooks.json`",
        limits: "runs no hooks until the person trusts them",
    },
    ways: &[Way::AppServer, Way::Wait, Way::Pane],
    trust: Some("Codex runs none until the person trusts them (/hooks)"),
    marks: &["CODEX_SANDBOX"],
    session_variable: Some("CODEX_THREAD_ID"),
    one_answer: OneAnswer {
        arguments: &["exec", "review"],
        first: Some("e"),
        ..OneAnswer::NEVER
    },
    held: &["PermissionRequest"],
    held_tool: Some(("PreToolUse", QUESTIONS)),
    stops: &["Stop", "agent-turn-complete"],
    heartbeats: claude::HEARTBEATS,
    acp: Some(Acp {
        command: &["codex-acp"],
        adapter: Some("@agentclientprotocol/codex-acp@2.6.0"),
        ask_mode: Some("read-only"),
        steers: true,
        limits: "a denied permission ends the turn; its hooks report a second thread, for the title",
        ..Acp::NONE
    }),
    ..Facts::NONE
};

/// The tool that asks the person. Its dialog is shown after `PreToolUse`; no `PermissionRequest` reports it.
const QUESTIONS: &str = "request_user_input";

pub(crate) static SETTINGS: Settings = Settings {
    files: Files {
        moved: &[("CODEX_HOME", "")],
        home: ".codex",
        user: "hooks.json",
        project: Some(".codex/hooks.json"),
        local: None,
        beside: Some("config.toml"),
    },
    content: Content::Json(Json::of(Shape::Grouped, handler, &EVENTS)),
    left_to_do: &[
        "trust the hooks: Codex runs none until then; start it and review them with /hooks",
        "restart the running sessions",
        "its sandbox blocks {socket}: commands use the status file instead, unless you allow the sandbox network access",
    ],
    switches: &[("/features/hooks", false), ("/features/codex_hooks", false)],
    managed: Some(Managed {
        variable: None,
        linux: "/etc/codex/requirements.toml",
        mac: "/etc/codex/requirements.toml",
        parts: None,
    }),
};

const EVENTS: [Event; 9] = [
    Event::within(30, "SessionStart"),
    // Codex allows this and `Interrupt` no more, and warns of more at each start.
    Event::within(3, "SessionEnd"),
    Event::within(30, "UserPromptSubmit"),
    // Each tool waits for its hook, so it runs only for questions, which the hub holds for an answer.
    Event::within(90, "PreToolUse").of("^request_user_input$"),
    Event::within(30, "PostToolUse"),
    Event::within(90, "PermissionRequest"),
    Event::within(30, "Stop"),
    Event::within(30, "SubagentStop"),
    Event::within(3, "Interrupt"),
];

pub(crate) static FORM: Form = Form { parse, render };

pub(crate) fn parse(payload: &Map<String, Value>) -> Result<ParsedHook, InvalidSessionId> {
    if text(payload, "type") == "agent-turn-complete" {
        let id = session(payload, "thread-id")?;
        let mut hook = hook(payload, id, "agent-turn-complete");
        hook.happened = stopped(text(payload, "last-assistant-message"));
        return Ok(hook);
    }
    let mut hook = answered_by_refusal(claude::parse_with(payload, happened)?);
    hook.delays_dialog = true;
    // In a subagent too.
    if hook.name == "Interrupt" {
        hook.happened = AgentEvent::Interrupted;
    }
    Ok(hook)
}

fn happened(name: &str, payload: &Map<String, Value>) -> AgentEvent {
    match name {
        // These events make notifications.
        "PreToolUse" if text(payload, "tool_name") == QUESTIONS => claude::questions(payload),
        "Stop" => claude::stopped(payload),
        "PermissionRequest" => claude::permission_request(payload),
        "SessionEnd" => claude::session_end(payload),
        // These change only the session's state.
        "SessionStart" => claude::session_start(payload),
        "UserPromptSubmit" => claude::prompt(text(payload, "prompt")),
        "PostToolUse" | "PostToolUseFailure" | "SubagentStop" => AgentEvent::Worked,
        // Codex does not report these today; they mean what they mean in Claude Code.
        other => claude::happened(other, payload),
    }
}

/// Codex's schemas refuse unknown fields, and its Stop hook accepts context only as the next prompt.
pub(crate) fn render(hook: &ParsedHook, reply: HookReply) -> Option<Value> {
    if let Some(answer) = &reply.answer()
        && hook.name == "PreToolUse"
    {
        return Some(refusal_with(hook, answer));
    }
    match (hook.name.as_str(), reply.context) {
        ("Stop", Some(context)) => Some(json!({ "decision": "block", "reason": context })),
        ("agent-turn-complete" | "PostToolUseFailure", _) => None,
        (_, context) => claude::render(hook, HookReply { context, ..reply }),
    }
}
