//! The subcommands, one file each.

pub(crate) mod ack;
pub(crate) mod clear;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod down;
pub(crate) mod history;
pub(crate) mod hook;
pub(crate) mod hooks;
pub(crate) mod inboxes;
pub(crate) mod instructions;
pub(crate) mod notify;
pub(crate) mod run;
pub(crate) mod status;
pub(crate) mod stream;
pub(crate) mod trace;
pub(crate) mod up;
pub(crate) mod wait;
pub(crate) mod watch;

use crate::args::{Cli, Command};
use crate::error::{Error, Exit};
use crate::here::Here;

/// Does what the command line says.
pub(crate) async fn run(cli: Cli) -> Result<Exit, Error> {
    let here = || Here::new(&cli.place);
    match &cli.command {
        Command::Notify(args) => notify::run(args, &here()?).await,
        Command::Clear(args) => clear::run(args, &here()?).await,
        Command::Wait(args) => wait::run(args, &here()?).await,
        Command::Stream(args) => stream::run(args, &here()?).await,
        Command::Run(args) => run::run(args, &here()?).await,
        Command::Watch(args) => watch::run(args, &here()?).await,
        Command::History(args) => history::run(args, &here()?).await,
        Command::Hook(args) => {
            hook::run(args, &cli.place).await;
            Ok(Exit::DONE)
        }
        Command::Hooks(args) => hooks::run(args, &cli.place, &here()?),
        Command::Instructions(args) => instructions::run(args, &here()?),
        Command::Ack(args) => ack::run(args, &here()?).await,
        Command::Trace(args) => trace::run(args, &here()?).await,
        Command::Inboxes(args) => inboxes::run(args, &here()?).await,
        Command::Status(args) => status::run(args, &here()?).await,
        Command::Up(args) => up::run(args, &here()?).await,
        Command::Down(args) => down::run(args, &here()?).await,
        Command::Config(args) => config::run(args, &here()?),
        Command::Completions(args) => completions::run(args),
    }
}
