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
    /// Run one seed after another for so many minutes, and print a line in each.
    #[arg(long, conflicts_with = "count")]
    minutes: Option<u64>,
    /// Run all of them although one breaks a promise.
    #[arg(long)]
    go_on: bool,
    /// The number of seeds to run at a time.
    #[arg(long, default_value_t = 2)]
    threads: u64,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let run = Run::new(&arguments);
    std::thread::scope(|scope| {
        for _ in 0..arguments.threads {
            scope.spawn(|| run.work());
        }
    });
    run.report();
    if run.broken.load(Ordering::Relaxed) == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The seeds that have been run, and what they found.
struct Run<'a> {
    arguments: &'a Arguments,
    began: Instant,
    next: AtomicU64,
    done: AtomicU64,
    broken: AtomicU64,
    /// The last minute in which a line was printed.
    minute: AtomicU64,
}

impl<'a> Run<'a> {
    fn new(arguments: &'a Arguments) -> Self {
        Self {
            arguments,
            began: Instant::now(),
            next: AtomicU64::new(arguments.seed),
            done: AtomicU64::new(0),
            broken: AtomicU64::new(0),
            minute: AtomicU64::new(0),
        }
    }

    /// Runs one seed after another, and says every minute how many.
    fn work(&self) {
        while let Some(seed) = self.next() {
            let run = if self.arguments.cluster {
                hub_sim::cluster::run
            } else {
                hub_sim::run
            };
            let report = run(seed, self.arguments.trace);
            self.done.fetch_add(1, Ordering::Relaxed);
            if let Some((step, why)) = report.broken {
                self.broken.fetch_add(1, Ordering::Relaxed);
                println!("seed {seed} breaks a promise at step {step}: {why}");
            }
            let minute = self.began.elapsed().as_secs() / 60;
            if self.minute.fetch_max(minute, Ordering::Relaxed) < minute {
                self.report();
            }
        }
    }

    /// The seed to run next, unless that was all, or one has broken a promise.
    fn next(&self) -> Option<u64> {
        let seed = self.next.fetch_add(1, Ordering::Relaxed);
        let is_over = match self.arguments.minutes {
            Some(minutes) => self.began.elapsed().as_secs() / 60 >= minutes,
            None => seed >= self.arguments.seed + self.arguments.count,
        };
        let goes_on = self.arguments.go_on || self.broken.load(Ordering::Relaxed) == 0;
        (!is_over && goes_on).then_some(seed)
    }

    fn report(&self) {
        println!(
            "{} seeds in {:.1} s, {} broken",
            self.done.load(Ordering::Relaxed),
            self.began.elapsed().as_secs_f64(),
            self.broken.load(Ordering::Relaxed)
        );
    }
}
