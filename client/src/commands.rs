//! The command line, and the subcommands, one file each. May use every other module; only `main` uses this one.

pub(crate) mod ack;
pub(crate) mod answer;
pub(crate) mod ask;
pub(crate) mod claim;
pub(crate) mod clear;
pub(crate) mod cli;
mod cluster;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod dashboard;
pub(crate) mod doctor;
pub(crate) mod done;
pub(crate) mod down;
pub(crate) mod expect;
pub(crate) mod go;
pub(crate) mod history;
pub(crate) mod hook;
pub(crate) mod hooks;
pub(crate) mod inboxes;
pub(crate) mod instructions;
pub(crate) mod listen;
pub(crate) mod look;
pub(crate) mod mcp;
pub(crate) mod needs;
pub(crate) mod notify;
mod phone;
pub(crate) mod primary;
mod program;
pub(crate) mod questions;
pub(crate) mod reset;
pub(crate) mod resume;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod seen;
pub(crate) mod service;
pub(crate) mod sessions;
mod ssh;
pub(crate) mod stats;
pub(crate) mod status;
pub(crate) mod stream;
pub(crate) mod trace;
pub(crate) mod tunnel;
pub(crate) mod unlisten;
pub(crate) mod up;
pub(crate) mod wait;
pub(crate) mod wake_test;
pub(crate) mod watch;
pub(crate) mod why;
pub(crate) mod withdraw;

use self::cli::{Cli, Command};
use crate::error::Error;
use crate::exit_code::Exit;
use crate::identity::Context;

/// Runs the command of a parsed command line.
pub(crate) async fn run(cli: Cli) -> Result<Exit, Error> {
    let context = || Context::new(&cli.location);
    // Each future is boxed; otherwise the one future of all commands would be as large as the largest of them.
    match &cli.command {
        Command::Notify(args) => Box::pin(notify::run(args, &context()?)).await,
        Command::Clear(args) => Box::pin(clear::run(args, &context()?)).await,
        Command::Ask(args) => Box::pin(ask::run(args, &context()?)).await,
        Command::Needs(args) => Box::pin(needs::run(args, &context()?)).await,
        Command::Done(args) => Box::pin(done::run(args, &context()?)).await,
        Command::Resume(args) => Box::pin(resume::run(args, &context()?)).await,
        Command::Questions(args) => Box::pin(questions::run(args, &context()?)).await,
        Command::Answer(args) => Box::pin(answer::run(args, &context()?)).await,
        Command::Claim(args) => Box::pin(claim::run(args, &context()?)).await,
        Command::Withdraw(args) => Box::pin(withdraw::run(args, &context()?)).await,
        Command::Sessions(args) => Box::pin(sessions::run(args, &context()?)).await,
        Command::Look(args) => Box::pin(look::run(args, &context()?)).await,
        Command::Go(args) => Box::pin(go::run(args, &context()?)).await,
        Command::Primary(args) => Box::pin(primary::run(args, &context()?)).await,
        Command::Listen(args) => Box::pin(listen::run(args, &context()?)).await,
        Command::Unlisten(args) => Box::pin(unlisten::run(args, &context()?)).await,
        Command::Expect(args) => Box::pin(expect::run(args, &context()?)).await,
        Command::Top(args) => program::run("hub-top", args, &cli.location),
        Command::Acp(args) => program::run("hub-acp", args, &cli.location),
        Command::Desktop(args) => program::run("hub-desktop", args, &cli.location),
        Command::Dashboard(args) => Box::pin(dashboard::run(args, &context()?)).await,
        Command::Phone(args) => Box::pin(phone::run(args, &context()?)).await,
        Command::Doctor(args) => Box::pin(doctor::run(args, &context()?)).await,
        Command::WakeTest(args) => Box::pin(wake_test::run(args, &context()?)).await,
        Command::Rules(args) => Box::pin(rules::run(args, &context()?)).await,
        Command::Reset(args) => Box::pin(reset::run(args, &context()?)).await,
        Command::Wait(args) => Box::pin(wait::run(args, &context()?)).await,
        Command::Stream(args) => Box::pin(stream::run(args, &context()?)).await,
        Command::Run(args) => Box::pin(run::run(args, &context()?)).await,
        Command::Watch(args) => Box::pin(watch::run(args, &context()?)).await,
        Command::Tunnel(args) => tunnel::run(args, &context()?),
        Command::History(args) => Box::pin(history::run(args, &context()?)).await,
        Command::Hook(args) => {
            Box::pin(hook::run(args, &cli.location)).await;
            Ok(Exit::DONE)
        }
        Command::Hooks(args) => hooks::run(args, &cli.location, &context()?),
        Command::Instructions(args) => instructions::run(args, &context()?),
        Command::Mcp(args) => Box::pin(mcp::run(args, context()?)).await,
        Command::Ack(args) => Box::pin(ack::run(args, &context()?)).await,
        Command::Seen(args) => Box::pin(seen::run(args, &context()?)).await,
        Command::Why(args) => Box::pin(why::run(args, &context()?)).await,
        Command::Stats(args) => Box::pin(stats::run(args, &context()?)).await,
        Command::Trace(args) => Box::pin(trace::run(args, &context()?)).await,
        Command::Inboxes(args) => Box::pin(inboxes::run(args, &context()?)).await,
        Command::Status(args) => Box::pin(status::run(args, &context()?)).await,
        Command::Up(args) => Box::pin(up::run(args, &context()?)).await,
        Command::Down(args) => Box::pin(down::run(args, &context()?)).await,
        Command::Cluster(args) => Box::pin(cluster::run(args, &context()?)).await,
        Command::Service(args) => service::run(args, &context()?),
        Command::Config(args) => Box::pin(config::run(args, &context()?)).await,
        Command::Completions(args) => Box::pin(completions::run(args, &context()?)).await,
    }
}
