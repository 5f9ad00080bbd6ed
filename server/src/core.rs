//! The terms that every layer uses: time, commands, records, filters, secrets. It uses no other module of the server.

pub mod agents_so_far;
pub mod answer;
pub mod asked;
pub mod command;
pub(crate) mod confirmed;
pub mod controls;
pub mod durable;
pub mod filter;
pub mod guarded_file;
pub mod notification;
pub mod record;
pub mod rejected;
pub mod report;
pub(crate) mod risk;
pub mod rule;
pub mod secret;
pub mod sync;
pub mod time;
pub mod tool_request;
pub mod turn_mark;
pub mod wake_files;
