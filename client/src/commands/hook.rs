//! `hubctl hook`: sends an agent's hook to the hub, and prints the hub's answer.
//!
//! On any failure it prints nothing and exits 0, so the agent runs as if there were no hub.

mod app_server;
mod budget;
mod env_file;
mod headless;
mod input;
mod object;
mod outage;
mod payload;
mod prompter;
mod surroundings;
mod view;

use std::time::{Duration, Instant, SystemTime};

use hub_agents::{Agent, acp};
use hub_protocol::process::uptime_micros;
use hub_protocol::{AckRequest, SpoolItem, SpoolKey, Spooled, SpooledHook, Timestamp};
use reqwest::Response;
use serde::de::IgnoredAny;

use self::budget::Budget;
use self::object::ObjectText;
use self::outage::Outage;
pub(crate) use self::payload::Payload;
pub(crate) use self::surroundings::{
    PANE_DELIVERY, Surroundings, allows_pane_delivery, session_project,
};
use super::hooks;
use crate::arguments::agent;
use crate::error::Error;
use crate::hub::{Hub, Path, Request, json};
use crate::identity::Context;
use crate::output::{demand_stdout, println};
use crate::publish::send_spooled;
use crate::settings::HubLocation;
use crate::spool::Spool;
use crate::system::random;

pub(crate) use self::headless::is_headless;
pub(crate) use self::input::read_stdin;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
`hubctl hooks install` installs this command in an agent's settings. It reads the hook's JSON from stdin, or from the \
last argument, as Codex's `notify` passes it. It always exits 0, and within a second unless the hub holds a permission \
request for an answer, or is slow to answer the prompt of a wake, or Claude Code is slow to write a turn to its \
transcript. If the hub that holds a request ends, the next one holds it again. While the hub is down, it stores \
important events in the state directory.

Examples:
  echo '{\"hook_event_name\":\"Stop\",\"session_id\":\"s1\",\"cwd\":\"/tmp\"}' | hubctl hook claude
  hubctl hook codex '{\"type\":\"agent-turn-complete\",\"thread-id\":\"t1\"}'")]
/// The arguments of `hubctl hook`.
pub(crate) struct HookArgs {
    /// The agent that runs the hook
    #[arg(value_parser = agent::parser())]
    agent: Agent,
    /// The hook's JSON [default: stdin]
    #[arg(value_name = "JSON")]
    json: Option<String>,
    /// The event, if the agent's JSON does not name it
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
    /// State that the rewake hooks are installed
    #[arg(long)]
    rewake: bool,
    /// State that the hook belongs to the plugin: it does nothing if the settings have hooks too
    #[arg(long)]
    plugin: bool,
}

/// How often to look whether the hub has emptied its spool.
const LOOK: Duration = Duration::from_millis(5);

/// A hook that is being sent.
struct HookRequest<'a> {
    agent: Agent,
    context: &'a Context,
    payload: Payload,
    /// `/hooks/{agent}` with the hook's surroundings in its query.
    path: Path,
    key: SpoolKey,
    ts: Timestamp,
    budget: Budget,
    /// Whether the agent shows no dialog before the hook ends.
    delays: bool,
}

/// Sends the hook and prints the answer.
pub(crate) async fn run(args: &HookArgs, location: &HubLocation) {
    let text = match &args.json {
        Some(json) => ObjectText::shortened(json.as_bytes()),
        None => read_stdin(),
    };
    let Some(text) = text else { return };
    let (at, mut budget) = (uptime_micros(), Budget::starting_now());
    let Some(payload) = Payload::parse(&text, args.event.as_deref()) else {
        return;
    };
    let Ok(mut context) = Context::new(location) else {
        return;
    };
    let in_app_server = app_server::runs_this_hook(args.agent, &context.env);
    if in_app_server {
        context.env.forget(&app_server::OF_TERMINAL);
    }
    if !is_own(args.agent, &context, Some(&payload)) {
        return;
    }
    if payload.is_of_wake(args.agent) {
        budget = budget.of_wake();
    }
    if is_of_no_session(args.agent, &context, &payload) {
        return;
    }
    if args.plugin && yields(&context, Some(&payload)) {
        return;
    }
    let surroundings = Surroundings::of(&context, args.agent, &payload).await;
    if payload.event() == "SessionStart" {
        env_file::extend(&context, &payload, &surroundings);
    }
    let looks = Instant::now();
    let is_peer = prompter::is_peer(args.agent, &payload).await;
    budget = budget.after(looks.elapsed());
    let Ok(key) = random::key(SystemTime::now()) else {
        return;
    };
    let hook = HookRequest {
        agent: args.agent,
        path: surroundings
            .path(
                &context.env,
                args,
                payload.is_stop(args.agent) || payload.may_be_held(args.agent),
            )
            .maybe("app_server", in_app_server.then_some(true))
            .maybe("peer", is_peer.then_some(true))
            .with("at", at),
        ts: Timestamp::now(),
        delays: surroundings.headless || !payload.has_open_dialog(args.agent),
        context: &context,
        payload,
        key,
        budget,
    };
    hook.run().await;
}

/// Whether the agent itself runs this hook, and not another one that reads its settings.
pub(crate) fn is_own(agent: Agent, context: &Context, payload: Option<&Payload>) -> bool {
    let Some(foreign) = &agent.facts().foreign else {
        return true;
    };
    let has = |name: &&str| context.env.var(name).is_some();
    let is_anothers = payload.is_some_and(|it| it.text(foreign.field).is_some());
    foreign.own.iter().any(has) && !is_anothers
}

/// Whether the hook is of a thread that is no session: for a client of the Agent Client Protocol, Codex asks a thread of its own
/// for the title, and keeps no transcript of it.
fn is_of_no_session(agent: Agent, context: &Context, payload: &Payload) -> bool {
    agent == Agent::Codex
        && context.env.var(acp::MARK).is_some()
        && payload.is_null("transcript_path")
}

/// Whether a hook of the plugin does nothing, because the session's settings have the hooks too.
pub(crate) fn yields(context: &Context, payload: Option<&Payload>) -> bool {
    let project = surroundings::started_in(&context.env, Agent::Claude);
    let cwd = payload.and_then(|it| it.text("cwd"));
    let workspace = project.unwrap_or_else(|| surroundings::working_directory(&context.env, cwd));
    hooks::are_in_settings(context, &workspace)
}

impl HookRequest<'_> {
    async fn run(&self) {
        match self.send().await {
            Ok((hub, answer)) => {
                self.deliver(&hub, answer).await;
                // Send the spooled requests for which there is time left; the next hook sends the rest.
                let kept = send_spooled(&hub, self.context);
                let _ = tokio::time::timeout(self.budget.left(), kept).await;
            }
            Err(error) if error.is_passing() => self.spool(),
            // The hub refused the hook, or its socket belongs to another user: there is no one to report that to.
            Err(_) => {}
        }
    }

    async fn send(&self) -> Result<(Hub, Response), Error> {
        let hub = self.context.hub()?;
        let may_be_held = self.payload.may_be_held(self.agent);
        let spool = Spool::of(&self.context.settings);
        let has_earlier = spool.elsewhere().is_none() && !spool.is_empty();
        if may_be_held || has_earlier {
            // Without this probe, a hub that does not answer could block the agent as long as a held permission request
            // may.
            let probe = Request::get(Path::new("/healthz"));
            hub.send(&probe, self.budget.until_answered()).await?;
        }
        if has_earlier {
            // A hub that answers again takes earlier events first.
            let emptied = async {
                while !spool.is_empty() {
                    tokio::time::sleep(LOOK).await;
                }
            };
            let _ = tokio::time::timeout(self.budget.for_earlier(), emptied).await;
        }
        let path = self.path.clone().with("lease", true);
        let request =
            Request::post(path, self.payload.json()).header("idempotency-key", self.key.as_str());
        let answer = if may_be_held {
            self.held_answer(&hub, &request).await?
        } else {
            hub.send(&request, self.budget.until_answered()).await?
        };
        Ok((hub, answer))
    }

    /// The answer to a request that the hub may hold. If the hub goes away meanwhile, the next one is asked under the same
    /// key, so it holds the request for the same question.
    async fn held_answer(&self, hub: &Hub, request: &Request) -> Result<Response, Error> {
        let mut outage = Outage::new(self.delays);
        loop {
            let asked = Instant::now();
            let error = match hub.send(request, self.budget.while_held()).await {
                Err(error) if error.is_passing() => error,
                answer => return answer,
            };
            let (env, patience) = (&self.context.env, self.budget.while_held());
            if !outage.ends(hub, env, asked, patience).await {
                return Err(error);
            }
        }
    }

    /// Prints the answer, and acknowledges the notifications in it after the output is flushed.
    async fn deliver(&self, hub: &Hub, answer: Response) {
        let header = |name: &str| Some(answer.headers().get(name)?.to_str().ok()?.to_owned());
        let lease = header("hub-lease").zip(header("hub-inbox"));
        let reading = tokio::time::timeout(self.budget.after_answer(), answer.text());
        let Ok(Ok(text)) = reading.await else { return };
        let text = text.trim();
        let is_reply = text.starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok();
        if !is_reply || demand_stdout().is_err() || println(text).is_err() {
            return;
        }
        if let Some((lease, inbox)) = lease {
            let path = Path::new("/inboxes").segment(inbox).segment("ack");
            let lease = AckRequest {
                lease: Some(lease),
                ..AckRequest::default()
            };
            let Ok(body) = json(&lease) else { return };
            // If this fails, the hub offers the notifications again.
            let _ = hub
                .send(&Request::post(path, body), self.budget.left())
                .await;
        }
    }

    fn spool(&self) {
        let spool = Spool::of(&self.context.settings);
        if !self.payload.is_eventful(self.agent) || spool.is_full() {
            return;
        }
        let hook = SpooledHook {
            agent: self.agent.as_str().into(),
            query: self.path.query().into(),
            ts: self.ts.as_millis(),
            body: self.payload.raw(),
        };
        let item = SpoolItem::new(self.key.clone(), Spooled::Hook(hook));
        // If it cannot be spooled either, it is lost: a hook must not harm its agent.
        let _ = if self.budget.allows_sync() {
            spool.keep(&item)
        } else {
            spool.keep_hastily(&item)
        };
    }
}
