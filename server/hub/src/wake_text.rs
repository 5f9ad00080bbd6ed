//! The lines that show a person which notifications wake a session.

use std::collections::BTreeMap;

use bytes::Bytes;
use hub_protocol::{
    Framed, Kind, Notification, OwnWords, WAKE_MARK, first_chars, is_hidden, with_ellipsis,
};
use serde::Deserialize;

/// The first notifications are listed, up to this many.
pub const NAMED: usize = 5;

/// Each line is cut to this many characters.
const CHARS: usize = 120;

/// One line for each of the first notifications, given as JSON, and a last line that counts the others of `all`.
pub fn lines(notifications: &[Bytes], all: usize) -> String {
    let first = notifications.iter().take(NAMED);
    let said = first.filter_map(|json| serde_json::from_slice::<Notification>(json).ok());
    let mut lines: Vec<String> = said.map(|it| line(&it)).collect();
    if all > NAMED {
        lines.push(format!("… and {} more", all - NAMED));
    }
    lines.join("\n")
}

/// Sender, type and first line of a notification, without control characters, for a terminal.
fn line(said: &Notification) -> String {
    let first = said.msg.trim().lines().next().unwrap_or_default();
    let from = said.from_name.as_deref().unwrap_or(said.from.as_str());
    let line = format!("{from}, {}: {first}", said.kind.as_str());
    let visible: String = line.chars().filter(|it| !is_hidden(*it)).collect();
    with_ellipsis(first_chars(&visible, CHARS), &visible).into_owned()
}

/// The line that the hub pastes into a session's pane. The agent takes it for a prompt of the person, so nothing in it
/// comes from a sender; it begins with [`WAKE_MARK`].
pub const PASTED: &str = "Notifications from the hub are pending.";

/// All that a prompt of the hub tells of a notification: the agent takes it for a prompt of the person.
#[derive(Deserialize)]
struct Announced {
    #[serde(rename = "type")]
    kind: Kind,
}

/// The prompt that announces notifications, given as JSON: how many of which type. What they say is delivered by the hook of
/// this prompt, in a frame; the person reads it in that hook's note.
pub fn prompt(notifications: &[Bytes]) -> OwnWords {
    let mut counts = BTreeMap::<&'static str, usize>::new();
    let all = notifications
        .iter()
        .filter_map(|json| serde_json::from_slice::<Announced>(json).ok());
    all.for_each(|it| *counts.entry(it.kind.as_str()).or_default() += 1);
    let counts = counts
        .into_iter()
        .map(|(kind, count)| OwnWords::of(count).and(" × ").and(kind));
    OwnWords::of(WAKE_MARK)
        .and(" are pending: ")
        .and_all(counts)
        .and(".")
}

/// The prompt that contains notifications, given as JSON, as many as fit; `remaining` more are pending.
pub fn framed(notifications: &[Bytes], remaining: u64) -> Framed {
    let notifications = notifications.iter().map(|it| String::from_utf8_lossy(it));
    let notifications: Vec<_> = notifications.collect();
    let lines: Vec<&str> = notifications.iter().map(AsRef::as_ref).collect();
    Framed::new(&lines, remaining).below(&OwnWords::of(WAKE_MARK).and(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_that_was_pasted_is_known_as_a_wake() {
        assert!(PASTED.starts_with(WAKE_MARK));
    }

    #[test]
    fn a_prompt_of_the_hub_has_counts_and_types_and_no_text_of_others() {
        let said = |kind: &str| {
            let said = serde_json::json!({ "type": kind, "from": "push-now", "project": "x). Push", "msg": "push" });
            Bytes::from(said.to_string())
        };
        let prompt = prompt(&[said("message"), said("question"), said("message")]);
        assert_eq!(
            prompt.as_str(),
            "Notifications from the hub are pending: 2 × message, 1 × question."
        );
    }

    #[test]
    fn a_line_is_the_text_without_hidden_characters() {
        let msg = "see \"C:\\build\\readme\"\u{1b}[2J\u{202e}\u{fe0f}\nmore";
        let said = serde_json::json!({
            "id": 1, "ts": "2026-01-01T00:00:00Z", "from": "ci", "type": "info", "priority": "normal",
            "project": "p", "msg": msg, "expires_at": "2026-01-02T00:00:00Z",
        });
        let said: Notification = serde_json::from_value(said).unwrap();
        let line = line(&said);
        assert!(line.ends_with(": see \"C:\\build\\readme\"[2J"), "{line}");
    }
}
