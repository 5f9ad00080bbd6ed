//! Text from others, made safe for terminals.

use std::borrow::Cow;
use std::fmt::Write as _;

use hub_protocol::is_unprintable;

/// `text` on one line, with nothing in it that a terminal acts on: as in a JSON string, `\n`, `\t` and `\u…`.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |out, c| match c {
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        _ => push_unicode(out, c),
    })
}

/// JSON on one line, the same JSON with nothing in it that a terminal acts on. Lossless: a string may hold any
/// character as `\u…`, and outside of strings a control character is only space.
pub(crate) fn json_line(json: &str) -> Cow<'_, str> {
    escaped(json, |out, c| match c {
        '\n' | '\r' | '\t' => out.push(' '),
        _ => push_unicode(out, c),
    })
}

fn escaped(text: &str, push: impl Fn(&mut String, char)) -> Cow<'_, str> {
    if !text.chars().any(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unprintable(c) {
            push(&mut out, c);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn push_unicode(out: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        // Writing to a String cannot fail.
        let _ = write!(out, "\\u{unit:04x}");
    }
}

/// At most `width` characters of `text`, with an ellipsis where it was cut.
pub(crate) fn cut(text: &str, width: usize) -> Cow<'_, str> {
    match text.char_indices().nth(width) {
        None => Cow::Borrowed(text),
        Some((at, _)) => Cow::Owned(format!("{}…", &text[..at])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_acts_on_is_shown_as_an_escape() {
        assert_eq!(
            line("a\u{1b}[2J\u{9b}\u{202e}\r\n\tb\u{7f}"),
            "a\\u001b[2J\\u009b\\u202e\\u000d\\n\\tb\\u007f"
        );
        assert_eq!(line("plain ✓ é"), "plain ✓ é");
    }

    #[test]
    fn escaped_json_is_the_same_json() {
        let json = "{\"msg\":\"\u{9b}31m \u{202e} \u{e0041} \u{7f} \u{200b}\\u001b\",\n\t\"a\":1}";
        let shown = json_line(json);
        assert!(!shown.chars().any(is_unprintable), "{shown}");
        let (before, after): (serde_json::Value, serde_json::Value) = (
            serde_json::from_str(json).unwrap(),
            serde_json::from_str(&shown).unwrap(),
        );
        assert_eq!(before, after);
    }

    #[test]
    fn a_cut_says_so() {
        assert_eq!(cut("éàü", 3), "éàü");
        assert_eq!(cut("éàü", 2), "éà…");
    }
}
