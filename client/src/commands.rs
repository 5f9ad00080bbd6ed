//! The subcommands, one file each.

pub(crate) mod ack;
pub(crate) mod answer;
pub(crate) mod ask;
pub(crate) mod claim;
pub(crate) mod clear;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod dashboard;
pub(crate) mod doctor;
pub(crate) mod down;
pub(crate) mod expect;
pub(crate) mod history;
pub(crate) mod hook;
pub(crate) mod hooks;
pub(crate) mod inboxes;
pub(crate) mod instructions;
pub(crate) mod listen;
pub(crate) mod look;
pub(crate) mod notify;
pub(crate) mod primary;
pub(crate) mod questions;
pub(crate) mod reset;
pub(crate) mod run;
pub(crate) mod seen;
pub(crate) mod sessions;
pub(crate) mod status;
pub(crate) mod stream;
pub(crate) mod trace;
pub(crate) mod unlisten;
pub(crate) mod up;
pub(crate) mod wait;
pub(crate) mod wake_test;
pub(crate) mod watch;
pub(crate) mod withdraw;

use crate::args::{Cli, Command};
use crate::error::{Error, Exit};
use crate::here::Here;

/// Runs the command of a parsed command line.
pub(crate) async fn run(cli: Cli) -> Result<Exit, Error> {
    let here = || Here::new(&cli.place);
    // Each future is boxed; otherwise the one future of all commands would be as large as the largest of them.
    match &cli.command {
        Command::Notify(args) => Box::pin(notify::run(args, &here()?)).await,
        Command::Clear(args) => Box::pin(clear::run(args, &here()?)).await,
        Command::Ask(args) => Box::pin(ask::run(args, &here()?)).await,
        Command::Questions(args) => Box::pin(questions::run(args, &here()?)).await,
        Command::Answer(args) => Box::pin(answer::run(args, &here()?)).await,
        Command::Claim(args) => Box::pin(claim::run(args, &here()?)).await,
        Command::Withdraw(args) => Box::pin(withdraw::run(args, &here()?)).await,
        Command::Sessions(args) => Box::pin(sessions::run(args, &here()?)).await,
        Command::Look(args) => Box::pin(look::run(args, &here()?)).await,
        Command::Primary(args) => Box::pin(primary::run(args, &here()?)).await,
        Command::Listen(args) => Box::pin(listen::run(args, &here()?)).await,
        Command::Unlisten(args) => Box::pin(unlisten::run(args, &here()?)).await,
        Command::Expect(args) => Box::pin(expect::run(args, &here()?)).await,
        Command::Dashboard(args) => Box::pin(dashboard::run(args, &here()?)).await,
        Command::Doctor(args) => Box::pin(doctor::run(args, &here()?)).await,
        Command::WakeTest(args) => Box::pin(wake_test::run(args, &here()?)).await,
        Command::Reset(args) => Box::pin(reset::run(args, &here()?)).await,
        Command::Wait(args) => Box::pin(wait::run(args, &here()?)).await,
        Command::Stream(args) => Box::pin(stream::run(args, &here()?)).await,
        Command::Run(args) => Box::pin(run::run(args, &here()?)).await,
        Command::Watch(args) => Box::pin(watch::run(args, &here()?)).await,
        Command::History(args) => Box::pin(history::run(args, &here()?)).await,
        Command::Hook(args) => {
            Box::pin(hook::run(args, &cli.place)).await;
            Ok(Exit::DONE)
        }
        Command::Hooks(args) => hooks::run(args, &cli.place, &here()?),
        Command::Instructions(args) => instructions::run(args, &here()?),
        Command::Ack(args) => Box::pin(ack::run(args, &here()?)).await,
        Command::Seen(args) => Box::pin(seen::run(args, &here()?)).await,
        Command::Trace(args) => Box::pin(trace::run(args, &here()?)).await,
        Command::Inboxes(args) => Box::pin(inboxes::run(args, &here()?)).await,
        Command::Status(args) => Box::pin(status::run(args, &here()?)).await,
        Command::Up(args) => Box::pin(up::run(args, &here()?)).await,
        Command::Down(args) => Box::pin(down::run(args, &here()?)).await,
        Command::Config(args) => Box::pin(config::run(args, &here()?)).await,
        Command::Completions(args) => Box::pin(completions::run(args, &here()?)).await,
    }
}
