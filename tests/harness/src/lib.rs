//! What the hub's tests share: a real hubd on port 0 in a temporary directory, and its contract.
//!
//! A test arranges with [`Hub`], acts with a [`Client`], and every answer is held against openapi.yaml on the way.
//! Agents' real clients run in [`Tmux`] against a [`Model`] that says what the test wants.

mod client;
mod contract;
mod events;
mod hub;
mod marker;
pub mod model;
mod poll;
mod raw;
mod tmux;

pub use client::{Answer, Ask, Client, encoded};
pub use contract::{Contract, Operation};
pub use events::{Event, Events};
pub use hub::{Hub, HubBuilder, NotStarted, binary};
pub use marker::Marker;
pub use model::Model;
pub use poll::{PATIENCE, until, within};
pub use raw::Raw;
pub use tmux::{Pane, Tmux};

/// How long anything may take before a test gives up; no test waits for it when all is well.
pub const DEADLINE: std::time::Duration = std::time::Duration::from_secs(20);
