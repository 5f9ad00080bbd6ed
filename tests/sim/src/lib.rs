//! The hub's own code on one thread, in a world that a seed decides: every schedule and every fault can be replayed. [`run`] has
//! one hub, and [`cluster::run`] several.
//!
//! Real are the fold, the writer, the waiters, the log with its segments, epoch file and snapshots, the readers' fold
//! and the archive. Simulated are the disk, the clocks and the clients; a model stands for sled.

mod actors;
pub mod cluster;
mod disk;
mod machine;
mod oracle;
mod rng;
mod store;
mod story;
mod time;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use world::World;

/// The events of one seed.
pub const STEPS: u64 = 1_000;

/// The result of a seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// The hash of its story.
    pub hash: u64,
    /// How many faults there were.
    pub faults: u64,
    /// The promise that was broken, and the step.
    pub broken: Option<(u64, String)>,
}

/// Runs a seed, and prints its story if `prints`.
pub fn run(seed: u64, prints: bool) -> Report {
    let mut world = World::new(seed, prints);
    let ran = catch_unwind(AssertUnwindSafe(|| world.run(STEPS)));
    let broken = match ran {
        Ok(Ok(())) => None,
        Ok(Err(broken)) => Some(broken),
        Err(panic) => Some(format!("panic: {}", words(&*panic))),
    };
    Report {
        seed,
        hash: world.story.hash(),
        faults: world.faults,
        broken: broken.map(|it| (world.step, it)),
    }
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()));
    text.unwrap_or_default()
}

#[cfg(test)]
mod tests;
