//! `hubctl completions`: completions for a shell.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::error::{Error, Exit};
use crate::out::print;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hubctl completions bash > ~/.local/share/bash-completion/completions/hubctl
  hubctl completions fish > ~/.config/fish/completions/hubctl.fish")]
/// For which shell.
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "hubctl", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::DONE)
}
