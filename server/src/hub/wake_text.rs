//! The lines that show a person which notifications wake a session.

use bytes::Bytes;
use hub_protocol::{Framed, Notification, ProjectName, WAKE_MARK, is_hidden, one_line};

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
    match visible.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}…", &visible[..end]),
        None => visible,
    }
}

/// The most characters of a pasted line, without its number. Agents show a longer paste as a placeholder.
const PASTED_CHARS: usize = 300;

/// The first line of every prompt by which the hub wakes a session.
fn head(project: &ProjectName) -> String {
    let project = project.as_str();
    let project = project.rsplit('/').next().unwrap_or(project);
    format!("{WAKE_MARK} ({}):", one_line(project))
}

/// The prompt that announces notifications, given as JSON, to the person and to the model.
pub fn prompt(project: &ProjectName, notifications: &[Bytes]) -> String {
    let lines = lines(notifications, notifications.len());
    format!("{}\n{lines}", head(project))
}

/// One line that announces notifications, given as JSON, to a session whose agent takes it for a prompt of the person. So
/// it has no text of the senders; the answer to the hook of the prompt delivers that as data. `number` makes it unique.
pub fn pasted(project: &ProjectName, notifications: &[Bytes], number: &str) -> String {
    let first = notifications.iter().take(NAMED);
    let said = first.filter_map(|json| serde_json::from_slice::<Notification>(json).ok());
    let mut senders: Vec<String> = said
        .map(|it| format!("{} from {}", it.kind.as_str(), it.from))
        .collect();
    if notifications.len() > NAMED {
        senders.push(format!("{} more", notifications.len() - NAMED));
    }
    let line = format!("{} {}", head(project), senders.join(", "));
    // Agents read a file whose path follows this character.
    let short = line.chars().take(PASTED_CHARS);
    let short: String = short.map(|it| if it == '@' { '_' } else { it }).collect();
    format!("{short} (wake {number})")
}

/// The prompt that contains notifications, given as JSON, as many as fit; `remaining` more are pending.
pub fn framed(project: &ProjectName, notifications: &[Bytes], remaining: u64) -> Framed {
    let notifications = notifications.iter().map(|it| String::from_utf8_lossy(it));
    let notifications: Vec<_> = notifications.collect();
    let lines: Vec<&str> = notifications.iter().map(AsRef::as_ref).collect();
    let framed = Framed::new(&lines, remaining);
    Framed {
        text: format!("{}\n{}", head(project), framed.text),
        ..framed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pasted_line_has_no_text_of_the_senders() {
        let said = serde_json::json!({
            "id": 1, "ts": "2026-01-01T00:00:00Z", "from": "ci", "from_name": "@evil", "type": "error",
            "priority": "normal", "project": "p", "msg": "@/etc/passwd", "expires_at": "2026-01-02T00:00:00Z",
        });
        let all = vec![Bytes::from(said.to_string()); NAMED + 2];
        let line = pasted(&"/src/hub".parse().unwrap(), &all, "1a2b");
        let start = "Notifications from the hub (hub): error from ci, error from ci, ";
        assert!(
            line.starts_with(start) && line.ends_with(", 2 more (wake 1a2b)"),
            "{line}"
        );
        assert!(!line.contains(['@', '\n']), "{line}");
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
