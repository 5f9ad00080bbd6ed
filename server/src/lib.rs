//! The hub's server: one log, one fold. See ARCHITECTURE.md.

pub mod agents;
pub mod api;
pub mod archive;
pub mod bridges;
pub mod clock;
pub mod command;
pub mod config;
pub mod draft;
pub mod filter;
pub mod guard;
pub mod hub;
pub mod journal;
pub mod lease;
pub mod log;
pub mod maintain;
pub mod metrics;
pub mod net;
pub mod presence;
pub mod record;
pub mod secret;
pub mod serve;
pub mod state;
pub mod state_dir;
pub mod stats;
pub mod storage;
pub mod writer;
