//! JSON of others that is edited in place: comments, the order of members, line ends and the text of everything unchanged
//! stay.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde::de::IgnoredAny;
use serde_json::Value;

/// The byte order mark, with which some editors begin a file.
pub(super) const BOM: char = '\u{feff}';

/// A file whose value is an object.
pub(super) struct Document {
    begins_with_bom: bool,
    root: CstRootNode,
    /// The object.
    pub(super) top: CstObject,
}

impl Document {
    /// Parses a file, with comments only if its agent reads them too. An error says where it is invalid.
    pub(super) fn parse(text: &str, has_comments: bool) -> Result<Self, String> {
        let body = text.strip_prefix(BOM);
        let begins_with_bom = body.is_some();
        let body = body.unwrap_or(text);
        let root = CstRootNode::parse(body, &options(has_comments))
            .map_err(|error| format!("is not JSON that its agent reads: {error}"))?;
        if !has_comments && !body.trim().is_empty() {
            // The parser overlooks comments around the value.
            serde_json::from_str::<IgnoredAny>(body)
                .map_err(|error| format!("is not JSON: {error}"))?;
        }
        // An empty file counts as an empty object, because agents may create one before they save a setting.
        let top = root
            .object_value_or_create()
            .ok_or("as a whole is not an object")?;
        demand_unique(&top)?;
        Ok(Self {
            begins_with_bom,
            root,
            top,
        })
    }

    /// The value, for comparison.
    pub(super) fn value(&self) -> Value {
        self.top.to_serde_value().unwrap_or_default()
    }

    /// The text of the file.
    pub(super) fn text(&self) -> String {
        let bom = if self.begins_with_bom { "\u{feff}" } else { "" };
        format!("{bom}{}", self.root)
    }
}

/// JSON as its standard defines it, or with comments.
fn options(has_comments: bool) -> ParseOptions {
    ParseOptions {
        allow_comments: has_comments,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// The value of the member `name`.
pub(super) fn value_of(object: &CstObject, name: &str) -> Option<Value> {
    object.get(name)?.value()?.to_serde_value()
}

/// The object `name` in `parent`; `None` if there is no such member.
pub(super) fn object(parent: &CstObject, name: &str) -> Result<Option<CstObject>, String> {
    let Some(member) = parent.get(name) else {
        return Ok(None);
    };
    let object = member.object_value();
    let object = object.ok_or_else(|| format!("its {name} is not an object"))?;
    demand_unique(&object)?;
    Ok(Some(object))
}

/// The object `name` in `parent`, which is added at the end if there is none.
pub(super) fn object_or_new(parent: &CstObject, name: &str) -> Result<CstObject, String> {
    if let Some(object) = object(parent, name)? {
        return Ok(object);
    }
    demand_line(&parent.children())?;
    if !parent.properties().is_empty() {
        parent.ensure_multiline();
    }
    Ok(parent.object_value_or_set(name))
}

/// The array `name` in `parent`, which is added at the end if there is none. An error calls `parent` by its name `of`.
pub(super) fn array_or_new(parent: &CstObject, of: &str, name: &str) -> Result<CstArray, String> {
    if parent.get(name).is_none() {
        demand_line(&parent.children())?;
        let array = parent.array_value_or_set(name);
        array.ensure_multiline();
        return Ok(array);
    }
    let array = parent.array_value(name);
    array.ok_or_else(|| format!("its {of}.{name} is not an array"))
}

/// Adds `value` at the end, an object on lines of its own.
pub(super) fn append(array: &CstArray, value: &Value) -> Result<(), String> {
    demand_line(&array.children())?;
    if value.is_object() && !array.elements().is_empty() {
        array.ensure_multiline();
    }
    array.append(input(value));
    Ok(())
}

/// Refuses a comment on the line of the closing bracket: the parser would take it for a comment on the value that is added,
/// and remove it with that.
fn demand_line(children: &[CstNode]) -> Result<(), String> {
    let mut end = children.iter().rev().skip(1);
    match end.find(|it| !it.is_whitespace()) {
        Some(comment) if comment.is_comment() => Err(format!(
            "has {comment} on the line of a closing bracket: put the bracket on a line of its own"
        )),
        _ => Ok(()),
    }
}

/// Removes the member `name`, if there is one.
pub(super) fn remove(object: &CstObject, name: &str) {
    if let Some(member) = object.get(name) {
        member.remove();
    }
}

/// Removes the elements for which `keep` returns false.
pub(super) fn retain(array: &CstArray, keep: impl Fn(&CstNode) -> bool) {
    for element in array.elements() {
        if !keep(&element) {
            element.remove();
        }
    }
}

/// The name of a member.
pub(super) fn name(member: &CstObjectProp) -> String {
    member.decoded_name().unwrap_or_default()
}

/// `value` as text to insert.
pub(super) fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(it) => CstInputValue::Bool(*it),
        Value::Number(it) => CstInputValue::Number(it.to_string()),
        Value::String(it) => CstInputValue::String(it.clone()),
        Value::Array(all) => CstInputValue::Array(all.iter().map(input).collect()),
        Value::Object(all) => {
            let members = all.iter().map(|(name, it)| (name.clone(), input(it)));
            CstInputValue::Object(members.collect())
        }
    }
}

/// Refuses two members with one name: agents use one of them, which need not be the one that is edited.
fn demand_unique(object: &CstObject) -> Result<(), String> {
    let names: Vec<String> = object.properties().iter().map(name).collect();
    let repeated = names.iter().enumerate();
    match repeated
        .into_iter()
        .find(|(n, it)| names[..*n].contains(it))
    {
        Some((_, name)) => Err(format!("'{name}' occurs twice")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unchanged_parts_keep_their_text() {
        let text = "{\r\n\t\"z\": [1.0,   2e3],\r\n\t\"hooks\": {\r\n\t\t\"B\": [],\r\n\t\t\"A\": [1]\r\n\t},\r\n\t\"a\": \"\\u00e9\"\r\n}";
        let document = Document::parse(text, false).unwrap();
        let hooks = object(&document.top, "hooks").unwrap().unwrap();
        let list = array_or_new(&hooks, "hooks", "A").unwrap();
        append(&list, &json!({"b": 2})).unwrap();
        let added = "[\r\n\t\t\t1,\r\n\t\t\t{\r\n\t\t\t\t\"b\": 2\r\n\t\t\t}\r\n\t\t]";
        assert_eq!(document.text(), text.replace("[1]", added));
    }

    #[test]
    fn a_comment_that_would_be_lost_with_our_value_is_refused() {
        for text in [
            "{\"a\": [] /* mine */}",
            "{\n/* mine */ }",
            "{\"hooks\": {/* mine */}}",
        ] {
            let document = Document::parse(text, true).unwrap();
            let hooks = object_or_new(&document.top, "hooks");
            let error = hooks.and_then(|it| array_or_new(&it, "hooks", "A")).err();
            assert!(error.is_some_and(|it| it.contains("/* mine */")), "{text}");
        }
    }

    #[test]
    fn a_document_that_is_no_object_or_repeats_a_member_is_refused() {
        for (text, why) in [
            ("{", "is not JSON"),
            ("{} {}", "is not JSON"),
            ("// comment\n{}", "is not JSON"),
            (r#"{"a":1,}"#, "is not JSON"),
            (r"{'a':1}", "is not JSON"),
            (r#"{"a":01}"#, "is not JSON"),
            (r#"{"a":"\q"}"#, "is not JSON"),
            ("{\"a\":\"\n\"}", "is not JSON"),
            ("[]", "is not an object"),
            (r#"{"a":1,"a":2}"#, "'a' occurs twice"),
        ] {
            let error = Document::parse(text, false).err();
            let error = error.unwrap_or_else(|| panic!("{text}"));
            assert!(error.contains(why), "{text}: {error}");
        }
        for text in [
            "{} {}",
            "{\"a\":1,} // mine",
            "{a:1} // mine",
            "// mine\n[]",
        ] {
            assert!(Document::parse(text, true).is_err(), "{text}");
        }
        assert_eq!(Document::parse(" \n", false).unwrap().value(), json!({}));
    }
}
