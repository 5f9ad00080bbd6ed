//! The tool calls of a turn: an agent tells of each in pieces, which are merged by the call's id.

use serde_json::{Map, Value, json};

/// The tool calls of a session's present turn.
#[derive(Debug, Default)]
pub(crate) struct Calls(Map<String, Value>);

impl Calls {
    /// Merges a `tool_call`, a `tool_call_update` or the call of a permission; returns the whole of it.
    pub(crate) fn merge(&mut self, piece: &Value) -> &Value {
        let id = piece["toolCallId"].as_str().unwrap_or_default();
        let known = self.0.entry(id).or_insert_with(|| json!({}));
        if let (Some(known), Some(piece)) = (known.as_object_mut(), piece.as_object()) {
            let said = piece
                .iter()
                .filter(|(name, it)| !it.is_null() && *name != "sessionUpdate");
            known.extend(said.map(|(name, it)| (name.clone(), it.clone())));
        }
        known
    }

    /// The parameters of a permission, with all that was said of its call.
    pub(crate) fn asked(&mut self, params: &Value) -> Value {
        let mut asked = params.clone();
        if params["toolCall"].is_object() {
            asked["toolCall"] = self.merge(&params["toolCall"]).clone();
        }
        asked
    }

    /// Forgets the calls of a turn that has ended.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The event that reports this call to the hub, without the session's own fields; `None` for a piece that changes nothing
/// there. `asks` is whether a dialog is open: it stays open, although another call ends.
pub(crate) fn event(piece: &Value, call: &Value, asks: bool) -> Option<Value> {
    let ended = matches!(call["status"].as_str(), Some("completed" | "failed"));
    if piece["sessionUpdate"] != "tool_call" && !ended {
        return None;
    }
    let tool = json!({
        "id": call["toolCallId"],
        "name": call["kind"].as_str().unwrap_or("tool"),
        "on": call["title"].as_str().unwrap_or_default(),
        "ended": ended,
    });
    let edited = if call["status"] == "completed" {
        edited(call)
    } else {
        Vec::new()
    };
    Some(json!({ "hook_event_name": "acp.tool", "tool": tool, "edited": edited, "asks": asks }))
}

/// The files that a call has changed.
fn edited(call: &Value) -> Vec<&str> {
    let blocks = call["content"].as_array().into_iter().flatten();
    let diffs = blocks.filter(|it| it["type"] == "diff");
    diffs.filter_map(|it| it["path"].as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_a_call_are_one_call() {
        let mut calls = Calls::default();
        let begun = json!({
            "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Write n", "kind": "edit", "status": "pending",
            "content": [{"type": "diff", "path": "/n", "oldText": null, "newText": "x"}],
        });
        let whole = calls.merge(&begun).clone();
        assert_eq!(
            event(&begun, &whole, false).unwrap()["tool"]["ended"],
            false
        );
        // Vibe asks for a permission by the id alone.
        let asked = calls.asked(&json!({"toolCall": {"toolCallId": "t", "title": null}}));
        assert_eq!(asked["toolCall"]["content"][0]["path"], "/n");
        assert_eq!(asked["toolCall"]["title"], "Write n");
        let ends =
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"});
        let whole = calls.merge(&ends).clone();
        let ended = event(&ends, &whole, true).unwrap();
        assert_eq!(
            (&ended["tool"]["ended"], &ended["edited"], &ended["asks"]),
            (&json!(true), &json!(["/n"]), &json!(true))
        );
        calls.clear();
        assert_eq!(
            calls.merge(&json!({"toolCallId": "t"})),
            &json!({"toolCallId": "t"})
        );
    }
}
