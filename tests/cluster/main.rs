//! Several real hubs with one log, on real nats-servers.

mod faults;
mod fence;
mod join;
mod nats;
mod proxy;
mod refusals;
mod support;
mod takeover;
mod wake;
