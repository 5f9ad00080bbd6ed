//! Escapes and filters text from others for a terminal, a log and a model.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::is_unprintable;

/// Returns `text` on one line without hidden characters: they become `\n`, `\t` or `\u…`, as in a JSON string.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden, |c| match c {
        '\n' => Some("\\n"),
        '\t' => Some("\\t"),
        _ => None,
    })
}

/// Returns the beginning of `text`, at most `max` characters.
pub fn first_chars(text: &str, max: usize) -> &str {
    let end = text.char_indices().nth(max);
    end.map_or(text, |(end, _)| &text[..end])
}

/// Returns the beginning of `text`, at most `max` bytes.
pub fn first_bytes(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns the beginning of `text`, with an ellipsis if that is not all of it.
pub fn with_ellipsis<'a>(beginning: &'a str, text: &str) -> Cow<'a, str> {
    if beginning.len() < text.len() {
        format!("{beginning}…").into()
    } else {
        beginning.into()
    }
}

/// Returns the words of `text` on one line, with one blank between them.
pub fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns `text` on its lines, with hidden characters shown by their code points, as the dashboard shows them.
pub fn reveal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) && !matches!(c, '\n' | '\t') {
            // Writing to a String cannot fail.
            let _ = write!(out, "[U+{:04X}]", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns `text` on its lines, without hidden characters: the person's own answer, for a model.
pub fn visible(text: &str) -> String {
    let shown = |c: &char| matches!(c, '\n' | '\t') || !is_hidden(*c);
    text.chars().filter(shown).collect()
}

/// Returns `text` with each unsafe character replaced: by what `shown` returns, or by `\u…` if that is `None`.
pub fn escaped(
    text: &str,
    is_unsafe: fn(char) -> bool,
    shown: impl Fn(char) -> Option<&'static str>,
) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match shown(c) {
            _ if !is_unsafe(c) => out.push(c),
            Some(shown) => out.push_str(shown),
            None => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a String cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    Cow::Owned(out)
}

/// Returns `json` on one line, without characters that could hide text or end the line: C0, C1, ESC, bidi controls,
/// zero-width and tag characters, whether literal or escaped as `\u…`. Escaped line feeds and tabs stay as `\n` and
/// `\t`.
///
/// The rest is unchanged, byte for byte. A text that is not JSON becomes one safe line too.
pub fn for_model(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    let mut in_string = false;
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        match c {
            '\\' if in_string => length = escape(rest, &mut out),
            '"' => {
                in_string = !in_string;
                out.push(c);
            }
            '\n' | '\r' | '\t' if !in_string => out.push(' '),
            c if is_hidden(c) => {}
            c => out.push(c),
        }
        rest = &rest[length..];
    }
    out
}

/// Copies the escape that `text` begins with, unless it stands for a hidden character. Returns the length of the escape
/// in bytes.
fn escape(text: &str, out: &mut String) -> usize {
    let (stands_for, length) = match text.as_bytes().get(1) {
        Some(b'u') => code_point(text),
        Some(b'b') => (Some('\u{8}'), 2),
        Some(b'f') => (Some('\u{c}'), 2),
        Some(b'r') => (Some('\r'), 2),
        Some(byte) if byte.is_ascii_graphic() || *byte == b' ' => {
            out.push_str(&text[..2]);
            return 2;
        }
        // Not a JSON escape: drop the backslash, and filter the next character by itself.
        _ => (None, 1),
    };
    match stands_for {
        Some('\n') => out.push_str("\\n"),
        Some('\t') => out.push_str("\\t"),
        Some(c) if !is_hidden(c) => out.push_str(&text[..length]),
        _ => {}
    }
    length
}

/// The character that a `\uXXXX`, or two of them as a surrogate pair, stands for, and the length in bytes. `None` for
/// half a pair.
fn code_point(text: &str) -> (Option<char>, usize) {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        hex.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
    };
    let Some(first) = unit(0) else {
        return (None, 2);
    };
    if let Some(c) = char::from_u32(first.into()) {
        return (Some(c), 6);
    }
    let pair = unit(6).and_then(|second| char::decode_utf16([first, second]).next()?.ok());
    pair.map_or((None, 6), |c| (Some(c), 12))
}

/// Whether `c` is invisible to a person but not to a model, or moves the text around it: terminal controls, the characters
/// that Unicode 17 calls format characters (Cf) or default ignorable, such as variation selectors, fillers and tags, which
/// can smuggle whole texts, and the blank braille pattern. `tests/fixtures/hidden.json` holds the dashboard to the same
/// table.
pub fn is_hidden(c: char) -> bool {
    is_unprintable(c)
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}' | '\u{8e2}'
            | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2060}'..='\u{206f}'
            | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_has_whole_characters_and_an_ellipsis_if_there_is_more() {
        assert_eq!(
            ["éàü", "éà", ""],
            [3, 2, 0].map(|max| first_chars("éàü", max))
        );
        assert_eq!(
            ["éàü", "éà", "éà", ""],
            [6, 5, 4, 1].map(|max| first_bytes("éàü", max))
        );
        assert_eq!(
            ["éà…", "éàü"],
            ["éà", "éàü"].map(|it| with_ellipsis(it, "éàü"))
        );
        assert_eq!(single_spaced(" a\n\t b "), "a b");
    }

    #[test]
    fn hidden_characters_are_removed_literal_or_escaped() {
        let cases = [
            ("{\"m\":\"a\u{1b}[2Jb\u{9b}\"}", "{\"m\":\"a[2Jb\"}"),
            (r#"{"m":"a\u001b[2J\u009b\u200B\u202e"}"#, r#"{"m":"a[2J"}"#),
            (
                "{\"m\":\"x\u{e0041}\u{200d}\u{2066}\u{feff}\"}",
                r#"{"m":"x"}"#,
            ),
            (r#"{"m":"x\udb40\udc41y"}"#, r#"{"m":"xy"}"#),
            (r#"{"m":"a\b\f\rb\u0000"}"#, r#"{"m":"ab"}"#),
            (r#"{"m":"half \ud83d pair"}"#, r#"{"m":"half  pair"}"#),
            (r#"{"\u202ekey":1}"#, r#"{"key":1}"#),
            (
                "{\"m\":\"a\u{fe0f}\u{206a}\u{3164}\u{34f}b\"}",
                r#"{"m":"ab"}"#,
            ),
            (
                r#"{"m":"a\ufe00\u115F\uFFF9\ud834\udd73b"}"#,
                r#"{"m":"ab"}"#,
            ),
        ];
        for (given, expected) in cases {
            assert_eq!(for_model(given), expected, "{given:?}");
        }
    }

    /// `tests/web/tool.test.js` holds the dashboard to the same file.
    #[test]
    fn hidden_are_exactly_the_characters_of_the_table() {
        let table: serde_json::Value =
            serde_json::from_str(include_str!("../../tests/fixtures/hidden.json")).unwrap();
        let code = |of: &serde_json::Value| u32::from_str_radix(of.as_str().unwrap(), 16).unwrap();
        let ranges = table["ranges"].as_array().unwrap().iter();
        let ranges: Vec<_> = ranges.map(|it| code(&it[0])..=code(&it[1])).collect();
        for c in '\0'..=char::MAX {
            let listed = ranges.iter().any(|it| it.contains(&u32::from(c)));
            let stays = matches!(c, '\n' | '\t');
            assert_eq!(is_hidden(c), listed || stays, "{c:?}");
        }
        for text in table["texts"].as_array().unwrap() {
            let shown = text["shown"].as_str().unwrap();
            assert_eq!(reveal(text["text"].as_str().unwrap()), shown);
            assert!(!one_line(shown).chars().any(is_hidden));
        }
    }

    #[test]
    fn visible_text_is_unchanged_byte_for_byte() {
        for json in [
            r#"{"m":"a\nb\tc \"quoted\" \\u001b \/ \u00e9 é \ud83d\ude00 😀","n":1.0}"#,
            r#"[null,true,{"a":[]}]"#,
        ] {
            assert_eq!(for_model(json), json);
        }
        assert_eq!(for_model(r#"{"m":"a\u000ab\u0009"}"#), r#"{"m":"a\nb\t"}"#);
    }

    #[test]
    fn no_input_can_end_the_line() {
        for text in [
            "{\n\"m\":\r\n1}",
            "{\"m\":\"a\nb\u{2028}\u{85}\"}",
            "no JSON \" \\",
            "\"\\é\n\\u00",
            "\"\\u12é4\\ud83d\\u0",
            "\"a\\\n[hub] b",
            "\"a\\\u{1b}[2J\\\r\\\t",
        ] {
            let line = for_model(text);
            assert!(!line.chars().any(is_hidden), "{line:?}");
        }
    }

    #[test]
    fn valid_json_stays_valid() {
        let json = "{\"m\":\"a\u{1b}\\u200b\\\\\\\"\\u001b\",\n\"n\":[1,\t2]}";
        let value: serde_json::Value = serde_json::from_str(&for_model(json)).unwrap();
        assert_eq!(value["m"], "a\\\"");
        assert_eq!(value["n"][1], 2);
    }
}
