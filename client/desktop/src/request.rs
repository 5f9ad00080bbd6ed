//! Texts of others on one notification.

use std::fmt::Write as _;

/// A text whose direction marks are shown by their code points instead of taking effect.
pub(crate) fn show_direction(text: &str) -> String {
    let is_direction = |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut all = String::with_capacity(text.len());
    for c in text.chars() {
        if is_direction(c) {
            // Writing to a String cannot fail.
            let _ = write!(all, "[U+{:04X}]", u32::from(c));
        } else {
            all.push(c);
        }
    }
    all
}
