//! Fields of the hub's JSON. What is only shown is looked up by name: a type for each answer would cost more than it
//! tells.

use serde_json::Value;

/// The text in `field`; empty where there is none.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The number in `field`; 0 where there is none.
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

/// The list in `field`; empty where there is none.
pub(crate) fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    let list = value.get(field).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}
