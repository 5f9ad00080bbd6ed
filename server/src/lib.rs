//! The hub's server: records in one log, and the state as the fold of that log. See ARCHITECTURE.md.

pub mod agents;
pub mod bridges;
pub mod cli;
#[cfg(feature = "jetstream")]
pub mod cluster;
pub mod config;
pub mod core;
pub mod fold;
pub mod hooks;
pub mod http;
pub mod hub;
pub mod log;
pub mod maintain;
mod places;
pub mod serve;
mod tmux;
pub mod waiters;
