//! What a need is about, in one line: for the rows of lists, and for the feed.

use hub_protocol::{Kind, Notification, first_chars, reveal, single_spaced, with_ellipsis};
use serde_json::{Map, Value};

use super::asked;
use super::tool_request::{Split, in_order, is_informative, value_text};

/// The most characters of a line.
const WIDTH: usize = 240;

/// The line of a notification: of an agent's permission its request, else its words.
pub fn of(it: &Notification) -> String {
    let is_permission = it.kind == Kind::Approval && asked::of_hook(it).is_some();
    let request = asked::request_of(it).filter(|_| is_permission);
    request
        .and_then(of_request)
        .unwrap_or_else(|| of_text(&asked::words(it)))
}

/// The line of an agent's request: its tool, and its most informative field. `None` if it says nothing.
pub fn of_request(request: &Value) -> Option<String> {
    let Split { tool, input, rest } = Split::of(request.as_object()?);
    let object = input.as_ref().map_or(Some(&rest), Value::as_object);
    let argument = match (object, &input) {
        (Some(fields), _) => leading(fields).or_else(|| all(fields)),
        (None, input) => input.as_ref().and_then(listed),
    };
    let parts = [Some(tool).filter(|it| !it.is_empty()), argument];
    let said: Vec<_> = parts.into_iter().flatten().collect();
    (!said.is_empty()).then(|| cut(&said.join(": ")))
}

/// The most informative field of a tool's input.
pub fn leading(input: &Map<String, Value>) -> Option<String> {
    let (name, value) = in_order(input).next()?;
    listed(value).filter(|_| is_informative(name))
}

/// A text as a line, without the mark of a heading in Markdown.
pub fn of_text(text: &str) -> String {
    cut(without_mark(text))
}

/// A text without the mark of a heading at its beginning.
pub fn without_mark(text: &str) -> &str {
    let heading = text.trim_start_matches('#');
    match heading.strip_prefix(' ') {
        Some(words) if heading.len() < text.len() => words.trim_start(),
        _ => text,
    }
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

fn cut(text: &str) -> String {
    let line = reveal(&single_spaced(text));
    with_ellipsis(first_chars(&line, WIDTH), &line).into_owned()
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
            assert_eq!(of_request(&request).as_deref(), Some(line));
        }
        for empty in [
            json!(null),
            json!({}),
            json!({"tool_name": null, "tool_input": null}),
        ] {
            assert_eq!(of_request(&empty), None);
        }
        let long = of_request(&json!({"command": "x".repeat(WIDTH + 1)})).unwrap();
        assert_eq!(
            (long.chars().count(), long.ends_with('…')),
            (WIDTH + 1, true)
        );
    }

    #[test]
    fn a_heading_loses_its_mark_and_nothing_else_does() {
        for (text, line) in [
            ("# Plan: move\n\n1. Do", "Plan: move 1. Do"),
            ("## Done", "Done"),
            ("#12 is fixed", "#12 is fixed"),
            ("plain # text", "plain # text"),
        ] {
            assert_eq!(of_text(text), line);
        }
    }
}
