//! Helpers for the tests with real agents.

mod central;
mod claude;
mod desk;
mod fixture;
mod hooks;
pub(crate) mod installed;
mod types;

pub(crate) use central::{Central, NO_LIMIT, median, signal};
pub(crate) use claude::{Builder, Claude};
pub(crate) use desk::Desk;
pub(crate) use fixture::assert_as_recorded;
pub(crate) use hooks::Hooks;
pub(crate) use types::{
    assert_valid_inputs, assert_valid_replies, assert_valid_reply, is_valid_reply,
};
