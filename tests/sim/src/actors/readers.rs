//! Readers: they wait, get batches, and acknowledge them in time, late, twice or never.

use std::time::Duration;

use hub_core::command::Command;
use hub_core::filter::Filter;
use hub_core::fold::Inbox;
use hub_core::rejected::Rejected;
use hub_core::waiters::lease_token::Claim;
use hub_core::waiters::{Barrier, Batch, MAX_BYTES, Outcome, WaitSpec};
use hub_engine::writer::{Ask, Done};
use hub_log::journal::Journal as _;
use hub_protocol::{InboxName, Kind, ProjectName, Seq};
use tokio::sync::oneshot;

use super::{inbox, name, project};
use crate::oracle::{Broken, Oracle, Spot};
use crate::store::EPOCH;
use crate::world::{World, tell};

/// How long a reader may take to acknowledge, in milliseconds.
const LEASE_MS: u64 = 30_000;
/// How much later than its deadline a wait may end, in milliseconds.
const LATE_MS: u64 = 50;

/// An open wait.
struct Wait {
    spec: WaitSpec,
    deadline_ms: u64,
    outcome: oneshot::Receiver<Outcome>,
}

/// A batch that a reader has, and did not acknowledge.
#[derive(Debug, Clone)]
pub(crate) struct HeldBatch {
    pub(crate) claim: Claim,
}

struct SentAck {
    spots: Vec<Spot>,
    answer: oneshot::Receiver<Result<Done, Rejected>>,
}

/// All readers.
#[derive(Default)]
pub(crate) struct Readers {
    waits: Vec<Wait>,
    pub(crate) held: Vec<HeldBatch>,
    acks: Vec<SentAck>,
}

impl Readers {
    /// The hub has ended, and with it all waits.
    pub(crate) fn lose_waits(&mut self) {
        self.waits.clear();
        self.acks.clear();
    }

    /// A reader that waits again has lost what it got under its name.
    pub(crate) fn forget_leases_of_waiting(asks: &[Ask], oracle: &mut Oracle) {
        oracle.waiting.clear();
        oracle.given_back.clear();
        for ask in asks {
            match ask {
                Ask::Wait { spec, .. } => oracle.waiting.extend(spec.name.clone()),
                Ask::GiveBack { claim, .. } => {
                    let spots = spots(&claim.project, &claim.items).into_iter();
                    oracle
                        .given_back
                        .extend(spots.map(|it| (claim.by.clone(), it)));
                }
                _ => {}
            }
        }
        let waits =
            |by: &Option<String>| { by.as_ref() }.is_some_and(|by| oracle.waiting.contains(by));
        oracle.leases.retain(|_, lease| !waits(&lease.by));
    }
}

fn spots(project: &ProjectName, items: &[(InboxName, Vec<Seq>)]) -> Vec<Spot> {
    let of_inbox = |(inbox, ids): &(InboxName, Vec<Seq>)| {
        let spot = |id: &Seq| (project.clone(), inbox.clone(), *id);
        ids.iter().map(spot).collect::<Vec<_>>()
    };
    items.iter().flat_map(of_inbox).collect()
}

impl World {
    /// A reader waits.
    pub(crate) fn wait(&mut self) {
        if self.process.is_none() {
            return;
        }
        let rng = &mut self.rng;
        let mut inboxes = vec![inbox(rng)];
        if rng.chance(20) {
            inboxes.push(inbox(rng));
        }
        let timeout_ms = *rng.pick(&[0, 1_000, 20_000, 60_000, 3_600_000]);
        let reader = format!("reader {}", rng.below(4));
        let mut filter = Filter::default();
        if rng.chance(15) {
            filter.kinds = Some(vec![Kind::Message, Kind::Question]);
        }
        let barrier = rng.chance(8).then(|| Barrier {
            all: vec![name("w1")],
            any: Vec::new(),
            count: rng.index(3),
            since: 0,
        });
        let session = rng
            .chance(20)
            .then(|| name(rng.pick::<&str>(&["w1", "w2"])));
        let spec = WaitSpec {
            project: project(rng),
            inboxes,
            own: false,
            name: rng.chance(70).then_some(reader),
            session,
            way: None,
            filter,
            barrier,
            settle: Duration::from_millis(*rng.pick(&[0, 0, 0, 300])),
            deadline: self.clocks.mono() + Duration::from_millis(timeout_ms),
            room: *rng.pick(&[MAX_BYTES, 600]),
            drain: rng.chance(15),
            takeover: rng.chance(30),
        };
        self.wait_as(spec, timeout_ms);
    }

    /// A reader waits as `spec` says.
    pub(crate) fn wait_as(&mut self, mut spec: WaitSpec, timeout_ms: u64) {
        spec.inboxes.sort();
        spec.inboxes.dedup();
        let (by, at) = (&spec.name, names(&spec.inboxes));
        let (session, barrier) = (spec.session.as_ref().map(InboxName::as_str), &spec.barrier);
        let (settle, room, drain) = (spec.settle, spec.room, spec.drain);
        tell!(
            self,
            "{by:?} waits at {at:?} of {} for {timeout_ms} ms, settle {settle:?}, session {session:?}, {barrier:?}, room {room}, drain {drain}",
            spec.project
        );
        let (reply, outcome) = oneshot::channel();
        let deadline_ms = self.clocks.mono_ms + timeout_ms;
        self.queue.push(Ask::Wait {
            spec: Box::new(spec.clone()),
            reply,
        });
        self.readers.waits.push(Wait {
            spec,
            deadline_ms,
            outcome,
        });
    }

    /// A waiting client goes away.
    pub(crate) fn hang_up(&mut self) {
        if self.readers.waits.is_empty() {
            return;
        }
        let at = self.rng.index(self.readers.waits.len());
        let wait = self.readers.waits.remove(at);
        tell!(self, "{:?} hangs up", wait.spec.name);
    }

    /// A reader does something with a batch that it has.
    pub(crate) fn use_batch(&mut self) {
        if self.readers.held.is_empty() || self.process.is_none() {
            return;
        }
        let at = self.rng.index(self.readers.held.len());
        let HeldBatch { claim } = self.readers.held.remove(at);
        match self.rng.below(10) {
            0..7 => self.acknowledge(claim),
            7 => {
                // Once more later.
                self.readers.held.push(HeldBatch {
                    claim: claim.clone(),
                });
                self.acknowledge(claim);
            }
            8 => self.give_back(claim),
            _ => {}
        }
    }

    /// A reader acknowledges a batch.
    pub(crate) fn acknowledge(&mut self, claim: Claim) {
        let (reply, answer) = oneshot::channel();
        let spots = spots(&claim.project, &claim.items);
        tell!(self, "{:?} acknowledges {:?}", claim.by, ids(&spots));
        let command = Command::Ack {
            project: claim.project,
            items: claim.items,
            by: claim.by,
            shown: None,
        };
        self.queue.push(Ask::Command { command, reply });
        self.readers.acks.push(SentAck { spots, answer });
    }

    fn give_back(&mut self, claim: Claim) {
        let spots = spots(&claim.project, &claim.items);
        let is_own = |spot: &&Spot| {
            let lease = self.oracle.leases.get(*spot);
            lease.is_some_and(|it| it.by == claim.by && self.clocks.mono_ms < it.until_ms)
        };
        if spots.iter().filter(is_own).count() < spots.len() {
            return;
        }
        tell!(self, "{:?} gives {:?} back", claim.by, ids(&spots));
        for spot in &spots {
            self.oracle.leases.remove(spot);
            self.oracle.marked.remove(spot);
        }
        let (done, _) = oneshot::channel();
        self.queue.push(Ask::GiveBack { claim, done });
    }

    /// Takes the outcomes of waits and acknowledgements.
    pub(crate) fn collect_read(&mut self) -> Result<(), Broken> {
        for SentAck { spots, mut answer } in std::mem::take(&mut self.readers.acks) {
            match answer.try_recv() {
                Err(oneshot::error::TryRecvError::Empty) => {
                    self.readers.acks.push(SentAck { spots, answer });
                }
                Ok(Ok(_)) => self.oracle.ack_confirmed(&spots)?,
                Ok(Err(error)) => {
                    tell!(
                        self,
                        "the acknowledgement of {:?} is refused: {error}",
                        ids(&spots)
                    );
                    self.ack_refused(&error)?;
                }
                Err(oneshot::error::TryRecvError::Closed) => {}
            }
        }
        for mut wait in std::mem::take(&mut self.readers.waits) {
            match wait.outcome.try_recv() {
                Err(oneshot::error::TryRecvError::Empty) => self.readers.waits.push(wait),
                Err(oneshot::error::TryRecvError::Closed) => {
                    return Err("a wait ends without an outcome".into());
                }
                Ok(outcome) => self.waited(&wait, outcome)?,
            }
        }
        Ok(())
    }

    fn ack_refused(&self, error: &Rejected) -> Result<(), Broken> {
        match error {
            Rejected::Full | Rejected::Storage if self.is_troubled() => Ok(()),
            error => Err(format!("an acknowledgement is refused: {error}")),
        }
    }

    fn waited(&mut self, wait: &Wait, outcome: Outcome) -> Result<(), Broken> {
        let who = &wait.spec.name;
        match outcome {
            Outcome::Batch(batch) => self.received(wait, &batch),
            Outcome::Empty | Outcome::HeldBack(_) => {
                tell!(self, "{who:?} gets nothing");
                let over = wait.spec.drain || self.clocks.mono_ms >= wait.deadline_ms;
                if over {
                    Ok(())
                } else {
                    Err(format!(
                        "the wait of {who:?} until {} ends at {}",
                        wait.deadline_ms, self.clocks.mono_ms
                    ))
                }
            }
            other => {
                tell!(self, "{who:?} gets {}", word(&other));
                Ok(())
            }
        }
    }

    fn received(&mut self, wait: &Wait, batch: &Batch) -> Result<(), Broken> {
        let (by, now_ms) = (&wait.spec.name, self.clocks.mono_ms);
        let numbers: Vec<Seq> = batch.items.iter().map(|it| it.id).collect();
        tell!(self, "{by:?} gets {numbers:?}");
        self.check_order(wait, batch)?;
        for item in &batch.items {
            self.check_text(item.id, item.location)?;
        }
        let until_ms = now_ms + LEASE_MS;
        for spot in spots(&batch.project, &batch.lease) {
            let item = batch.items.iter().find(|it| it.id == spot.2);
            let marked = item.map(|it| it.redelivered);
            self.oracle
                .deliver(spot, (by.as_ref(), until_ms, now_ms), marked)?;
        }
        let claim = batch.claim(EPOCH);
        if !claim.items.is_empty() && self.rng.chance(90) {
            self.readers.held.push(HeldBatch { claim });
        }
        Ok(())
    }

    /// Checks that the log has the text of what is delivered.
    fn check_text(&self, id: Seq, location: Seq) -> Result<(), Broken> {
        let (Some(process), Some(note)) = (&self.process, self.oracle.notes.get(&id)) else {
            return Err(format!("{id} is delivered, and is not in the log"));
        };
        let found = process.journal.read(location, 1);
        let found = found.map_err(|error| format!("{location} cannot be read: {error}"))?;
        let entry = found.first().filter(|it| it.seq == location);
        let json = entry.and_then(|it| hub_core::record::notification_json(it.kind, &it.payload));
        let text = serde_json::to_string(&note.text).unwrap_or_default();
        let has_text =
            json.is_some_and(|json| json.windows(text.len()).any(|part| part == text.as_bytes()));
        if has_text {
            Ok(())
        } else {
            Err(format!("the text of {id} is not in record {location}"))
        }
    }

    /// Checks that a batch is in order, and passes nothing over that was never offered.
    fn check_order(&self, wait: &Wait, batch: &Batch) -> Result<(), Broken> {
        let state = &self.oracle.state;
        let rank = |id: Seq| {
            let find = |inbox: &InboxName| state.inboxes.get(&batch.project, inbox)?.get(id);
            let found = wait.spec.inboxes.iter().find_map(find);
            found.map(|item| (item.priority, item.seq))
        };
        let ranks: Vec<_> = batch.items.iter().filter_map(|it| rank(it.id)).collect();
        if !ranks.is_sorted() {
            return Err(format!("a batch is out of order: {ranks:?}"));
        }
        if !wait.spec.filter.is_open() {
            return Ok(());
        }
        let last = ranks.last().copied();
        for inbox in &wait.spec.inboxes {
            let items = state.inboxes.get(&batch.project, inbox).into_iter();
            for item in items.flat_map(Inbox::pending) {
                let spot = (batch.project.clone(), inbox.clone(), item.seq);
                let known = self.oracle.delivered.contains(&spot);
                let has = batch.items.iter().any(|it| it.id == item.seq);
                let before = last.is_some_and(|last| (item.priority, item.seq) < last);
                if before && !has && !known && !self.is_new(item.seq) && !self.is_leased(&spot) {
                    return Err(format!(
                        "{spot:?} is passed over by a batch that ends at {last:?}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Whether the hub says that a reader has leased it.
    fn is_leased(&self, (project, inbox, id): &Spot) -> bool {
        let process = self.process.as_ref();
        process.is_some_and(|it| it.waiters.read().is_leased(project, inbox, *id))
    }

    /// Whether it was stored in the commit of this step, perhaps after the batch was gathered.
    fn is_new(&self, id: Seq) -> bool {
        id > self.settled_head
    }

    /// Checks that no wait goes on although it has something to deliver, and that no lease is held for ever.
    pub(crate) fn check_waits(&self) -> Result<(), Broken> {
        let Some(process) = &self.process else {
            return Ok(());
        };
        let waiters = process.waiters.read();
        for wait in &self.readers.waits {
            let spec = &wait.spec;
            let is_simple = spec.filter.is_open()
                && spec.barrier.is_none()
                && spec.settle.is_zero()
                && (spec.session.is_none() || self.settings.is_unlimited());
            if !is_simple || !self.is_armed(wait) {
                continue;
            }
            for inbox in &spec.inboxes {
                let items = self.oracle.state.inboxes.get(&spec.project, inbox);
                let mut items = items.into_iter().flat_map(Inbox::offerable);
                let free = |seq| !waiters.is_leased(&spec.project, inbox, seq);
                if let Some(item) = items.find(|it| it.wakes && free(it.seq)) {
                    let (by, id) = (&spec.name, item.seq);
                    return Err(format!("{by:?} waits at {inbox} in vain for {id}"));
                }
            }
        }
        Ok(())
    }

    /// Whether the writer has taken the wait: it is the last one that was sent, or none is left in the queue.
    fn is_armed(&self, wait: &Wait) -> bool {
        let queued = self.queue.iter().any(
            |ask| matches!(ask, Ask::Wait { spec, .. } if spec.deadline == wait.spec.deadline),
        );
        !queued
    }

    /// Checks that every wait ended by its timeout, and every lease by its term.
    pub(crate) fn check_deadlines(&self) -> Result<(), Broken> {
        let Some(process) = &self.process else {
            return Ok(());
        };
        let now_ms = self.clocks.mono_ms;
        let late = |wait: &&Wait| wait.deadline_ms + LATE_MS < now_ms && self.is_armed(wait);
        if let Some(wait) = self.readers.waits.iter().find(late) {
            let (by, at) = (&wait.spec.name, wait.deadline_ms);
            return Err(format!(
                "the wait of {by:?} was to end at {at}, and it is {now_ms}"
            ));
        }
        let waiters = process.waiters.read();
        for (spot, lease) in &self.oracle.leases {
            if lease.until_ms + LATE_MS < now_ms && waiters.is_leased(&spot.0, &spot.1, spot.2) {
                return Err(format!("{spot:?} stays leased after {}", lease.until_ms));
            }
        }
        Ok(())
    }
}

fn names(inboxes: &[InboxName]) -> Vec<&str> {
    inboxes.iter().map(InboxName::as_str).collect()
}

fn ids(spots: &[Spot]) -> Vec<Seq> {
    spots.iter().map(|spot| spot.2).collect()
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Batch(_) => "a batch",
        Outcome::Empty => "nothing",
        Outcome::HeldBack(_) => "what is held back",
        Outcome::Reset => "a reset",
        Outcome::Held { .. } => "another waiter",
        Outcome::TakenOver => "a successor",
    }
}
