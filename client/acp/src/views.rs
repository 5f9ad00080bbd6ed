//! The conversation as text, for every terminal that shows it.

use hub_protocol::{escaped, is_hidden};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

/// How much of the conversation a terminal gets that comes later.
const BACKLOG: usize = 64 * 1024;

/// The terminals that show a conversation.
#[derive(Debug, Default)]
pub(crate) struct Views {
    viewers: Vec<UnboundedSender<String>>,
    backlog: String,
    /// Whether the last text ended in the middle of a line.
    is_in_line: bool,
}

impl Views {
    /// Adds a terminal, which gets what was said before.
    pub(crate) fn add(&mut self, viewer: UnboundedSender<String>) {
        if self.backlog.is_empty() || viewer.send(self.backlog.clone()).is_ok() {
            self.viewers.push(viewer);
        }
    }

    /// Adds a piece of running text.
    pub(crate) fn text(&mut self, text: &str) {
        let Some(last) = text.chars().last() else {
            return;
        };
        self.is_in_line = last != '\n';
        let text = escaped(
            text,
            |c| is_hidden(c) && !matches!(c, '\n' | '\t'),
            |_| None,
        );
        self.backlog.push_str(&text);
        if self.backlog.len() > BACKLOG {
            let surplus = self.backlog.len() - BACKLOG / 2;
            let begin = self.backlog[..]
                .char_indices()
                .map(|(at, _)| at)
                .find(|at| *at >= surplus);
            self.backlog.drain(..begin.unwrap_or_default());
        }
        self.viewers
            .retain(|it| it.send(text.clone().into_owned()).is_ok());
    }

    /// Adds a line of its own.
    pub(crate) fn line(&mut self, line: &str) {
        let before = if self.is_in_line { "\n" } else { "" };
        self.text(&format!("{before}{line}\n"));
    }

    /// Adds what an update of the session says.
    pub(crate) fn update(&mut self, update: &Value) {
        let text = || update["content"]["text"].as_str().unwrap_or_default();
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "agent_message_chunk" => self.text(text()),
            "user_message_chunk" => self.line(&format!("> {}", text())),
            "tool_call" => {
                let title = update["title"].as_str().unwrap_or("a tool");
                self.line(&format!("* {title}"));
            }
            "tool_call_update" if update["status"] == "failed" => self.line("  failed"),
            "plan" => {
                for entry in update["entries"].as_array().into_iter().flatten() {
                    let done = if entry["status"] == "completed" {
                        "x"
                    } else {
                        " "
                    };
                    let words = entry["content"].as_str().unwrap_or_default();
                    self.line(&format!("  [{done}] {words}"));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tokio::sync::mpsc;

    #[test]
    fn a_terminal_that_comes_later_gets_what_was_said_without_hidden_characters() {
        let mut views = Views::default();
        let chunk =
            |text: &str| json!({"sessionUpdate": "agent_message_chunk", "content": {"text": text}});
        views.update(&chunk("Hel"));
        views.update(&chunk("lo\u{1b}[2J"));
        views.line("* make");
        let (viewer, mut shown) = mpsc::unbounded_channel();
        views.add(viewer);
        assert_eq!(shown.try_recv().unwrap(), "Hello\\u001b[2J\n* make\n");
        views.update(
            &json!({"sessionUpdate": "plan", "entries": [{"content": "a", "status": "completed"}]}),
        );
        assert_eq!(shown.try_recv().unwrap(), "  [x] a\n");
    }

    #[test]
    fn the_end_of_a_long_conversation_is_kept() {
        let mut views = Views::default();
        for _ in 0..3 {
            views.text(&"é".repeat(BACKLOG / 4));
        }
        views.text("end");
        assert!(views.backlog.len() <= BACKLOG && views.backlog.ends_with("end"));
    }
}
