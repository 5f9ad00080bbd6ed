//! An agent's tool request, complete and unaltered, because a person approves exactly what is shown of it.

use hub_agents::request::{Split, in_order, value_text};
use hub_protocol::{Edit, FileChange, Kind, Notification, RequestPart, ToolRequest};
use serde_json::{Map, Value};

use super::asked;
use super::risk::risks_of;

/// The request in an agent's payload or in the data of a client's approval; `None` if there is nothing in it.
fn tool_request(request: &Value) -> Option<ToolRequest> {
    let mut found = ToolRequest::default();
    if let Value::Object(all) = request {
        let Split { tool, input, rest } = Split::of(all);
        found.tool = tool;
        match input {
            Some(Value::Object(mut input)) => {
                found.change = take_change(&mut input);
                found.parts = parts(&input);
            }
            Some(other) => found.parts.extend(unnamed(&other)),
            None => {}
        }
        found.parts.extend(parts(&rest));
    } else {
        found.parts.extend(unnamed(request));
    }
    let commands = found.parts.iter().filter(|it| it.is_command());
    found.risks = commands.flat_map(|it| risks_of(&it.text)).collect();
    (found != ToolRequest::default()).then_some(found)
}

/// The request of an approval, with the words of a client that posted it.
pub fn request_of_approval(it: &Notification) -> Option<ToolRequest> {
    let is_approval = it.kind == Kind::Approval;
    let mut request = tool_request(asked::request_of(it).filter(|_| is_approval)?)?;
    if asked::of_hook(it).is_none() {
        let said = it.title.iter().chain([&it.msg]);
        let text = said.map(String::as_str).collect::<Vec<_>>().join("\n");
        let name = "message".to_owned();
        request.parts.insert(0, RequestPart { name, text });
    }
    Some(request)
}

fn unnamed(value: &Value) -> Option<RequestPart> {
    let text = value_text(value)?;
    Some(RequestPart {
        text,
        ..RequestPart::default()
    })
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

fn parts(object: &Map<String, Value>) -> Vec<RequestPart> {
    in_order(object)
        .filter_map(|(name, value)| {
            Some(RequestPart {
                name: name.clone(),
                text: value_text(value)?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pairs(request: &ToolRequest) -> Vec<(&str, &str)> {
        let parts = request.parts.iter();
        parts
            .map(|it| (it.name.as_str(), it.text.as_str()))
            .collect()
    }

    #[test]
    fn every_field_of_a_request_is_shown_the_command_first() {
        let request = json!({"tool_name": "Bash", "cwd": "/src", "suggestions": [],
            "tool_input": {"description": "d", "timeout": 5, "command": "rm -r x", "none": null}});
        let found = tool_request(&request).unwrap();
        assert_eq!(
            (found.tool.as_str(), &found.risks[..]),
            ("Bash", &["deletes files".to_owned()][..])
        );
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
        for none in [json!(null), json!({}), json!({"suggestions": []})] {
            assert_eq!(tool_request(&none), None);
        }
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
