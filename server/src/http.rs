//! HTTP: the listener, access control, and the routes.

pub mod guard;
pub mod listener;
pub mod login;
pub mod routes;
