//! The data of a hook's notification: the agent's own JSON and words, within the bounds of a notification.

use hub_protocol::{first_bytes, with_ellipsis};
use serde::Serialize;
use serde_json::{Value, json};

use crate::notification::Draft;

/// The most bytes of an agent's JSON that the hub passes on with its own text.
const MAX_DATA: usize = 48 * 1024;
/// If the JSON is larger, its texts are cut to the first of these lengths in bytes with which it fits.
const CUTS: [usize; 4] = [32 * 1024, 8 * 1024, 2 * 1024, 512];

/// An agent's words as a record keeps them.
pub(super) fn whole(words: &str) -> String {
    cut(words, MAX_DATA)
}

/// Adds a member to the hook's data.
pub(super) fn set_data(draft: &mut Draft, name: &str, value: impl Serialize) {
    let data = draft.body.data.get_or_insert_with(|| json!({}));
    data[name] = json!(value);
}

/// Cuts the texts in data that is too large for a notification, and notes the full size. An agent's own data may be as
/// large as a request.
pub(super) fn bounded(mut data: Value) -> Value {
    let size = data.to_string().len();
    if size <= MAX_DATA {
        return data;
    }
    let note = || format!("{size} bytes");
    for longest in CUTS {
        cut_texts(&mut data, longest);
        if data.to_string().len() <= MAX_DATA {
            data["cut"] = note().into();
            return data;
        }
    }
    json!({ "cut": note() })
}

fn cut(text: &str, longest: usize) -> String {
    with_ellipsis(first_bytes(text, longest), text).into_owned()
}

/// Cuts every text within to this many bytes.
fn cut_texts(data: &mut Value, longest: usize) {
    match data {
        Value::String(text) => *text = cut(text, longest),
        Value::Array(items) => items.iter_mut().for_each(|it| cut_texts(it, longest)),
        Value::Object(fields) => fields.values_mut().for_each(|it| cut_texts(it, longest)),
        _ => {}
    }
}
