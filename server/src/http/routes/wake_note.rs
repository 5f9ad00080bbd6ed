//! The note that shows a person why a session was woken. Agents show the same fixed text for every wake.

use bytes::Bytes;
use hub_protocol::{InboxName, Notification, ProjectName, is_hidden};

use super::stored;
use crate::http::error::ApiError;
use crate::hub::Hub;

/// The first notifications are listed, up to this many.
const NAMED: usize = 5;

/// Each line is cut to this many characters.
const CHARS: usize = 120;

/// One line for each of the first notifications that just woke a session; `None` if there are none.
pub(super) async fn text(
    hub: &Hub,
    project: ProjectName,
    session: InboxName,
) -> Result<Option<String>, ApiError> {
    let shown = hub.read(|state, _| {
        let (project, key) = state.resolve_key(project, session);
        state.emitted_by_wakes(&project, &key)
    })?;
    let mut first = Vec::new();
    for location in shown.iter().take(NAMED) {
        let stored = stored::event(hub.log(), *location).await?;
        first.extend(stored.and_then(|event| event.json()));
    }
    let text = lines(&first, shown.len());
    Ok((!text.is_empty()).then_some(text))
}

/// One line for each of the first notifications, given as JSON, and a last line that counts the others of `all`.
pub(super) fn lines(notifications: &[Bytes], all: usize) -> String {
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
    match visible.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}…", &visible[..end]),
        None => visible,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
