//! The JSON of a hook, shortened for sending.

use hub_agents::{Agent, AgentEvent, ParsedHook, TurnCause, parse};
use hub_protocol::{CUT_MARK, InboxName, WAKE_MARK, for_model};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The most bytes of JSON: a mebibyte, less the overhead of a spool file.
const MAX_BYTES: usize = 1024 * 1024 - 16 * 1024;

/// The JSON of a hook, shortened.
#[derive(Debug)]
pub(crate) struct Payload {
    fields: Map<String, Value>,
    json: Box<RawValue>,
}

impl Payload {
    /// Parses `text` as an object. Adds `event` if the object names none. Leaves out the largest fields of one that is too
    /// large, and marks that. `None` if it is not an object.
    pub(crate) fn parse(text: &[u8], event: Option<&str>) -> Option<Self> {
        let mut fields = read(text)?;
        fields.remove("tool_response");
        if let Some(event) = event {
            fields
                .entry("hook_event_name")
                .or_insert_with(|| event.into());
        }
        let json = loop {
            let json = serde_json::value::to_raw_value(&fields).ok()?;
            if json.get().len() <= MAX_BYTES {
                break json;
            }
            leave_out_the_largest(&mut fields, text.len())?;
        };
        Some(Self { fields, json })
    }

    /// The JSON to send.
    pub(super) fn json(&self) -> &str {
        self.json.get()
    }

    /// The JSON to spool.
    pub(super) fn raw(&self) -> Box<RawValue> {
        self.json.clone()
    }

    /// The string `name`, if there is one.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.fields.get(name)?.as_str()
    }

    /// Whether the payload has the field `name` without a value.
    pub(super) fn is_null(&self, name: &str) -> bool {
        self.fields
            .get(name)
            .is_some_and(serde_json::Value::is_null)
    }

    /// The agent's id of the session, by any agent's name for it.
    pub(super) fn session(&self) -> Option<InboxName> {
        let names = ["session_id", "sessionId", "thread-id", "conversation_id"];
        let id = names.iter().find_map(|name| self.text(name))?;
        id.parse().ok()
    }

    /// The event's name; empty if there is none.
    pub(crate) fn event(&self) -> &str {
        ["hook_event_name", "hookEventName", "type"]
            .iter()
            .find_map(|name| self.text(name))
            .unwrap_or_default()
    }

    /// Whether the hub may hold the request for an answer by a person.
    pub(super) fn may_be_held(&self, agent: Agent) -> bool {
        let (facts, event) = (agent.facts(), self.event());
        let tool = || self.text("tool_name").or_else(|| self.text("toolName"));
        let is_tool = |it: (&str, &str)| event == it.0 && tool() == Some(it.1);
        facts.held.contains(&event) || facts.held_tool.is_some_and(is_tool) || self.is_answerable()
    }

    /// Whether the module within the agent can answer its dialog, which is shown meanwhile.
    fn is_answerable(&self) -> bool {
        self.fields.get("answerable").and_then(Value::as_bool) == Some(true)
    }

    /// Whether the agent shows a dialog in its terminal while the hub holds this request. Claude Code shows one of a subagent
    /// in the background afterwards.
    pub(super) fn has_open_dialog(&self, agent: Agent) -> bool {
        let during = agent.facts().dialog_during;
        let is_own = during == Some(self.event()) && self.text("agent_id").is_none();
        is_own || self.is_answerable()
    }

    /// Whether the event is the end of a turn.
    pub(super) fn is_stop(&self, agent: Agent) -> bool {
        agent.facts().stops.contains(&self.event())
    }

    /// Whether the event is the prompt of a wake.
    pub(super) fn is_of_wake(&self, agent: Agent) -> bool {
        let by = |it: &ParsedHook| match it.happened {
            AgentEvent::Prompt { by, .. } => Some(by),
            _ => None,
        };
        // Most hooks are none, and some are large.
        self.json().contains(WAKE_MARK)
            && parse(agent, &self.fields).is_ok_and(|it| by(&it) == Some(TurnCause::Wake))
    }

    /// Whether the event still matters if it arrives late.
    pub(super) fn is_eventful(&self, agent: Agent) -> bool {
        !agent.facts().heartbeats.contains(&self.event())
    }
}

/// Leaves out the largest field of a JSON of so many bytes, and marks that; `None` if there is none.
fn leave_out_the_largest(fields: &mut Map<String, Value>, size: usize) -> Option<()> {
    let given = fields.iter_mut().filter(|(_, it)| !it.is_null());
    let (_, largest) = given.max_by_key(|(_, it)| it.to_string().len())?;
    *largest = Value::Null;
    let mark = fields.entry(CUT_MARK);
    mark.or_insert_with(|| format!("{size} bytes").into());
    Some(())
}

/// Parses an object. An agent that cuts a text inside a character writes half a surrogate pair, which is invalid JSON;
/// `for_model` removes it.
fn read(text: &[u8]) -> Option<Map<String, Value>> {
    let text = std::str::from_utf8(text).ok()?;
    let fields = serde_json::from_str(text);
    fields
        .or_else(|_| serde_json::from_str(&for_model(text)))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(json: &str) -> Payload {
        Payload::parse(json.as_bytes(), None).unwrap()
    }

    #[test]
    fn a_tools_response_is_not_sent() {
        let given = r#"{"hook_event_name":"PostToolUse","tool_response":{"stdout":"secret"},"tool_input":{"tool_response":1}}"#;
        let sent: Value = serde_json::from_str(payload(given).json()).unwrap();
        assert_eq!(sent.get("tool_response"), None);
        assert_eq!(sent["tool_input"]["tool_response"], 1);
    }

    #[test]
    fn a_payload_that_is_too_large_is_sent_without_its_largest_fields() {
        let large = |of: &str| of.repeat(MAX_BYTES / 2 + 1);
        let given = serde_json::json!({ "hook_event_name": "PermissionRequest", "session_id": "s1",
            "tool_input": { "a": large("x") }, "more": large("y") });
        let given = given.to_string();
        let sent: Value = serde_json::from_str(payload(&given).json()).unwrap();
        assert_eq!(sent["session_id"], "s1");
        assert_eq!(sent["tool_input"], Value::Null);
        assert_eq!(sent["more"], large("y"));
        assert_eq!(sent[CUT_MARK], format!("{} bytes", given.len()));
    }

    #[test]
    fn a_text_that_is_not_an_object_is_refused() {
        let nested = format!("{}1{}", "[".repeat(30_000), "]".repeat(30_000));
        for text in ["", "[]", "1", "{", "null", r#"{"a":"\ud83d"#, &nested] {
            assert!(
                Payload::parse(text.as_bytes(), None).is_none(),
                "{text:.20}"
            );
        }
        assert!(Payload::parse(b"{\"a\":\"\xff\"}", None).is_none());
    }

    #[test]
    fn half_a_surrogate_pair_does_not_lose_the_rest() {
        let cut = payload(r#"{"hook_event_name":"Stop","last_assistant_message":"done \ud83d"}"#);
        assert_eq!(cut.text("last_assistant_message"), Some("done "));
    }

    #[test]
    fn the_payloads_event_name_takes_precedence_over_the_commands() {
        let named = |json: &str| {
            let payload = Payload::parse(json.as_bytes(), Some("agentStop")).unwrap();
            payload.event().to_owned()
        };
        assert_eq!(named(r#"{"hook_event_name":"Stop"}"#), "Stop");
        assert_eq!(named(r#"{"sessionId":"s"}"#), "agentStop");
        let codex = payload(r#"{"type":"agent-turn-complete"}"#);
        assert_eq!(codex.event(), "agent-turn-complete");
    }

    #[test]
    fn a_heartbeat_is_not_spooled_and_an_unknown_event_is() {
        use Agent::{Claude, Cursor, Gemini};
        let of = |event: &str| payload(&format!(r#"{{"hook_event_name":"{event}"}}"#));
        for (agent, event, matters) in [
            (Claude, "PreToolUse", false),
            (Claude, "MessageDisplay", false),
            (Gemini, "AfterTool", false),
            (Claude, "Stop", true),
            (Claude, "SessionStart", true),
            (Claude, "TeammateIdle", true),
            (Cursor, "stop", true),
        ] {
            assert_eq!(of(event).is_eventful(agent), matters, "{event}");
        }
    }

    #[test]
    fn a_dialog_is_open_while_its_hook_runs_in_claude_code_itself_and_where_a_module_answers_it() {
        let permission = payload(r#"{"hook_event_name":"PermissionRequest"}"#);
        assert!(permission.has_open_dialog(Agent::Claude));
        assert!(
            !permission.has_open_dialog(Agent::Codex) && !permission.has_open_dialog(Agent::Qwen)
        );
        for after in [
            r#"{"hook_event_name":"PermissionRequest","agent_id":"a"}"#,
            r#"{"hook_event_name":"Elicitation"}"#,
        ] {
            assert!(!payload(after).has_open_dialog(Agent::Claude), "{after}");
        }
        let asked = payload(r#"{"hook_event_name":"question.asked","answerable":true}"#);
        assert!(asked.has_open_dialog(Agent::OpenCode));
    }
}
