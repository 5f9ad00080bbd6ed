//! The real Claude Code, Codex CLI and Gemini CLI, offline: a scripted model answers them.
//!
//! `tests/run` downloads them to `target/agents`; `HUB_TEST_CLAUDE` names another Claude Code.

mod answers;
mod background;
mod codex;
mod dialogs;
mod gemini;
mod limits;
mod listeners;
mod names;
mod outage;
mod payloads;
mod replies;
mod rewake;
mod rules;
mod shots;
mod support;
mod tui;
mod wakes;
mod workers;
