//! The text of a JSON object as it arrives: where it ends, without what the hub does not need.

use hub_protocol::{CUT_MARK, MAX_ITEM_BYTES};

/// A text that has this many bytes is cut before its next character. The hub keeps less of a text: it cuts this one again, and
/// says so.
const MAX_STRING: usize = MAX_ITEM_BYTES + 1;

/// The most bytes of an object that are kept.
const MAX_BYTES: usize = 2 * 1024 * 1024;

/// Once so many bytes are kept, the rest of each array and object within is left out; what the hub needs most are the fields
/// of the object itself.
const MAX_PARTS: usize = 640 * 1024;

/// A field that the hub does not need, as it is written: the result of a tool may be a whole file.
const UNNEEDED: &[u8] = b"\"tool_response\"";

/// An object so far.
#[derive(Debug, Default)]
pub(super) struct ObjectText {
    kept: Vec<u8>,
    /// The bytes that have arrived.
    size: usize,
    /// How many objects and arrays are open.
    depth: usize,
    string: Option<StringText>,
    /// Where the last string of the object itself begins.
    field: usize,
    skipped: Option<Skipped>,
    /// Whether parts that the hub may need are left out.
    is_cut: bool,
    is_complete: bool,
    too_much: bool,
}

/// What is left out, in the object or array of this depth.
#[derive(Debug, Clone, Copy)]
enum Skipped {
    /// A value.
    Value(usize),
    /// All that follows.
    Rest(usize),
}

impl Skipped {
    /// Whether a byte outside of strings, which leaves so many objects and arrays open, is not part of it any more.
    fn ends_with(self, byte: u8, depth: usize) -> bool {
        match self {
            Self::Value(at) => depth < at || depth == at && byte == b',',
            Self::Rest(at) => depth < at,
        }
    }
}

/// A string so far.
#[derive(Debug, Default)]
struct StringText {
    /// The least bytes that the text has: an escape stands for at least one.
    kept: usize,
    escaped: bool,
    /// The digits of a `\u` that are to come.
    digits: u8,
    is_cut: bool,
}

/// What a byte is to a string.
enum Part {
    End,
    Kept,
    Cut,
}

impl ObjectText {
    /// The shortened text of a whole object; `None` if it is still too large.
    pub(super) fn shortened(text: &[u8]) -> Option<Vec<u8>> {
        let mut object = Self::default();
        object.extend(text);
        object.into_text()
    }

    /// Takes what has arrived; returns whether the object is complete.
    pub(super) fn extend(&mut self, bytes: &[u8]) -> bool {
        self.is_complete = bytes.iter().any(|byte| self.push(*byte));
        self.is_complete
    }

    /// The shortened text. An object whose parts are left out says so.
    pub(super) fn into_text(mut self) -> Option<Vec<u8>> {
        if self.is_cut && self.is_complete {
            self.kept.pop();
            let mark = format!(",\"{CUT_MARK}\":\"{} bytes\"}}", self.size);
            self.kept.extend_from_slice(mark.as_bytes());
        }
        (!self.too_much).then_some(self.kept)
    }

    fn push(&mut self, byte: u8) -> bool {
        self.size += 1;
        if let Some(string) = &mut self.string {
            match string.take(byte) {
                Part::End => self.string = None,
                Part::Kept => {}
                Part::Cut => return false,
            }
            self.keep(byte);
            return false;
        }
        match byte {
            b'"' => {
                self.string = Some(StringText::default());
                if self.depth == 1 && self.skipped.is_none() {
                    self.field = self.kept.len();
                }
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b',' => self.leave_out_the_rest(),
            _ => {}
        }
        let depth = self.depth;
        self.skipped.take_if(|it| it.ends_with(byte, depth));
        self.keep(byte);
        if self.depth == 1 && byte == b':' && self.field() == UNNEEDED {
            self.kept.extend_from_slice(b"null");
            self.skipped = Some(Skipped::Value(1));
        }
        self.depth == 0 && matches!(byte, b'}' | b']')
    }

    /// At the end of an element, leaves out the others if the object has enough parts.
    fn leave_out_the_rest(&mut self) {
        if self.depth > 1 && self.skipped.is_none() && self.kept.len() >= MAX_PARTS {
            self.skipped = Some(Skipped::Rest(self.depth));
            self.is_cut = true;
        }
    }

    /// The name of the field whose value begins after a colon.
    fn field(&self) -> &[u8] {
        let name = self.kept.get(self.field..).unwrap_or_default();
        name.strip_suffix(b":").unwrap_or(name).trim_ascii_end()
    }

    fn keep(&mut self, byte: u8) {
        if self.skipped.is_some() || self.too_much {
            return;
        }
        self.too_much = self.kept.len() == MAX_BYTES;
        self.kept.push(byte);
    }
}

impl StringText {
    fn take(&mut self, byte: u8) -> Part {
        if byte == b'"' && !self.escaped {
            return Part::End;
        }
        let begins_character = !self.escaped && self.digits == 0 && byte & 0xc0 != 0x80;
        self.is_cut |= begins_character && self.kept >= MAX_STRING;
        let is_escape = self.escaped || self.digits > 0 || byte == b'\\';
        if self.escaped {
            self.escaped = false;
            self.digits = if byte == b'u' { 4 } else { 0 };
        } else if self.digits > 0 {
            self.digits -= 1;
        } else {
            self.escaped = byte == b'\\';
        }
        if self.is_cut {
            return Part::Cut;
        }
        // Of an escape, the backslash counts.
        self.kept += usize::from(!is_escape || begins_character);
        Part::Kept
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn shortened(text: &str) -> Value {
        let text = ObjectText::shortened(text.as_bytes()).unwrap();
        serde_json::from_slice(&text)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&text)))
    }

    #[test]
    fn an_object_is_complete_at_its_last_brace() {
        let text = br#" {"a":"}\"","b":[{"c":"\\"}]}"#;
        for end in 0..text.len() {
            assert!(!ObjectText::default().extend(&text[..end]), "{end}");
        }
        let mut object = ObjectText::default();
        assert!(object.extend(&[text, &b"\n{}"[..]].concat()));
        assert_eq!(object.into_text().unwrap(), text);
    }

    #[test]
    fn a_tools_response_is_left_out_whatever_it_holds() {
        let many = vec!["x"; MAX_BYTES / 3];
        for response in [
            json!("}\","),
            json!({"tool_response": [1]}),
            json!(many),
            json!(1),
        ] {
            let text =
                json!({"a": "tool_response", "tool_response": response, "z": {"tool_response": 1}});
            for text in [text.to_string(), format!("{text:#}")] {
                let kept = shortened(&text);
                let expected =
                    json!({"a": "tool_response", "tool_response": null, "z": {"tool_response": 1}});
                assert_eq!(kept, expected);
            }
        }
        assert_eq!(
            shortened(r#"{"tool_response":[1]}"#),
            json!({"tool_response": null})
        );
    }

    #[test]
    fn every_long_string_is_cut_at_a_character() {
        for character in ["é", "\\n", "\\u00e9", "x"] {
            let long = character.repeat(MAX_STRING);
            let text = format!(r#"{{"a":"{long}","b":[{{"c":"x{long}"}}],"d":"short"}}"#);
            let kept = shortened(&text);
            let character = shortened(&format!(r#"{{"a":"{character}"}}"#))["a"].clone();
            let character = character.as_str().unwrap();
            for cut in [&kept["a"], &kept["b"][0]["c"]] {
                let cut = cut.as_str().unwrap();
                let bytes = character.len();
                assert!(
                    cut.len() > MAX_ITEM_BYTES && cut.len() <= (MAX_STRING + 1) * bytes,
                    "{cut:.20}"
                );
                assert!(cut.ends_with(character), "{cut:.20}");
            }
            assert_eq!(kept["d"], "short");
        }
    }

    #[test]
    fn the_rest_of_many_parts_is_left_out_and_the_object_says_so() {
        let many = vec![vec![1; 100]; MAX_BYTES / 100];
        let edits = json!({ "a": many, "b": { "c": many } });
        let text =
            json!({ "id": "s1", "tool_input": { "edits": edits }, "z": [1, 2, 3], "last": "y" });
        let text = text.to_string();
        let kept = shortened(&text);
        assert_eq!(kept[CUT_MARK], format!("{} bytes", text.len()));
        assert_eq!((&kept["id"], &kept["last"]), (&json!("s1"), &json!("y")));
        assert_eq!(kept["tool_input"]["edits"]["a"][0], json!(vec![1; 100]));
        assert!(kept.to_string().len() < MAX_PARTS + 1024);
        assert_eq!(shortened(r#"{"a":[1,2]}"#).get(CUT_MARK), None);
    }

    #[test]
    fn an_object_of_too_many_fields_is_refused() {
        let field = |n: usize| format!("\"{n}\":1");
        let fields: Vec<String> = (0..MAX_BYTES / 4).map(field).collect();
        let object = format!("{{{}}}", fields.join(","));
        assert_eq!(ObjectText::shortened(object.as_bytes()), None);
    }
}
