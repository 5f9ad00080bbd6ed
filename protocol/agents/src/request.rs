//! What an agent asks to do, as its hook describes it: taken apart, and in one line.

use hub_protocol::{first_chars, reveal, single_spaced, with_ellipsis};
use serde_json::{Map, Value};

/// The most characters of a line.
const WIDTH: usize = 240;

/// The most informative fields of a request, in the order in which they are shown first.
const LEADING: [&str; 14] = [
    "command",
    "cmd",
    "plan",
    "file_path",
    "filePath",
    "filepath",
    "notebook_path",
    "path",
    "url",
    "pattern",
    "patterns",
    "resources",
    "description",
    "prompt",
];

/// The names that agents give to the tool of a request.
pub const TOOL: [&str; 4] = ["tool_name", "tool", "toolName", "type"];
/// The names that agents give to its input.
pub const INPUT: [&str; 4] = ["tool_input", "input", "args", "arguments"];

/// A request, taken apart.
pub struct Split {
    /// The tool's name; empty if the request names none.
    pub tool: String,
    /// The tool's input, unless it is null.
    pub input: Option<Value>,
    /// The other fields. The agent's suggested rules are no part of the request: another answer applies them.
    pub rest: Map<String, Value>,
}

impl Split {
    /// Takes a request in any agent's format apart.
    pub fn of(request: &Map<String, Value>) -> Self {
        let mut rest = request.clone();
        let mut take = |names: &[&str], is_it: fn(&Value) -> bool| {
            let mut names = names.iter();
            let name = names.find(|name| rest.get(**name).is_some_and(is_it))?;
            rest.shift_remove(*name)
        };
        let tool = take(&TOOL, Value::is_string).as_ref().and_then(value_text);
        let input = take(&INPUT, |it| !it.is_null());
        take(&["suggestions"], Value::is_array);
        Self {
            tool: tool.unwrap_or_default(),
            input,
            rest,
        }
    }
}

/// The line of an agent's request: its tool, and its most informative field. `None` if it says nothing.
pub fn line_of(request: &Value) -> Option<String> {
    let Split { tool, input, rest } = Split::of(request.as_object()?);
    let object = input.as_ref().map_or(Some(&rest), Value::as_object);
    let argument = match (object, &input) {
        (Some(fields), _) => leading(fields).or_else(|| all(fields)),
        (None, input) => input.as_ref().and_then(listed),
    };
    let parts = [Some(tool).filter(|it| !it.is_empty()), argument];
    let said: Vec<_> = parts.into_iter().flatten().collect();
    (!said.is_empty()).then(|| one_line(&said.join(": ")))
}

/// The most informative field of a tool's input.
pub fn leading(input: &Map<String, Value>) -> Option<String> {
    let (name, value) = in_order(input).next()?;
    listed(value).filter(|_| is_informative(name))
}

/// A text on one line that is not too long, with its hidden characters visible.
pub fn one_line(text: &str) -> String {
    let line = reveal(&single_spaced(text));
    with_ellipsis(first_chars(&line, WIDTH), &line).into_owned()
}

fn all(fields: &Map<String, Value>) -> Option<String> {
    let field = |(name, value)| Some(format!("{name}: {}", listed(value)?));
    let all: Vec<_> = in_order(fields).filter_map(field).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// A value for people; a list of texts without its brackets.
fn listed(value: &Value) -> Option<String> {
    let texts = value.as_array().map(|it| it.iter().map(Value::as_str));
    let texts = texts.and_then(Iterator::collect::<Option<Vec<_>>>);
    texts.map_or_else(|| value_text(value), |it| Some(it.join(", ")))
}

/// Whether a field says by itself what a request is for.
pub fn is_informative(name: &str) -> bool {
    LEADING.contains(&name)
}

/// The fields of a request, the most informative first.
pub fn in_order(object: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let place = |name: &str| LEADING.iter().position(|it| *it == name);
    let mut fields: Vec<_> = object.iter().collect();
    fields.sort_by_key(|(name, _)| place(name).unwrap_or(LEADING.len()));
    fields.into_iter()
}

/// A text as it is, other data as JSON that people can read; `None` for null.
pub fn value_text(value: &Value) -> Option<String> {
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

    #[test]
    fn a_request_is_its_tool_and_its_most_informative_field() {
        for (tool, input, line) in [
            (
                "Bash",
                json!({"description": "Builds", "command": "make\n  all"}),
                "Bash: make all",
            ),
            (
                "Edit",
                json!({"old_string": "a", "new_string": "b", "file_path": "/a"}),
                "Edit: /a",
            ),
            (
                "edit",
                json!({"patterns": ["a", "b"], "diff": "+x"}),
                "edit: a, b",
            ),
            (
                "transfer",
                json!({"to": "x", "amount": 3}),
                "transfer: to: x, amount: 3",
            ),
            ("Think", json!({}), "Think"),
            ("Say", json!("a\u{202e}b"), "Say: a[U+202E]b"),
        ] {
            let request = json!({"tool_name": tool, "tool_input": input, "suggestions": [{}]});
            assert_eq!(line_of(&request).as_deref(), Some(line));
        }
        for empty in [
            json!(null),
            json!({}),
            json!({"tool_name": null, "tool_input": null}),
        ] {
            assert_eq!(line_of(&empty), None);
        }
        let long = line_of(&json!({"command": "x".repeat(WIDTH + 1)})).unwrap();
        assert_eq!(
            (long.chars().count(), long.ends_with('…')),
            (WIDTH + 1, true)
        );
    }
}
