//! The hub's server: one log, one fold. See ARCHITECTURE.md.

pub mod api;
pub mod command;
pub mod config;
pub mod guard;
pub mod journal;
pub mod net;
pub mod record;
pub mod secret;
pub mod state;
pub mod state_dir;
