//! What a handler reads from its request: parameters, body, and the kind of caller.

pub(crate) mod caller;
#[cfg(target_os = "linux")]
mod desktop_unit;
pub(crate) mod directory;
pub(crate) mod evidence;
pub(crate) mod local;
pub(crate) mod params;
pub(crate) mod payload;
pub(crate) mod query;
pub(crate) mod strict;
