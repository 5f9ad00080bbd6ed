//! `hubd`: the hub's server.

use std::process::ExitCode;

use clap::Parser;
use hubd::config::{Config, ConfigArgs};
use hubd::maintain::Maintenance;

/// A notification is made on one thread and freed on another, which glibc's allocator pays for with a quarter of the
/// processor time of a publish.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Durable notifications between coding agents on one machine.
///
/// Without a command it runs the hub until SIGINT or SIGTERM. `hubctl up` does the same in the background.
#[derive(Debug, Parser)]
#[command(
    name = "hubd",
    version,
    after_help = "Examples:\n  hubd\n  hubd --listen 127.0.0.1:0 --state-dir /tmp/hub\n  hubd --print-config\n  hubd doctor"
)]
struct Args {
    #[command(flatten)]
    config: ConfigArgs,
    /// Show every setting with where its value came from, and end
    #[arg(long)]
    print_config: bool,
    #[command(subcommand)]
    maintenance: Option<Maintenance>,
}

/// `EX_USAGE` of sysexits; 2 means something else to the agents whose hooks may run this.
const EXIT_USAGE: u8 = 64;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() {
                ExitCode::from(EXIT_USAGE)
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hubd: {error:#}");
            hubd::serve::exit_code(&error)
        }
    }
}

fn run(args: Args) -> anyhow::Result<()> {
    let config = Config::load(&args.config, &|name| std::env::var_os(name))?;
    if args.print_config {
        for (key, value, source) in config.sources() {
            println!("{key} = {value}  # {source}");
        }
        return Ok(());
    }
    match args.maintenance {
        Some(maintenance) => maintenance.run(&config.state_dir),
        None => hubd::serve::serve(&config),
    }
}
