//! One waiter: polls the hub, prints the notifications, acknowledges them.

use std::time::Duration;

use hub_protocol::{
    Framed, InboxName, NotificationId, Problem, ProjectName, Seq, WaitReply, Way, WhyWoken,
};
use tokio::time::Instant;

use super::WaitArgs;
use super::acknowledgement::Acknowledgement;
use super::identity::waiter_name;
use crate::api::holder;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::backoff::Backoff;
use crate::hub::{Hub, Path, Request, body, parse};
use crate::identity::sender::{agent, inboxes, own};
use crate::identity::{Context, newest};
use crate::output::text::{held, json_for};
use crate::output::{print, say};
use crate::system::env::Sourced;
use crate::system::shell::quoted;

/// The longest single request. The deadline may be many requests away.
pub(super) const LONGEST_POLL: Duration = Duration::from_secs(600);

/// The longest single request with `--all`, `--any` or `--count`; the most that a hub allows. When a request times out,
/// the hub leases what is pending even if the barrier is not met, so requests are as long as possible.
const LONGEST_BARRIER: Duration = Duration::from_secs(86_400);

/// How much later than asked the hub may answer before the connection counts as dead.
pub(super) const GRACE: Duration = Duration::from_secs(15);

/// How long to retry if the hub was never reached: long enough for a restart.
const FIRST_CONTACT: Duration = Duration::from_secs(2);

/// An empty answer in less time than this means that the hub did not wait, so the next request is delayed.
pub(super) const INSTANT: Duration = Duration::from_millis(50);

/// A waiter and the state of its wait.
pub(super) struct Waiter {
    args: WaitArgs,
    hub: Hub,
    project: ProjectName,
    inboxes: Vec<InboxName>,
    session: Option<InboxName>,
    /// Whether the inboxes are this session's own; then the hub chooses them.
    own: bool,
    name: String,
    since: Option<Seq>,
    started: Instant,
    /// Whether the hub was reached. If so, a broken connection means that the hub restarts, and this waiter may resume.
    was_there: bool,
    /// The notifications that a wake limit holds back, according to the last answer.
    held: Option<String>,
}

/// The batch framed for a model; and the ids that fit, if not all did.
pub(super) fn framed(batch: &WaitReply) -> (String, Option<Vec<Seq>>) {
    let lines: Vec<&str> = batch.notifications.iter().map(|it| it.get()).collect();
    let framed = Framed::new(&lines, batch.remaining);
    let only = (framed.shown < lines.len()).then(|| ids(&lines[..framed.shown]));
    (framed.as_str().to_owned(), only)
}

/// Whether the batch is only what was pending when the request timed out.
fn is_late(batch: &WaitReply) -> bool {
    batch.why_woken == WhyWoken::Timeout
}

/// The result of polling the hub.
enum Polled {
    Batch(WaitReply),
    TimedOut,
}

impl Waiter {
    /// Returns a waiter for `args`; its timeout begins now.
    pub(super) async fn new(args: &WaitArgs, context: &Context) -> Result<Self, Error> {
        let started = Instant::now();
        let session = session(args, context, started).await?;
        let inboxes = inboxes(&context.env, &args.inbox, session.as_ref()).value;
        let session = session.map(|found| found.value);
        Ok(Self {
            hub: context.hub()?,
            project: context.project(args.project.as_ref()).await?.value,
            own: session.as_ref().is_some_and(|own| inboxes == [own.clone()]),
            inboxes,
            name: waiter_name(session.as_ref()),
            session,
            since: None,
            started,
            was_there: false,
            held: None,
            args: args.clone(),
        })
    }

    /// Waits, and prints the notifications that arrive.
    pub(super) async fn run(&mut self) -> Result<Exit, Error> {
        loop {
            let reply = match self.next().await {
                Ok(Polled::Batch(reply)) => reply,
                Ok(Polled::TimedOut) => return Ok(self.timed_out()),
                Err(Error::Refused(problem)) => return self.turned_away(*problem).await,
                Err(error) => return Err(error),
            };
            let (text, only) = match &self.session {
                // Inside a session a model reads the output, or a program if --json is given.
                Some(_) if !self.args.json => framed(&reply),
                session => (lines(&reply, session.is_some()), None),
            };
            print(&text)?;
            self.acknowledge(&reply.lease, only.as_deref()).await;
            warn(&reply);
            if !self.args.keep {
                return Ok(if is_late(&reply) {
                    Exit(self.args.timeout_code)
                } else {
                    Exit::DONE
                });
            }
        }
    }

    fn left(&self) -> Duration {
        self.args.timeout.0.saturating_sub(self.started.elapsed())
    }

    /// The next batch, across reconnects and restarts of the hub.
    async fn next(&mut self) -> Result<Polled, Error> {
        let mut backoff = Backoff::local();
        loop {
            let asked = Instant::now();
            match self.poll().await {
                Ok(Some(reply)) => return Ok(Polled::Batch(reply)),
                Ok(None) if self.left().is_zero() => return Ok(Polled::TimedOut),
                Ok(None) if asked.elapsed() > INSTANT => backoff.reset(),
                Ok(None) => backoff.pause().await,
                Err(error) if error.is_passing() && self.may_try_again() => backoff.pause().await,
                // The session of an agent without hooks is not registered, so the hub does not know its inboxes: name
                // them instead.
                Err(Error::Refused(problem)) if self.own && problem.code == "unknown_session" => {
                    self.own = false;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn may_try_again(&self) -> bool {
        let patience = if self.was_there {
            self.args.timeout.0
        } else {
            FIRST_CONTACT
        };
        self.started.elapsed() < patience.min(self.args.timeout.0)
    }

    /// Sends one request; `None` if it timed out without a batch.
    async fn poll(&mut self) -> Result<Option<WaitReply>, Error> {
        if self.args.new && self.since.is_none() {
            self.since = Some(newest(&self.hub).await?);
        }
        // Whole seconds, rounded up: rounded down, the last request would have a timeout of 0, and be repeated without
        // a pause.
        let left = self.left().min(self.longest_poll());
        let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
        let request = Request::get(self.path(seconds));
        let patience = Duration::from_secs(seconds) + GRACE;
        let answer = match self.hub.send(&request, patience).await {
            Ok(response) => {
                let text = |name| response.headers().get(name)?.to_str().ok();
                let count = text("hub-held").and_then(|it| it.parse().ok());
                let until = text("hub-held-until").and_then(|it| it.parse().ok());
                self.held = count.zip(until).map(|(count, until)| held(count, until));
                body(response).await
            }
            Err(error) => Err(error),
        };
        match &answer {
            Ok(_) => self.was_there = true,
            Err(Error::Unreachable(failure)) => self.was_there |= failure.connected,
            // A blocked connection does not show that a hub runs.
            Err(Error::Blocked(_)) => {}
            Err(error) => self.was_there |= error.is_passing(),
        }
        let answer = answer?;
        if answer.is_empty() {
            return Ok(None);
        }
        let reply: WaitReply = parse(&answer)?;
        // A batch from an early timeout is not acknowledged; the next request gets it again.
        let early = is_late(&reply) && !self.left().is_zero();
        Ok((!early).then_some(reply))
    }

    fn longest_poll(&self) -> Duration {
        let args = &self.args;
        if args.all.is_empty() && args.any.is_empty() && args.count.is_none() {
            LONGEST_POLL
        } else {
            LONGEST_BARRIER
        }
    }

    fn path(&self, seconds: u64) -> Path {
        let args = &self.args;
        let path = Path::new("/wait");
        let path = if self.own {
            path.with("way", "wait")
        } else {
            path.list("inbox", &self.inboxes)
        };
        let path = path
            .with("project", &self.project)
            .with("as", &self.name)
            .maybe("session", self.session.as_ref())
            .with("timeout", seconds)
            .maybe("settle", args.settle)
            .list("types", &args.types)
            .maybe("from", args.from.as_ref())
            .maybe("min_priority", args.min_priority)
            .list("all", &args.all)
            .list("any", &args.any)
            .maybe("count", args.count)
            .maybe("since", self.since);
        // Only in the first request: after a restart, another waiter may hold the inbox rightfully.
        path.maybe(
            "takeover",
            (args.takeover && !self.was_there).then_some(true),
        )
    }

    /// Acknowledges a batch that is printed. If that fails, reports that the batch will be offered again.
    async fn acknowledge(&self, lease: &str, only: Option<&[Seq]>) {
        let acknowledgement = Acknowledgement {
            project: &self.project,
            inbox: &self.inboxes[0],
            lease,
            only,
            by: &self.name,
        };
        if let Err(error) = acknowledgement.send(&self.hub).await {
            say(format!(
                "not acknowledged, so it will be delivered again: {error}"
            ));
        }
    }

    fn timed_out(&self) -> Exit {
        let seconds = self.args.timeout.0.as_secs();
        if seconds > 0 {
            let held = match &self.held {
                Some(held) => format!("; {held} (see hubctl inboxes)"),
                None => String::new(),
            };
            say(format!(
                "nothing more within {seconds} s{held}; run it again: {}",
                command_line()
            ));
        }
        Exit(self.args.timeout_code)
    }

    /// Handles a refusal. If this session's own waiter holds the inbox, that is a success.
    async fn turned_away(&self, problem: Problem) -> Result<Exit, Error> {
        match problem.code.as_str() {
            "inbox_held" => {}
            "taken_over" => {
                say("another waiter took over");
                return Ok(Exit::HELD);
            }
            "project_reset" => {
                say(format!(
                    "project {} was reset, which ended this wait",
                    self.project
                ));
                return Ok(Exit(self.args.timeout_code));
            }
            _ => return Err(Error::Refused(problem.into())),
        }
        let inbox = problem.inbox.map_or(String::new(), |it| it.to_string());
        let holder = problem.holder.as_ref();
        let by = holder.map_or("another waiter".into(), holder::describe);
        if let Some(holder) = holder {
            if self.own && matches!(holder.way, Some(Way::Module | Way::Rewake)) {
                say("the hub wakes this session by itself; no waiter is needed");
                return Ok(Exit::DONE);
            }
            if holder::wakes(holder, &self.hub, &self.project, self.session.as_ref()).await {
                say(format!(
                    "this session already waits at inbox '{inbox}': {by}"
                ));
                return Ok(Exit::DONE);
            }
        }
        say(format!(
            "inbox '{inbox}' is held by {by}; --takeover ends that waiter"
        ));
        Ok(Exit::HELD)
    }
}

/// The ids of notifications.
fn ids(notifications: &[&str]) -> Vec<Seq> {
    // The hub gives every notification an id.
    let id = |json: &&str| Some(parse::<NotificationId>(json).ok()?.id);
    notifications.iter().filter_map(id).collect()
}

/// The session that waits. If no hub answers it is retried for a moment: without the hub's answer, a session could wait
/// at the inbox of another.
async fn session(
    args: &WaitArgs,
    context: &Context,
    started: Instant,
) -> Result<Option<Sourced<InboxName>>, Error> {
    let mut backoff = Backoff::local();
    let patience = FIRST_CONTACT.min(args.timeout.0);
    loop {
        match own(context).await {
            Err(error @ Error::Usage(_)) => return Err(error),
            Err(error)
                if error.is_passing() && args.inbox.is_empty() && started.elapsed() < patience =>
            {
                backoff.pause().await;
            }
            Err(error) if args.inbox.is_empty() => return Err(error),
            found => return Ok(found.ok().flatten().or_else(|| agent(&context.env))),
        }
    }
}

/// The lines of a batch: the hub's JSON, without hidden characters if a model may read it.
fn lines(reply: &WaitReply, in_session: bool) -> String {
    let mut text = String::new();
    for notification in &reply.notifications {
        text.push_str(&json_for(notification.get(), in_session));
        text.push('\n');
    }
    text
}

fn warn(reply: &WaitReply) {
    if let Some(barrier) = reply.barrier.as_ref().filter(|barrier| !barrier.met) {
        let missing: Vec<&str> = barrier.missing.iter().map(InboxName::as_str).collect();
        match missing.as_slice() {
            [] => say("timed out before the condition was met"),
            names => say(format!("not finished yet: {}", names.join(", "))),
        }
    }
    if reply.remaining > 0 {
        say(format!(
            "{} more pending: run it again: {}",
            reply.remaining,
            command_line()
        ));
    }
}

/// The command line of this process, quoted for a shell.
fn command_line() -> String {
    let mut words = vec!["hubctl".to_owned()];
    words.extend(std::env::args().skip(1).map(|word| quoted(&word)));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_printed_as_the_hubs_own_lines() {
        let reply = "{\"notifications\":[{\"id\":1,\"msg\":\"a\u{9b}\"},{\"id\":2}],\"lease\":\"l\",\"remaining\":0,\
                     \"why_woken\":{\"reason\":\"pending\"}}";
        let reply: WaitReply = serde_json::from_str(reply).unwrap();
        assert_eq!(
            lines(&reply, false),
            "{\"id\":1,\"msg\":\"a\\u009b\"}\n{\"id\":2}\n"
        );
    }
}
