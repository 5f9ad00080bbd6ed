//! This machine: environment, processes, files, randomness, the shell. Uses only [`crate::error`].

pub(crate) mod env;
pub(crate) mod no_follow;
pub(crate) mod parent;
pub(crate) mod private;
pub(crate) mod process;
pub(crate) mod random;
pub(crate) mod runtime;
pub(crate) mod shell;
