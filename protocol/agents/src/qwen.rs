//! Qwen Code: its `settings.json`, with hooks in Claude Code's format.

use hub_protocol::{Way, answer_in_refusal};
use serde_json::{Map, Value, json};

use crate::acp::Acp;
use crate::claude;
use crate::event::AgentEvent;
use crate::facts::{Docs, Facts, OneAnswer};
use crate::form::{Form, HookReply, InvalidSessionId, ParsedHook, answered_by_refusal, text};
use crate::settings::{Allow, Content, Event, Files, Json, Managed, Settings, Shape, handler};

pub(crate) static FACTS: Facts = Facts {
    name: "qwen",
    product: "Qwen Code",
    verified: &["@qwen-code/qwen-code@0.24.4"],
    docs: Docs {
        hooks: "settings, as in Claude Code",
        limits: "without `pane`, only the person's next prompt delivers between turns",
    },
    ways: &[Way::Pane],
    marks: &["QWEN_CODE"],
    session_variable: Some("QWEN_CODE_SESSION_ID"),
    one_answer: OneAnswer {
        reads_pipes: true,
        ..OneAnswer::PROMPT
    },
    held: &["PermissionRequest"],
    stops: claude::STOPS,
    heartbeats: claude::HEARTBEATS,
    acp: Some(Acp {
        command: &["qwen", "--acp"],
        ask_mode: Some("default"),
        limits: "a second prompt aborts the first; its questions are permissions with answers beside the outcome",
        ..Acp::NONE
    }),
    ..Facts::NONE
};

pub(crate) static SETTINGS: Settings = Settings {
    files: Files {
        moved: &[("QWEN_HOME", "")],
        home: ".qwen",
        user: "settings.json",
        project: Some(".qwen/settings.json"),
        local: None,
        beside: None,
    },
    content: Content::Json(Json {
        allow: Allow {
            at: ["permissions", "allow"],
            rules: &[
                "Bash(hubctl wait *)",
                "Bash(hubctl notify *)",
                "Bash(hubctl ask *)",
                "Bash(hubctl answer *)",
            ],
        },
        comments: true,
        ..Json::of(Shape::Grouped, handler, &EVENTS)
    }),
    left_to_do: &["restart the running sessions"],
    switches: &[("/disableAllHooks", true), ("/hooksConfig/enabled", false)],
    managed: Some(Managed {
        variable: Some("QWEN_CODE_SYSTEM_SETTINGS_PATH"),
        linux: "/etc/qwen-code/settings.json",
        mac: "/Library/Application Support/QwenCode/settings.json",
        parts: None,
    }),
};

const EVENTS: [Event; 11] = [
    Event::within(30, "SessionStart"),
    Event::within(30, "SessionEnd"),
    Event::within(30, "UserPromptSubmit"),
    Event::within(30, "PreToolUse"),
    Event::within(30, "PostToolUse"),
    Event::within(30, "PostToolUseFailure"),
    Event::within(90, "PermissionRequest"),
    Event::within(30, "Notification"),
    Event::within(30, "Stop"),
    Event::within(30, "StopFailure"),
    Event::within(30, "SubagentStop"),
];

pub(crate) static FORM: Form = Form { parse, render };

/// The tool that asks the person. Its dialog is the permission for the tool, which no hook can give.
const QUESTIONS: &str = "ask_user_question";
/// The tool that asks whether a plan is right.
const PLAN: &str = "exit_plan_mode";
/// Tools whose dialogs are always shown, whatever a hook allows.
const ALWAYS_SHOWN: [&str; 2] = [PLAN, "propose_goal"];

pub(crate) fn parse(payload: &Map<String, Value>) -> Result<ParsedHook, InvalidSessionId> {
    let mut hook = answered_by_refusal(claude::parse_with(payload, happened)?);
    hook.delays_dialog = true;
    if ALWAYS_SHOWN.contains(&text(payload, "tool_name")) {
        hook.takes = None;
    }
    Ok(hook)
}

fn happened(name: &str, payload: &Map<String, Value>) -> AgentEvent {
    match name {
        // The results of tools are submitted as an empty prompt.
        "UserPromptSubmit" if text(payload, "prompt").is_empty() => AgentEvent::Worked,
        "PermissionRequest" if text(payload, "tool_name") == QUESTIONS => {
            claude::questions(payload)
        }
        "PermissionRequest" if text(payload, "tool_name") == PLAN => claude::plan(payload),
        // The tool starts, so its dialog was answered.
        "PreToolUse" => AgentEvent::Worked,
        other => claude::happened(other, payload),
    }
}

/// Qwen Code's Stop hook accepts context only as the reason to continue, and a question's answer only as the reason of a
/// denial.
pub(crate) fn render(hook: &ParsedHook, reply: HookReply) -> Option<Value> {
    if let Some(answer) = &reply.answer() {
        let decision = json!({ "behavior": "deny", "message": answer_in_refusal(answer) });
        return Some(json!({
            "hookSpecificOutput": { "hookEventName": hook.name, "decision": decision }
        }));
    }
    crate::codex::render(hook, reply)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_of_tools_are_not_a_prompt() {
        let event = |prompt: &str| {
            let payload = json!({
                "hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": prompt,
            });
            parse(payload.as_object().unwrap()).unwrap().happened
        };
        assert_eq!(event(""), AgentEvent::Worked);
        assert!(matches!(event("Hello"), AgentEvent::Prompt { .. }));
    }
}
