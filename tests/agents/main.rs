//! The real agents, offline: a scripted model answers them.
//!
//! `tests/run` downloads them to `target/agents`; `HUB_TEST_CLAUDE` names another Claude Code.

mod acp;
mod answers;
mod approvals;
mod background;
mod clients;
mod codex;
mod dialogs;
mod each;
mod headless;
mod limits;
mod listeners;
mod mcp;
mod names;
mod outage;
mod page;
mod pane;
mod payloads;
mod permissions;
mod phases;
mod plugin;
mod push;
mod questions;
mod registry;
mod replies;
mod rewake;
mod same_file;
mod support;
mod usage_limits;
mod vendors;
mod workers;
