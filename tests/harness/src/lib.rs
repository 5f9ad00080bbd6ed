//! Shared parts of the hub's tests: a real hubd on a free port in a temporary directory, and its contract.
//!
//! A test arranges with [`Hub`] and acts with a [`Client`], which validates every response against openapi.yaml.
//! Agents' real clients run in [`Tmux`] against a scripted [`Model`].

mod calls;
mod client;
mod contract;
mod events;
mod hub;
mod marker;
pub mod model;
pub mod ntfy;
mod poll;
mod port;
mod process;
mod program;
mod push_service;
mod raw;
mod repetitions;
mod server;
mod tmux;

pub use calls::each;
pub use client::{Answer, Ask, Client, encoded};
pub use contract::{Contract, Operation};
pub use events::{Event, Events};
pub use hub::{Hub, HubBuilder, NotStarted, binary};
pub use marker::Marker;
pub use model::Model;
pub use ntfy::Ntfy;
pub use poll::{PATIENCE, until, within};
pub use port::Port;
pub use process::{pause, registration, request, requester, session_process};
pub use program::Program;
pub use push_service::PushService;
pub use raw::Raw;
pub use repetitions::repetitions;
pub use tmux::{Attached, Pane, Tmux};

/// Timeout of any step; a passing test never reaches it.
pub const DEADLINE: std::time::Duration = std::time::Duration::from_secs(20);
