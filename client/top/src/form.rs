//! The form of a tool server, which is filled in as a JSON object.

use hub_protocol::{Field, FieldChoice, FieldKind};
use serde_json::{Map, Value};

/// A form's answer with its initial values, to be edited.
pub(crate) fn template(fields: &[Field]) -> String {
    let values = fields.iter().map(|it| {
        let value = it.initial.clone().unwrap_or_else(|| empty(it.kind));
        (it.name.clone(), value)
    });
    Value::Object(values.collect()).to_string()
}

/// The content of a form; `None` if the text is not a JSON object.
pub(crate) fn content(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text).ok()
}

/// The value of a field that has no initial one.
fn empty(kind: FieldKind) -> Value {
    match kind {
        FieldKind::Text | FieldKind::Choice => "".into(),
        FieldKind::Number | FieldKind::Integer => 0.into(),
        FieldKind::Boolean => false.into(),
        FieldKind::Choices => Value::Array(Vec::new()),
    }
}

/// A field with its type, its meaning and the values that it takes.
pub(crate) fn described(field: &Field) -> String {
    let need = if field.required { ", required" } else { "" };
    let kind = kind(field.kind);
    let (meaning, values) = (meaning(field), values(&field.choices));
    format!("{} ({kind}{need}){meaning}{values}", field.name)
}

fn kind(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Text => "text",
        FieldKind::Number => "number",
        FieldKind::Integer => "whole number",
        FieldKind::Boolean => "true or false",
        FieldKind::Choice => "one of",
        FieldKind::Choices => "any of",
    }
}

/// The label and the description of a field, after a dash; empty if they add nothing to its name.
fn meaning(field: &Field) -> String {
    let label = Some(field.label.as_str()).filter(|it| *it != field.name);
    let parts = label.into_iter().chain([field.description.as_str()]);
    let parts: Vec<_> = parts.filter(|it| !it.is_empty()).collect();
    match &parts[..] {
        [] => String::new(),
        parts => format!(" – {}", parts.join(": ")),
    }
}

/// The values that a field takes, as they are typed; empty if it takes any.
fn values(choices: &[FieldChoice]) -> String {
    let values = choices.iter().map(|FieldChoice { value, label }| {
        let typed = Value::from(value.as_str());
        if label == value {
            typed.to_string()
        } else {
            format!("{typed} ({label})")
        }
    });
    match &values.collect::<Vec<_>>()[..] {
        [] => String::new(),
        values => format!(": {}", values.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    fn fields() -> Vec<Field> {
        from_value(json!([
            {"name": "n", "label": "n", "type": "integer", "required": true},
            {"name": "s", "label": "Name", "description": "of the host", "type": "text", "initial": "x"},
            {"name": "b", "label": "b", "type": "boolean"},
            {"name": "c", "label": "c", "type": "choice",
                "choices": [{"value": "r", "label": "Red"}, {"value": "blue", "label": "blue"}]},
            {"name": "m", "label": "m", "type": "choices"},
        ]))
        .expect("fields")
    }

    #[test]
    fn a_form_begins_with_its_initial_values_and_is_a_json_object() {
        let text = template(&fields());
        assert_eq!(text, r#"{"n":0,"s":"x","b":false,"c":"","m":[]}"#);
        assert_eq!(content(&text).map(|it| it.len()), Some(5));
        assert_eq!((content("[1]"), content("{")), (None, None));
    }

    #[test]
    fn a_field_is_described_with_its_type_and_its_values() {
        let shown: Vec<_> = fields().iter().map(described).collect();
        let expected = [
            "n (whole number, required)",
            "s (text) – Name: of the host",
            "b (true or false)",
            r#"c (one of): "r" (Red), "blue""#,
            "m (any of)",
        ];
        assert_eq!(shown, expected);
    }
}
