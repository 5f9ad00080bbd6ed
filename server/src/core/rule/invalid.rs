//! The errors of `[[on]]` tables: where in the file, which rule, which key, and what is allowed.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Spanned, Value};

/// The error of a rule that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("[[on]] {rule}: {reason}")]
pub struct InvalidRule {
    /// The position of the rule, from 1.
    pub(super) number: usize,
    /// The rule's name in quotes, or its position.
    pub(super) rule: String,
    /// Begins with the key that is wrong, if it is one key.
    pub(super) reason: String,
}

impl InvalidRule {
    /// Returns the error with its line in the configuration file of this text.
    pub fn in_file(&self, text: &str) -> String {
        let line = self.line(text).map(|line| format!("line {line}: "));
        format!("{}{self}", line.unwrap_or_default())
    }

    /// The line of the key that the reason begins with, else of the rule.
    fn line(&self, text: &str) -> Option<usize> {
        #[derive(Deserialize)]
        struct Places {
            on: Vec<Spanned<BTreeMap<String, Spanned<Value>>>>,
        }
        let places: Places = toml::from_str(text).ok()?;
        let rule = places.on.get(self.number.checked_sub(1)?)?;
        let key = self.reason.split([':', '.', ',', ' ']).next()?;
        let value = rule.get_ref().get(key);
        let span = value.map_or_else(|| rule.span(), Spanned::span);
        Some(text.get(..span.start)?.matches('\n').count() + 1)
    }
}

/// Returns a key that is missing, does not exist or has a value of the wrong type, and what is allowed.
pub(super) fn wrong_key(error: &toml::de::Error) -> String {
    let shown = error.to_string();
    let table = shown.trim_end().lines().next_back();
    let table = table.and_then(|it| it.strip_prefix("in `")?.strip_suffix('`'));
    let message = one_line(error.message());
    let field = |kind: &str| message.strip_prefix(kind)?.split_once('`');
    let (key, text) = if let Some((key, rest)) = field("unknown field `") {
        (Some(key), format!("unknown key{rest}"))
    } else if let Some((key, _)) = field("missing field `") {
        (Some(key), "this key is missing".to_owned())
    } else {
        (
            None,
            message.replace("a sequence", "a list, such as [\"a\", \"b\"]"),
        )
    };
    let keys: Vec<&str> = table.into_iter().chain(key).collect();
    format!("{}: {text}", keys.join("."))
}

pub(super) fn one_line(text: &str) -> String {
    text.trim_end().replace('\n', " ")
}
