//! `hubctl`: says things to the hub, and waits for what others say.

mod age;
mod agent;
mod args;
mod backoff;
mod commands;
mod env;
mod error;
mod fields;
mod filter;
mod git;
mod here;
mod hub;
mod out;
mod parent;
mod process;
mod project;
mod publish;
mod question;
mod random;
mod scope;
mod seat;
mod sender;
mod session;
mod settings;
mod shell;
mod span;
mod spool;
mod sse;
mod status_file;
mod table;
mod text;

use std::process::ExitCode;

use crate::args::{Cli, is_hook};
use crate::error::{Error, Exit};

fn main() -> ExitCode {
    let exit = hubctl();
    if !is_hook(std::env::args_os().skip(1)) {
        return exit.into();
    }
    if exit == Exit::USAGE {
        // The agent must not fail at writing what nobody wanted to read.
        let _ = commands::hook::read_stdin();
    }
    Exit::DONE.into()
}

fn hubctl() -> Exit {
    let args: Vec<_> = std::env::args_os().collect();
    let cli = match Cli::read(args.into_iter()) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            // Help and version are what was asked for. clap's own 2 would block an agent's turn in a hook.
            return if error.use_stderr() {
                Exit::USAGE
            } else {
                Exit::DONE
            };
        }
    };
    run(cli).unwrap_or_else(|error| {
        if !matches!(error, Error::Unread) {
            out::say(&error);
        }
        error.exit()
    })
}

fn run(cli: Cli) -> Result<Exit, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()?;
    runtime.block_on(commands::run(cli))
}
