//! `hubd`: the hub's server.

use std::process::ExitCode;

use clap::Parser;
use hubd::config::{Config, ConfigArgs};

/// Durable notifications between coding agents on one machine.
#[derive(Debug, Parser)]
#[command(name = "hubd", version, about)]
struct Args {
    #[command(flatten)]
    config: ConfigArgs,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hubd: {error:#}");
            hubd::serve::exit_code(&error)
        }
    }
}

fn run(args: &Args) -> anyhow::Result<()> {
    let config = Config::load(&args.config, &|name| std::env::var_os(name))?;
    hubd::serve::serve(&config)
}
