//! The command line.

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};
use hubctl::{Error, HubLocation};

use crate::output::say;
use crate::{service, unit};

/// Shows who needs you as notifications of the desktop, with buttons for the answers.
#[derive(Debug, Parser)]
#[command(
    name = "hub-desktop",
    version,
    after_help = "\
One notification stands for each need; which ones, the settings of the dashboard choose (without any: questions, \
permissions and blocked agents), with its mutes and quiet hours. A click selects the agent's tmux pane, or opens the \
dashboard. It runs until it is ended, waits for the hub and for the notification daemon, and closes what it has shown.

Examples:
  hub-desktop
  hub-desktop --install-unit
  hub-desktop --uninstall-unit"
)]
pub(crate) struct Args {
    /// Install a unit of the systemd user manager, which runs this program in each graphical session, and start it
    #[arg(long)]
    install_unit: bool,
    /// Stop that unit and remove it
    #[arg(long, conflicts_with = "install_unit")]
    uninstall_unit: bool,
    #[command(flatten)]
    location: HubLocation,
}

/// The command line, for manual pages and completions.
pub fn command_line() -> clap::Command {
    Args::command()
}

pub(crate) fn run() -> ExitCode {
    let args = match hubctl::parse_arguments::<Args>() {
        Ok(args) => args,
        Err(code) => return code,
    };
    let done = match (args.install_unit, args.uninstall_unit) {
        (true, _) => unit::install(&args.location),
        (_, true) => unit::uninstall(),
        _ => service::run(&args.location),
    };
    done.map_or_else(|error| fail(&error), |()| ExitCode::SUCCESS)
}

fn fail(error: &Error) -> ExitCode {
    say(error);
    error.code()
}
