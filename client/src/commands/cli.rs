//! The command line of `hubctl`.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use super::{
    ack, answer, ask, claim, clear, cluster, completions, config, dashboard, doctor, done, down,
    expect, go, history, hook, hooks, inboxes, instructions, listen, look, mcp, needs, notify,
    phone, primary, program, questions, reset, resume, rules, run, seen, service, sessions, stats,
    status, stream, trace, tunnel, unlisten, up, wait, wake_test, watch, why, withdraw,
};
use crate::exit_code::EXIT_CODES;
use crate::settings::HubLocation;

/// Durable notifications between coding agents on one machine.
#[derive(Debug, Parser)]
#[command(
    name = "hubctl",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(after_help = after_help())]
pub(crate) struct Cli {
    /// The hub's location.
    #[command(flatten)]
    pub location: HubLocation,
    /// The subcommand with its arguments.
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Parses `args`, which begin with the program's name. Help and errors are those of the whole command tree.
    pub(crate) fn read(args: impl Iterator<Item = OsString> + Clone) -> Result<Self, clap::Error> {
        // Agents run these commands at every step, and building the tree of all commands costs more than the rest of
        // such a run.
        let frequent = match command_of(args.clone().skip(1)).as_deref() {
            Some("hook") => Self::read_only("hook", Command::Hook, args.clone()),
            Some("notify") => Self::read_only("notify", Command::Notify, args.clone()),
            Some("wait") => Self::read_only("wait", Command::Wait, args.clone()),
            _ => return Self::try_parse_from(args),
        };
        frequent.or_else(|_| Self::try_parse_from(args))
    }

    /// Parses `args` with a tree of this one command.
    fn read_only<A: Args>(
        name: &'static str,
        command: impl FnOnce(A) -> Command,
        args: impl Iterator<Item = OsString>,
    ) -> Result<Self, clap::Error> {
        let tree = HubLocation::augment_args(clap::Command::new("hubctl"))
            .subcommand_required(true)
            .subcommand(A::augment_args(clap::Command::new(name)));
        let matches = tree.try_get_matches_from(args)?;
        let of_command = matches.subcommand_matches(name);
        let of_command = of_command.expect("it is required, and the only one");
        Ok(Self {
            location: HubLocation::from_arg_matches(&matches)?,
            command: command(A::from_arg_matches(of_command)?),
        })
    }
}

fn after_help() -> String {
    let mut text =
        "Examples:\n  hubctl up\n  hubctl notify \"backup done\"\n  hubctl wait\n\nExit codes:"
            .to_owned();
    for (code, meaning) in EXIT_CODES {
        let _ = write!(text, "\n  {code:<3}  {meaning}");
    }
    text
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Publish a notification
    Notify(notify::NotifyArgs),
    /// Withdraw pending notifications
    Clear(clear::ClearArgs),
    /// Wait for notifications, print them and exit
    Wait(wait::WaitArgs),
    /// Print notifications as they arrive, or run a command for each
    Stream(stream::StreamArgs),
    /// Run a command as a session and report how it ended
    Run(run::RunArgs),
    /// Forward the states that sessions write into status files
    Watch(watch::WatchArgs),
    /// Let another machine use this machine's hub, by ssh
    Tunnel(tunnel::TunnelArgs),
    /// Ask a question and, if asked to, wait for the answer
    Ask(ask::AskArgs),
    /// List your needs: questions, stopped and failed sessions, urgent messages
    Needs(needs::NeedsArgs),
    /// Mark a need as done, or snooze it
    Done(done::DoneArgs),
    /// Let a session go on by itself when its usage limit ends
    Resume(resume::ResumeArgs),
    /// List the open questions
    Questions(questions::QuestionsArgs),
    /// Answer a need: a question, or a session that has stopped
    Answer(answer::AnswerArgs),
    /// Claim a question, so that others see that it is being answered
    #[command(visible_alias = "acknowledge")]
    Claim(claim::ClaimArgs),
    /// Withdraw a question
    Withdraw(withdraw::WithdrawArgs),
    /// List the sessions and their states
    Sessions(sessions::SessionsArgs),
    /// Show one session in detail
    Look(look::LookArgs),
    /// Show a session's tmux pane
    Go(go::GoArgs),
    /// Show the primary session, or choose it
    Primary(primary::PrimaryArgs),
    /// Be notified of a session's next stop
    Listen(listen::ListenArgs),
    /// Remove listeners
    Unlisten(unlisten::UnlistenArgs),
    /// Be notified of a session's next stop, or that it did not stop in time
    Expect(expect::ExpectArgs),
    /// List stored notifications
    History(history::HistoryArgs),
    /// Acknowledge notifications
    Ack(ack::AckArgs),
    /// Mark notifications as read by the person
    Seen(seen::SeenArgs),
    /// Show how a notification was delivered
    Trace(trace::TraceArgs),
    /// Explain why a session was or was not woken
    Why(why::WhyArgs),
    /// Show how well wakes worked: false ones, their durations, their cost
    Stats(stats::StatsArgs),
    /// List the inboxes with their pending notifications and waiters
    Inboxes(inboxes::InboxesArgs),
    /// Show whether the hub runs and waiters are connected
    Status(status::StatusArgs),
    /// Show who needs you, live in the terminal, and answer there (hub-top)
    Top(program::ProgramArgs),
    /// Show who needs you as notifications of the desktop (hub-desktop)
    Desktop(program::ProgramArgs),
    /// Run any agent by the Agent Client Protocol, or stand between it and an editor (hub-acp)
    Acp(program::ProgramArgs),
    /// Open the dashboard in a browser, signed in
    Dashboard(dashboard::DashboardArgs),
    /// Pair a phone with the dashboard
    Phone(phone::PhoneArgs),
    /// Check the setup, and print how to fix each problem
    Doctor(doctor::DoctorArgs),
    /// Test whether a session is woken
    WakeTest(wake_test::WakeTestArgs),
    /// List the hub's rules, or test rules on its log
    Rules(rules::RulesArgs),
    /// Empty a project
    Reset(reset::ResetArgs),
    /// Start the hub in the background
    Up(up::UpArgs),
    /// Stop the hub
    Down(down::DownArgs),
    /// Make the hub a service that starts at login
    Service(service::ServiceArgs),
    /// Change the active hub of the cluster
    Cluster(cluster::ClusterArgs),
    /// Send an agent's hook to the hub
    Hook(hook::HookArgs),
    /// Install hooks in an agent's settings, remove them, or show their state
    Hooks(hooks::HooksArgs),
    /// Print instructions for agents, for an AGENTS.md
    Instructions(instructions::InstructionsArgs),
    /// Connect an MCP client to the hub: claude mcp add hub -- hubctl mcp
    Mcp(mcp::McpArgs),
    /// Show each setting and its source
    Config(config::ConfigArgs),
    /// Print completions for a shell
    Completions(completions::CompletionsArgs),
}

/// The description of the whole command line.
pub fn command_line() -> clap::Command {
    Cli::command()
}

/// Whether `args` (without the program's name) name the command `hook`, even if they are invalid. A hook must not harm
/// its agent, not even by an exit code.
pub(crate) fn is_hook(args: impl Iterator<Item = OsString>) -> bool {
    command_of(args).as_deref() == Some("hook")
}

/// The first word in `args` (without the program's name) that is not an option or an option's value.
fn command_of(mut args: impl Iterator<Item = OsString>) -> Option<String> {
    while let Some(arg) = args.next() {
        match arg.to_str()? {
            "--url" | "--socket" | "--state-dir" | "--token-file" => drop(args.next()),
            option if option.starts_with('-') => {}
            command => return Some(command.to_owned()),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hook_is_recognised_behind_global_options() {
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
    fn claps_own_checks_accept_the_command_line() {
        command_line().debug_assert();
    }

    #[test]
    fn a_paragraph_of_the_help_is_one_line_so_that_the_terminal_wraps_it() {
        let is_prose = |line: &&str| !line.is_empty() && !line.starts_with(' ');
        for command in command_line().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string);
            let help = help.unwrap_or_default();
            let lines: Vec<&str> = help.lines().collect();
            let broken = lines.windows(2).find(|pair| pair.iter().all(is_prose));
            assert_eq!(broken, None, "{}", command.get_name());
        }
    }

    #[test]
    fn the_short_trees_parse_frequent_commands_as_the_whole_tree_does() {
        for line in [
            "hubctl notify --from w1 --to a,b --type error -- -x y",
            "hubctl --url http://h notify --key k --token-file t --json done",
            "hubctl notify",
            "hubctl notify --frmo w1 x",
            "hubctl notify -h",
            "hubctl wait --inbox a,b --settle 5 --timeout 1 --socket s",
            "hubctl wait --all w1,w2 --count 2 extra",
            "hubctl wait --version",
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
