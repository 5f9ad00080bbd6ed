//! The parts of a notification that every layer computes alike: its type, its lengths, its stored JSON.

use bytes::Bytes;
use hub_protocol::{Kind, Notification, Post};

/// Whether a text has more than `max` characters, counted as JSON Schema counts them.
pub fn is_longer(text: &str, max: usize) -> bool {
    text.len() > max && text.chars().nth(max).is_some()
}

/// Returns the type that a post names, if it names one.
pub fn kind_of(post: &Post) -> Option<Kind> {
    post.kind.or_else(|| kind_in_data(post))
}

/// Returns the type in the post's metadata, where other tools put it. An unknown type there is only data.
fn kind_in_data(post: &Post) -> Option<Kind> {
    post.data.as_ref()?.get("type")?.as_str()?.parse().ok()
}

/// Returns the JSON of a notification after [`HEAD`]; the writer prepends the number.
pub fn tail_of(notification: &Notification) -> Bytes {
    // Every field of a notification is valid JSON, so serialising cannot fail.
    let json = serde_json::to_vec(notification).expect("a notification is JSON");
    Bytes::from(json).slice(HEAD.len()..)
}

/// The beginning of a serialised notification that has no number yet.
pub const HEAD: &str = r#"{"id":0,"#;
