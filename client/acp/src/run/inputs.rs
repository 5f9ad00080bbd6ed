//! The inputs of a session: the terminal, signals, terminals that attach, and the hub.

use std::io::BufRead as _;

use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::Session;
use super::turn::Prompt;
use crate::dialog::Dialog;

/// One input.
#[derive(Debug)]
pub(crate) enum Input {
    /// The person typed a line in the terminal of the session.
    Line(String),
    /// A line typed in a terminal that attached. If a dialog is open the line is about that, which the terminal gets: it gives
    /// the answer to the hub itself, which knows who it is.
    Attached {
        line: String,
        dialog: oneshot::Sender<Option<Value>>,
    },
    /// Another terminal shows the conversation.
    View(UnboundedSender<String>),
    /// The input of the terminal has ended.
    NoMore,
    /// Ctrl-C: cancels the turn, and ends a session without one.
    Interrupt,
    /// Ctrl-C in a terminal that attached: cancels the turn.
    Cancel,
    /// The session shall end.
    Quit,
    /// Notifications are pending: the prompt that announces them.
    Woken(String),
    /// The hub's words for a prompt are there.
    Ready { words: String, context: String },
    /// Notifications for the running turn.
    Steer(String),
    /// The hub's answer to a dialog.
    Decided { number: u64, answer: Value },
}

impl Session {
    /// Obeys an input; returns whether the session ends.
    pub(super) fn obey(&mut self, input: Input) -> bool {
        match input {
            Input::Line(line) => {
                if let Some(prompt) = self.reply(&line) {
                    self.queue(prompt);
                }
            }
            Input::Attached { line, dialog } => {
                let shown = self.dialogs.front().map(Dialog::sent);
                if shown.is_none() {
                    self.views.line(&format!("> {line}"));
                    self.queue(&line);
                }
                let _ = dialog.send(shown);
            }
            Input::View(viewer) => self.views.add(viewer),
            Input::NoMore => self.leaves = true,
            Input::Interrupt => return !self.cancel(),
            Input::Cancel => {
                self.cancel();
            }
            Input::Quit => return true,
            Input::Woken(prompt) => {
                self.views.line(&format!("> {prompt}"));
                self.prompts.push_back(Prompt {
                    words: prompt,
                    is_hubs: true,
                });
            }
            Input::Ready { words, context } => self.send(&words, context),
            Input::Steer(words) => self.steer(Prompt {
                words,
                is_hubs: true,
            }),
            Input::Decided { number, answer } => self.decide(number, &answer),
        }
        false
    }

    fn queue(&mut self, prompt: &str) {
        if !prompt.trim().is_empty() {
            self.prompts.push_back(Prompt {
                words: prompt.to_owned(),
                is_hubs: false,
            });
        }
    }
}

/// Reads the lines of stdin, in a thread: the end of the program does not wait for it.
pub(super) fn read_stdin(to_session: UnboundedSender<Input>) {
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if to_session.send(Input::Line(line)).is_err() {
                return;
            }
        }
        let _ = to_session.send(Input::NoMore);
    });
}
