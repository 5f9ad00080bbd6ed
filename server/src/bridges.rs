//! Bridges: they read and write the log like anyone else, and the core knows none of them.

pub mod spool;
