//! Reads fields of the hub's JSON by name. Values that are only shown need no type of their own.

use serde_json::Value;

/// The string in `field`; empty if there is none.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The number in `field`; 0 if there is none.
pub(crate) fn number(value: &Value, field: &str) -> u64 {
    value.get(field).and_then(Value::as_u64).unwrap_or_default()
}

/// Whether `field` is true.
pub(crate) fn flag(value: &Value, field: &str) -> bool {
    value
        .get(field)
        .and_then(Value::as_bool)
        .unwrap_or_default()
}

/// The list in `field`; empty if there is none.
pub(crate) fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    let list = value.get(field).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// The sender's name to show to people: `from_name` if there is one, because a session's id may be a long number.
pub(crate) fn sender_of(value: &Value) -> &str {
    match text(value, "from_name") {
        "" => text(value, "from"),
        name => name,
    }
}
