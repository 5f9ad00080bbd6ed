//! A cluster in a world that a seed decides: two or three hubs, NATS, and their clients, on one thread.
//!
//! Real are the hub with its writer, its copy of the log, its snapshots and its retention, and of the cluster the journal, the
//! base, the lease, the follower, the beats, the audit, the forwarded calls, the handover and the choice of the hub that answers.
//! Simulated are NATS, the disks, the clocks, the clients and the routes behind the front.

mod clients;
mod clock;
mod crew;
mod disks;
mod faults;
mod join;
mod nats;
mod oracle;
mod process;
mod pulse;
mod readers;
mod world;
mod writers;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::Report;
use crate::rng::Rng;
use world::World;
use writers::Writers;

/// Runs a seed of the cluster, and prints its story if `prints`.
pub fn run(seed: u64, prints: bool) -> Report {
    let mut rng = Rng::new(seed);
    // Of its own, so that what it decides moves nothing else.
    let disks = Rng::new(!seed);
    let writers = Writers::new(rng.fork());
    let world = {
        let _context = writers.runtime().enter();
        World::new(rng, prints)
    };
    let (own, script) = (Arc::clone(&writers), Arc::clone(&world));
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let script = writers.runtime().spawn(script.run(disks, own));
        writers.block_on(script)
    }));
    let (step, hash, faults) = world.counts();
    let panicked = match ran {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some((step, format!("panic: {error}"))),
        Err(panic) => Some((step, format!("panic: {}", crate::words(&*panic)))),
    };
    Report {
        seed,
        hash,
        faults,
        broken: world.broken().or(panicked),
    }
}

#[cfg(test)]
mod tests;
