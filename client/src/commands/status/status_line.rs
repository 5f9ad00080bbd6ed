//! `hubctl status --line`: one line for a status bar, what the person has to do.

use std::io::IsTerminal as _;
use std::time::Duration;

use hub_protocol::{Alert, Need, Needs, first_chars};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::commands::hook::read_stdin;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Path, Request, parse};
use crate::identity::Context;
use crate::output::println;
use crate::output::text::line;

/// A status bar waits for the line, so a slow hub must not hold it.
const PATIENCE: Duration = Duration::from_secs(1);
/// The groups of needs, each with its class and the words for one need and for many.
const GROUPS: [(Alert, &str, &str, &str); 3] = [
    (Alert::NeedsYou, "needs_you", "needs you", "need you"),
    (Alert::Blocked, "blocked", "blocked", "blocked"),
    (Alert::YourTurn, "your_turn", "your turn", "your turn"),
];
/// The most names of one group, and the most characters of a name.
const NAMES: usize = 3;
const NAME: usize = 20;

/// The program that shows the line.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// Text
    #[default]
    Plain,
    /// The status line of Claude Code: text, without the session that shows it
    Claude,
    /// Text for tmux's status-right
    Tmux,
    /// JSON for a custom module of Waybar
    Waybar,
    /// The names as JSON
    Json,
}

pub(super) async fn run(format: Format, context: &Context) -> Result<Exit, Error> {
    let mut needs = match needs(context).await {
        Ok(needs) => needs,
        Err(error) if format == Format::Json => return Err(error),
        // A status bar shows no errors, and `hubctl doctor` does.
        Err(_) => Vec::new(),
    };
    if format == Format::Claude {
        let own = own_session();
        needs.retain(|it| own.is_none() || it.session.as_ref().map(ToString::to_string) != own);
    }
    println(render(format, &needs))?;
    Ok(Exit::DONE)
}

/// The needs that every view counts.
async fn needs(context: &Context) -> Result<Vec<Need>, Error> {
    let request = Request::get(Path::new("/needs"));
    let answer = context.hub()?.text_within(&request, PATIENCE).await?;
    let Needs { mut needs } = parse(&answer)?;
    needs.retain(|it| it.counts);
    Ok(needs)
}

/// Returns the session that shows the line: Claude Code writes it to standard input.
fn own_session() -> Option<String> {
    #[derive(Deserialize)]
    struct Input {
        session_id: String,
    }
    if std::io::stdin().is_terminal() {
        return None;
    }
    let input: Input = serde_json::from_slice(&read_stdin()?).ok()?;
    Some(input.session_id)
}

fn render(format: Format, needs: &[Need]) -> String {
    let text = text(needs);
    match format {
        Format::Plain | Format::Claude => text,
        Format::Tmux => text.replace('#', "##"),
        Format::Waybar => {
            let mut groups = GROUPS.iter();
            let first = groups.find(|(alert, ..)| !names(needs, *alert).is_empty());
            let class = first.map_or("", |(_, class, ..)| class);
            // Waybar reads Pango's markup.
            let text = text.replace('&', "&amp;").replace('<', "&lt;");
            json!({"text": text, "tooltip": text, "class": class}).to_string()
        }
        Format::Json => {
            let group = |(alert, class, ..): (_, &str, _, _)| {
                (class.to_owned(), json!(names(needs, alert)))
            };
            Value::Object(GROUPS.map(group).into_iter().collect()).to_string()
        }
    }
}

/// The name of each need of a group; an urgent message is one of the first group.
fn names(needs: &[Need], alert: Alert) -> Vec<&str> {
    let group = needs
        .iter()
        .filter(|it| it.alert.unwrap_or(Alert::NeedsYou) == alert);
    group.map(|it| it.name.as_str()).collect()
}

/// The groups of needs, the most urgent first; empty if there are none.
fn text(needs: &[Need]) -> String {
    let mut groups = Vec::new();
    for (alert, _, one, many) in GROUPS {
        let names = names(needs, alert);
        if names.is_empty() {
            continue;
        }
        let words = if names.len() == 1 { one } else { many };
        let shown: Vec<String> = names.iter().take(NAMES).map(|it| short(it)).collect();
        let more = match names.len().saturating_sub(NAMES) {
            0 => String::new(),
            more => format!(" +{more}"),
        };
        groups.push(format!(
            "{} {words}: {}{more}",
            names.len(),
            shown.join(", ")
        ));
    }
    line(&groups.join("; ")).to_string()
}

fn short(name: &str) -> String {
    if name.chars().count() <= NAME {
        return name.to_owned();
    }
    format!("{}…", first_chars(name, NAME - 1))
}
