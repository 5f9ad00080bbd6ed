//! The errors of `[[on]]` tables: where in the file, which rule, which key, and what is allowed.

use std::fmt;
use std::ops::Range;

use toml::de::{DeTable, DeValue, Error};

/// Another name of the key `phase`.
const PHASE_ALIAS: &str = "state";

/// The error of a rule that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("[[on]] {rule}: {fault}")]
pub struct InvalidRule {
    /// The position of the rule, from 1.
    pub(super) number: usize,
    /// The rule's name in quotes, or its position.
    pub(super) rule: String,
    /// The fault.
    pub(super) fault: Fault,
}

/// A fault of a rule, and its place in the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// The way to the key that is wrong; empty for the rule as a whole.
    keys: Vec<String>,
    /// Whether the text needs the key in front of it.
    names_key: bool,
    text: String,
}

impl Fault {
    /// A fault of the rule as a whole.
    pub(super) fn of_rule(text: impl Into<String>) -> Self {
        Self {
            keys: Vec::new(),
            names_key: false,
            text: text.into(),
        }
    }

    /// A fault of the value of `key`, whose inner keys are after a dot.
    pub(super) fn of(key: &str, text: impl fmt::Display) -> Self {
        Self {
            keys: key.split('.').map(str::to_owned).collect(),
            names_key: true,
            text: text.to_string(),
        }
    }

    /// A fault of several keys, which the text names, at the place of one of them.
    pub(super) fn at(key: &str, text: &str) -> Self {
        Self {
            names_key: false,
            ..Self::of(key, text)
        }
    }

    /// A key that is missing, does not exist or has a value of the wrong type, and what is allowed.
    pub(super) fn of_key(error: &Error) -> Self {
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
        let table = table.into_iter().flat_map(|it| it.split('.'));
        Self {
            keys: table.chain(key).map(str::to_owned).collect(),
            names_key: true,
            text,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.names_key && !self.keys.is_empty() {
            write!(f, "{}: ", self.keys.join("."))?;
        }
        f.write_str(&self.text)
    }
}

impl InvalidRule {
    /// Returns the error with its line in the configuration file of this text.
    pub fn in_file(&self, text: &str) -> String {
        let line = self.line(text).map(|line| format!("line {line}: "));
        format!("{}{self}", line.unwrap_or_default())
    }

    /// The line of the innermost key of the fault that the rule has, else of the rule.
    fn line(&self, text: &str) -> Option<usize> {
        let file = DeTable::parse(text).ok()?;
        let rules = file.get_ref().get("on")?.get_ref().as_array()?;
        let rule = rules.get(self.number.checked_sub(1)?)?;
        let (mut place, mut value) = (rule.span(), rule.get_ref());
        for key in &self.fault.keys {
            let Some((key, inner)) = value.as_table().and_then(|it| entry(it, key)) else {
                break;
            };
            (place, value) = (key, inner);
        }
        Some(line_of(text, place.start))
    }
}

/// The place of a key in its table, and its value.
fn entry<'a, 'i>(table: &'a DeTable<'i>, key: &str) -> Option<(Range<usize>, &'a DeValue<'i>)> {
    let names = |it: &str| it == key || (it, key) == (PHASE_ALIAS, "phase");
    let (key, value) = table.iter().find(|(name, _)| names(name.get_ref()))?;
    Some((key.span(), value.get_ref()))
}

/// The line of a byte of the text, from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}

pub(super) fn one_line(text: &str) -> String {
    text.trim_end().replace('\n', " ")
}
