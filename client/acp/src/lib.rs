//! `hub-acp`: any agent by the Agent Client Protocol. The hub is the agent's client (`run`), or stands between the agent and
//! an editor (`proxy`).
//!
//! It is a library for its program, and for the program that writes the manual pages.

mod agent;
mod attach;
mod calls;
mod command;
mod detach;
mod dialog;
mod frame;
mod list;
mod protocol;
mod proxy;
mod reports;
mod run;
mod saved;
mod signals;
mod views;
mod wire;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use hub_protocol::InboxName;
use hubctl::{Connection, HubLocation};

/// Run any agent by the Agent Client Protocol, as a session of the hub.
#[derive(Debug, Parser)]
#[command(name = "hub-acp", version, max_term_width = 100)]
#[command(after_help = "\
`hubctl acp` runs this program.

Examples:
  hubctl acp run -- claude
  hubctl acp run --detach -- opencode acp \"Fix the flaky test\"
  hubctl acp attach fix
  hubctl acp proxy -- gemini --acp
  hubctl acp list")]
struct Cli {
    #[command(flatten)]
    location: HubLocation,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run an agent in this terminal: the hub is its client
    Run(run::RunArgs),
    /// Show a session of `run` in this terminal; one that died is loaded again
    Attach(AttachArgs),
    /// Stand between an editor and its agent, which the hub then knows
    Proxy(proxy::ProxyArgs),
    /// List the agents that speak the protocol
    List,
}

/// The arguments of `hub-acp attach`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
What you type is a prompt, or the answer to the open dialog. Ctrl-C cancels the turn, Ctrl-D leaves the session as it \
is.

Example:
  hubctl acp attach fix")]
struct AttachArgs {
    /// The session: its name, its id or a unique beginning of that
    #[arg(value_name = "SESSION")]
    session: InboxName,
}

/// The description of the command line.
pub fn command_line() -> clap::Command {
    Cli::command()
}

/// The program: runs the command line of this process, and returns its exit code.
pub fn main() -> ExitCode {
    let cli = match hubctl::parse_arguments::<Cli>() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    run(cli).unwrap_or_else(|error| {
        eprintln!("hub-acp: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    if detach::is_below() {
        detach::leave_terminal()?;
    }
    if matches!(cli.command, Command::List) {
        list::print();
        return Ok(ExitCode::SUCCESS);
    }
    let hub = Connection::open(&cli.location).map_err(|error| anyhow::anyhow!("{error}"))?;
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build()?;
    let code = runtime.block_on(async {
        match cli.command {
            Command::Run(args) => run::run(&args, hub).await,
            Command::Attach(args) => attach::attach(&args.session, hub).await,
            Command::Proxy(args) => proxy::run(&args, hub).await,
            Command::List => Ok(ExitCode::SUCCESS),
        }
    });
    // A thread may still read stdin.
    runtime.shutdown_background();
    code
}
