//! The real Claude Code, offline: a scripted model answers it, a terminal of the test's own shows it.
//!
//! `tests/run` downloads it to `target/agents`; `HUB_TEST_CLAUDE` names another binary.

mod payloads;
mod replies;
mod support;
mod tui;
mod wakes;
