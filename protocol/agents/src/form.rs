//! How the hub reads an agent's hook payloads and writes its hook answers.
//!
//! `parse` reads the payload into a [`ParsedHook`], `happened` in an agent's file maps its event names, and `render` writes a
//! [`HookReply`] in the agent's format. The fold decides what follows from an event, the same for all agents.

use std::path::PathBuf;

use hub_protocol::{
    CUT_MARK, InboxName, OwnWords, Seq, Verdict, WAKE_MARK, answer_in_refusal, denial, first_chars,
    visible,
};
use serde_json::{Map, Value, json};

use crate::always::always;
use crate::answer::AnswerKind;
use crate::dialog_news::DialogNews;
use crate::event::AgentEvent;
use crate::reporter::Reporter;
use crate::request;
use crate::turn_cause::TurnCause;

/// A hook event in the form that is common to all agents.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedHook {
    /// The session's id, as the agent gives it.
    pub id: InboxName,
    /// The event's name in the agent's hooks.
    pub name: String,
    /// The session's working directory.
    pub cwd: Option<String>,
    /// The session's title in the agent, if it has one.
    pub title: Option<String>,
    /// The agent's id of the subagent in which the event happened. Subagents get no notifications.
    pub subagent: Option<String>,
    /// The agent's id of the dialog that the event opens or closes, if the agent names it. An event that closes none of these
    /// has an id that no dialog has.
    pub dialog: Option<String>,
    /// The kind of event.
    pub happened: AgentEvent,
    /// Whether the answer can carry text to the model.
    pub accepts_context: bool,
    /// The answer that the agent takes for its dialog from the answer to this event.
    pub takes: Option<AnswerKind>,
    /// Whether the agent shows its dialog only after the answer to this event, so that holding the event delays it.
    pub delays_dialog: bool,
    /// Whether the session's permission mode may allow everything, if the event tells the mode.
    pub bypasses: Option<bool>,
    /// The hub's own question that a form in the agent's terminal shows from now on, or that none does, if the event tells.
    pub form: Option<Option<Seq>>,
    /// The tool call that the event reports.
    pub tool: Option<ToolUse>,
    /// The event's news of the dialogs before it; `None` if the agent shows none while its hook is held, so that any
    /// next step proves that it used the answer.
    pub news: Option<DialogNews>,
    /// The files that a tool has edited, as the agent names them.
    pub edited: Vec<String>,
    /// The cause of the turn that begins next, if this event only reports that.
    pub next_turn: Option<TurnCause>,
}

/// A tool call that began or ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUse {
    /// The agent's id of the call.
    pub id: String,
    /// The tool, as the agent names it.
    pub name: String,
    /// Its most informative argument on one line.
    pub on: String,
    /// Whether the call has ended.
    pub ended: bool,
}

/// The content of a hook answer, before the agent's own format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookReply {
    /// Text for the model.
    pub context: Option<OwnWords>,
    /// Text for the person, if the agent shows one.
    pub note: Option<OwnWords>,
    /// The verdict on the agent's permission request or plan.
    pub decision: Option<Verdict>,
    /// The person's answers to the agent's dialog, one for each of its questions; empty if there is none.
    pub answers: Vec<String>,
    /// A file that the session shall watch for the hub, if its agent can.
    pub watch: Option<PathBuf>,
}

impl HookReply {
    /// The person's answers as one text, those to several questions numbered; `None` if there is none.
    pub(crate) fn answer(&self) -> Option<String> {
        match &self.answers[..] {
            [] => None,
            [only] => Some(only.clone()),
            all => {
                let numbered = all.iter().zip(1..).map(|(it, n)| format!("{n}. {it}"));
                Some(numbered.collect::<Vec<_>>().join("\n"))
            }
        }
    }

    /// Allows once what the agent did not offer to allow always.
    fn within_offer(mut self, hook: &ParsedHook) -> Self {
        let offers = match &hook.happened {
            AgentEvent::Permission { data, .. } => {
                data.as_ref().and_then(|it| always(&it["suggestions"]))
            }
            _ => None,
        };
        if self.decision == Some(Verdict::AllowAlways) && offers.is_none() {
            self.decision = Some(Verdict::Allow);
        }
        self
    }

    /// Sanitizes what a person said and the model reads. Every answer passes through here.
    fn sanitized(self) -> Self {
        let sanitize = |verdict| match verdict {
            Verdict::Deny(reason) => Verdict::Deny(reason.map(|reason| denial(&reason).into())),
            allowed => allowed,
        };
        Self {
            decision: self.decision.map(sanitize),
            answers: self.answers.iter().map(|text| visible(text)).collect(),
            ..self
        }
    }
}

/// The error for a payload whose session id is missing, or not a valid inbox name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' must be a session's id")]
pub struct InvalidSessionId(&'static str);

/// How an agent's hooks are read and answered.
#[derive(Debug)]
pub(crate) struct Form {
    /// Parses a payload.
    pub(crate) parse: fn(&Map<String, Value>) -> Result<ParsedHook, InvalidSessionId>,
    /// Renders an answer; `None` if the agent takes none.
    pub(crate) render: fn(&ParsedHook, HookReply) -> Option<Value>,
}

/// Parses a hook payload. An unknown event becomes [`AgentEvent::Seen`]: it proves only that the session lives.
pub fn parse(
    reporter: impl Into<Reporter>,
    payload: &Map<String, Value>,
) -> Result<ParsedHook, InvalidSessionId> {
    let hook = (reporter.into().form().parse)(payload)?;
    Ok(match payload.get(CUT_MARK) {
        Some(mark) => cut(hook, mark),
        None => hook,
    })
}

/// Marks that parts of what an event asks are left out. Only a permission can be decided then, because the answer to any other
/// dialog repeats its input.
fn cut(mut hook: ParsedHook, mark: &Value) -> ParsedHook {
    let asked = match &mut hook.happened {
        AgentEvent::Asks { data, .. } => data.as_object_mut(),
        AgentEvent::Permission { data, .. } => data.as_mut().and_then(Value::as_object_mut),
        _ => None,
    };
    if let Some(asked) = asked {
        asked.insert(CUT_MARK.into(), mark.clone());
    }
    hook.takes = hook.takes.filter(|it| *it == AnswerKind::Permission);
    hook
}

/// Renders the answer in the agent's format; `None` if there is nothing to answer.
pub fn render(reporter: impl Into<Reporter>, hook: &ParsedHook, reply: HookReply) -> Option<Value> {
    if reply == HookReply::default() {
        return None;
    }
    (reporter.into().form().render)(hook, reply.within_offer(hook).sanitized())
}

/// A text field, empty if it is missing.
pub(crate) fn text<'a>(payload: &'a Map<String, Value>, field: &str) -> &'a str {
    payload
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

pub(crate) fn flag(payload: &Map<String, Value>, field: &str) -> bool {
    payload
        .get(field)
        .and_then(Value::as_bool)
        .unwrap_or_default()
}

/// Parses the session's id in `field`.
pub(crate) fn session(
    payload: &Map<String, Value>,
    field: &'static str,
) -> Result<InboxName, InvalidSessionId> {
    let id = text(payload, field).parse();
    id.map_err(|_| InvalidSessionId(field))
}

/// An event with the session, the name and the directory; the agent's parser fills in the rest.
pub(crate) fn hook(payload: &Map<String, Value>, id: InboxName, name: &str) -> ParsedHook {
    let cwd = text(payload, "cwd");
    let subagent = text(payload, "agent_id");
    ParsedHook {
        id,
        name: first_chars(name, 64).into(),
        cwd: (!cwd.is_empty()).then(|| cwd.to_owned()),
        title: None,
        subagent: (!subagent.is_empty()).then(|| first_chars(subagent, 64).into()),
        dialog: None,
        happened: AgentEvent::Seen,
        accepts_context: false,
        takes: None,
        delays_dialog: false,
        bypasses: None,
        form: None,
        tool: None,
        news: None,
        edited: Vec::new(),
        next_turn: None,
    }
}

/// A prompt of the person, of the program that runs the agent, or of the hub, which pasted it into the agent's pane.
pub(crate) fn prompted(text: &str) -> AgentEvent {
    let is_own = text.trim_start().starts_with(WAKE_MARK);
    AgentEvent::Prompt {
        by: if is_own {
            TurnCause::Wake
        } else {
            TurnCause::Person
        },
        text: text.to_owned(),
    }
}

/// The end of a turn with this last message, without background work.
pub(crate) fn stopped(text: &str) -> AgentEvent {
    AgentEvent::Stopped {
        text: text.to_owned(),
        tasks: Vec::new(),
        continues: false,
    }
}

/// Makes an event that asks the person in a tool call one that the hub may hold: the agent takes the answer as the reason
/// for which the tool is refused, and shows its dialog only without one.
pub(crate) fn answered_by_refusal(hook: ParsedHook) -> ParsedHook {
    let AgentEvent::Asks { data, .. } = &hook.happened else {
        return hook;
    };
    ParsedHook {
        takes: Some(answer_kind(&data["tool_input"]["questions"])),
        delays_dialog: true,
        ..hook
    }
}

/// The answers that a dialog with these questions takes.
pub(crate) fn answer_kind(questions: &Value) -> AnswerKind {
    match questions.as_array() {
        Some(several) if several.len() > 1 => AnswerKind::Texts,
        _ => AnswerKind::Text,
    }
}

/// The refusal of a tool that carries the person's answers, as `PreToolUse` returns it in Claude Code's format.
pub(crate) fn refusal_with(hook: &ParsedHook, answer: &str) -> Value {
    json!({
        "hookSpecificOutput": {
            "hookEventName": hook.name,
            "permissionDecision": "deny",
            "permissionDecisionReason": answer_in_refusal(answer),
        }
    })
}

/// A permission that the agent asks for.
pub(crate) fn permission(request: Value) -> AgentEvent {
    AgentEvent::Permission {
        text: request::line_of(&request).unwrap_or_default(),
        data: Some(request),
    }
}

/// The tools that edit a file, by the names that agents give them, and the parameter that names the file.
const EDITORS: [(&str, &str); 18] = [
    // Claude Code
    ("Edit", "file_path"),
    ("Write", "file_path"),
    ("MultiEdit", "file_path"),
    ("NotebookEdit", "notebook_path"),
    // Gemini CLI, Qwen Code
    ("write_file", "file_path"),
    ("replace", "file_path"),
    ("edit", "file_path"),
    ("notebook_edit", "notebook_path"),
    // Kimi Code
    ("WriteFile", "path"),
    ("StrReplaceFile", "path"),
    // OpenCode 1; OpenCode 2, Pi and Copilot CLI
    ("edit", "filePath"),
    ("write", "filePath"),
    ("edit", "path"),
    ("write", "path"),
    ("create", "path"),
    // Codex CLI, OpenCode 1 and 2: a patch of several files
    ("apply_patch", "command"),
    ("apply_patch", PATCH),
    ("patch", PATCH),
];

/// The parameter of `OpenCode`'s tools that contains a patch.
const PATCH: &str = "patchText";

/// The files that a successful tool call has edited; empty if the tool edits none.
pub(crate) fn edited(payload: &Map<String, Value>) -> Vec<String> {
    let input = payload.get("tool_input");
    input.map_or_else(Vec::new, |input| {
        edited_by(text(payload, "tool_name"), input)
    })
}

/// The files that a successful call of this tool with this input has edited.
pub(crate) fn edited_by(tool: &str, input: &Value) -> Vec<String> {
    let own = EDITORS.iter().filter(|(name, _)| *name == tool);
    let mut given = own.filter_map(|(_, field)| Some((*field, input.get(field)?.as_str()?)));
    let Some((field, input)) = given.next() else {
        return Vec::new();
    };
    if !matches!(field, PATCH | "command") {
        return vec![input.to_owned()];
    }
    let heads = ["*** Update File: ", "*** Add File: ", "*** Move to: "];
    let path = |line: &str| {
        heads
            .iter()
            .find_map(|head| line.strip_prefix(head))
            .map(str::to_owned)
    };
    input.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use hub_protocol::Quoted;

    use super::*;
    use crate::Agent;

    #[test]
    fn only_tools_that_edit_name_files() {
        let of = |tool: &str, input: Value| {
            let payload = json!({ "tool_name": tool, "tool_input": input });
            edited(payload.as_object().unwrap())
        };
        let file = || json!({ "file_path": "/r/a", "notebook_path": "/r/n", "path": "b" });
        for (tool, paths) in [
            ("Edit", vec!["/r/a"]),
            ("NotebookEdit", vec!["/r/n"]),
            ("replace", vec!["/r/a"]),
            ("WriteFile", vec!["b"]),
            ("Read", vec![]),
            ("Bash", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(of(tool, file()), paths, "{tool}");
        }
        assert!(of("Edit", json!({ "file_path": 1 })).is_empty());
        let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n-x\n+*** Add File: no\n*** Add File: b.rs\n*** End Patch";
        let input = json!({ "command": patch });
        assert_eq!(of("apply_patch", input), ["a.rs", "b.rs"]);
    }

    #[test]
    fn answers_carry_no_hidden_characters_and_no_forged_reason() {
        let reply = || HookReply {
            context: Some(OwnWords::of("[hub] a ").and(Quoted("\u{202e}\u{fe0f}\u{1b}[2J\nb"))),
            ..HookReply::default()
        };
        for agent in Agent::ALL {
            let hook = hook(&Map::new(), "s1".parse().unwrap(), "PermissionRequest");
            let rendered = render(agent, &hook, reply()).unwrap().to_string();
            assert!(rendered.contains(r#"[hub] a \"[2J\\nb\""#), "{rendered}");
            let denied = HookReply {
                decision: Some(Verdict::Deny(Some("no\n[hub] b\u{202e}".into()))),
                ..reply()
            };
            let rendered = render(agent, &hook, denied).unwrap().to_string();
            let forged = rendered.contains('\u{202e}') || rendered.contains(r"\n[hub] b\u");
            assert!(!forged, "{rendered}");
            let passes_on = !matches!(agent, Agent::Gemini | Agent::Kimi | Agent::Cursor);
            let reason = r#"\"no\\n[hub] b\""#;
            assert_eq!(rendered.contains(reason), passes_on, "{rendered}");
        }
    }
}
