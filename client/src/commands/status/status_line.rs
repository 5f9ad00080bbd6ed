//! `hubctl status --line`: one line for a status bar, which sessions wait for the person.

use std::io::IsTerminal as _;
use std::time::Duration;

use hub_protocol::{PhaseName, Session};
use serde::Deserialize;
use serde_json::json;

use crate::api::session::sessions_within;
use crate::commands::hook::read_stdin;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::identity::Context;
use crate::output::println;
use crate::output::text::line;

/// A status bar waits for the line, so a slow hub must not hold it.
const PATIENCE: Duration = Duration::from_secs(1);
/// The phases in which a session waits for the person, with the words for one session and for many.
const WAITING: [(PhaseName, &str, &str); 3] = [
    (PhaseName::NeedsYou, "needs you", "need you"),
    (PhaseName::Blocked, "blocked", "blocked"),
    (PhaseName::YourTurn, "your turn", "your turn"),
];
/// The most names of one phase, and the most characters of a name.
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
    /// The sessions as JSON
    Json,
}

pub(super) async fn run(format: Format, context: &Context) -> Result<Exit, Error> {
    let answer = async { sessions_within(&context.hub()?, PATIENCE).await };
    let mut sessions = match answer.await {
        Ok(sessions) => sessions,
        Err(error) if format == Format::Json => return Err(error),
        // A status bar shows no errors, and `hubctl doctor` does.
        Err(_) => Vec::new(),
    };
    if format == Format::Claude {
        let own = own_session();
        sessions.retain(|it| Some(it.id.to_string()) != own);
    }
    println(render(format, &sessions))?;
    Ok(Exit::DONE)
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

fn render(format: Format, sessions: &[Session]) -> String {
    let text = text(sessions);
    match format {
        Format::Plain | Format::Claude => text,
        Format::Tmux => text.replace('#', "##"),
        Format::Waybar => {
            let class = WAITING
                .iter()
                .find(|(phase, ..)| !names(sessions, *phase).is_empty());
            let class = class.map_or("", |(phase, ..)| phase.as_str());
            // Waybar reads Pango's markup.
            let text = text.replace('&', "&amp;").replace('<', "&lt;");
            json!({"text": text, "tooltip": text, "class": class}).to_string()
        }
        Format::Json => {
            let of = |phase| names(sessions, phase);
            json!({"needs_you": of(PhaseName::NeedsYou), "blocked": of(PhaseName::Blocked),
                "your_turn": of(PhaseName::YourTurn)})
            .to_string()
        }
    }
}

fn names(sessions: &[Session], phase: PhaseName) -> Vec<&str> {
    let waiting = sessions.iter().filter(|it| it.phase.name == phase);
    waiting.map(|it| it.name.as_str()).collect()
}

/// The groups of sessions, the most urgent first; empty if none waits.
fn text(sessions: &[Session]) -> String {
    let mut groups = Vec::new();
    for (phase, one, many) in WAITING {
        let names = names(sessions, phase);
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
    let begin: String = name.chars().take(NAME - 1).collect();
    begin + "…"
}
