//! `hubctl completions`: completions for a shell.

use clap::CommandFactory;
use clap_complete::{Generator, generate, shells};

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

/// The shells that people use with this.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Error> {
    print(&match args.shell {
        Shell::Bash => script(shells::Bash),
        Shell::Zsh => script(shells::Zsh),
        Shell::Fish => script(shells::Fish),
    })?;
    Ok(Exit::DONE)
}

fn script(shell: impl Generator) -> String {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "hubctl", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}
