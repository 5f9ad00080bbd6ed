//! `hubctl completions`: prints completions for a shell, and the names that they offer.

use std::any::TypeId;
use std::fmt::Write as _;

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory};
use clap_complete::{Generator, generate, shells};
use hub_protocol::{InboxName, Inboxes, Kind, Sessions};

use crate::commands::cli::Cli;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Path, Request, SOON, parse};
use crate::identity::Context;
use crate::output::print;
use crate::output::text::line;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The scripts complete commands, options and types without the hub, and query the hub for its sessions and inboxes.

Examples:
  hubctl completions bash > ~/.local/share/bash-completion/completions/hubctl
  hubctl completions fish > ~/.config/fish/completions/hubctl.fish")]
/// The arguments of `hubctl completions`.
pub(crate) struct CompletionsArgs {
    /// The shell to write completions for
    shell: Wanted,
}

/// The shells that people use with this, and what their scripts ask for.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Wanted {
    Bash,
    Zsh,
    Fish,
    #[value(hide = true)]
    Sessions,
    #[value(hide = true)]
    Inboxes,
}

/// A shell that has completions.
#[derive(Debug, Clone, Copy)]
pub enum Shell {
    /// GNU Bash with bash-completion.
    Bash,
    /// The Z shell.
    Zsh,
    /// fish.
    Fish,
}

/// The placeholders in a generated script for names that the hub knows, and the commands that print these names.
const NAMES: [(&str, &str); 2] = [
    ("HUBCTL_SESSIONS", "hubctl completions sessions 2>/dev/null"),
    ("HUBCTL_INBOXES", "hubctl completions inboxes 2>/dev/null"),
];

pub(crate) async fn run(args: &CompletionsArgs, context: &Context) -> Result<Exit, Error> {
    print(&match args.shell {
        Wanted::Bash => completions(Shell::Bash),
        Wanted::Zsh => completions(Shell::Zsh),
        Wanted::Fish => completions(Shell::Fish),
        Wanted::Sessions => {
            let answer: Sessions = parse(&list(context, "/sessions").await?)?;
            names(answer.sessions.iter().map(|it| it.name.as_str()))
        }
        Wanted::Inboxes => {
            let answer: Inboxes = parse(&list(context, "/inboxes").await?)?;
            names(answer.inboxes.iter().map(|it| it.name.as_str()))
        }
    })?;
    Ok(Exit::DONE)
}

/// The script that completes the command line of `hubctl` in `shell`.
pub fn completions(shell: Shell) -> String {
    match shell {
        Shell::Bash => substituted(script(shells::Bash), "$(", ")"),
        Shell::Zsh => substituted(script(shells::Zsh), "$(", ")"),
        Shell::Fish => fish(),
    }
}

/// The hub's answer about the sessions or the inboxes of this project.
async fn list(context: &Context, path: &str) -> Result<String, Error> {
    let path = Path::new(path).with("project", context.project(None).await?.value);
    context.hub()?.text_within(&Request::get(path), SOON).await
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for name in names {
        text.push_str(&line(name));
        text.push('\n');
    }
    text
}

fn script(shell: impl Generator) -> String {
    let mut script = Vec::new();
    generate(shell, &mut completed(Cli::command()), "hubctl", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

fn substituted(mut script: String, before: &str, after: &str) -> String {
    for (stand_in, command) in NAMES {
        script = script.replace(stand_in, &format!("{before}{command}{after}"));
    }
    script
}

/// The script for fish. clap's generator completes only options, so positional arguments are added here.
fn fish() -> String {
    let mut script = script(shells::Fish);
    for command in completed(Cli::command()).get_subcommands() {
        let name = command.get_name();
        for value in command.get_positionals().filter_map(stand_in) {
            // Writing to a String cannot fail.
            let _ = writeln!(
                script,
                "complete -c hubctl -n \"__fish_hubctl_using_subcommand {name}\" -f -a \"{value}\""
            );
        }
    }
    substituted(script, "(", ")")
}

/// Returns `command` with arguments that offer types and placeholders for names. It is only for generating scripts: it
/// would refuse any other value.
fn completed(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let values = match stand_in(&arg) {
            Some(value) => vec![value],
            None if is_of::<Kind>(&arg) => Kind::ALL.map(Kind::as_str).into(),
            None if arg.get_id() == "shell" => vec!["bash", "zsh", "fish"],
            None => return arg,
        };
        arg.value_parser(PossibleValuesParser::new(values))
    });
    command.mut_subcommands(completed)
}

/// The placeholder that an argument offers, if it takes names.
fn stand_in(arg: &Arg) -> Option<&'static str> {
    let [(sessions, _), (inboxes, _)] = NAMES;
    let known = arg.get_possible_values();
    if let [value] = known.as_slice() {
        return [sessions, inboxes]
            .into_iter()
            .find(|it| *it == value.get_name());
    }
    let of_inboxes = ["to", "inbox"].contains(&arg.get_id().as_str());
    is_of::<InboxName>(arg).then_some(if of_inboxes { inboxes } else { sessions })
}

fn is_of<T: 'static>(arg: &Arg) -> bool {
    arg.get_value_parser().type_id() == TypeId::of::<T>()
}
