//! What the hub's tests share: a real hubd on port 0 in a temporary directory, and its contract.
//!
//! A test arranges with [`Hub`], acts with a [`Client`], and every answer is held against openapi.yaml on the way.

mod client;
mod contract;
mod events;
mod hub;
mod raw;

pub use client::{Answer, Ask, Client, encoded};
pub use contract::{Contract, Operation};
pub use events::{Event, Events};
pub use hub::{Hub, HubBuilder, NotStarted, binary};
pub use raw::Raw;

/// How long anything may take before a test gives up; no test waits for it when all is well.
pub const DEADLINE: std::time::Duration = std::time::Duration::from_secs(20);
