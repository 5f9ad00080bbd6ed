//! `hubctl instructions`: prints the instructions for agents, to be added to an AGENTS.md.

use hub_protocol::InboxName;

use crate::error::Error;
use crate::exit_code::Exit;
use crate::identity::Context;
use crate::output::print;

const COMMON: &str = include_str!("instructions/common.md");
const PRIMARY: &str = include_str!("instructions/primary.md");
const WORKER: &str = include_str!("instructions/worker.md");

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hubctl instructions >> AGENTS.md
  hubctl instructions --role primary")]
/// The arguments of `hubctl instructions`.
pub(crate) struct InstructionsArgs {
    /// The agent that the person talks to, or a worker [default: `HUB_ROLE`, else worker]
    #[arg(long)]
    role: Option<Role>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Role {
    Primary,
    Worker,
}

pub(crate) fn run(args: &InstructionsArgs, context: &Context) -> Result<Exit, Error> {
    let is_primary = context
        .env
        .var("HUB_ROLE")
        .is_some_and(|role| role == InboxName::PRIMARY);
    let default = if is_primary {
        Role::Primary
    } else {
        Role::Worker
    };
    let own = match args.role.unwrap_or(default) {
        Role::Primary => PRIMARY,
        Role::Worker => WORKER,
    };
    print(&format!("{COMMON}\n{own}"))?;
    Ok(Exit::DONE)
}
