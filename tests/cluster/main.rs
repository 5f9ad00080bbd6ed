//! Several real hubs with one log, on real nats-servers.

mod commands;
mod faults;
mod fence;
mod forward;
mod join;
mod nats;
mod proxy;
mod refusals;
mod retention;
mod security;
mod support;
mod takeover;
mod wake;
