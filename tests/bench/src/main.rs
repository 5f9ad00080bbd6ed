//! One command that measures the hub: servers in turns, a ratio a row, one table.

mod args;
mod axum_ref;
mod before;
mod bench;
mod body;
mod browser;
mod cluster;
mod dashboards;
mod fanout;
mod http;
mod idle_waiters;
mod load;
mod long_poll;
mod machine;
mod memory;
mod million;
mod nats;
mod process;
mod progress;
mod publish;
mod raw_wait;
mod readers;
mod relay;
mod replay;
mod running;
mod server;
mod slices;
mod sse;
mod system;
mod table;
mod wake;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use args::{Args, Part, Serve};
use axum_ref::Options;
use bench::Bench;
use progress::Progress;
use server::{Kind, Launcher};
use table::Row;

type Measurement = fn(&Bench) -> Result<Vec<Row>>;

/// Every group of rows, in the order of the table.
const PARTS: [(Part, Measurement); 12] = [
    (Part::Publish, publish::rows),
    (Part::Wake, wake::rows),
    (Part::Fanout, fanout::rows),
    (Part::Replay, replay::rows),
    (Part::Memory, memory::rows),
    (Part::Process, process::rows),
    (Part::Waiters, idle_waiters::rows),
    (Part::Dashboards, dashboards::rows),
    (Part::Browser, browser::rows),
    (Part::Cluster, cluster::rows),
    (Part::Million, million::rows),
    (Part::Before, before::rows),
];

fn main() -> ExitCode {
    match raw_wait::run().and_then(|waited| if waited { Ok(()) } else { run(Args::parse()) }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hub-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> Result<()> {
    match args.serve {
        Some(Serve::ServeRelay { state }) => relay::serve(&state),
        Some(Serve::ServeAxum {
            state,
            workers,
            memory,
        }) => axum_ref::serve(&state, Options { workers, memory }),
        None => measure(&args),
    }
}

fn measure(args: &Args) -> Result<()> {
    system::raise_file_limit();
    let dir = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let dir = tempfile::Builder::new()
        .prefix("hub-bench-")
        .tempdir_in(dir)?;
    let bench = Bench {
        launcher: Launcher::new(dir.path(), args.before.clone())?,
        subject: args.subject,
        reference: args.reference,
        plan: args.plan(),
        quick: args.quick,
        progress: Progress::new(),
    };
    bench
        .launcher
        .running()
        .end_on_signal(dir.path().to_owned())?;
    if args.subject == Kind::Hubd {
        bench.launcher.hubd()?;
    }
    if args.subject == Kind::Hubd && args.wants(Part::Process) {
        bench.launcher.hubctl()?;
    }
    let machine = machine::describe(dir.path())?;
    bench.progress.show(&machine);
    let mut rows = Vec::new();
    let mut failed = None;
    for (part, measure) in PARTS.iter().filter(|(part, _)| args.wants(*part)) {
        match measure(&bench) {
            Ok(more) => rows.extend(more),
            // The other parts take minutes, so their results are printed before this error.
            Err(error) => failed = failed.or(Some(error.context(format!("{part:?}")))),
        }
    }
    bench.progress.done();
    table::print(&machine, &rows, args.json)?;
    failed.map_or(Ok(()), Err)
}
