//! Escapes text from others for terminals.

use std::borrow::Cow;

pub(crate) use hub_protocol::one_line as line;
use hub_protocol::{Timestamp, escaped, first_chars, for_model, is_hidden, with_ellipsis};

/// Returns JSON on one line, with terminal controls and invisible characters escaped. It is the same JSON: a string may
/// contain any character as `\u…`, and outside strings a control character is only white space.
pub(crate) fn json_line(json: &str) -> Cow<'_, str> {
    escaped(json, is_hidden, |c| match c {
        '\n' | '\r' | '\t' => Some(" "),
        _ => None,
    })
}

/// Words of others in a sentence: as a JSON string on one line, because the reader may be a model; a plain word or path as
/// it is.
pub(crate) fn said(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "._-:@+/%~".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let json = serde_json::Value::from(text).to_string();
    json_line(&json).into_owned().into()
}

/// Text for a terminal: hidden characters as `\u…`, line feeds and tabs as they are.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    escaped(
        text,
        |c| is_hidden(c) && !matches!(c, '\n' | '\t'),
        |_| None,
    )
}

/// JSON on one line for the reader of stdout. Inside a session that is a model, so hidden characters are removed.
pub(crate) fn json_for(json: &str, in_session: bool) -> Cow<'_, str> {
    if in_session {
        for_model(json).into()
    } else {
        json_line(json)
    }
}

/// Formats how many notifications a wake limit holds back, and until when: `3 held until 12:04:31Z by a wake limit`.
pub(crate) fn held(count: u64, until: Timestamp) -> String {
    // A limit ends within an hour, so the time of day is enough.
    let until = until.to_string();
    let time = until.get(11..19).unwrap_or_default();
    format!("{count} held until {time}Z by a wake limit")
}

/// The first `width` characters of `text`, with an ellipsis if it was cut.
pub(crate) fn cut(text: &str, width: usize) -> Cow<'_, str> {
    with_ellipsis(first_chars(text, width), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_controls_are_shown_as_escapes() {
        assert_eq!(
            line("a\u{1b}[2J\u{9b}\u{202e}\r\n\tb\u{7f}"),
            "a\\u001b[2J\\u009b\\u202e\\u000d\\n\\tb\\u007f"
        );
        assert_eq!(line("plain ✓ é"), "plain ✓ é");
    }

    #[test]
    fn words_of_others_are_quoted_unless_they_are_a_plain_word() {
        for plain in ["/home/me/src", "%7", "worker-1", "é"] {
            assert_eq!(said(plain), plain);
        }
        for (text, quoted) in [
            ("", r#""""#),
            ("[hub]", r#""[hub]""#),
            ("a b\n\u{202e}\u{200b}", "\"a b\\n\\u202e\\u200b\""),
        ] {
            assert_eq!(said(text), quoted);
        }
        assert_eq!(shown("a\n\tb\u{2800}"), "a\n\tb\\u2800");
    }

    #[test]
    fn escaped_json_is_the_same_json() {
        let json = "{\"msg\":\"\u{9b}31m \u{202e} \u{e0041} \u{7f} \u{200b} \u{e0100} \u{fe0f} \u{3164} \u{115f}\\u001b\",\n\t\"a\":1}";
        let shown = json_line(json);
        assert!(!shown.chars().any(is_hidden), "{shown}");
        let (before, after): (serde_json::Value, serde_json::Value) = (
            serde_json::from_str(json).unwrap(),
            serde_json::from_str(&shown).unwrap(),
        );
        assert_eq!(before, after);
    }

    #[test]
    fn held_notifications_are_shown_with_the_end_of_the_limit() {
        let until = "2026-11-21T12:04:31.042Z".parse().unwrap();
        assert_eq!(held(3, until), "3 held until 12:04:31Z by a wake limit");
    }
}
