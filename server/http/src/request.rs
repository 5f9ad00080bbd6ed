//! The parts of a request that a handler reads: parameters, body, and the kind of caller.

pub mod caller;
#[cfg(target_os = "linux")]
mod desktop_unit;
pub mod directory;
pub mod evidence;
pub mod local;
pub mod params;
pub mod payload;
pub(crate) mod query;
pub(crate) mod strict;
