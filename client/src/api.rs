//! The hub's resources: requests for them, and how they are shown. Uses the connection ([`crate::hub`]) and
//! [`crate::output`].

pub(crate) mod holder;
pub(crate) mod need;
pub(crate) mod question;
pub(crate) mod session;
