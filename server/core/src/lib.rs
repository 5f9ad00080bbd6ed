//! The terms that every layer uses: time, commands, records, filters, secrets. It uses no other module of the server.

pub mod agents_so_far;
pub mod answer;
pub mod asked;
pub mod command;
pub mod confirmed;
pub mod controls;
pub mod disk;
pub mod durable;
pub mod filter;
pub mod fold;
pub mod guarded_file;
pub mod line;
pub mod notification;
pub mod record;
pub mod rejected;
pub mod report;
pub(crate) mod risk;
pub mod rule;
pub mod secret;
pub mod sync;
#[doc(hidden)]
pub mod testing;
pub mod time;
pub mod tool_request;
pub mod turn_mark;
pub mod waiters;
pub mod wake_files;
