//! `hub-acp proxy`: between an editor and its agent. Lines pass unchanged and in their order, with one exception: what is
//! pending for a session is added to the editor's prompt. The hub knows the sessions, and shows their dialogs too.

mod carried;
mod from_agent;
mod from_editor;
mod wakes;

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::JoinHandle;

use hubctl::{Connection, SessionPlace};
use serde_json::Value;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use self::carried::Carried;
use crate::agent::{Agent, FromAgent};
use crate::command::Launch;
use crate::frame::Frame;
use crate::reports::{Reports, SOON};
use crate::signals;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
An editor starts this command in place of the agent's. Pending notifications come with your next prompt; with --wake \
the hub also begins turns while the agent is idle, which not every editor shows.

Examples:
  hubctl acp proxy -- claude-agent-acp
  hubctl acp proxy --wake -- gemini --acp")]
/// The arguments of `hub-acp proxy`.
pub(crate) struct ProxyArgs {
    /// Let notifications begin a turn while the agent is idle
    #[arg(long)]
    wake: bool,
    /// The agent's command
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "AGENT"
    )]
    agent: Vec<String>,
}

/// An event besides the lines of editor and agent.
#[derive(Debug)]
enum Event {
    /// The hub's words for the editor's prompt are there.
    Context { session: String, context: String },
    /// The hub has answered a dialog of a session.
    Decided {
        session: String,
        number: u64,
        answer: Value,
    },
    /// Notifications are pending for an idle session.
    Woken { session: String, prompt: String },
    /// The hub's words for a prompt of its own are there.
    Ready {
        session: String,
        prompt: String,
        context: String,
    },
}

/// A request of the editor whose answer tells something.
#[derive(Debug)]
enum Awaited {
    /// The version that both speak.
    Initialize,
    /// The id of a new session.
    New { place: SessionPlace, cwd: String },
    /// That a session goes on.
    Load { reports: Reports },
    /// The end of a turn.
    Prompt { session: String },
    /// That a session is closed.
    Close { session: String },
}

struct Proxy {
    hub: Arc<Connection>,
    /// The agent's name in the hub.
    name: String,
    /// Whether the hub begins turns.
    wakes: bool,
    agent: Agent,
    to_editor: UnboundedSender<String>,
    to_self: UnboundedSender<Event>,
    sessions: HashMap<String, Carried>,
    /// The editor's requests, by their ids as JSON.
    awaited: HashMap<String, Awaited>,
    /// Requests of the agent that the hub has answered: the editor's answer is too late.
    answered: HashSet<String>,
    /// Lines of the editor behind a prompt that waits for the hub.
    held: VecDeque<Frame>,
    /// The prompt that waits.
    prompt: Option<Frame>,
    /// Whether both speak a version that this proxy understands; else it only passes lines on.
    is_known: bool,
    /// How many dialogs and prompts of its own there were.
    numbers: u64,
}

/// Runs until the editor or the agent ends.
pub(crate) async fn run(args: &ProxyArgs, hub: Connection) -> anyhow::Result<ExitCode> {
    let launch = Launch::of_command(&args.agent);
    let started = Agent::start(&launch.command, true);
    let (agent, mut from_agent) =
        started.map_err(|error| anyhow::anyhow!("{}: {error}", launch.command[0]))?;
    let (to_self, mut events) = mpsc::unbounded_channel();
    let (quit, mut quits) = mpsc::unbounded_channel();
    signals::pass_on(&quit, || (), || ())?;
    let mut from_editor = editor_lines();
    let (to_editor, writing) = editor_writer();
    let mut proxy = Proxy {
        hub: Arc::new(hub),
        name: launch.name,
        wakes: args.wake,
        agent,
        to_editor,
        to_self,
        sessions: HashMap::new(),
        awaited: HashMap::new(),
        answered: HashSet::new(),
        held: VecDeque::new(),
        prompt: None,
        is_known: true,
        numbers: 0,
    };
    let code = loop {
        tokio::select! {
            line = from_editor.recv() => match line {
                Some(line) => proxy.take_from_editor(Frame::new(line)).await,
                None => break ExitCode::SUCCESS,
            },
            said = from_agent.recv() => match said {
                Some(FromAgent::Frame(frame)) => proxy.take_from_agent(frame),
                Some(FromAgent::Complaint(_)) => {}
                Some(FromAgent::Ended) | None => break ExitCode::FAILURE,
            },
            Some(event) = events.recv() => proxy.happen(event).await,
            Some(()) = quits.recv() => break ExitCode::SUCCESS,
        }
    };
    proxy.end().await;
    // The last lines of the agent.
    let _ = writing.join();
    Ok(code)
}

impl Proxy {
    async fn happen(&mut self, event: Event) {
        match event {
            Event::Context { session, context } => self.go_on(&session, &context).await,
            Event::Decided {
                session,
                number,
                answer,
            } => self.decide(&session, number, &answer),
            Event::Woken { session, prompt } => self.wake(&session, prompt),
            Event::Ready {
                session,
                prompt,
                context,
            } => self.send_own(&session, &prompt, &context),
        }
    }

    async fn end(self) {
        self.agent.end().await;
        for session in self.sessions.into_values() {
            session.reports.end(SOON).await;
        }
    }
}

/// The editor's lines. A thread reads them: stdin may be a file, and the end of the program does not wait for it.
fn editor_lines() -> UnboundedReceiver<String> {
    let (found, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if found.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// The writer of lines to the editor: a thread, because an editor that does not read must not stop the agent's other lines.
fn editor_writer() -> (UnboundedSender<String>, JoinHandle<()>) {
    let (to_editor, mut lines) = mpsc::unbounded_channel::<String>();
    let writing = std::thread::spawn(move || {
        let mut out = std::io::stdout().lock();
        while let Some(mut line) = lines.blocking_recv() {
            line.push('\n');
            if out
                .write_all(line.as_bytes())
                .and_then(|()| out.flush())
                .is_err()
            {
                return;
            }
        }
    });
    (to_editor, writing)
}
