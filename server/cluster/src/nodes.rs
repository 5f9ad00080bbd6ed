//! The beats of the hubs: each reports every two seconds what it is, how far its log goes, and which calls it has open. By
//! their beats two hubs of one name notice each other, and the one that began later gives way.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use futures_util::StreamExt as _;
use hub_core::sync;
use hub_log::journal::Journal as _;
use hub_protocol::{Counted, NodeInfo, Seq, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::Cluster;
use super::wire::CallId;
use crate::nats::{Nats, Outgoing};

/// The time between two beats.
const PERIOD: Duration = Duration::from_secs(2);
/// After this silence, a hub counts as gone.
pub(super) const SILENCE: Duration = Duration::from_secs(8);
/// How long a hub of the same name may take to answer the first beat of this one.
const ANSWER: Duration = Duration::from_millis(300);
/// The role in the beats of the active hub.
pub(super) const ACTIVE: &str = "active";
/// The role in the last beat of a hub that stops.
pub(super) const LEAVING: &str = "leaving";
/// A hub that is further behind does not take over. Its last beat may be two seconds old.
const MAX_BEHIND: Seq = 1_000;
/// A hub that was silent for this long is not listed any more.
const FORGET: Duration = Duration::from_secs(24 * 3600);

/// One beat.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Beat {
    role: String,
    /// The process, and for how many milliseconds it has run.
    #[serde(default)]
    run: String,
    #[serde(default)]
    age_ms: u64,
    /// The last other process that it heard under its own name.
    #[serde(default)]
    namesake: String,
    head: Seq,
    version: String,
    at: Timestamp,
    /// The calls that this hub has forwarded and not got an answer for.
    open: Vec<CallId>,
    /// The calls of other hubs that it works on.
    held: Vec<(String, CallId)>,
    /// The version of its waiters, which dashboards show.
    presence: u64,
    /// Why it cannot become the active hub now.
    #[serde(default)]
    cannot_lead: Option<String>,
    /// Why it does not follow, or refuses publishes.
    #[serde(default)]
    fault: Option<String>,
}

/// The other hubs.
pub(super) struct Nodes {
    /// The last beat of each, and when it arrived.
    beats: Mutex<BTreeMap<String, (Beat, Instant)>>,
    began: Instant,
    /// The last other process that was heard under this hub's name.
    namesake: Mutex<String>,
    /// Whether a hub of the same name would have answered by now.
    introduced: AtomicBool,
}

impl Default for Nodes {
    fn default() -> Self {
        Self {
            beats: Mutex::default(),
            began: Instant::now(),
            namesake: Mutex::default(),
            introduced: AtomicBool::new(false),
        }
    }
}

impl Nodes {
    fn table(&self) -> MutexGuard<'_, BTreeMap<String, (Beat, Instant)>> {
        sync::lock(&self.beats)
    }

    /// For how long this hub has run, in milliseconds.
    fn age_ms(&self) -> u64 {
        let age = self.began.elapsed().as_millis();
        age.try_into().unwrap_or(u64::MAX)
    }

    /// Whether a hub of the same name would have answered by now. Before, this one does not take its place.
    pub(super) fn is_introduced(&self) -> bool {
        self.introduced.load(Ordering::Relaxed)
    }

    /// Whether a hub was not heard for so long that it does not answer.
    pub(super) fn is_gone(&self, node: &str) -> bool {
        let heard = self.table().get(node).map(|(_, heard)| *heard);
        heard.unwrap_or(self.began).elapsed() > SILENCE
    }

    /// Whether a hub lives, and says that it is active.
    pub(super) fn is_active(&self, node: &str) -> bool {
        let table = self.table();
        let beat = table.get(node);
        beat.is_some_and(|(beat, heard)| beat.role == ACTIVE && heard.elapsed() < SILENCE)
    }

    /// Returns the other hubs, by name; `now` is the time of the answer.
    pub(super) fn list(&self, now: Timestamp) -> Vec<NodeInfo> {
        let table = self.table();
        let nodes = table.iter().map(|(node, (beat, heard))| NodeInfo {
            node: node.clone(),
            role: if heard.elapsed() < SILENCE {
                beat.role.clone()
            } else {
                "silent".into()
            },
            head: beat.head,
            version: beat.version.clone(),
            fault: beat.fault.clone(),
            seen_at: now.plus_millis(-millis(heard.elapsed())),
        });
        nodes.collect()
    }

    /// Fails with the reason why `node` cannot take over from a hub whose log ends with `head`, and with what to do.
    pub(super) fn check_heir(&self, node: &str, head: Seq) -> Result<(), String> {
        let table = self.table();
        let Some((beat, last)) = table.get(node) else {
            let known: Vec<&str> = table.keys().map(String::as_str).collect();
            let known = known.join(", ");
            return Err(format!(
                "no hub '{node}' is in the cluster: the others are {known}"
            ));
        };
        if last.elapsed() >= SILENCE || beat.role == LEAVING {
            let seconds = last.elapsed().as_secs();
            return Err(format!(
                "'{node}' was heard {seconds} s ago: start its hub first"
            ));
        }
        if let Some(reason) = &beat.cannot_lead {
            return Err(format!("'{node}' cannot lead: {reason}"));
        }
        let behind = head.saturating_sub(beat.head);
        if behind > MAX_BEHIND {
            return Err(format!(
                "'{node}' is {} behind: wait until `hubctl status` shows that it has caught up",
                Counted(behind, "record")
            ));
        }
        Ok(())
    }

    /// Returns a hub that can take over from one whose log ends with `head`: the one with the most records.
    pub(super) fn heir(&self, head: Seq) -> Option<String> {
        let mut nodes: Vec<(Seq, String)> = {
            let table = self.table();
            let node = |(node, (beat, _)): (&String, &(Beat, Instant))| (beat.head, node.clone());
            table.iter().map(node).collect()
        };
        nodes.sort();
        let mut nodes = nodes.into_iter().rev().map(|(_, node)| node);
        nodes.find(|node| self.check_heir(node, head).is_ok())
    }

    /// Returns the highest head of another hub that lives.
    pub(super) fn newest_head(&self) -> Seq {
        let table = self.table();
        let live = table
            .values()
            .filter(|(_, heard)| heard.elapsed() < SILENCE);
        live.map(|(beat, _)| beat.head).max().unwrap_or(0)
    }

    /// Returns the lowest head of the hubs that run, or were silent for less than a day; `None` if there are none. A hub
    /// that was stopped can copy the log anew at its start.
    pub(super) fn oldest_head(&self) -> Option<Seq> {
        let table = self.table();
        let running = table.values().filter(|(beat, _)| beat.role != LEAVING);
        running.map(|(beat, _)| beat.head).min()
    }

    /// Returns when the last beat of the hub `active` arrived, if that hub then worked on this call.
    pub(super) fn holder_beat(&self, active: &str, (node, id): (&str, &CallId)) -> Option<Instant> {
        let table = self.table();
        let (beat, heard) = table.get(active)?;
        let holds = beat.held.iter().any(|(of, held)| of == node && held == id);
        holds.then_some(*heard)
    }

    fn note(&self, node: String, beat: Beat) -> Option<Beat> {
        let mut table = self.table();
        table.retain(|_, (_, heard)| heard.elapsed() < FORGET);
        table
            .insert(node, (beat, Instant::now()))
            .map(|(beat, _)| beat)
    }

    /// Whether a hub still wants the answer to a call, as far as is known; `since` is when the call arrived.
    pub(super) fn wants(
        &self,
        node: &str,
        id: &CallId,
        since: Instant,
        patience: Duration,
    ) -> bool {
        match self.table().get(node) {
            Some((beat, heard)) if heard.elapsed() < SILENCE => {
                beat.open.contains(id) || since.elapsed() < patience
            }
            _ => since.elapsed() < SILENCE,
        }
    }
}

fn millis(time: Duration) -> i64 {
    time.as_millis().try_into().unwrap_or(i64::MAX)
}

/// Sends beats.
pub(super) async fn beat(cluster: &Cluster<impl Nats>) {
    let mut role = cluster.0.role.subscribe();
    loop {
        role.mark_unchanged();
        beat_once(cluster, cluster.role_name()).await;
        // A change of the role is reported at once.
        let _ = tokio::time::timeout(PERIOD, role.changed()).await;
    }
}

/// Sends one beat.
pub(super) async fn beat_once(cluster: &Cluster<impl Nats>, role: &str) {
    let inner = &*cluster.0;
    if inner.namesake.load(Ordering::Relaxed) {
        return;
    }
    inner.held.drop_unwanted(&inner.nodes);
    let beat = Beat {
        role: role.into(),
        run: inner.run.clone(),
        age_ms: inner.nodes.age_ms(),
        namesake: sync::lock(&inner.nodes.namesake).clone(),
        head: inner.journal.head(),
        version: env!("CARGO_PKG_VERSION").into(),
        at: inner.clock.wall(),
        open: cluster.open_calls().iter().cloned().collect(),
        held: inner.held.ids(),
        presence: *inner.hub.presence().borrow(),
        cannot_lead: cluster.cannot_lead(),
        fault: cluster.fault(),
    };
    let subject = cluster.subject(&format!("beat.{}", inner.node));
    let beat = serde_json::to_vec(&beat).unwrap_or_default();
    if let Err(error) = inner.nats.publish(Outgoing::new(subject, beat)).await {
        tracing::debug!(%error, "a beat was not sent");
    }
}

/// Takes a beat under the name of this hub: its own, or that of another process.
async fn hear_own_name(cluster: &Cluster<impl Nats>, beat: &Beat) {
    let inner = &*cluster.0;
    if beat.run == inner.run {
        if !inner.nodes.is_introduced() {
            let own = cluster.clone();
            tokio::spawn(async move {
                tokio::time::sleep(ANSWER).await;
                own.0.nodes.introduced.store(true, Ordering::Relaxed);
                own.0.hurry.notify_one();
            });
        }
    } else if beat.role != LEAVING && !beat.run.is_empty() {
        sync::lock(&inner.nodes.namesake).clone_from(&beat.run);
        if (beat.age_ms, &beat.run) < (inner.nodes.age_ms(), &inner.run) {
            // The other one learns by this that it came later.
            beat_once(cluster, cluster.role_name()).await;
        } else if beat.namesake == inner.run {
            // The beats of a hub that was killed may come late, but only one that lives has heard this one.
            cluster.refuse_name("hub");
        }
    }
}

/// Receives the beats of the other hubs.
pub(super) async fn listen(cluster: &Cluster<impl Nats>) {
    let inner = &*cluster.0;
    loop {
        let subject = cluster.subject("beat.*");
        let Ok(mut beats) = inner.nats.subscribe(subject).await else {
            tokio::time::sleep(PERIOD).await;
            continue;
        };
        while let Some(message) = beats.next().await {
            // NATS checks who may publish under the name of a node, so the subject counts and not the content.
            let node = message.subject.rsplit('.').next().unwrap_or_default();
            let Ok(beat) = serde_json::from_slice::<Beat>(&message.payload) else {
                continue;
            };
            if node == inner.node {
                hear_own_name(cluster, &beat).await;
                continue;
            }
            let leaves = beat.role == LEAVING;
            let leads = beat.role == ACTIVE;
            let presence = beat.presence;
            let before = inner.nodes.note(node.into(), beat);
            let stepped_down = !leads && before.as_ref().is_some_and(|it| it.role == ACTIVE);
            if leaves || stepped_down {
                inner.hurry.notify_one();
            }
            if leads && before.is_none_or(|it| it.presence != presence) {
                inner.hub.presence_changed();
            }
        }
    }
}
