//! HTTP: the sockets, access control, and the routes.

pub mod budget;
pub mod error;
pub mod guard;
pub mod listener;
pub mod login;
pub mod peer;
pub mod request;
pub mod routes;
pub(crate) mod sse;
