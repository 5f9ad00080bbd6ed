//! A series of wakes, with a summary.

use std::collections::BTreeMap;
use std::time::Duration;

use hub_protocol::{Counted, InboxName, ProjectName, Seq, Timestamp, Trace, Way};
use tokio::time::Instant;

use super::send;
use crate::commands::inboxes;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Hub, Path, Request, parse};
use crate::output::println;
use crate::system::random;

/// How often to ask for the trace.
const LOOK: Duration = Duration::from_millis(20);

/// The session to wake.
pub(super) struct Series<'a> {
    pub(super) hub: &'a Hub,
    pub(super) inbox: &'a InboxName,
    pub(super) project: &'a ProjectName,
    /// How long to follow each wake.
    pub(super) patience: Duration,
    /// The longest pause before a wake.
    pub(super) pause: Duration,
}

/// The fate of the wakes.
#[derive(Default)]
struct Summary {
    ways: BTreeMap<&'static str, u32>,
    lost: Vec<Seq>,
    doubled: Vec<Seq>,
    /// The milliseconds from storing to showing.
    delays: Vec<i64>,
}

impl Series<'_> {
    /// Wakes the session `count` times. Exits 0 if each wake arrived once, and in the wanted way.
    pub(super) async fn run(&self, count: u32, wanted: Option<Way>) -> Result<Exit, Error> {
        let mut summary = Summary::default();
        for _ in 0..count {
            // The hub looks at a pane only when something is pending, and a hook does not wait.
            if let Some(way) = wanted.filter(|it| !matches!(it, Way::Pane | Way::Hook)) {
                self.until_waiting(way).await?;
            }
            tokio::time::sleep(self.pause.mul_f64(random::fraction()?)).await;
            let id = send(self.hub, self.inbox, self.project).await?;
            let trace = self.follow(id).await?;
            summary.take(id, &trace);
        }
        summary.delays.sort_unstable();
        println(summary.text(count))?;
        let other = |way: Way| summary.ways.keys().any(|it| *it != way.as_str());
        let failed = !summary.lost.is_empty() || !summary.doubled.is_empty();
        Ok(if failed || wanted.is_some_and(other) {
            Exit::REFUSED
        } else {
            Exit::DONE
        })
    }

    /// Returns when a waiter of this way holds the inbox, or the patience is over. It comes back after the turn of the last
    /// wake, so the session is idle, and no hook delivers.
    async fn until_waiting(&self, wanted: Way) -> Result<(), Error> {
        let began = Instant::now();
        loop {
            let inboxes = inboxes::read(&inboxes::fetch(self.hub, Some(self.project)).await?)?;
            let own = inboxes.into_iter().find(|it| it.name == *self.inbox);
            let way = own.and_then(|it| it.waiter?.way);
            if way == Some(wanted) || began.elapsed() >= self.patience {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Returns the trace of a wake that arrived, or that did not arrive in time.
    async fn follow(&self, id: Seq) -> Result<Trace, Error> {
        let path = Path::new("/notifications").segment(id).segment("trace");
        let request = Request::get(path);
        let began = Instant::now();
        loop {
            let trace: Trace = parse(&self.hub.text(&request).await?)?;
            let is_over = trace.steps.iter().any(|step| step.state == "acked");
            if is_over || began.elapsed() >= self.patience {
                return Ok(trace);
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Summary {
    fn take(&mut self, id: Seq, trace: &Trace) {
        let at = |state: &'static str| {
            let steps = trace.steps.iter().filter(move |step| step.state == state);
            steps.filter_map(|step| step.at).map(Timestamp::as_millis)
        };
        let (Some(stored), Some(acked)) = (at("stored").next(), at("acked").next()) else {
            self.lost.push(id);
            return;
        };
        let ways = trace.steps.iter().filter_map(|step| step.way);
        let ways: Vec<Way> = ways.collect();
        let way = ways.first().map_or("no session", |way| way.as_str());
        *self.ways.entry(way).or_default() += 1;
        // The hook of a prompt delivers the announced notifications.
        let once = matches!(ways[..], [] | [_])
            || matches!(ways[..], [first, Way::Hook] if first.announces());
        if !once {
            self.doubled.push(id);
        }
        self.delays
            .push(at("emitted").next_back().unwrap_or(acked) - stored);
    }

    fn text(&self, count: u32) -> String {
        let ways = self.ways.iter();
        let ways: Vec<String> = ways
            .map(|(way, count)| format!("{count} by {way}"))
            .collect();
        let (lost, doubled) = (self.lost.len(), self.doubled.len());
        let mut parts = vec![format!(
            "{}: {lost} lost, {doubled} doubled",
            Counted(count, "wake")
        )];
        parts.push(ways.join(", "));
        if let Some(last) = self.delays.len().checked_sub(1) {
            let [half, most, all] = [last / 2, last * 95 / 100, last].map(|at| self.delays[at]);
            parts.push(format!(
                "shown after p50 {half} ms, p95 {most} ms, at most {all} ms"
            ));
        }
        for (what, ids) in [("lost", &self.lost), ("doubled", &self.doubled)] {
            let first = ids.first();
            parts.extend(first.map(|id| format!("first {what}: see `hubctl trace {id}`")));
        }
        parts.retain(|part| !part.is_empty());
        parts.join("; ")
    }
}
