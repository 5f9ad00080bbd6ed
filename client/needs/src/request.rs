//! An agent's tool request, complete and unaltered, because a person approves exactly the text shown here.

use serde_json::{Map, Value};

/// The most informative fields, in the order in which they are shown first.
const LEADING: [&str; 9] = [
    "command",
    "cmd",
    "file_path",
    "filePath",
    "path",
    "url",
    "pattern",
    "description",
    "prompt",
];
const TOOL: [&str; 4] = ["tool_name", "tool", "toolName", "type"];
const INPUT: [&str; 4] = ["tool_input", "input", "args", "arguments"];

/// A tool request in any agent's format.
#[derive(Debug, Default, PartialEq)]
pub struct ToolRequest {
    /// The tool's name; empty if the request names none.
    pub tool: String,
    /// The fields that `change` does not show: name and text.
    pub parts: Vec<(String, String)>,
    /// The change of a file that it makes.
    pub change: Option<FileChange>,
}

/// A change of a file.
#[derive(Debug, PartialEq)]
pub struct FileChange {
    /// The path of the file.
    pub path: String,
    /// The edits, in their order.
    pub edits: Vec<Edit>,
}

/// A text of a file and its replacement.
#[derive(Debug, PartialEq)]
pub struct Edit {
    /// The text; empty if the whole file is written.
    pub before: String,
    /// Its replacement.
    pub after: String,
    /// Whether every occurrence is replaced.
    pub all: bool,
}

/// The request in the data of an approval; no field is left out.
pub fn tool_request(data: &Value) -> Option<ToolRequest> {
    let Value::Object(all) = unwrap(data) else {
        let text = value_text(unwrap(data))?;
        let parts = vec![(String::new(), text)];
        return Some(ToolRequest {
            parts,
            ..ToolRequest::default()
        });
    };
    let mut rest = all.clone();
    let tool = TOOL
        .iter()
        .find(|key| rest.get(**key).is_some_and(Value::is_string));
    let tool = tool.and_then(|key| value_text(&rest.shift_remove(*key)?));
    let input = INPUT
        .iter()
        .find(|key| rest.get(**key).is_some_and(|it| !it.is_null()));
    let input = input.and_then(|key| rest.shift_remove(*key));
    // The agent's suggested rules are no part of the request: a key of their own applies them.
    if rest.get("suggestions").is_some_and(Value::is_array) {
        rest.shift_remove("suggestions");
    }
    let (change, mut parts) = match input {
        Some(Value::Object(mut input)) => {
            let change = take_change(&mut input);
            (change, parts(&input))
        }
        Some(other) => (
            None,
            value_text(&other)
                .map(|it| (String::new(), it))
                .into_iter()
                .collect(),
        ),
        None => (None, Vec::new()),
    };
    parts.extend(self::parts(&rest));
    let found = ToolRequest {
        tool: tool.unwrap_or_default(),
        parts,
        change,
    };
    (found != ToolRequest::default()).then_some(found)
}

/// Removes the wrapper that the hub's hook added: `{via, event, request}`.
fn unwrap(data: &Value) -> &Value {
    if data["via"] == "hook" {
        &data["request"]
    } else {
        data
    }
}

/// Takes the change of a file (`Edit`, `Write`, `MultiEdit` and their like) out of an input. An input that describes it in
/// another way, or contradicts itself, stays whole.
fn take_change(input: &mut Map<String, Value>) -> Option<FileChange> {
    let mut rest = input.clone();
    let path = take(&mut rest, "file_path", "filePath")?;
    let edits = if let Some(edit) = take_edit(&mut rest) {
        vec![edit]
    } else if let Some(Value::String(after)) = rest.get("content").cloned() {
        rest.shift_remove("content");
        vec![Edit {
            before: String::new(),
            after,
            all: false,
        }]
    } else {
        let edits = rest.shift_remove("edits")?;
        let edits = edits.as_array()?.iter().map(|edit| {
            let mut edit = edit.as_object()?.clone();
            let found = take_edit(&mut edit)?;
            parts(&edit).is_empty().then_some(found)
        });
        edits
            .collect::<Option<Vec<_>>>()
            .filter(|it| !it.is_empty())?
    };
    *input = rest;
    Some(FileChange { path, edits })
}

fn take_edit(from: &mut Map<String, Value>) -> Option<Edit> {
    let mut rest = from.clone();
    let before = take(&mut rest, "old_string", "oldString")?;
    let after = take(&mut rest, "new_string", "newString")?;
    let all = match rest.shift_remove("replace_all") {
        None => false,
        Some(all) => all.as_bool()?,
    };
    *from = rest;
    Some(Edit { before, after, all })
}

/// Takes a text that has one of two names. Two different texts are none.
fn take(from: &mut Map<String, Value>, name: &str, other: &str) -> Option<String> {
    match (from.shift_remove(name), from.shift_remove(other)) {
        (Some(Value::String(text)), None) | (None, Some(Value::String(text))) => Some(text),
        (Some(Value::String(a)), Some(Value::String(b))) if a == b => Some(a),
        _ => None,
    }
}

fn parts(object: &Map<String, Value>) -> Vec<(String, String)> {
    let text = |(name, value): (&String, &Value)| Some((name.clone(), value_text(value)?));
    let mut parts: Vec<_> = object.iter().filter_map(text).collect();
    parts.sort_by_key(|(name, _)| {
        LEADING
            .iter()
            .position(|it| it == name)
            .unwrap_or(LEADING.len())
    });
    parts
}

/// A text as it is, other data as JSON that people can read; `None` for null.
fn value_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => serde_json::to_string_pretty(other).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pairs(request: &ToolRequest) -> Vec<(&str, &str)> {
        let parts = request.parts.iter();
        parts
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect()
    }

    #[test]
    fn every_field_of_a_request_is_shown_the_command_first() {
        let hook = json!({"via": "hook", "request": {"tool_name": "Bash", "cwd": "/src", "suggestions": [],
            "tool_input": {"description": "d", "timeout": 5, "command": "rm -r x", "none": null}}});
        let found = tool_request(&hook).unwrap();
        assert_eq!(found.tool, "Bash");
        let parts = [
            ("command", "rm -r x"),
            ("description", "d"),
            ("timeout", "5"),
            ("cwd", "/src"),
        ];
        assert_eq!(pairs(&found), parts);
        assert_eq!(
            pairs(&tool_request(&json!("text")).unwrap()),
            [("", "text")]
        );
        assert_eq!(tool_request(&json!({"via": "hook"})), None);
    }

    #[test]
    fn an_edit_is_a_change_unless_its_fields_contradict_each_other() {
        let change = |input: Value| tool_request(&json!({"tool": "Edit", "input": input})).unwrap();
        let edit = json!({"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": true, "more": 1});
        let found = change(edit);
        let edits = vec![Edit {
            before: "x".into(),
            after: "y".into(),
            all: true,
        }];
        assert_eq!(
            found.change,
            Some(FileChange {
                path: "a".into(),
                edits
            })
        );
        assert_eq!(pairs(&found), [("more", "1")]);
        for input in [
            json!({"filePath": "a", "file_path": "b", "old_string": "x", "new_string": "y"}),
            json!({"file_path": "a", "old_string": "x", "oldString": "z", "new_string": "y"}),
            json!({"file_path": "a", "edits": [{"old_string": "x", "new_string": "y", "note": "z"}]}),
            json!({"file_path": "a", "edits": []}),
        ] {
            let fields = input.as_object().unwrap().len();
            let found = change(input);
            assert_eq!((found.change, found.parts.len()), (None, fields));
        }
        let both = change(
            json!({"file_path": "a", "content": 1, "edits": [{"old_string": "x", "new_string": "y"}]}),
        );
        assert_eq!(pairs(&both), [("content", "1")]);
        let write = change(json!({"filePath": "a", "content": "new"}));
        assert_eq!(write.change.unwrap().edits[0].after, "new");
    }
}
