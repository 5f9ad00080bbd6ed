//! A hook's JSON, made small enough to send.

use hub_protocol::for_model;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Bytes of one string; more is a file or an output, of which nobody is told more than the beginning.
const MAX_STRING: usize = 8 * 1024;

/// Bytes of JSON: a mebibyte, less what a spool file adds.
const MAX_BYTES: usize = 1024 * 1024 - 16 * 1024;

/// Events that come many times a turn and change nothing once they are over, by any agent's name for them.
const HEARTBEATS: [&str; 24] = [
    // Claude Code, Codex
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "MessageDisplay",
    // Gemini
    "BeforeTool",
    "AfterTool",
    "BeforeModel",
    "AfterModel",
    "BeforeToolSelection",
    // OpenCode
    "tool.execute.before",
    "tool.execute.after",
    "message.updated",
    "message.part.updated",
    // Copilot, Cursor
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "beforeShellExecution",
    "afterShellExecution",
    "beforeMCPExecution",
    "afterMCPExecution",
    "beforeReadFile",
    "afterFileEdit",
    "afterAgentThought",
];

/// What an agent says, trimmed.
#[derive(Debug)]
pub(crate) struct Payload {
    fields: Map<String, Value>,
    json: Box<RawValue>,
}

impl Payload {
    /// Reads `text`, an object; `event` is added where it names none. Nothing where it is no object, or too large
    /// without its longest strings.
    pub(crate) fn parse(text: &[u8], event: Option<&str>) -> Option<Self> {
        let mut fields = read(text)?;
        fields.remove("tool_response");
        fields.values_mut().for_each(shorten);
        if let Some(event) = event {
            fields
                .entry("hook_event_name")
                .or_insert_with(|| event.into());
        }
        let json = serde_json::value::to_raw_value(&fields).ok()?;
        (json.get().len() <= MAX_BYTES).then_some(Self { fields, json })
    }

    /// What is sent.
    pub(super) fn json(&self) -> &str {
        self.json.get()
    }

    /// What is kept.
    pub(super) fn raw(&self) -> Box<RawValue> {
        self.json.clone()
    }

    /// The string `name`, if there is one.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.fields.get(name)?.as_str()
    }

    /// The event's name, empty where it has none.
    pub(super) fn event(&self) -> &str {
        ["hook_event_name", "hookEventName", "type"]
            .iter()
            .find_map(|name| self.text(name))
            .unwrap_or_default()
    }

    /// Whether the hub may wait for somebody before it answers.
    pub(super) fn may_be_held(&self) -> bool {
        self.event() == "PermissionRequest"
    }

    /// Whether it still says something when it comes late.
    pub(super) fn is_eventful(&self) -> bool {
        !HEARTBEATS.contains(&self.event())
    }
}

/// Reads an object. An agent that cuts a text in the middle of a character writes half a surrogate pair, which is no
/// JSON: without it, it is.
fn read(text: &[u8]) -> Option<Map<String, Value>> {
    let text = std::str::from_utf8(text).ok()?;
    let fields = serde_json::from_str(text);
    fields
        .or_else(|_| serde_json::from_str(&for_model(text)))
        .ok()
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > MAX_STRING => {
            let end = (0..=MAX_STRING).rfind(|&at| text.is_char_boundary(at));
            text.truncate(end.unwrap_or_default());
        }
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(json: &str) -> Payload {
        Payload::parse(json.as_bytes(), None).unwrap()
    }

    #[test]
    fn what_a_tool_answered_stays_here() {
        let given = r#"{"hook_event_name":"PostToolUse","tool_response":{"stdout":"secret"},"tool_input":{"tool_response":1}}"#;
        let sent: Value = serde_json::from_str(payload(given).json()).unwrap();
        assert_eq!(sent.get("tool_response"), None);
        assert_eq!(sent["tool_input"]["tool_response"], 1);
    }

    #[test]
    fn every_string_is_cut_at_a_character() {
        let long = "é".repeat(MAX_STRING);
        let given = serde_json::json!({"a": format!("x{long}"), "b": [{"c": long}], "d": "short"});
        let sent: Value = serde_json::from_str(payload(&given.to_string()).json()).unwrap();
        assert_eq!(sent["a"].as_str().unwrap().len(), MAX_STRING - 1);
        assert_eq!(sent["b"][0]["c"].as_str().unwrap().len(), MAX_STRING);
        assert_eq!(sent["d"], "short");
    }

    #[test]
    fn what_is_no_object_is_no_hook() {
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
    fn half_a_character_does_not_lose_the_rest() {
        let cut = payload(r#"{"hook_event_name":"Stop","last_assistant_message":"done \ud83d"}"#);
        assert_eq!(cut.text("last_assistant_message"), Some("done "));
    }

    #[test]
    fn an_event_is_named_by_the_payload_before_the_command() {
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
    fn a_heartbeat_is_not_worth_keeping_and_the_unknown_is() {
        let of = |event: &str| payload(&format!(r#"{{"hook_event_name":"{event}"}}"#));
        for event in ["PreToolUse", "MessageDisplay", "AfterTool"] {
            assert!(!of(event).is_eventful(), "{event}");
        }
        for event in ["Stop", "SessionStart", "TeammateIdle", "stop"] {
            assert!(of(event).is_eventful(), "{event}");
        }
    }
}
