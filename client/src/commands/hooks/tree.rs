//! JSON of others that is edited in place: the order of members and the text of everything unchanged stay.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::Value;
use serde_json::ser::PrettyFormatter;
use serde_json::value::RawValue;

/// The byte order mark, with which some editors begin a file.
pub(super) const BOM: char = '\u{feff}';

/// A member of an object.
type Member = (String, Node);

/// A JSON value, parsed only as deep as needed.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// A value as it was written.
    Raw(Box<RawValue>),
    /// An object, with its members in their order.
    Object(Vec<Member>),
    /// An array.
    Array(Vec<Node>),
}

/// The members of an object, unparsed.
struct Members(Vec<(String, Box<RawValue>)>);

impl Node {
    /// Parses a document, which must be an object. An error says where it is invalid.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix(BOM).unwrap_or(text);
        // An empty file counts as an empty object, because agents may create one before they save a setting.
        if text.trim().is_empty() {
            return Ok(Self::Object(Vec::new()));
        }
        let not_json = |error| format!("is not JSON: {error}");
        // Validate the whole document, so that later parsing of its parts cannot fail.
        let _: Value = serde_json::from_str(text).map_err(not_json)?;
        let mut document = Self::Raw(serde_json::from_str(text).map_err(not_json)?);
        document
            .object()
            .map_err(|what| format!("as a whole {what}"))?;
        Ok(document)
    }

    /// A node with `value`, serialised.
    pub(super) fn of(value: &impl Serialize) -> Self {
        // Callers pass only strings, numbers and booleans, which cannot fail.
        Self::Raw(serde_json::value::to_raw_value(value).expect("a plain value"))
    }

    /// An object with these members.
    pub(super) fn object_of<const N: usize>(members: [(&str, Self); N]) -> Self {
        Self::Object(members.map(|(name, node)| (name.to_owned(), node)).into())
    }

    /// The members, if this is an object; else an error.
    pub(super) fn object(&mut self) -> Result<&mut Vec<Member>, String> {
        if let Self::Raw(raw) = self {
            let Members(members) = serde_json::from_str(raw.get())
                .map_err(|error| format!("is not a valid JSON object: {error}"))?;
            let members = members.into_iter();
            *self = Self::Object(members.map(|(name, raw)| (name, Self::Raw(raw))).collect());
        }
        match self {
            Self::Object(members) => Ok(members),
            _ => Err("is not an object".into()),
        }
    }

    /// The elements, if this is an array; else an error.
    pub(super) fn array(&mut self) -> Result<&mut Vec<Self>, String> {
        if let Self::Raw(raw) = self {
            let elements: Vec<Box<RawValue>> =
                serde_json::from_str(raw.get()).map_err(|_| "is not an array".to_owned())?;
            *self = Self::Array(elements.into_iter().map(Self::Raw).collect());
        }
        match self {
            Self::Array(elements) => Ok(elements),
            _ => Err("is not an array".into()),
        }
    }

    /// The member `name`, if there is one.
    pub(super) fn get(&mut self, name: &str) -> Result<Option<&mut Self>, String> {
        let member = self.object()?.iter_mut().find(|(known, _)| known == name);
        Ok(member.map(|(_, node)| node))
    }

    /// The member `name`; if there is none, it is added at the end with `default`.
    pub(super) fn get_or(&mut self, name: &str, default: Self) -> Result<&mut Self, String> {
        let members = self.object()?;
        let at = members.iter().position(|(known, _)| known == name);
        let at = at.unwrap_or_else(|| {
            members.push((name.to_owned(), default));
            members.len() - 1
        });
        Ok(&mut members[at].1)
    }

    /// Removes the member `name`.
    pub(super) fn remove(&mut self, name: &str) -> Result<(), String> {
        self.object()?.retain(|(known, _)| known != name);
        Ok(())
    }

    /// Whether this is a parsed object or array without content.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Raw(_) => false,
            Self::Object(members) => members.is_empty(),
            Self::Array(elements) => elements.is_empty(),
        }
    }

    /// The value, for comparison.
    pub(super) fn value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The text, indented with `indent`.
    pub(super) fn text(&self, indent: &str) -> String {
        let mut out = Vec::new();
        let formatter = PrettyFormatter::with_indent(indent.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
        // Serialising JSON into memory cannot fail.
        self.serialize(&mut serializer).expect("JSON");
        String::from_utf8(out).expect("JSON is UTF-8")
    }
}

/// The indentation of a document's first indented line; two spaces if there is none.
pub(super) fn indent_of(text: &str) -> &str {
    let indented = text.lines().skip(1).find_map(|line| {
        let rest = line.trim_start_matches([' ', '\t']);
        (!rest.is_empty() && rest.len() < line.len()).then(|| &line[..line.len() - rest.len()])
    });
    indented.unwrap_or("  ")
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Raw(raw) => raw.serialize(serializer),
            Self::Object(members) => {
                serializer.collect_map(members.iter().map(|(name, node)| (name, node)))
            }
            Self::Array(elements) => serializer.collect_seq(elements),
        }
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members: Vec<(String, Box<RawValue>)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, _>()? {
                    // Agents use one of two members with the same name; writing the object would lose the other.
                    if members.iter().any(|(known, _)| *known == name) {
                        return Err(A::Error::custom(format_args!("'{name}' occurs twice")));
                    }
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_parts_keep_their_text() {
        let text = "{\n    \"z\": [1.0,   2e3],\n    \"hooks\": {\n        \"B\": [],\n        \"A\": [1]\n    },\n    \"a\": \"\\u00e9\"\n}";
        let mut document = Node::parse(text).unwrap();
        let hooks = document.get("hooks").unwrap().unwrap();
        hooks
            .get_or("A", Node::Array(Vec::new()))
            .unwrap()
            .array()
            .unwrap()
            .push(Node::of(&2));
        assert_eq!(
            document.text(indent_of(text)),
            text.replace(
                "\"A\": [1]",
                "\"A\": [\n            1,\n            2\n        ]"
            )
        );
    }

    #[test]
    fn a_document_that_is_no_object_or_repeats_a_member_is_refused() {
        for (text, why) in [
            ("{", "is not JSON"),
            ("{} {}", "is not JSON"),
            ("// comment\n{}", "is not JSON"),
            ("[]", "is not a valid JSON object"),
            (r#"{"a":1,"a":2}"#, "'a' occurs twice"),
        ] {
            let error = Node::parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!(Node::parse(" \n").unwrap().is_empty());
    }

    #[test]
    fn the_indentation_is_taken_from_the_file() {
        assert_eq!(indent_of("{\n\t\"a\": 1\n}"), "\t");
        assert_eq!(indent_of("{\n    \"a\": 1\n}"), "    ");
        assert_eq!(indent_of("{}"), "  ");
    }
}
