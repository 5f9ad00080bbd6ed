//! One waiter: asks, prints, acknowledges.

use std::time::Duration;

use hub_protocol::{BarrierReport, InboxName, Problem, ProjectName, Seq};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::Args;
use super::acknowledgement::Acknowledgement;
use super::identity::waiter_name;
use crate::backoff::Backoff;
use crate::error::{Error, Exit};
use crate::here::{Here, newest};
use crate::hub::{Hub, Path, Request, parse};
use crate::out::{hand_over, say};
use crate::seat::Seat;
use crate::sender::session;
use crate::shell::quoted;
use crate::text::json_line;

/// The longest single request; the deadline may lie behind many of them.
pub(super) const LONGEST_POLL: Duration = Duration::from_secs(600);

/// The same with `--all` or `--count`, the most that a hub allows: at a request's end it leases what is pending, whatever
/// the barrier says.
const LONGEST_BARRIER: Duration = Duration::from_secs(86_400);

/// How much later than asked a hub may answer before its connection counts as dead.
pub(super) const GRACE: Duration = Duration::from_secs(15);

/// How long to look for a hub that was never there: long enough for one that is being restarted.
const FIRST_CONTACT: Duration = Duration::from_secs(2);

/// An early "nothing" in less than this is no wait at all.
pub(super) const INSTANT: Duration = Duration::from_millis(50);

/// A waiter and its place.
pub(super) struct Waiter {
    args: Args,
    hub: Hub,
    project: ProjectName,
    inboxes: Vec<InboxName>,
    session: Option<InboxName>,
    /// Whether the inboxes are this session's own, which the hub knows best.
    own: bool,
    name: String,
    since: Option<Seq>,
    started: Instant,
    /// The hub has had this waiter: a broken connection is a restart, and the place is ours.
    was_there: bool,
}

/// What a waiter needs of a [`hub_protocol::WaitReply`].
#[derive(Deserialize)]
pub(super) struct Batch {
    pub(super) notifications: Vec<Box<RawValue>>,
    pub(super) lease: String,
    pub(super) remaining: u64,
    why_woken: Why,
    #[serde(default)]
    barrier: Option<BarrierReport>,
}

impl Batch {
    /// Whether it is only what was there when its request's time was over.
    fn is_late(&self) -> bool {
        self.why_woken.reason == "timeout"
    }
}

/// Why a wait ended; a reason that a newer hub has is no error.
#[derive(Deserialize)]
struct Why {
    reason: String,
}

/// What one question to the hub came to.
enum Polled {
    Batch(Batch),
    TimedOut,
}

impl Waiter {
    /// A waiter as `args` describe it; its time runs from now.
    pub(super) fn new(args: &Args, here: &Here) -> Result<Self, Error> {
        let session = session(&here.env)?.map(|found| found.value);
        let inboxes = here.inboxes(&args.inbox)?.value;
        Ok(Self {
            hub: here.hub()?,
            project: here.project(args.project.as_ref())?.value,
            own: session.as_ref().is_some_and(|own| inboxes == [own.clone()]),
            inboxes,
            name: waiter_name(session.as_ref()),
            session,
            since: None,
            started: Instant::now(),
            was_there: false,
            args: args.clone(),
        })
    }

    /// Waits, and prints what comes.
    pub(super) async fn run(&mut self) -> Result<Exit, Error> {
        loop {
            let reply = match self.next().await {
                Ok(Polled::Batch(reply)) => reply,
                Ok(Polled::TimedOut) => return Ok(self.timed_out()),
                Err(Error::Refused(problem)) => return self.turned_away(*problem).await,
                Err(error) => return Err(error),
            };
            hand_over(&lines(&reply))?;
            self.acknowledge(&reply.lease).await;
            tell(&reply);
            if !self.args.keep {
                return Ok(if reply.is_late() {
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

    /// The next batch, through any number of connections and hubs.
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
                // An agent without hooks: the hub has not heard of its session, and so knows no more inboxes of it.
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

    /// One request; `None` when nothing came in its time.
    async fn poll(&mut self) -> Result<Option<Batch>, Error> {
        if self.args.new && self.since.is_none() {
            self.since = Some(newest(&self.hub).await?);
        }
        // Whole seconds, rounded up: a hub that answered early would be asked again and again.
        let left = self.left().min(self.longest_poll());
        let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
        let request = Request::get(self.path(seconds));
        let answer = self
            .hub
            .text_within(&request, Duration::from_secs(seconds) + GRACE)
            .await;
        match &answer {
            Ok(_) => self.was_there = true,
            Err(Error::Unreachable(failure)) => self.was_there |= failure.connected,
            // Nothing that has kept us from asking tells of a hub.
            Err(Error::Blocked(_)) => {}
            Err(error) => self.was_there |= error.is_passing(),
        }
        let answer = answer?;
        if answer.is_empty() {
            return Ok(None);
        }
        let reply: Batch = parse(&answer)?;
        // What ends early is not acknowledged: the next request gets it again.
        let early = reply.is_late() && !self.left().is_zero();
        Ok((!early).then_some(reply))
    }

    fn longest_poll(&self) -> Duration {
        if self.args.all.is_empty() && self.args.count.is_none() {
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
            .maybe("count", args.count)
            .maybe("since", self.since);
        // Once: after a restart the place may be another's by right.
        path.maybe(
            "takeover",
            (args.takeover && !self.was_there).then_some(true),
        )
    }

    /// Acknowledges a batch that is on stdout; failing that, says so: it will be offered again.
    async fn acknowledge(&self, lease: &str) {
        let acknowledgement = Acknowledgement {
            project: &self.project,
            inbox: &self.inboxes[0],
            lease,
            only: None,
            by: &self.name,
        };
        if let Err(error) = acknowledgement.send(&self.hub).await {
            say(format!("not acknowledged, will come again: {error}"));
        }
    }

    fn timed_out(&self) -> Exit {
        let seconds = self.args.timeout.0.as_secs();
        if seconds > 0 {
            say(format!(
                "nothing more within {seconds} s; run it again: {}",
                command_line()
            ));
        }
        Exit(self.args.timeout_code)
    }

    /// What a refusal means: our own session's waiter is as good as this one.
    async fn turned_away(&self, problem: Problem) -> Result<Exit, Error> {
        match problem.code.as_str() {
            "inbox_held" => {}
            "taken_over" => {
                say("another waiter took over");
                return Ok(Exit::HELD);
            }
            _ => return Err(Error::Refused(problem.into())),
        }
        let inbox = problem
            .more
            .get("inbox")
            .and_then(|inbox| inbox.as_str())
            .unwrap_or_default();
        let seat = Seat::of(&problem);
        let by = seat
            .as_ref()
            .map_or("another waiter".into(), Seat::to_string);
        if let Some(seat) = &seat {
            if self.own && seat.way.as_deref() == Some("rewake") {
                say("this session is woken by itself: there is nothing to wait for");
                return Ok(Exit::DONE);
            }
            if seat
                .wakes(&self.hub, &self.project, self.session.as_ref())
                .await
            {
                say(format!(
                    "this session already waits at inbox '{inbox}': {by}"
                ));
                return Ok(Exit::DONE);
            }
        }
        say(format!(
            "inbox '{inbox}' is held by {by}; --takeover ends that one"
        ));
        Ok(Exit::HELD)
    }
}

/// The lines of a batch: the hub's own JSON.
fn lines(reply: &Batch) -> String {
    let mut text = String::new();
    for notification in &reply.notifications {
        text.push_str(&json_line(notification.get()));
        text.push('\n');
    }
    text
}

fn tell(reply: &Batch) {
    if let Some(barrier) = reply.barrier.as_ref().filter(|barrier| !barrier.met) {
        let missing: Vec<&str> = barrier.missing.iter().map(InboxName::as_str).collect();
        match missing.as_slice() {
            [] => say("not everything came that was waited for"),
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

/// The command that started this process, as a shell would read it.
fn command_line() -> String {
    let mut words = vec!["hubctl".to_owned()];
    words.extend(std::env::args().skip(1).map(|word| quoted(&word)));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_the_hubs_own_lines() {
        let reply = "{\"notifications\":[{\"id\":1,\"msg\":\"a\u{9b}\"},{\"id\":2}],\"lease\":\"l\",\"remaining\":0,\
                     \"why_woken\":{\"reason\":\"pending\"}}";
        let reply: Batch = serde_json::from_str(reply).unwrap();
        assert_eq!(
            lines(&reply),
            "{\"id\":1,\"msg\":\"a\\u009b\"}\n{\"id\":2}\n"
        );
    }
}
