//! Claude Code: its `settings.json`, with rewake hooks.

use hub_protocol::{Seq, Verdict, WAKE_MARK, Way, first_chars, single_spaced};
use serde_json::{Map, Value, json};

use crate::acp::Acp;
use crate::answer::{AnswerKind, FormAnswer};
use crate::dialog_news::{Call, DialogNews};
use crate::event::{AgentEvent, tells_limit};
use crate::facts::{Docs, Facts, Foreign, OneAnswer};
use crate::form::{
    Form, HookReply, InvalidSessionId, ParsedHook, ToolUse, answer_kind, edited, flag, hook,
    permission, session, text,
};
use crate::request;
use crate::settings::{Allow, Content, Event, Files, Json, Managed, Settings, Shape, handler};
use crate::turn_cause::TurnCause;

pub(crate) static FACTS: Facts = Facts {
    name: "claude",
    product: "Claude Code",
    verified: &["@anthropic-ai/claude-code-PLATFORM@2.1.330"],
    docs: Docs {
        hooks: "settings or plugin",
        limits: "`module` needs the plugin",
    },
    ways: &[
        Way::Module,
        Way::Rewake,
        Way::FileChanged,
        Way::Socket,
        Way::Wait,
        Way::Pane,
    ],
    waits_in_background: true,
    marks: &["CLAUDECODE"],
    session_variable: Some("CLAUDE_CODE_SESSION_ID"),
    process_variable: Some("CLAUDE_PID"),
    directory_variable: Some("CLAUDE_PROJECT_DIR"),
    // Cursor, Grok Build and Devin run the hooks in its settings too, with payloads like its own, and each of their sessions
    // would count as one of Claude Code.
    foreign: Some(Foreign {
        own: &["CLAUDE_PID", "CLAUDECODE"],
        field: "cursor_version",
    }),
    one_answer: OneAnswer {
        variable: Some(("CLAUDE_CODE_ENTRYPOINT", "cli")),
        ..OneAnswer::NEVER
    },
    // A question is held at its second hook.
    held: &["PermissionRequest", "Elicitation"],
    dialog_during: Some("PermissionRequest"),
    stops: STOPS,
    heartbeats: HEARTBEATS,
    acp: Some(Acp {
        command: &["claude-agent-acp"],
        adapter: Some("@agentclientprotocol/claude-agent-acp@0.101.0"),
        ask_mode: Some("default"),
        steers: true,
        begins_turns: true,
        limits: "a background task begins a turn without a prompt; it starts in a mode in which a model decides",
    }),
    ..Facts::NONE
};

/// The event that ends a turn.
pub(crate) const STOPS: &[&str] = &["Stop"];

/// Events that are worthless when they arrive late.
pub(crate) const HEARTBEATS: &[&str] = &[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "MessageDisplay",
];

pub(crate) static SETTINGS: Settings = Settings {
    files: Files {
        moved: &[("CLAUDE_CONFIG_DIR", "")],
        home: ".claude",
        user: "settings.json",
        project: Some(".claude/settings.json"),
        local: Some(".claude/settings.local.json"),
        beside: None,
    },
    content: Content::Json(Json {
        allow: Allow {
            at: ["permissions", "allow"],
            rules: &[
                "Bash(hubctl wait:*)",
                "Bash(hubctl notify:*)",
                "Bash(hubctl ask:*)",
                "Bash(hubctl answer:*)",
            ],
        },
        ..Json::of(Shape::Grouped, handler, &EVENTS)
    }),
    left_to_do: &[
        "restart the running sessions: Claude Code reads its hooks when it starts",
        "if its sandbox is on, let commands reach the hub: in settings.json, sandbox.network, \
         \"allowAllUnixSockets\": true on Linux, \"allowUnixSockets\": [\"{socket}\"] on macOS",
    ],
    switches: &[("/disableAllHooks", true)],
    managed: Some(Managed {
        variable: None,
        linux: "/etc/claude-code/managed-settings.json",
        mac: "/Library/Application Support/ClaudeCode/managed-settings.json",
        parts: Some("managed-settings.d"),
    }),
};

const EVENTS: [Event; 14] = [
    Event::within(TIMEOUT, "SessionStart").rewaking(rewake),
    Event::within(TIMEOUT, "SessionEnd"),
    Event::within(TIMEOUT, "UserPromptSubmit"),
    // The tools that ask the person are reported by the hooks of their dialogs. No tool waits for the hook, because the hub
    // only notes that the call began.
    Event::within(TIMEOUT, "PreToolUse")
        .of("^(?!(?:AskUserQuestion|EnterPlanMode|ExitPlanMode)$)")
        .in_background(),
    Event::within(TIMEOUT, "PostToolUse"),
    Event::within(TIMEOUT, "PostToolUseFailure"),
    Event::within(DIALOG_TIMEOUT, "PermissionRequest"),
    Event::within(DIALOG_TIMEOUT, "Elicitation"),
    Event::within(TIMEOUT, "ElicitationResult"),
    Event::within(TIMEOUT, "Notification")
        .of("idle_prompt|permission_prompt|agent_needs_input|elicitation_dialog"),
    Event::within(TIMEOUT, "Stop").rewaking(rewake),
    Event::within(TIMEOUT, "StopFailure"),
    Event::within(TIMEOUT, "SubagentStop"),
    Event::of_wake_file("FileChanged", rewake),
];

/// Timeout in seconds; a hook ends long before it.
const TIMEOUT: u32 = 30;

/// Timeout in seconds; the hub holds a dialog's hook for at most an hour.
const DIALOG_TIMEOUT: u32 = 3_630;

/// Timeout in seconds: a day. The waiter ends by itself shortly before.
const REWAKE_TIMEOUT: u32 = 86_400;

fn rewake(command: &str) -> Value {
    json!({
        "type": "command",
        "command": command,
        "asyncRewake": true,
        "timeout": REWAKE_TIMEOUT,
        "rewakeSummary": WAKE_MARK,
        "rewakeMessage": "The hub woke this session: notifications arrived for it.",
    })
}

pub(crate) static FORM: Form = Form { parse, render };

/// The tool that asks the person. `PreToolUse` reports it, and then `PermissionRequest`, also in a mode without
/// permissions, while the dialog is shown. The first answer counts, that of the latter hook or that of the dialog. Plans
/// and permissions are answered in the same way.
const QUESTIONS: &str = "AskUserQuestion";
/// The end of the first line of a form in which `hubctl mcp --dialogs` shows a question of the hub.
const OWN_FORM: &str = "asks (question ";

/// The tools by which an agent asks whether it may carry out a plan, or make one.
pub const PLANS: [&str; 2] = ["ExitPlanMode", "EnterPlanMode"];

/// The prefix of every prompt with which Claude Code wakes itself: a background task or a hook ended, or a monitor
/// fired.
const TASK: &str = "<task-notification>";
/// The prefix of a message from another session of Claude Code that has a return address. Only a module can tell the
/// others from a prompt of the person.
const PEER: &str = "<cross-session-message";

/// The title of a session is cut to this many characters.
const MAX_TITLE: usize = 200;

pub(crate) fn parse(payload: &Map<String, Value>) -> Result<ParsedHook, InvalidSessionId> {
    let mut hook = parse_with(payload, happened)?;
    // Other agents with this format apply no rules from a hook.
    if let AgentEvent::Permission {
        data: Some(request),
        ..
    } = &mut hook.happened
        && let Some(suggestions) = payload.get("permission_suggestions")
    {
        request["suggestions"] = suggestions.clone();
    }
    Ok(ParsedHook {
        news: Some(news(payload)),
        ..hook
    })
}

/// An event's news of the dialogs before it. A denied call reports no end.
fn news(payload: &Map<String, Value>) -> DialogNews {
    match text(payload, "hook_event_name") {
        "PreToolUse" => DialogNews::Began(Call::of(payload)),
        "PostToolUse" | "PostToolUseFailure" => DialogNews::Ran(Call::of(payload)),
        "PermissionRequest" | "Stop" | "StopFailure" | "SubagentStop" => DialogNews::WentOn,
        _ => DialogNews::Nothing,
    }
}

/// Parses a payload in Claude Code's format, of an agent whose events `happened` maps.
pub(crate) fn parse_with(
    payload: &Map<String, Value>,
    happened: impl Fn(&str, &Map<String, Value>) -> AgentEvent,
) -> Result<ParsedHook, InvalidSessionId> {
    let name = text(payload, "hook_event_name");
    let mut hook = hook(payload, session(payload, "session_id")?, name);
    // A subagent's edits are its session's.
    if name == "PostToolUse" {
        hook.edited = edited(payload);
    }
    // The dialog of a subagent's permission is shown in the session's terminal, and the subagent's next step closes it.
    if hook.subagent.is_some() && name != "PermissionRequest" {
        let happened = happened(name, payload);
        let went_on = happened == AgentEvent::Worked;
        return Ok(ParsedHook {
            happened: if went_on { happened } else { AgentEvent::Seen },
            ..hook
        });
    }
    let title = text(payload, "session_title").trim();
    let is_first_stop = name == "Stop" && !flag(payload, "stop_hook_active");
    Ok(ParsedHook {
        title: (!title.is_empty()).then(|| first_chars(title, MAX_TITLE).into()),
        accepts_context: is_first_stop
            || matches!(
                name,
                "UserPromptSubmit" | "PostToolUse" | "PostToolUseFailure"
            ),
        takes: takes(name, payload),
        // An MCP server's form and the dialog of a subagent in the background are shown after the hook.
        delays_dialog: name == "Elicitation" || hook.subagent.is_some(),
        bypasses: match text(payload, "permission_mode") {
            "" => None,
            // A plan runs commands without asking too in a session that may bypass permissions, and no event tells that.
            mode => Some(matches!(mode, "bypassPermissions" | "plan")),
        },
        form: match name {
            "Elicitation" => own_form(payload).map(Some),
            "ElicitationResult" => Some(None),
            _ => None,
        },
        tool: tool_use(name, payload),
        next_turn: (name == "PromptOrigin").then(|| origin(payload)).flatten(),
        happened: happened(name, payload),
        ..hook
    })
}

pub(crate) fn happened(name: &str, payload: &Map<String, Value>) -> AgentEvent {
    match name {
        // These events make notifications.
        "PreToolUse" if text(payload, "tool_name") == QUESTIONS => questions(payload),
        "PreToolUse" if PLANS.contains(&text(payload, "tool_name")) => plan(payload),
        "PermissionRequest" => permission_request(payload),
        "Elicitation" => form(payload),
        "Notification" => notification(payload),
        "Stop" => stopped(payload),
        "StopFailure" => failed(payload),
        "SessionEnd" => session_end(payload),
        // These change only the session's state.
        "SessionStart" => session_start(payload),
        "UserPromptSubmit" => prompt(text(payload, "prompt")),
        "PostToolUse" | "PostToolUseFailure" | "PostToolBatch" | "SubagentStop"
        | "ElicitationResult" => AgentEvent::Worked,
        _ => AgentEvent::Seen,
    }
}

pub(crate) fn prompt(prompt: &str) -> AgentEvent {
    let text = prompt.trim_start();
    let is_task = text.starts_with(TASK);
    let message = text.strip_prefix(PEER);
    let message = message.and_then(|it| Some(it.split_once(">\n")?.1));
    let is_own = |it: &str| it.starts_with(WAKE_MARK);
    let by = if is_own(text) || message.is_some_and(is_own) || is_task && text.contains(WAKE_MARK) {
        TurnCause::Wake
    } else if is_task {
        TurnCause::Task
    } else if text.starts_with(PEER) {
        TurnCause::Peer
    } else {
        TurnCause::Person
    };
    AgentEvent::Prompt {
        by,
        text: prompt.to_owned(),
    }
}

/// The cause of the next turn, as the hub's module in Claude Code reports it before `UserPromptSubmit`; `None` if the
/// origin does not tell it. The kinds are those of `PromptOrigin` in the types that Claude Code gives to modules.
fn origin(payload: &Map<String, Value>) -> Option<TurnCause> {
    let origin = payload.get("origin")?;
    let member = |name: &str| origin.get(name).and_then(Value::as_str);
    match member("kind")? {
        "composer" | "bridge" | "slack-ping" | "auto-continuation" => Some(TurnCause::Person),
        "plugin" if member("name") == Some("hub") => Some(TurnCause::Wake),
        "peer" | "peer-send-message" | "projects-relay" | "coordinator" | "channel" => {
            Some(TurnCause::Peer)
        }
        "sdk" | "plugin" | "scheduled-trigger" | "observer" | "observer-activity" => {
            Some(TurnCause::Agent)
        }
        _ => None,
    }
}

pub(crate) fn stopped(payload: &Map<String, Value>) -> AgentEvent {
    AgentEvent::Stopped {
        text: text(payload, "last_assistant_message").to_owned(),
        tasks: tasks(payload),
        continues: false,
    }
}

/// The tool call that an event reports.
fn tool_use(name: &str, payload: &Map<String, Value>) -> Option<ToolUse> {
    let ended = match name {
        "PreToolUse" => false,
        "PostToolUse" | "PostToolUseFailure" => true,
        _ => return None,
    };
    let input = payload.get("tool_input").and_then(Value::as_object);
    let line = single_spaced(&input.and_then(request::leading).unwrap_or_default());
    Some(ToolUse {
        id: first_chars(text(payload, "tool_use_id"), 64).into(),
        name: first_chars(text(payload, "tool_name"), 64).into(),
        on: first_chars(&line, MAX_TITLE).into(),
        ended,
    })
}

/// A failed model: the kind of the error, and the agent's words for it. Claude Code has retried it as often as it does, so only a
/// limit goes over without the person. Its kind tells that, or the words if there is none: Kimi Code has another field for them.
fn failed(payload: &Map<String, Value>) -> AgentEvent {
    let kind = text(payload, "error");
    let words = ["last_assistant_message", "error_details", "error_message"];
    let words = words.into_iter().map(|field| text(payload, field).trim());
    let kinds = [kind, "unknown"].into_iter().filter(|it| !it.is_empty());
    let parts = kinds
        .take(1)
        .chain(words.filter(|it| !it.is_empty()).take(1));
    let reason = parts.collect::<Vec<_>>().join(": ");
    let is_limit = match kind {
        "" | "unknown" => tells_limit(&reason),
        kind => tells_limit(kind),
    };
    AgentEvent::failed(first_chars(&reason, 200), !is_limit)
}

pub(crate) fn session_start(payload: &Map<String, Value>) -> AgentEvent {
    match text(payload, "source") {
        "resume" | "fork" => AgentEvent::Resumed,
        _ => AgentEvent::Started,
    }
}

pub(crate) fn session_end(payload: &Map<String, Value>) -> AgentEvent {
    match text(payload, "reason") {
        "clear" => AgentEvent::Cleared,
        "resume" => AgentEvent::Left,
        "prompt_input_exit" | "logout" | "exit" | "user_exit" | "user_close" | "window_close" => {
            AgentEvent::Ended
        }
        _ => AgentEvent::Exited,
    }
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

/// The answer that the agent takes from the answer to an event of this name.
fn takes(name: &str, payload: &Map<String, Value>) -> Option<AnswerKind> {
    let input = || payload.get("tool_input").unwrap_or(&Value::Null);
    Some(match (name, text(payload, "tool_name")) {
        ("PermissionRequest", QUESTIONS) => answer_kind(&input()["questions"]),
        ("PermissionRequest", tool) if PLANS.contains(&tool) => AnswerKind::Plan,
        ("PermissionRequest", _) => AnswerKind::Permission,
        ("Elicitation", _) if own_form(payload).is_none() => AnswerKind::Form,
        _ => return None,
    })
}

pub(crate) fn plan(payload: &Map<String, Value>) -> AgentEvent {
    let input = payload.get("tool_input").unwrap_or(&Value::Null);
    let plan = input.get("plan").and_then(Value::as_str);
    let text = match (text(payload, "tool_name"), plan) {
        ("EnterPlanMode", _) => "May I plan this first?".to_owned(),
        (_, Some(plan)) => format!("Is this plan right? {plan}"),
        _ => "Is this plan right?".to_owned(),
    };
    let accepts = ["approve", "approve: accept edits", "reject"];
    AgentEvent::Asks {
        text,
        options: accepts.map(str::to_owned).to_vec(),
        data: json!({ "tool_name": payload.get("tool_name"), "tool_input": input }),
    }
}

/// The hub's question that a form of `hubctl mcp --dialogs` shows.
fn own_form(payload: &Map<String, Value>) -> Option<Seq> {
    let first = text(payload, "message").lines().next()?;
    let (_, id) = first.strip_suffix("):")?.rsplit_once(OWN_FORM)?;
    id.parse().ok()
}

/// The form of an MCP server. A form with a single choice offers its values.
pub(crate) fn form(payload: &Map<String, Value>) -> AgentEvent {
    const FIELDS: [&str; 5] = [
        "mcp_server_name",
        "message",
        "mode",
        "url",
        "requested_schema",
    ];
    if own_form(payload).is_some() {
        return AgentEvent::Seen;
    }
    let server = text(payload, "mcp_server_name");
    let fields = payload
        .get("requested_schema")
        .and_then(|it| it["properties"].as_object());
    let only = fields.filter(|it| it.len() == 1);
    let choices = only.and_then(|it| it.values().next()?["enum"].as_array());
    let choices = choices
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned);
    let given = FIELDS
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), payload.get(name)?.clone())));
    AgentEvent::Asks {
        text: format!("the MCP server {server}: {}", text(payload, "message")),
        options: choices.collect(),
        data: given.collect::<Map<_, _>>().into(),
    }
}

/// The questions of a dialog. A single one has its options; several are numbered in the text.
pub(crate) fn questions(payload: &Map<String, Value>) -> AgentEvent {
    let input = payload.get("tool_input").unwrap_or(&Value::Null);
    let all = questions_of(input);
    let said = |it: &Value| it["question"].as_str().unwrap_or_default().to_owned();
    let (text, options) = match all {
        [only] => (said(only), labels(only)),
        all => {
            let one = |(n, it): (usize, &Value)| {
                format!("{}. {} ({})", n + 1, said(it), labels(it).join(" / "))
            };
            let lines: Vec<String> = all.iter().enumerate().map(one).collect();
            (lines.join(" "), Vec::new())
        }
    };
    AgentEvent::Asks {
        text,
        options,
        data: json!({ "tool_name": payload.get("tool_name"), "tool_input": input }),
    }
}

fn questions_of(input: &Value) -> &[Value] {
    input["questions"].as_array().map_or(&[], Vec::as_slice)
}

fn labels(question: &Value) -> Vec<String> {
    let options = question["options"].as_array().into_iter().flatten();
    let labels = options.filter_map(|it| it["label"].as_str());
    labels
        .filter(|it| !it.trim().is_empty() && it.len() <= 256)
        .take(32)
        .map(str::to_owned)
        .collect()
}

/// The input of the tool with the person's answers, one for each question.
fn answered(data: &Value, given: &[String]) -> Value {
    let mut input = data["tool_input"].clone();
    if let Some(input) = input.as_object_mut() {
        input.insert("answers".into(), answers(data, given));
    }
    input
}

/// The person's answers by their questions.
pub(crate) fn answers(data: &Value, given: &[String]) -> Value {
    let said = |text: &str| match text.trim() {
        "" => "(no answer)".into(),
        _ => text.into(),
    };
    let answers = questions_of(&data["tool_input"]).iter().zip(given);
    let answers = answers.filter_map(|(it, text)| Some((it["question"].as_str()?, said(text))));
    let answers: Map<String, Value> = answers.map(|(it, text)| (it.into(), text)).collect();
    answers.into()
}

pub(crate) fn permission_request(payload: &Map<String, Value>) -> AgentEvent {
    let tool = text(payload, "tool_name");
    if tool == QUESTIONS {
        return questions(payload);
    }
    if PLANS.contains(&tool) {
        return plan(payload);
    }
    permission(json!({
        "tool_name": payload.get("tool_name"),
        "tool_input": payload.get("tool_input"),
    }))
}

/// The agent's own suggestions that allow requests of this kind, for this session only.
fn for_session(suggestions: &Value) -> Vec<Value> {
    let suggestions = suggestions.as_array().into_iter().flatten();
    let objects = suggestions.filter_map(Value::as_object);
    let of_session = |suggestion: &Map<String, Value>| {
        let mut suggestion = suggestion.clone();
        suggestion.insert("destination".into(), "session".into());
        Value::Object(suggestion)
    };
    objects.map(of_session).collect()
}

/// The decision on a permission or a plan, as `PermissionRequest` returns it. A plan counts as shown to the person only
/// if the decision repeats its input.
fn decision(hook: &ParsedHook, verdict: Verdict) -> Value {
    let mut decision = match verdict {
        Verdict::Deny(reason) => {
            let message = reason.unwrap_or_else(|| "denied by the person".into());
            return json!({ "behavior": "deny", "message": message });
        }
        Verdict::Allow | Verdict::AllowAlways | Verdict::AcceptEdits => {
            json!({ "behavior": "allow" })
        }
    };
    match &hook.happened {
        AgentEvent::Asks { data, .. } => {
            decision["updatedInput"] = data["tool_input"].clone();
            if verdict == Verdict::AcceptEdits {
                decision["updatedPermissions"] =
                    json!([{ "type": "setMode", "mode": "acceptEdits", "destination": "session" }]);
            }
        }
        AgentEvent::Permission {
            data: Some(data), ..
        } if verdict == Verdict::AllowAlways => {
            decision["updatedPermissions"] = for_session(&data["suggestions"]).into();
        }
        _ => {}
    }
    decision
}

/// The answer to an MCP server's form, as `Elicitation` returns it.
pub(crate) fn form_answer(answer: FormAnswer) -> Map<String, Value> {
    let (action, content) = match answer {
        FormAnswer::Accept(content) => ("accept", Some(content)),
        FormAnswer::Decline => ("decline", None),
        FormAnswer::Cancel => ("cancel", None),
    };
    let action = ("action".to_owned(), action.into());
    let content = content.map(|it| ("content".to_owned(), it.into()));
    [action].into_iter().chain(content).collect()
}

pub(crate) fn notification(payload: &Map<String, Value>) -> AgentEvent {
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

pub(crate) fn render(hook: &ParsedHook, reply: HookReply) -> Option<Value> {
    if let [answer, ..] = &reply.answers[..] {
        let AgentEvent::Asks { data, .. } = &hook.happened else {
            return None;
        };
        if hook.takes == Some(AnswerKind::Form) {
            let mut output = form_answer(FormAnswer::parse(answer)?);
            output.insert("hookEventName".into(), hook.name.as_str().into());
            return Some(json!({ "hookSpecificOutput": output }));
        }
        let decision =
            json!({ "behavior": "allow", "updatedInput": answered(data, &reply.answers) });
        return Some(json!({
            "hookSpecificOutput": { "hookEventName": hook.name, "decision": decision }
        }));
    }
    if let Some(verdict) = reply.decision {
        let decision = decision(hook, verdict);
        return Some(json!({
            "hookSpecificOutput": { "hookEventName": hook.name, "decision": decision }
        }));
    }
    let mut json = Map::new();
    if let Some(note) = reply.note {
        json.insert("systemMessage".into(), note.into());
    }
    let mut output = Map::new();
    if let Some(context) = reply.context {
        output.insert("additionalContext".into(), context.into());
    }
    if let Some(path) = reply.watch.as_ref().and_then(|path| path.to_str()) {
        output.insert("watchPaths".into(), json!([path]));
    }
    if !output.is_empty() {
        output.insert("hookEventName".into(), hook.name.as_str().into());
        json.insert("hookSpecificOutput".into(), output.into());
    }
    (!json.is_empty()).then_some(Value::Object(json))
}
