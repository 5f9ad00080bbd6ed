//! `hubctl`: publishes notifications to the hub, and waits for those of others.
//!
//! It is a library for its program, for the program that writes the manual pages and the completions, and for the
//! programs beside it, such as `hub-top`.

mod api;
mod arguments;
mod beside;
mod commands;
mod error;
mod exit_code;
mod hub;
mod identity;
mod output;
mod publish;
mod settings;
mod spool;
mod system;

use std::ffi::OsString;
use std::io::Write as _;
use std::pin::pin;
use std::process::ExitCode;

pub use crate::beside::{Connection, EventReply, EventStream, SessionPlace, parse_arguments};
pub use crate::commands::cli::command_line;
pub use crate::commands::completions::{Shell, completions};
pub use crate::commands::service::{packaged_units, unit_word};
pub use crate::error::Error;
pub use crate::exit_code::EXIT_CODES;
pub use crate::hub::Path;
pub use crate::hub::sse::Event;
pub use crate::output::age::age;
pub use crate::settings::HubLocation;

use crate::commands::cli::{Cli, is_hook};
use crate::exit_code::Exit;
use crate::output::text::line;
use crate::system::runtime::block_on;

/// The program: runs the command line of this process, and returns its exit code.
pub fn main() -> ExitCode {
    let exit = hubctl();
    if !is_hook(std::env::args_os().skip(1)) {
        return exit.into();
    }
    if exit == Exit::USAGE {
        // Read stdin to the end; otherwise the agent's write to its hook would fail.
        let _ = commands::hook::read_stdin();
    }
    Exit::DONE.into()
}

fn hubctl() -> Exit {
    let args: Vec<_> = std::env::args_os().collect();
    let cli = match Cli::read(args.into_iter()) {
        Ok(cli) => cli,
        Err(error) => {
            // clap prints help and version to stdout, and these are no errors. clap's own exit code 2 would block an
            // agent's turn in a hook.
            if error.use_stderr() {
                complain(error, |shown| Cli::read(shown).err());
                return Exit::USAGE;
            }
            return error.print().map_or(Exit::UNREAD, |()| Exit::DONE);
        }
    };
    run(cli).unwrap_or_else(|error| {
        if !matches!(error, Error::Unread) {
            output::say(&error);
        }
        error.exit()
    })
}

/// Prints the error about the arguments. clap repeats arguments as they came, so they are parsed again with terminal
/// controls escaped.
pub(crate) fn complain(
    error: clap::Error,
    read: impl Fn(std::vec::IntoIter<OsString>) -> Option<clap::Error>,
) {
    let shown: Vec<OsString> = std::env::args_os()
        .map(|arg| line(&arg.to_string_lossy()).into_owned().into())
        .collect();
    let error = read(shown.into_iter()).unwrap_or(error);
    let mut stderr = std::io::stderr();
    for text in error.render().to_string().lines() {
        let _ = writeln!(stderr, "{}", line(text));
    }
}

fn run(cli: Cli) -> Result<Exit, Error> {
    block_on(pin!(commands::run(cli)))?
}
