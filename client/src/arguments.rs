//! Arguments that several commands share. Uses [`crate::identity`] and the paths of [`crate::hub`].

pub(crate) mod agent;
pub(crate) mod filter;
pub(crate) mod projects;
