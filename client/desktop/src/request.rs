//! An agent's request as a text, complete and unaltered, because a person approves exactly this text. The rules are those
//! of `web/core/tool.js`.

use std::fmt::Write as _;

use hub_protocol::is_hidden;
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
const TOOLS: [&str; 4] = ["tool_name", "tool", "toolName", "type"];
const INPUTS: [&str; 4] = ["tool_input", "input", "args", "arguments"];

/// A named field as a text.
type Part = (String, String);

/// The text of the request in an approval's data; `text` if it has no fields to show. Hidden characters are shown by
/// their code points.
pub(crate) fn request_text(data: Option<&Value>, text: &str) -> String {
    let parsed = data.and_then(parse);
    let (tool, mut parts) = parsed.unwrap_or_default();
    parts.retain(|(name, _)| !name.contains("suggestions"));
    if parts.is_empty() {
        return reveal(text);
    }
    let line = |(name, value): Part| match name.as_str() {
        "command" | "" => value,
        _ => format!("{name}: {value}"),
    };
    let lines: Vec<String> = parts.into_iter().map(line).collect();
    let tool = if tool.is_empty() {
        tool
    } else {
        format!("{tool}: ")
    };
    reveal(&format!("{tool}{}", lines.join("\n")))
}

/// The tool and the fields of a request, without those of a file's change.
fn parse(data: &Value) -> Option<(String, Vec<Part>)> {
    let Value::Object(all) = unwrap(data)? else {
        return Some((
            String::new(),
            vec![(String::new(), value_text(unwrap(data)?))],
        ));
    };
    let mut rest = all.clone();
    let tool = TOOLS
        .iter()
        .find(|key| rest.get(**key).is_some_and(Value::is_string));
    let tool = tool.and_then(|key| rest.shift_remove(*key));
    let input = INPUTS
        .iter()
        .find(|key| rest.get(**key).is_some_and(|it| !it.is_null()));
    let input = input.and_then(|key| rest.shift_remove(*key));
    if rest.get("suggestions").is_some_and(Value::is_array) {
        rest.shift_remove("suggestions");
    }
    let mut parts = match &input {
        None => Vec::new(),
        Some(Value::Object(input)) => parts_of(&without_change(input)),
        Some(other) => vec![(String::new(), value_text(other))],
    };
    parts.extend(parts_of(&rest));
    let tool = tool.as_ref().and_then(Value::as_str).unwrap_or_default();
    Some((tool.to_owned(), parts))
}

/// The request without the wrapper that the hub's hook added: `{via, event, request}`, or opencode's `{permission}`.
fn unwrap(data: &Value) -> Option<&Value> {
    let all = match data {
        Value::Object(all) if all.get("via").is_some_and(|via| via == "hook") => {
            all.get("request")?
        }
        other => other,
    };
    let inner = match all {
        Value::Object(all) if all.len() == 1 => all.get("permission").filter(|it| it.is_object()),
        _ => None,
    };
    Some(inner.unwrap_or(all)).filter(|it| !it.is_null())
}

/// The fields of an input that are no part of a change of a file (Edit, Write, `MultiEdit` and their like).
fn without_change(input: &Map<String, Value>) -> Map<String, Value> {
    let mut others = input.clone();
    let camel = others.shift_remove("filePath");
    let path = others.shift_remove("file_path").or_else(|| camel.clone());
    let contradicts = camel.is_some() && camel != path;
    if contradicts || !path.is_some_and(|it| it.is_string()) {
        return input.clone();
    }
    if let Some(others) = without_edit(&others) {
        return others;
    }
    if others.get("content").is_some_and(Value::is_string) {
        others.shift_remove("content");
        return others;
    }
    let edits = others.get("edits").and_then(Value::as_array);
    let is_whole = |edit: &Value| {
        let rest = edit.as_object().and_then(without_edit);
        rest.is_some_and(|rest| parts_of(&rest).is_empty())
    };
    if !edits.is_some_and(|it| !it.is_empty() && it.iter().all(is_whole)) {
        return input.clone();
    }
    others.shift_remove("edits");
    others
}

/// The fields that are no part of one edit; `None` if it is none, or contradicts itself.
fn without_edit(from: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut others = from.clone();
    for (snake, camel) in [("old_string", "oldString"), ("new_string", "newString")] {
        let camel = others.shift_remove(camel);
        let value = others.shift_remove(snake).or_else(|| camel.clone());
        if camel.is_some() && camel != value || !value.is_some_and(|it| it.is_string()) {
            return None;
        }
    }
    match others.shift_remove("replace_all") {
        None | Some(Value::Bool(_)) => Some(others),
        Some(_) => None,
    }
}

fn parts_of(fields: &Map<String, Value>) -> Vec<Part> {
    let rank = |name: &str| {
        LEADING
            .iter()
            .position(|it| *it == name)
            .unwrap_or(LEADING.len())
    };
    let there = fields.iter().filter(|(_, value)| !value.is_null());
    let mut parts: Vec<Part> = there
        .map(|(name, value)| (name.clone(), value_text(value)))
        .collect();
    parts.sort_by_key(|(name, _)| rank(name));
    parts
}

/// A text as it is, other data as JSON that people can read.
fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // Printing JSON cannot fail.
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

/// A text whose hidden characters are shown by their code points, except tabs and line feeds.
fn reveal(text: &str) -> String {
    shown(text, |c| is_hidden(c) && c != '\n' && c != '\t')
}

/// A text whose direction marks are shown by their code points instead of taking effect.
pub(crate) fn show_direction(text: &str) -> String {
    let is_direction = |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    shown(text, is_direction)
}

fn shown(text: &str, is_shown: impl Fn(char) -> bool) -> String {
    let mut all = String::with_capacity(text.len());
    for c in text.chars() {
        if is_shown(c) {
            // Writing to a String cannot fail.
            let _ = write!(all, "[U+{:04X}]", u32::from(c));
        } else {
            all.push(c);
        }
    }
    all
}
