//! Templates: the text of a rule's notification, with placeholders.

use hub_protocol::first_bytes;

/// The names of the placeholders.
const NAMES: [&str; 5] = ["from", "msg", "session", "project", "id"];
/// The most bytes of the text of the notification that caused it.
const MAX_MSG: usize = 4000;

/// A text with placeholders such as `{from}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(String);

/// The values of the placeholders.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The sender's name for people.
    pub from: String,
    /// The text of the notification, or how long the session has been in its phase.
    pub msg: String,
    /// The id of the sender's session.
    pub session: String,
    /// The project.
    pub project: String,
    /// The number of the notification; empty for a rule about sessions.
    pub id: String,
}

impl Template {
    /// Checks the placeholders. Returns the first one that does not exist.
    pub fn new(text: String) -> Result<Self, String> {
        let unknown = placeholders(&text).find(|(_, name)| !NAMES.contains(name));
        match unknown.map(|(_, name)| name.to_owned()) {
            Some(name) => Err(name),
            None => Ok(Self(text)),
        }
    }

    /// Whether the text contains this placeholder.
    pub fn uses(&self, name: &str) -> bool {
        placeholders(&self.0).any(|(_, it)| it == name)
    }

    /// Returns the text with the values. A placeholder in a value stays as it is.
    pub fn fill(&self, facts: &Facts) -> String {
        let mut text = String::new();
        let mut rest = 0;
        for (at, name) in placeholders(&self.0) {
            text.push_str(&self.0[rest..at]);
            text.push_str(facts.get(name));
            rest = at + name.len() + 2;
        }
        text + &self.0[rest..]
    }
}

impl Facts {
    fn get(&self, name: &str) -> &str {
        match name {
            "from" => &self.from,
            "msg" => first_bytes(&self.msg, MAX_MSG),
            "session" => &self.session,
            "project" => &self.project,
            "id" => &self.id,
            _ => "",
        }
    }
}

/// The `{name}`s of lower-case letters in a text, each with its position.
fn placeholders(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices('{').filter_map(|(at, _)| {
        let (name, _) = text[at + 1..].split_once('}')?;
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
        is_name.then_some((at, name))
    })
}
