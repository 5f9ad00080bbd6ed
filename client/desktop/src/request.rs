//! An agent's request as a text, complete and unaltered, because a person approves exactly this text. The rules are those
//! of `web/core/alerts.js`.

use std::fmt::Write as _;

use hub_needs::{ToolRequest, tool_request};
use hub_protocol::is_hidden;
use serde_json::Value;

/// The text of the request in an approval's data; `text` if it has no fields to show. Hidden characters are shown by
/// their code points.
pub(crate) fn request_text(data: Option<&Value>, text: &str) -> String {
    let ToolRequest { tool, parts, .. } = data.and_then(tool_request).unwrap_or_default();
    let parts = parts.into_iter();
    let lines = parts.filter(|(name, _)| !name.contains("suggestions"));
    let lines = lines.map(|(name, value)| match name.as_str() {
        "command" | "" => value,
        _ => format!("{name}: {value}"),
    });
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return reveal(text);
    }
    let tool = if tool.is_empty() {
        tool
    } else {
        format!("{tool}: ")
    };
    reveal(&format!("{tool}{}", lines.join("\n")))
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
