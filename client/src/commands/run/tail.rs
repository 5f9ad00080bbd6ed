//! The last lines of the command's stderr.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::process::ChildStderr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::output::text::cut;

/// How many lines are kept.
const LINES: usize = 20;

/// How many characters of a line are kept. Twenty such lines fit into one notification, whatever the characters.
const WIDTH: usize = 400;

/// Copies stderr and keeps its last lines.
#[derive(Debug)]
pub(super) struct Tail {
    kept: Arc<Mutex<Kept>>,
    end: oneshot::Receiver<()>,
}

/// The last lines of a stream.
#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<String>,
    line: Vec<u8>,
    /// Whether the last byte was a carriage return: the next byte overwrites the line, unless it is a line feed.
    returned: bool,
}

impl Tail {
    /// Copies `from` to this process's stderr until its end.
    pub(super) fn of(from: ChildStderr) -> Self {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let (ended, end) = oneshot::channel();
        let keeper = Arc::clone(&kept);
        std::thread::spawn(move || {
            pass(from, &keeper);
            let _ = ended.send(());
        });
        Self { kept, end }
    }

    /// The last lines, after the end of the stream or after `patience`.
    pub(super) async fn lines(self, patience: Duration) -> Vec<String> {
        let _ = tokio::time::timeout(patience, self.end).await;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.finish()
    }
}

fn pass(mut from: ChildStderr, kept: &Mutex<Kept>) {
    let mut buffer = [0; 8192];
    loop {
        let bytes = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => &buffer[..count],
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        // If our stderr has no reader, the command goes on.
        let _ = std::io::stderr().write_all(bytes);
        kept.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(bytes);
    }
}

impl Kept {
    fn take(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match byte {
                b'\n' => self.push(),
                b'\r' => self.returned = true,
                _ => {
                    if std::mem::take(&mut self.returned) {
                        self.line.clear();
                    }
                    // A character has at most four bytes.
                    if self.line.len() <= 4 * WIDTH {
                        self.line.push(byte);
                    }
                }
            }
        }
    }

    fn push(&mut self) {
        self.returned = false;
        let line = String::from_utf8_lossy(&self.line);
        let line = cut(&line, WIDTH).into_owned();
        self.line.clear();
        if self.lines.len() == LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    fn finish(&mut self) -> Vec<String> {
        if !self.line.is_empty() {
            self.push();
        }
        self.lines.drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        let mut kept = Kept::default();
        for byte in text.as_bytes().chunks(3) {
            kept.take(byte);
        }
        kept.finish()
    }

    #[test]
    fn the_last_twenty_lines_are_kept_even_without_a_final_line_end() {
        let text: Vec<String> = (0..25).map(|n| format!("line {n}")).collect();
        assert_eq!(lines(&text.join("\n")), text[5..]);
    }

    #[test]
    fn a_progress_bar_is_kept_as_the_line_that_a_terminal_shows() {
        assert_eq!(lines("10 %\r50 %\rdone\r\nnext\r\n"), ["done", "next"]);
    }

    #[test]
    fn twenty_of_the_worst_lines_fit_into_a_notification() {
        let worst = lines(&format!("{}\n", "\u{1}".repeat(10_000)).repeat(30));
        let json = serde_json::to_string(&worst).unwrap();
        assert!(
            json.len() < hub_protocol::MAX_ITEM_BYTES - 4096,
            "{}",
            json.len()
        );
    }
}
