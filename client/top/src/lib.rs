//! `hub-top`: shows in a terminal, live, which coding agents need the person, and answers them.
//!
//! It is a library for its program, and for the program that writes the manual pages.

mod app;
mod board;
mod details;
mod draft;
mod draw;
mod finder;
mod form;
mod input;
mod keys;
mod live;
mod markdown;
mod needs;
mod outbox;
mod rows;
mod run;
mod store;
mod text;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};
use hubctl::{Connection, HubLocation};

/// The exit code for a wrong command line (`EX_USAGE`), as `hubctl` has it.
const USAGE: u8 = 64;

/// Show who needs you, live in the terminal, and answer there.
#[derive(Debug, Parser)]
#[command(name = "hub-top", version, max_term_width = 100)]
#[command(after_help = "\
The upper part lists what waits for you, the most urgent kind first: permissions, questions, plans, errors, and \
sessions whose turn has ended. Below are the other sessions by phase, and the details of the selected row. Press ? for \
the keys: j and k move, 1 to 9 choose an option, a approves, d denies, r sends a message, g goes to the session's tmux \
pane, / searches, q quits. An answer is sent after five seconds; until then u takes it back. NO_COLOR=1 turns the \
colours off. `hubctl top` runs this program.

Examples:
  hubctl top
  hub-top --socket ~/.local/state/hub/hub.sock
  tmux split-window -h hub-top")]
struct Cli {
    #[command(flatten)]
    location: HubLocation,
}

/// The description of the command line.
pub fn command_line() -> clap::Command {
    Cli::command()
}

/// The program: runs until the person or a signal ends it, and returns its exit code.
pub fn main() -> ExitCode {
    let cli = match hubctl::parse_arguments::<Cli>() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    if !std::io::stdout().is_terminal() {
        eprintln!(
            "hub-top: stdout is not a terminal: `hubctl needs` and `hubctl status` print the same once"
        );
        return USAGE.into();
    }
    let connection = match Connection::open(&cli.location) {
        Ok(connection) => connection,
        Err(error) => {
            eprintln!("hub-top: {error}");
            return error.code();
        }
    };
    run::run(connection).unwrap_or_else(|error| {
        eprintln!("hub-top: {error}");
        ExitCode::FAILURE
    })
}
