//! Helpers for the tests with real agents.

mod claude;
mod codex;
mod fixture;
mod headless;
mod hooks;
mod hub;
pub(crate) mod installed;
mod sandbox;
mod series;
mod types;
mod vendor;

pub(crate) use claude::{Builder, Claude, colours};
pub(crate) use codex::Codex;
pub(crate) use fixture::assert_as_recorded;
pub(crate) use hooks::Hooks;
pub(crate) use hub::{InstalledHub, NO_LIMIT, median, no_limits, signal};
pub(crate) use sandbox::Sandbox;
pub(crate) use series::Series;
pub(crate) use types::{
    assert_valid_inputs, assert_valid_replies, assert_valid_reply, is_valid_reply,
};
pub(crate) use vendor::{Terminal, Tools, Vendor};
