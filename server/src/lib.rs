//! The hub's server: one log, one fold. See ARCHITECTURE.md.

pub mod command;
pub mod journal;
pub mod record;
pub mod state;
