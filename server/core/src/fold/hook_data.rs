//! The data of a hook's notification: the agent's own JSON and words, within the bounds of a notification.

use hub_protocol::{CUT_MARK, MAX_ITEM_BYTES, first_bytes};
use serde::Serialize;
use serde_json::{Value, json};

use crate::notification::Draft;

/// The most bytes of an agent's JSON: a text of [`MAX_ITEM_BYTES`], of which JSON writes a quote or a line feed in two bytes,
/// with the names and marks around it.
const MAX_JSON: usize = 2 * MAX_ITEM_BYTES + 4096;
/// The texts in the JSON are cut to the first of these lengths in bytes with which it fits.
const CUTS: [usize; 5] = [MAX_ITEM_BYTES, 32 * 1024, 8 * 1024, 2 * 1024, 512];

/// An agent's words as a record keeps them.
pub(super) fn whole(words: &str) -> String {
    cut(words, MAX_ITEM_BYTES)
}

/// Adds a member to the hook's data.
pub(super) fn set_data(draft: &mut Draft, name: &str, value: impl Serialize) {
    let data = draft.body.data.get_or_insert_with(|| json!({}));
    data[name] = json!(value);
}

/// Cuts the texts in data that are too large for a notification, and notes the full size. An agent's own data may be as
/// large as a request.
pub(super) fn bounded(data: &Value) -> Value {
    let size = || format!("{} bytes", data.to_string().len()).into();
    let mut note = None;
    for longest in CUTS {
        let mut shortened = data.clone();
        note = take_mark(&mut shortened);
        cut_texts(&mut shortened, longest);
        if shortened.to_string().len() <= MAX_JSON {
            if shortened != *data {
                shortened["cut"] = note.unwrap_or_else(size);
            }
            return shortened;
        }
    }
    json!({ "cut": note.unwrap_or_else(size) })
}

/// Takes the mark of `hubctl hook` that it has left out parts of what an agent asks.
fn take_mark(data: &mut Value) -> Option<Value> {
    let asked = ["request", "dialog"].into_iter();
    let mut asked = asked.filter_map(|name| data.get(name)?.get(CUT_MARK).map(|_| name));
    let name = asked.next()?;
    data[name].as_object_mut()?.shift_remove(CUT_MARK)
}

/// A text of at most this many bytes; the beginning of a longer one, which says that it is cut and where all of it is.
fn cut(text: &str, longest: usize) -> String {
    match first_bytes(text, longest) {
        whole if whole.len() == text.len() => whole.to_owned(),
        beginning => {
            format!("{beginning}…\n\n[cut by the hub: all of it is in the agent's own session]")
        }
    }
}

/// Cuts every text within to this many bytes.
fn cut_texts(data: &mut Value, longest: usize) {
    match data {
        Value::String(text) if text.len() > longest => *text = cut(text, longest),
        Value::Array(items) => items.iter_mut().for_each(|it| cut_texts(it, longest)),
        Value::Object(fields) => fields.values_mut().for_each(|it| cut_texts(it, longest)),
        _ => {}
    }
}
