//! Claude Code. Payloads and replies are those of `sdk.d.ts` in the npm package `@anthropic-ai/claude-agent-sdk`.

use serde_json::{Map, Value, json};

use super::{Event, NotAnEvent, Words, event, flag, request, session, text};
use crate::core::command::AgentEvent;
use crate::core::record::TurnCause;

/// Tools that open a dialog. `PreToolUse` reports them before the dialog is shown.
const DIALOGS: [&str; 3] = ["AskUserQuestion", "EnterPlanMode", "ExitPlanMode"];

/// The prefix of every prompt with which Claude Code wakes itself: a background task or a hook ended, or a monitor
/// fired.
const WAKE: &str = "<task-notification>";

/// The title of a session is cut to this many characters.
const MAX_TITLE: usize = 200;

/// Model errors that a retry does not resolve.
const FOR_GOOD: [&str; 3] = ["billing_error", "authentication_failed", "invalid_request"];

pub(super) fn hear(payload: &Map<String, Value>) -> Result<Event, NotAnEvent> {
    let name = text(payload, "hook_event_name");
    let mut event = event(payload, session(payload, "session_id")?, name);
    if event.subagent {
        return Ok(event);
    }
    let title = text(payload, "session_title").trim();
    event.title = (!title.is_empty()).then(|| title.chars().take(MAX_TITLE).collect());
    event.carries = matches!(
        name,
        "UserPromptSubmit" | "PostToolUse" | "PostToolUseFailure"
    ) || name == "Stop" && !flag(payload, "stop_hook_active");
    event.decides = name == "PermissionRequest";
    event.happened = match name {
        "SessionStart" => AgentEvent::Started,
        "UserPromptSubmit" => prompt(text(payload, "prompt")),
        "PostToolUse" | "PostToolUseFailure" | "PostToolBatch" | "SubagentStop" => {
            AgentEvent::Worked
        }
        "PreToolUse" if DIALOGS.contains(&text(payload, "tool_name")) => asks(payload),
        "PermissionRequest" => permission_request(payload),
        "Notification" => notification(payload),
        "Stop" => AgentEvent::Stopped {
            text: text(payload, "last_assistant_message").to_owned(),
            tasks: tasks(payload),
            continues: false,
        },
        "StopFailure" => {
            let reason = text(payload, "error");
            AgentEvent::Failed {
                reason: match reason {
                    "" => "unknown".to_owned(),
                    reason => reason.chars().take(200).collect(),
                },
                permanent: FOR_GOOD.contains(&reason),
            }
        }
        // After `/clear` or a switch to another session, the same process continues under another id.
        "SessionEnd" if !matches!(text(payload, "reason"), "clear" | "resume") => AgentEvent::Ended,
        _ => AgentEvent::Seen,
    };
    Ok(event)
}

fn prompt(prompt: &str) -> AgentEvent {
    let by = if prompt.trim_start().starts_with(WAKE) {
        TurnCause::Wake
    } else {
        TurnCause::Person
    };
    let text = prompt.to_owned();
    AgentEvent::Prompt { by, text }
}

/// Ids of the background tasks that still run. The hub's own waiters are left out, because they never end by
/// themselves.
fn tasks(payload: &Map<String, Value>) -> Vec<String> {
    let tasks = payload.get("background_tasks").and_then(Value::as_array);
    let field = |task: &Value, name| task.get(name).and_then(Value::as_str).map(str::to_owned);
    let runs = |task: &&Value| {
        let status = field(task, "status");
        let command = field(task, "command").unwrap_or_default();
        status.is_none_or(|status| status == "running") && !command.contains("hubctl wait")
    };
    let ids = tasks.into_iter().flatten().filter(runs);
    let ids = ids.filter_map(|task| field(task, "id"));
    ids.filter(|id| id.len() <= 64).take(64).collect()
}

fn asks(payload: &Map<String, Value>) -> AgentEvent {
    let input = payload.get("tool_input").unwrap_or(&Value::Null);
    let first = input.get("questions").and_then(|it| it.get(0));
    let question = first
        .and_then(|it| it.get("question"))
        .and_then(Value::as_str);
    let label = |option: &Value| Some(option.get("label")?.as_str()?.to_owned());
    let options = first
        .and_then(|it| it.get("options"))
        .and_then(Value::as_array);
    let options = options.into_iter().flatten().filter_map(label);
    let plan = input.get("plan").and_then(Value::as_str);
    let text = match (text(payload, "tool_name"), question, plan) {
        (_, Some(question), _) => question.to_owned(),
        ("EnterPlanMode", ..) => "May I plan this first?".to_owned(),
        (_, _, Some(plan)) => format!("Is this plan right? {plan}"),
        _ => "Is this plan right?".to_owned(),
    };
    AgentEvent::Asks {
        text,
        options: options
            .filter(|it| !it.trim().is_empty() && it.len() <= 256)
            .take(32)
            .collect(),
        data: json!({ "tool_name": payload.get("tool_name") }),
    }
}

fn permission_request(payload: &Map<String, Value>) -> AgentEvent {
    // The dialogs of these tools are questions, which `PreToolUse` has reported already.
    if DIALOGS.contains(&text(payload, "tool_name")) {
        return AgentEvent::Seen;
    }
    AgentEvent::Permission {
        text: request(payload),
        data: Some(json!({
            "tool_name": payload.get("tool_name"),
            "tool_input": payload.get("tool_input"),
        })),
    }
}

fn notification(payload: &Map<String, Value>) -> AgentEvent {
    let message = text(payload, "message").to_owned();
    match text(payload, "notification_type") {
        "idle_prompt" => AgentEvent::Idle { text: message },
        "permission_prompt" | "worker_permission_prompt" => AgentEvent::Permission {
            text: message,
            data: None,
        },
        kind @ ("agent_needs_input" | "elicitation_dialog") => AgentEvent::Asks {
            text: message,
            options: Vec::new(),
            data: json!({ "notification_type": kind }),
        },
        _ => AgentEvent::Seen,
    }
}

pub(super) fn reply(event: &Event, words: Words) -> Option<Value> {
    if let Some((allowed, reason)) = words.decision {
        let decision = match (allowed, reason) {
            (true, _) => json!({ "behavior": "allow" }),
            (false, reason) => json!({
                "behavior": "deny",
                "message": reason.unwrap_or_else(|| "denied by the person".into()),
            }),
        };
        return Some(json!({
            "hookSpecificOutput": { "hookEventName": event.name, "decision": decision }
        }));
    }
    let mut reply = Map::new();
    if let Some(note) = words.note {
        reply.insert("systemMessage".into(), note.into());
    }
    if let Some(context) = words.context {
        let output = json!({ "hookEventName": event.name, "additionalContext": context });
        reply.insert("hookSpecificOutput".into(), output);
    }
    (!reply.is_empty()).then_some(Value::Object(reply))
}
