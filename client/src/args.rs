//! The command line.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use crate::commands::{
    ack, answer, ask, claim, clear, completions, config, dashboard, doctor, down, expect, history,
    hook, hooks, inboxes, instructions, listen, look, notify, primary, questions, reset, run,
    sessions, status, stream, trace, unlisten, up, wait, wake_test, watch, withdraw,
};
use crate::settings::Place;

/// Durable notifications between coding agents on one machine.
#[derive(Debug, Parser)]
#[command(
    name = "hubctl",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(after_help = "\
Exit codes: 0 done, timed out, or held by this session's own waiter; 1 refused; 3 hub unreachable;
4 inbox held by another; 5 no live waiter (status); 64 wrong usage; run: as the command.

Examples:
  hubctl up
  hubctl notify \"backup done\"
  hubctl wait")]
pub(crate) struct Cli {
    /// Where the hub is.
    #[command(flatten)]
    pub place: Place,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The command line of a hook alone: it comes at every step of every agent, and to build the tree of all commands costs
/// more than the rest of it.
#[derive(Debug, Parser)]
#[command(name = "hubctl")]
struct HookCli {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    command: HookCommand,
}

#[derive(Debug, Subcommand)]
enum HookCommand {
    Hook(hook::Args),
}

impl Cli {
    /// What `args` (with the program's name) say; help and errors are those of the whole tree.
    pub(crate) fn read(args: impl Iterator<Item = OsString> + Clone) -> Result<Self, clap::Error> {
        if is_hook(args.clone().skip(1))
            && let Ok(HookCli { place, command }) = HookCli::try_parse_from(args.clone())
        {
            let HookCommand::Hook(args) = command;
            let command = Command::Hook(args);
            return Ok(Self { place, command });
        }
        Self::try_parse_from(args)
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say something to an inbox
    Notify(notify::Args),
    /// Take back what is pending
    Clear(clear::Args),
    /// Wait until something comes, print it, and end
    Wait(wait::Args),
    /// Print everything as it comes, or run a command for each
    Stream(stream::Args),
    /// Run a command as a session, and say how it ended
    Run(run::Args),
    /// Forward what is written into a status file
    Watch(watch::Args),
    /// Ask somebody, and perhaps wait for the answer
    Ask(ask::Args),
    /// The questions that wait for an answer
    Questions(questions::Args),
    /// Answer a question
    Answer(answer::Args),
    /// Say that you are on a question
    #[command(visible_alias = "acknowledge")]
    Claim(claim::Args),
    /// Take a question back
    Withdraw(withdraw::Args),
    /// The agents' sessions, and what they do
    Sessions(sessions::Args),
    /// One session in detail
    Look(look::Args),
    /// Who the primary session is, or make it this one
    Primary(primary::Args),
    /// Be told of the next stop of a session
    Listen(listen::Args),
    /// Not be told of it
    Unlisten(unlisten::Args),
    /// Be told of a stop, or that none came in time
    Expect(expect::Args),
    /// What was said
    History(history::Args),
    /// Say that notifications were read
    Ack(ack::Args),
    /// What became of a notification
    Trace(trace::Args),
    /// The inboxes, what is pending there, and who waits
    Inboxes(inboxes::Args),
    /// Whether the hub runs and somebody waits
    Status(status::Args),
    /// Open the dashboard in a browser, signed in
    Dashboard(dashboard::Args),
    /// Whether everything works, and what to do where it does not
    Doctor(doctor::Args),
    /// Try whether a session is woken
    WakeTest(wake_test::Args),
    /// Empty a project
    Reset(reset::Args),
    /// Start the hub in the background
    Up(up::Args),
    /// Stop the hub
    Down(down::Args),
    /// Carry an agent's hook to the hub
    Hook(hook::Args),
    /// Put hooks into an agent's settings, take them out, see how it stands
    Hooks(hooks::Args),
    /// The text for an AGENTS.md: how an agent works with the hub
    Instructions(instructions::Args),
    /// Each setting, and where it came from
    Config(config::Args),
    /// Completions for a shell
    Completions(completions::Args),
}

/// Whether `args` (without the program's name) ask for `hook`, however wrongly: a hook must not harm its agent, not even
/// by an exit code.
pub(crate) fn is_hook(args: impl Iterator<Item = OsString>) -> bool {
    let mut args = args;
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--url" | "--socket" | "--state-dir" | "--token-file") => drop(args.next()),
            Some(option) if option.starts_with('-') => {}
            command => return command == Some("hook"),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_known_behind_the_options_of_every_command() {
        let asked = |line: &str| is_hook(line.split_whitespace().map(OsString::from));
        for hook in [
            "hook",
            "hook claud --x",
            "--state-dir hook hook claude",
            "--url=x hook",
            "--bad hook",
        ] {
            assert!(asked(hook), "{hook}");
        }
        for other in ["", "notify hook", "--socket hook wait", "hooks status"] {
            assert!(!asked(other), "{other}");
        }
    }

    #[test]
    fn the_command_line_is_sound() {
        <Cli as clap::CommandFactory>::command().debug_assert();
        <HookCli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn a_hook_is_read_as_the_whole_tree_reads_it() {
        for line in [
            "hubctl hook claude",
            "hubctl hook --rewake claude",
            "hubctl --state-dir d hook codex {} --event e --socket s",
            "hubctl hook nobody",
            "hubctl hook claude --help",
            "hubctl --version hook",
        ] {
            let args = || line.split_whitespace().map(OsString::from);
            let (read, whole) = (Cli::read(args()), Cli::try_parse_from(args()));
            assert_eq!(format!("{read:?}"), format!("{whole:?}"), "{line}");
        }
    }
}
