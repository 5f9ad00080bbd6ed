//! What was found, and what to do about it.

use serde_json::{Value, json};

/// One line of the report.
#[derive(Debug)]
pub(super) struct Finding {
    /// `ok`, `warn` or `PROBLEM`.
    pub(super) level: &'static str,
    /// What was found.
    pub(super) what: String,
    /// What to do.
    pub(super) todo: Option<String>,
}

const PROBLEM: &str = "PROBLEM";

impl Finding {
    /// As it should be.
    pub(super) fn ok(what: impl Into<String>) -> Self {
        Self {
            level: "ok",
            what: what.into(),
            todo: None,
        }
    }

    /// Perhaps not as it should be.
    pub(super) fn warn(what: impl Into<String>, todo: impl Into<String>) -> Self {
        Self {
            level: "warn",
            what: what.into(),
            todo: Some(todo.into()),
        }
    }

    /// Something does not work.
    pub(super) fn problem(what: impl Into<String>, todo: impl Into<String>) -> Self {
        Self {
            level: PROBLEM,
            ..Self::warn(what, todo)
        }
    }

    pub(super) fn is_problem(&self) -> bool {
        self.level == PROBLEM
    }

    pub(super) fn json(&self) -> Value {
        json!({"level": self.level, "what": self.what, "todo": self.todo})
    }
}
