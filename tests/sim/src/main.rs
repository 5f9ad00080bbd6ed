//! `hub-sim`: runs seeds of the simulation, and replays one.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clap::Parser;

/// Runs the hub in a simulated world.
#[allow(clippy::struct_excessive_bools)] // each a switch of its own
#[derive(Debug, Parser)]
struct Arguments {
    /// The seed to run, or the first of several.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of seeds to run.
    #[arg(long, default_value_t = 1)]
    count: u64,
    /// Run a cluster instead of one hub.
    #[arg(long)]
    cluster: bool,
    /// Print what happens.
    #[arg(long)]
    trace: bool,
    /// Run one seed after another, until one breaks a promise.
    #[arg(long)]
    forever: bool,
    /// Run all of them although one breaks a promise.
    #[arg(long)]
    go_on: bool,
    /// The number of seeds to run at a time.
    #[arg(long, default_value_t = 2)]
    threads: u64,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let end = if arguments.forever {
        u64::MAX
    } else {
        arguments.seed + arguments.count
    };
    let (next, broken) = (AtomicU64::new(arguments.seed), AtomicU64::new(0));
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..arguments.threads.min(end - arguments.seed) {
            scope.spawn(|| work(&arguments, end, (&next, &broken)));
        }
    });
    let (ran, seconds) = (
        next.load(Ordering::Relaxed).min(end) - arguments.seed,
        began.elapsed(),
    );
    let broken = broken.load(Ordering::Relaxed);
    println!(
        "{ran} seeds in {:.1} s, {broken} broken",
        seconds.as_secs_f64()
    );
    if broken == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn work(arguments: &Arguments, end: u64, (next, broken): (&AtomicU64, &AtomicU64)) {
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        let is_over = !arguments.go_on && broken.load(Ordering::Relaxed) > 0;
        if seed >= end || is_over {
            return;
        }
        let run = if arguments.cluster {
            hub_sim::cluster::run
        } else {
            hub_sim::run
        };
        let report = run(seed, arguments.trace);
        if let Some((step, why)) = report.broken {
            broken.fetch_add(1, Ordering::Relaxed);
            println!("seed {seed} breaks a promise at step {step}: {why}");
        }
    }
}
