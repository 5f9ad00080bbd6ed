//! HTTP: the sockets, access control, and the routes.
//! It may use every module but `bridges`, `maintain` and `serve`; the map in ARCHITECTURE.md has a row for each part.

pub(crate) mod budget;
pub mod error;
pub mod guard;
pub mod listener;
pub mod login;
pub(crate) mod peer;
pub(crate) mod request;
pub mod routes;
pub(crate) mod sse;
