//! The hub from outside: a real hubd, real sockets, and every answer held against the contract.

mod bad_requests;
mod contract;
mod dashboard;
mod delivery;
mod events;
mod guard;
mod history;
mod hooks;
mod limits;
mod preferences;
mod questions;
mod secrets;
mod sessions;
mod stats;
mod status_files;
