//! Findings: the lines of the report.

use serde_json::{Value, json};

/// One line of the report.
#[derive(Debug)]
pub(super) struct Finding {
    /// The severity: `ok`, `warn` or `PROBLEM`.
    pub(super) level: &'static str,
    /// The fact that was found, as one line.
    pub(super) what: String,
    /// The next step for the person; `None` if there is nothing to do.
    pub(super) todo: Option<String>,
}

const PROBLEM: &str = "PROBLEM";

impl Finding {
    /// A fact that is as it should be.
    pub(super) fn ok(what: impl Into<String>) -> Self {
        Self {
            level: "ok",
            what: what.into(),
            todo: None,
        }
    }

    /// A fact that may be wrong, with the next step.
    pub(super) fn warn(what: impl Into<String>, todo: impl Into<String>) -> Self {
        Self {
            level: "warn",
            what: what.into(),
            todo: Some(todo.into()),
        }
    }

    /// A fault in the setup, with the next step.
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
