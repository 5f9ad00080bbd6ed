//! The hub from outside: a real hubd, real sockets, and every response validated against the contract.

mod bad_requests;
mod contract;
mod dashboard;
mod delivery;
mod events;
mod guard;
mod history;
mod hooks;
mod identity;
mod limits;
mod preferences;
mod questions;
mod redelivery;
mod secrets;
mod sessions;
mod stats;
mod status_files;
