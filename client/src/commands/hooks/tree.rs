//! JSON of others, of which only what is touched changes: the order of members and the text of everything else stay.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::Value;
use serde_json::ser::PrettyFormatter;
use serde_json::value::RawValue;

/// A member of an object.
type Member = (String, Node);

/// A JSON value, taken apart as far as it was needed.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// As it was written.
    Raw(Box<RawValue>),
    /// An object, in its order.
    Object(Vec<Member>),
    /// An array.
    Array(Vec<Node>),
}

/// The members of an object before they are looked at.
struct Members(Vec<(String, Box<RawValue>)>);

impl Node {
    /// Reads a document; an error says where it is wrong.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        // Nothing at all is what an agent leaves that never saved a setting.
        if text.trim().is_empty() {
            return Ok(Self::Object(Vec::new()));
        }
        let not_json = |error| format!("is not JSON: {error}");
        // All the way down, so that later looks at it cannot fail.
        let _: Value = serde_json::from_str(text).map_err(not_json)?;
        let mut document = Self::Raw(serde_json::from_str(text).map_err(not_json)?);
        document
            .object()
            .map_err(|what| format!("as a whole {what}"))?;
        Ok(document)
    }

    /// `value`, written anew.
    pub(super) fn of(value: &impl Serialize) -> Self {
        // Only what cannot fail is written: strings, numbers and booleans.
        Self::Raw(serde_json::value::to_raw_value(value).expect("a plain value"))
    }

    /// An object of these members.
    pub(super) fn object_of<const N: usize>(members: [(&str, Self); N]) -> Self {
        Self::Object(members.map(|(name, node)| (name.to_owned(), node)).into())
    }

    /// The members, if this is an object.
    pub(super) fn object(&mut self) -> Result<&mut Vec<Member>, String> {
        if let Self::Raw(raw) = self {
            let Members(members) = serde_json::from_str(raw.get())
                .map_err(|error| format!("is no sound object: {error}"))?;
            let members = members.into_iter();
            *self = Self::Object(members.map(|(name, raw)| (name, Self::Raw(raw))).collect());
        }
        match self {
            Self::Object(members) => Ok(members),
            _ => Err("is no object".into()),
        }
    }

    /// The elements, if this is an array.
    pub(super) fn array(&mut self) -> Result<&mut Vec<Self>, String> {
        if let Self::Raw(raw) = self {
            let elements: Vec<Box<RawValue>> =
                serde_json::from_str(raw.get()).map_err(|_| "is no array".to_owned())?;
            *self = Self::Array(elements.into_iter().map(Self::Raw).collect());
        }
        match self {
            Self::Array(elements) => Ok(elements),
            _ => Err("is no array".into()),
        }
    }

    /// The member `name`, if there is one.
    pub(super) fn get(&mut self, name: &str) -> Result<Option<&mut Self>, String> {
        let member = self.object()?.iter_mut().find(|(known, _)| known == name);
        Ok(member.map(|(_, node)| node))
    }

    /// The member `name`, made with `default` at the end where there is none.
    pub(super) fn get_or(&mut self, name: &str, default: Self) -> Result<&mut Self, String> {
        let members = self.object()?;
        let at = members.iter().position(|(known, _)| known == name);
        let at = at.unwrap_or_else(|| {
            members.push((name.to_owned(), default));
            members.len() - 1
        });
        Ok(&mut members[at].1)
    }

    /// Takes the member `name` away.
    pub(super) fn remove(&mut self, name: &str) -> Result<(), String> {
        self.object()?.retain(|(known, _)| known != name);
        Ok(())
    }

    /// Whether this is an object or array without content.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Raw(_) => false,
            Self::Object(members) => members.is_empty(),
            Self::Array(elements) => elements.is_empty(),
        }
    }

    /// The value, to be compared or looked at.
    pub(super) fn value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The text, indented by `indent` as the rest of the file is.
    pub(super) fn text(&self, indent: &str) -> String {
        let mut out = Vec::new();
        let formatter = PrettyFormatter::with_indent(indent.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
        // A tree of JSON into memory.
        self.serialize(&mut serializer).expect("JSON");
        String::from_utf8(out).expect("JSON is UTF-8")
    }
}

/// The indentation of a document, by its first indented line.
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
                    // Agents read one of the two; to write either would lose the other.
                    if members.iter().any(|(known, _)| *known == name) {
                        return Err(A::Error::custom(format_args!("'{name}' is there twice")));
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
    fn what_is_not_touched_keeps_its_text() {
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
    fn what_is_no_object_or_has_a_member_twice_is_refused() {
        for (text, why) in [
            ("{", "is not JSON"),
            ("{} {}", "is not JSON"),
            ("// comment\n{}", "is not JSON"),
            ("[]", "is no sound object"),
            (r#"{"a":1,"a":2}"#, "'a' is there twice"),
        ] {
            let error = Node::parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!(Node::parse(" \n").unwrap().is_empty());
    }

    #[test]
    fn the_indentation_is_the_files_own() {
        assert_eq!(indent_of("{\n\t\"a\": 1\n}"), "\t");
        assert_eq!(indent_of("{\n    \"a\": 1\n}"), "    ");
        assert_eq!(indent_of("{}"), "  ");
    }
}
