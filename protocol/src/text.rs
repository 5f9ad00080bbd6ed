//! Text from others, made safe for a model.

use crate::is_unprintable;

/// `json` on one line, without what could hide in its strings or end the line: C0, C1, ESC, bidi controls, zero-width
/// and tag characters, written out or as `\u…`. Line feeds and tabs stay as `\n` and `\t`.
///
/// The same JSON otherwise, byte for byte; what is no JSON becomes one safe line all the same.
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

/// Copies the escape that `text` begins with, unless it stands for something hidden; its length.
fn escape(text: &str, out: &mut String) -> usize {
    let (stands_for, length) = match text.as_bytes().get(1) {
        Some(b'u') => code_point(text),
        Some(b'b') => (Some('\u{8}'), 2),
        Some(b'f') => (Some('\u{c}'), 2),
        Some(b'r') => (Some('\r'), 2),
        Some(byte) if byte.is_ascii() => {
            out.push_str(&text[..2]);
            return 2;
        }
        // Not JSON: the backslash goes, what follows is looked at by itself.
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

/// What a `\uXXXX`, or two of them as a surrogate pair, stands for, and how long it is; nothing for half a pair.
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

/// Besides what a terminal acts on or hides: variation selectors, in which whole texts can be smuggled.
fn is_hidden(c: char) -> bool {
    is_unprintable(c) || matches!(c, '\u{ad}' | '\u{180e}' | '\u{e0080}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_is_taken_out_however_it_is_written() {
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
        ];
        for (given, expected) in cases {
            assert_eq!(for_model(given), expected, "{given:?}");
        }
    }

    #[test]
    fn what_is_meant_to_be_read_stays_byte_for_byte() {
        for json in [
            r#"{"m":"a\nb\tc \"quoted\" \\u001b \/ \u00e9 é \ud83d\ude00 😀","n":1.0}"#,
            r#"[null,true,{"a":[]}]"#,
        ] {
            assert_eq!(for_model(json), json);
        }
        assert_eq!(for_model(r#"{"m":"a\u000ab\u0009"}"#), r#"{"m":"a\nb\t"}"#);
    }

    #[test]
    fn nothing_ends_the_line() {
        for text in [
            "{\n\"m\":\r\n1}",
            "{\"m\":\"a\nb\u{2028}\u{85}\"}",
            "no JSON \" \\",
            "\"\\é\n\\u00",
            "\"\\u12é4\\ud83d\\u0",
        ] {
            let line = for_model(text);
            assert!(!line.chars().any(is_hidden), "{line:?}");
        }
    }

    #[test]
    fn json_stays_json() {
        let json = "{\"m\":\"a\u{1b}\\u200b\\\\\\\"\\u001b\",\n\"n\":[1,\t2]}";
        let value: serde_json::Value = serde_json::from_str(&for_model(json)).unwrap();
        assert_eq!(value["m"], "a\\\"");
        assert_eq!(value["n"][1], 2);
    }
}
