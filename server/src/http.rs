//! HTTP: the sockets, access control, and the routes.
//!
//! | module | may use |
//! |---|---|
//! | `error`, `peer`, `login`, `sse` | none of the others |
//! | `guard` | `error`, `login`, `peer` |
//! | `request` | `error`, `login`, `peer` |
//! | `listener` | `error`, `guard`, `peer` |
//! | `routes` | `error`, `login`, `peer`, `request`, `sse` |

pub mod error;
pub mod guard;
pub mod listener;
pub mod login;
pub(crate) mod peer;
pub(crate) mod request;
pub mod routes;
pub(crate) mod sse;
