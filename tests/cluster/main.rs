//! Several real hubs with one log, on real nats-servers.

mod commands;
mod day;
mod faults;
mod fence;
mod forward;
mod handover;
mod hooks;
mod join;
mod load;
mod nats;
mod network;
mod proxy;
mod refusals;
mod retention;
mod security;
mod signature;
#[path = "../faults/small_disk.rs"]
mod small_disk;
mod support;
mod takeover;
mod truth;
mod wake;
