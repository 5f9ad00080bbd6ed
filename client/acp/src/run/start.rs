//! The beginning of a session: its agent is started, and the hub knows it before its first prompt.

use std::collections::{HashMap, VecDeque};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use hub_protocol::{InboxName, Timestamp};
use hubctl::{Connection, Path as Route};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::turn::{Prompt, Turn};
use super::{Input, Session, inputs, options};
use crate::attach;
use crate::calls::Calls;
use crate::command::Launch;
use crate::detach;
use crate::protocol::{VERSION, initialize, is_known, load_session, new_session, tools};
use crate::reports::{Reports, SOON};
use crate::saved::{Saved, Sessions};
use crate::signals;
use crate::views::Views;
use crate::wire::Wire;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
AGENT is a name of `hubctl acp list`, or any command that speaks the Agent Client Protocol on stdin and stdout. The \
last word is the first prompt if it has a blank, or if it is the only one after a known agent. A line that you type is \
a prompt, or the answer to the open dialog. Ctrl-C cancels the turn; without a turn it ends the session, and so does \
the end of the input.

Examples:
  hubctl acp run -- claude
  hubctl acp run --name fix -- opencode acp \"Fix the flaky test\"
  hubctl acp run --detach -- codex \"Review the last commit\"")]
/// The arguments of `hub-acp run`.
pub(crate) struct RunArgs {
    /// The session's name for people [default: the linked worktree's or the branch's]
    #[arg(long, value_name = "NAME")]
    name: Option<InboxName>,
    /// Run it without a terminal, and print its id
    #[arg(long)]
    detach: bool,
    /// The mode of the agent [default: the one in which it asks before it acts, where the hub knows it]
    #[arg(long, value_name = "ID")]
    mode: Option<String>,
    /// The model [default: the agent's]
    #[arg(long, value_name = "ID")]
    model: Option<String>,
    /// Continue the session with this id, if the agent can load it
    #[arg(long, value_name = "ID")]
    load: Option<String>,
    /// The agent, and a first prompt
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "AGENT"
    )]
    agent: Vec<String>,
}

/// Runs a session in this terminal, or starts it in the background.
pub(crate) async fn run(args: &RunArgs, hub: Connection) -> anyhow::Result<ExitCode> {
    if args.detach && !detach::is_below() {
        return detach::start(&hub);
    }
    let launch = Launch::read(&args.agent);
    let cwd = std::env::current_dir()?;
    let wishes = Wishes {
        name: args.name.as_ref(),
        mode: args.mode.as_deref(),
        model: args.model.as_deref(),
        loads: args.load.as_deref(),
    };
    begin((launch, &cwd), wishes, hub).await
}

/// Brings a session back whose process has died.
pub(crate) async fn load(saved: &Saved, hub: Connection) -> anyhow::Result<ExitCode> {
    let launch = Launch::of_command(&saved.command);
    let name: Option<InboxName> = saved.name.as_deref().and_then(|it| it.parse().ok());
    let wishes = Wishes {
        name: name.as_ref(),
        mode: saved.mode.as_deref(),
        model: saved.model.as_deref(),
        loads: Some(&saved.session),
    };
    begin((launch, &saved.cwd), wishes, hub).await
}

/// The person's wishes for a session.
#[derive(Debug, Clone, Copy)]
struct Wishes<'a> {
    name: Option<&'a InboxName>,
    mode: Option<&'a str>,
    model: Option<&'a str>,
    /// The id of the session that goes on.
    loads: Option<&'a str>,
}

async fn begin(
    (mut launch, cwd): (Launch, &Path),
    wishes: Wishes<'_>,
    hub: Connection,
) -> anyhow::Result<ExitCode> {
    let Wishes { name, loads, .. } = wishes;
    let sessions = Sessions::of(hub.state_dir())?;
    let hub = Arc::new(hub);
    let mut wire = Wire::start(&launch.command)?;
    let facts = wire.call("initialize", &initialize()).await?;
    let version = &facts["protocolVersion"];
    anyhow::ensure!(
        is_known(version),
        "the agent speaks version {version} of the Agent Client Protocol, and hub-acp version {VERSION}"
    );
    let place = hub.place("acp", cwd, name.cloned()).await;
    let place = place.with("agent", &launch.name).with("rewake", true);
    let report = async |session: &str, event: &str| {
        let reports = Reports::new(&hub, &place, (session, cwd));
        // A hook of the agent may have named the session already; only a title names it again.
        let event = json!({ "hook_event_name": event, "title": name });
        let introduction = reports.context(event, SOON).await;
        (reports, introduction)
    };
    let mut reported = None;
    if let Some(session) = loads {
        // Before the agent's hooks can wait for the session.
        reported = Some(report(session, "acp.loaded").await);
    }
    let mode = wishes.mode.or(launch.ask_mode);
    let opened = open(&mut wire, (&hub, cwd), loads, (mode, wishes.model)).await;
    if let (Err(_), Some((reports, _))) = (&opened, &reported) {
        reports.end(SOON).await;
    }
    let (session, began) = opened?;
    let (reports, introduction) = match reported {
        Some(reported) => reported,
        None => report(&session, "acp.started").await,
    };
    reports.describe(json!({ "metadata": { "acp": options::described(&facts, &began) } }));
    let saved = Saved {
        session: session.clone(),
        name: name.map(ToString::to_string),
        command: launch.command.clone(),
        mode: wishes.mode.map(str::to_owned),
        model: wishes.model.map(str::to_owned),
        cwd: cwd.to_owned(),
        pid: std::process::id(),
        since: Timestamp::now(),
    };
    sessions.save(&saved)?;
    let (to_self, inputs) = mpsc::unbounded_channel();
    signals::pass_on(&to_self, || Input::Interrupt, || Input::Quit)?;
    let socket = attach::listen(&sessions.socket(&saved), to_self.clone())?;
    let (idle, is_idle) = watch::channel(false);
    let to_wake = to_self.clone();
    let woken = move |prompt| to_wake.send(Input::Woken(prompt)).is_ok();
    tokio::spawn(reports.clone().poll(is_idle, woken));
    let mut views = Views::default();
    if detach::is_below() {
        detach::ready(&session)?;
    } else {
        views.add(terminal());
        let name = name_of(&hub, &reports).await;
        views.line(&format!(
            "hub-acp: {} is session {}",
            launch.name,
            name.as_deref().unwrap_or(&session)
        ));
        inputs::read_stdin(to_self.clone());
    }
    let first = launch.prompt.take().map(|words| Prompt {
        words,
        is_hubs: false,
    });
    let session = Session {
        prompts: first.into_iter().collect(),
        steered: HashMap::new(),
        steers: steers(&facts),
        launch,
        wire,
        reports,
        to_self,
        inputs,
        idle,
        views,
        turn: Turn::None,
        notes: vec![introduction],
        calls: Calls::default(),
        said: String::new(),
        dialogs: VecDeque::new(),
        numbers: 0,
        leaves: false,
    };
    let (code, by_person) = session.serve().await;
    drop(socket);
    if by_person {
        sessions.forget(&saved);
    }
    Ok(code)
}

/// Opens a new session, or the one that goes on, with its mode and model. Returns its id, and what the agent says of it.
async fn open(
    wire: &mut Wire,
    (hub, cwd): (&Connection, &Path),
    loads: Option<&str>,
    (mode, model): (Option<&str>, Option<&str>),
) -> anyhow::Result<(String, Value)> {
    let tools = tools(&hub.flags());
    let mut began = match loads {
        Some(session) => {
            let params = load_session(session, cwd, tools);
            let mut began = wire.call("session/load", &params).await?;
            began["sessionId"] = session.into();
            began
        }
        None => wire.call("session/new", &new_session(cwd, tools)).await?,
    };
    let session = began["sessionId"].as_str().unwrap_or_default().to_owned();
    anyhow::ensure!(!session.is_empty(), "the agent gave the session no id");
    options::choose(wire, &mut began, (mode, model)).await?;
    Ok((session, began))
}

/// Whether the agent says that a prompt can be put into a running turn.
fn steers(facts: &Value) -> bool {
    let places = [&facts["agentCapabilities"]["_meta"], &facts["_meta"]];
    places.iter().any(|it| it["steering"]["supported"] == true)
}

/// The name that the hub gave the session.
async fn name_of(hub: &Connection, reports: &Reports) -> Option<String> {
    let path = Route::new("/sessions").segment(&reports.session);
    let session: Value = hub
        .get(path.with("project", &reports.place.project))
        .await
        .ok()?;
    Some(session["name"].as_str()?.to_owned())
}

/// A view that writes to this terminal.
fn terminal() -> mpsc::UnboundedSender<String> {
    let (viewer, mut shown) = mpsc::unbounded_channel::<String>();
    tokio::spawn(async move {
        while let Some(text) = shown.recv().await {
            let mut out = std::io::stdout().lock();
            // A terminal that is gone ends the session by its signal.
            let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        }
    });
    viewer
}
