//! The hub from outside: a real hubd, real sockets, and every answer held against the contract.

mod bad_requests;
mod contract;
mod delivery;
mod events;
mod guard;
mod hooks;
mod limits;
mod questions;
mod secrets;
mod sessions;
mod status_files;
