//! `hub-desktop`: shows who needs the person as notifications of the desktop, by the rules of the dashboard's alerts.
//!
//! `feed` reads the hub, `desk` decides what is shown, `daemon` shows it over D-Bus, and `acts`
//! does what the person chose.

mod acts;
mod cli;
mod daemon;
mod desk;
mod feed;
mod memory;
mod output;
mod rules;
mod service;
mod unit;

use std::process::ExitCode;

pub use crate::cli::command_line;
pub use crate::unit::packaged_unit;

/// The program: runs the command line of this process, and returns its exit code.
pub fn main() -> ExitCode {
    cli::run()
}
