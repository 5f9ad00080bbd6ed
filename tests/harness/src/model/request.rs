//! What the model is asked.

use std::time::Instant;

use serde_json::Value;

/// A request, with the texts in it laid open.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its place in the conversation, from 0.
    pub number: usize,
    /// When it came.
    pub at: Instant,
    /// The session that the client named, empty if it named none.
    pub session: String,
    /// The subagent that asks, if it is one.
    pub subagent: Option<String>,
    /// The model that is asked for; for Gemini with the method, `gemini-…:streamGenerateContent`.
    pub model: String,
    /// What the model has not answered yet: every text after its own last message.
    pub news: Vec<String>,
    /// Every text of the conversation, oldest first, the model's own as well.
    pub texts: Vec<String>,
    /// All of it, as it came.
    pub body: Value,
}

/// A message of a conversation.
pub(super) struct Message {
    pub by_model: bool,
    pub texts: Vec<String>,
}

impl Request {
    /// How often `text` stands in what is new.
    pub fn tells(&self, text: &str) -> usize {
        count(&self.news, text)
    }

    /// How often `text` stands anywhere in the conversation.
    pub fn contains(&self, text: &str) -> usize {
        count(&self.texts, text)
    }

    /// Lays the messages open.
    pub(super) fn read(mut self, messages: Vec<Message>) -> Self {
        for message in messages {
            if message.by_model {
                self.news.clear();
            } else {
                self.news.extend(message.texts.iter().cloned());
            }
            self.texts.extend(message.texts);
        }
        self
    }
}

fn count(texts: &[String], text: &str) -> usize {
    texts.iter().map(|it| it.matches(text).count()).sum()
}
