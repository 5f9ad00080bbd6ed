//! The one line that describes a need in the rows of lists and in the feed.

use hub_agents::request::{line_of, one_line};
use hub_protocol::{Kind, Notification};

use super::asked;

/// The line of a notification: of an agent's permission its request, else its words.
pub fn of(it: &Notification) -> String {
    let is_permission = it.kind == Kind::Approval && asked::of_hook(it).is_some();
    let request = asked::request_of(it).filter(|_| is_permission);
    request
        .and_then(line_of)
        .unwrap_or_else(|| of_text(&asked::words(it)))
}

/// A text as a line, without the mark of a heading in Markdown.
pub fn of_text(text: &str) -> String {
    one_line(without_mark(text))
}

/// A text without the mark of a heading at its beginning.
pub fn without_mark(text: &str) -> &str {
    let heading = text.trim_start_matches('#');
    match heading.strip_prefix(' ') {
        Some(words) if heading.len() < text.len() => words.trim_start(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
