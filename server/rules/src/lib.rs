//! The person's rules: programs that they start, and forwards to other services.

pub mod forward;
pub mod rules;
