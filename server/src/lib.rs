//! The hub's server: its command line, maintenance and the life of its process. ARCHITECTURE.md names the crates below it.

pub mod cli;
pub mod maintain;
pub mod serve;
