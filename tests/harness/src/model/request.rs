//! Requests to the model.

use std::time::Instant;

use serde_json::Value;

/// A request with its texts extracted.
#[derive(Debug, Clone)]
pub struct Request {
    /// The index in the conversation, from 0.
    pub number: usize,
    /// The time of arrival.
    pub at: Instant,
    /// The client's session id, empty if the request has none.
    pub session: String,
    /// The id of the requesting subagent, if it is one.
    pub subagent: Option<String>,
    /// The requested model; for Gemini with the method, `gemini-…:streamGenerateContent`.
    pub model: String,
    /// The texts that the model has not answered yet: every text after its own last message.
    pub new_texts: Vec<String>,
    /// Every text of the conversation, oldest first, including the model's own.
    pub texts: Vec<String>,
    /// The body as received.
    pub body: Value,
}

/// A message of a conversation.
pub(super) struct Message {
    pub by_model: bool,
    pub texts: Vec<String>,
}

impl Request {
    /// Counts the occurrences of `text` in the new texts.
    pub fn count_new(&self, text: &str) -> usize {
        count(&self.new_texts, text)
    }

    /// Counts the occurrences of `text` in the conversation.
    pub fn contains(&self, text: &str) -> usize {
        count(&self.texts, text)
    }

    /// Extracts the texts of the messages.
    pub(super) fn read(mut self, messages: Vec<Message>) -> Self {
        for message in messages {
            if message.by_model {
                self.new_texts.clear();
            } else {
                self.new_texts.extend(message.texts.iter().cloned());
            }
            self.texts.extend(message.texts);
        }
        self
    }
}

fn count(texts: &[String], text: &str) -> usize {
    texts.iter().map(|it| it.matches(text).count()).sum()
}
