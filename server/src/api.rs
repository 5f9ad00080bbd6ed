//! What the hub answers.

pub mod error;
pub mod hello;
pub mod payload;
