//! Copilot CLI: a file of our own in its hooks directory. Its JSON does not name the event, so the command line does.

use hub_protocol::{Verdict, Way, answer_in_refusal};
use serde_json::{Map, Value, json};

use crate::acp::Acp;
use crate::answer::AnswerKind;
use crate::claude;
use crate::event::AgentEvent;
use crate::facts::{Docs, Facts};
use crate::form::{
    self, Form, HookReply, InvalidSessionId, ParsedHook, answered_by_refusal, edited_by, flag,
    hook, prompted, session, stopped, text,
};
use crate::settings::{Content, Event, Files, Json, Settings, Shape};

pub(crate) static FACTS: Facts = Facts {
    name: "copilot",
    product: "Copilot CLI",
    verified: &["@github/copilot-PLATFORM@1.0.102"],
    docs: Docs {
        hooks: "`hooks/hub.json`",
        limits: "a stop carries no text; a permission given in the terminal stays open here until its command ends; \
                 without `pane`, only the person's next prompt delivers between turns",
    },
    ways: &[Way::Pane],
    marks: &["COPILOT_CLI"],
    session_variable: Some("COPILOT_AGENT_SESSION_ID"),
    held: &["permissionRequest"],
    held_tool: Some(("preToolUse", QUESTIONS)),
    stops: &["agentStop"],
    heartbeats: &["preToolUse", "postToolUse", "postToolUseFailure"],
    acp: Some(Acp {
        command: &["copilot", "--acp"],
        limits: "a second prompt cancels the first; the diff of a permission is in its raw input; hooks report the \
                 end of the session after each turn",
        ..Acp::NONE
    }),
    ..Facts::NONE
};

/// The tool that asks the person. Its dialog is shown after `preToolUse`.
const QUESTIONS: &str = "ask_user";

pub(crate) static SETTINGS: Settings = Settings {
    files: Files {
        moved: &[("COPILOT_HOME", "")],
        home: ".copilot",
        user: "hooks/hub.json",
        project: Some(".github/hooks/hub.json"),
        local: None,
        beside: None,
    },
    content: Content::Json(Json {
        version: Some(1),
        ..Json::of(Shape::Flat("bash"), element, &EVENTS)
    }),
    left_to_do: &["restart the running sessions"],
    switches: &[],
    managed: None,
};

const EVENTS: [Event; 10] = [
    Event::within(30, "sessionStart"),
    Event::within(30, "sessionEnd"),
    Event::within(30, "userPromptSubmitted"),
    // Each tool waits for its hook, so it runs only for questions, which the hub holds for an answer.
    Event::within(90, "preToolUse").of("^ask_user$"),
    Event::within(90, "permissionRequest"),
    Event::within(30, "postToolUse"),
    Event::within(30, "postToolUseFailure"),
    Event::within(30, "agentStop"),
    Event::within(30, "errorOccurred"),
    Event::within(30, "notification"),
];

fn element(event: &Event, command: &str) -> Value {
    let command = format!("{command} --event {}", event.name);
    let mut element = json!({"type": "command", "bash": command, "timeoutSec": event.timeout});
    if let Some(matcher) = event.matcher {
        element["matcher"] = matcher.into();
    }
    element
}

pub(crate) static FORM: Form = Form { parse, render };

pub(crate) fn parse(payload: &Map<String, Value>) -> Result<ParsedHook, InvalidSessionId> {
    let name = match text(payload, "hookEventName") {
        "" => text(payload, "hook_event_name"),
        name => name,
    };
    let is_first_stop = name == "agentStop" && !flag(payload, "stop_hook_active");
    let id = session(payload, "sessionId").or_else(|_| session(payload, "session_id"))?;
    let asks = name == "permissionRequest";
    Ok(answered_by_refusal(ParsedHook {
        accepts_context: matches!(name, "userPromptSubmitted" | "postToolUse") || is_first_stop,
        happened: happened(name, payload),
        takes: asks.then_some(AnswerKind::Permission),
        delays_dialog: asks,
        edited: match name {
            "postToolUse" => edited(payload),
            _ => Vec::new(),
        },
        ..hook(payload, id, name)
    }))
}

fn happened(name: &str, payload: &Map<String, Value>) -> AgentEvent {
    match name {
        // These events make notifications.
        "agentStop" => stopped(""),
        "errorOccurred" => AgentEvent::failed(text(payload, "error"), true),
        "sessionEnd" => claude::session_end(payload),
        "permissionRequest" => permission(payload),
        "preToolUse" if text(payload, "toolName") == QUESTIONS => {
            claude::questions(&asked(payload))
        }
        // Copilot CLI gives this event Claude Code's name, whatever the settings call it.
        "notification" | "Notification" => claude::notification(payload),
        // These change only the session's state.
        "sessionStart" => claude::session_start(payload),
        "userPromptSubmitted" => prompted(text(payload, "prompt")),
        "postToolUse" | "postToolUseFailure" => AgentEvent::Worked,
        _ => AgentEvent::Seen,
    }
}

/// The permission for a tool, in Claude Code's form.
fn permission(payload: &Map<String, Value>) -> AgentEvent {
    let request = Map::from_iter([
        ("tool_name".to_owned(), field(payload, "toolName")),
        ("tool_input".to_owned(), arguments(payload, "toolInput")),
    ]);
    form::permission(request.into())
}

/// The questions of the tool, in Claude Code's form. It takes a form with a schema, each of whose fields is a question, or in
/// some sessions one question with choices.
fn asked(payload: &Map<String, Value>) -> Map<String, Value> {
    let given = arguments(payload, "toolArgs");
    let mut whole = ["message", "question"].into_iter();
    let whole = whole.find_map(|it| given[it].as_str());
    let fields = given["requestedSchema"]["properties"].as_object();
    let count = fields.map_or(0, Map::len);
    let one = |(name, schema): (&String, &Value)| {
        let mut labels = ["description", "title"].into_iter();
        let own = labels.find_map(|it| schema[it].as_str());
        let whole = whole.filter(|_| count == 1);
        let mut choices = [&schema["enum"], &schema["items"]["enum"]].into_iter();
        let choices = choices.find_map(Value::as_array);
        question(
            whole.or(own).unwrap_or(name),
            choices,
            schema["type"] == "array",
        )
    };
    let questions: Vec<Value> = match fields {
        Some(fields) if !fields.is_empty() => fields.iter().map(one).collect(),
        _ => vec![question(
            whole.unwrap_or_default(),
            given["choices"].as_array(),
            false,
        )],
    };
    let input = json!({ "questions": questions, "given": given });
    Map::from_iter([
        ("tool_name".to_owned(), field(payload, "toolName")),
        ("tool_input".to_owned(), input),
    ])
}

fn question(text: &str, choices: Option<&Vec<Value>>, several: bool) -> Value {
    let choices = choices.into_iter().flatten();
    let options: Vec<Value> = choices.map(|it| json!({ "label": it })).collect();
    json!({ "question": text, "options": options, "multiSelect": several })
}

fn field(payload: &Map<String, Value>, name: &str) -> Value {
    payload.get(name).cloned().unwrap_or_default()
}

/// A tool's arguments, which are an object, or its JSON as a text.
fn arguments(payload: &Map<String, Value>, name: &str) -> Value {
    let given = field(payload, name);
    let parsed = given.as_str().and_then(|it| serde_json::from_str(it).ok());
    parsed.unwrap_or(given)
}

/// The files that a successful tool call has edited.
fn edited(payload: &Map<String, Value>) -> Vec<String> {
    let result = payload.get("toolResult").and_then(Value::as_object);
    let result = result.map_or("", |it| text(it, "resultType"));
    match result {
        "failure" | "rejected" | "denied" => Vec::new(),
        _ => edited_by(text(payload, "toolName"), &arguments(payload, "toolArgs")),
    }
}

pub(crate) fn render(hook: &ParsedHook, reply: HookReply) -> Option<Value> {
    if let Some(answer) = &reply.answer() {
        let reason = answer_in_refusal(answer);
        return Some(json!({ "permissionDecision": "deny", "permissionDecisionReason": reason }));
    }
    match reply.decision {
        Some(Verdict::Deny(reason)) => {
            let reason = reason.unwrap_or_else(|| "denied by the person".into());
            return Some(json!({ "behavior": "deny", "message": reason }));
        }
        Some(_) => return Some(json!({ "behavior": "allow" })),
        None => {}
    }
    let context = reply.context?;
    if hook.name == "agentStop" {
        return Some(json!({ "decision": "block", "reason": context }));
    }
    Some(json!({ "additionalContext": context }))
}
