//! The promises that must hold under every fault, checked against what the hub's clients saw and against its log.

use std::collections::{BTreeMap, BTreeSet};

use hub_core::fold::State;
use hub_core::record::{Record, SettleReason};
use hub_log::Event;
use hub_protocol::{InboxName, ProjectName, Seq};

use crate::time::Clocks;

const DAY_MS: i64 = 24 * 3_600_000;

/// A broken promise.
pub(crate) type Broken = String;

/// A place of a notification: an inbox, and the number.
pub(crate) type Spot = (ProjectName, InboxName, Seq);

/// A notification of a client.
#[derive(Debug, Clone)]
pub(crate) struct Note {
    /// Its text, which no other notification has.
    pub(crate) text: String,
    /// Its places.
    pub(crate) spots: Vec<Spot>,
    /// Its life in milliseconds, as its publisher set it.
    pub(crate) life_ms: i64,
    /// The true time at which its publisher sent it.
    pub(crate) sent_ms: i64,
}

/// A lease as its reader knows it.
#[derive(Debug, Clone)]
pub(crate) struct Lease {
    /// The name of the reader.
    pub(crate) by: Option<String>,
    /// The end on the monotonic clock.
    pub(crate) until_ms: u64,
}

/// A record that a reader has seen.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// The hash of its content.
    content: u64,
    /// The true time at which it was seen.
    true_ms: i64,
    /// Its time by the wall clock.
    at_ms: Option<i64>,
}

/// Everything that was promised so far.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    /// The fold of the records that readers have seen.
    pub(crate) state: State,
    /// The records that readers have seen.
    seen: BTreeMap<Seq, Seen>,
    /// The texts of notifications that clients posted, and their numbers.
    pub(crate) texts: BTreeMap<String, Seq>,
    /// The notifications of clients.
    pub(crate) notes: BTreeMap<Seq, Note>,
    /// Publishers' answers: the text and the number that they were told.
    told: BTreeMap<String, Seq>,
    /// Texts that were refused, so that they may never be stored.
    refused: BTreeSet<String>,
    /// Why each place is no longer pending.
    pub(crate) settled: BTreeMap<Spot, SettleReason>,
    /// The places whose acknowledgement was confirmed.
    acked: BTreeSet<Spot>,
    /// The places that a reader got.
    pub(crate) delivered: BTreeSet<Spot>,
    /// Those that are marked when they are delivered again: their reader did not give them back.
    pub(crate) marked: BTreeSet<Spot>,
    /// The leases that readers hold.
    pub(crate) leases: BTreeMap<Spot, Lease>,
    /// The readers that began to wait in this step, and thereby lost what they had.
    pub(crate) waiting: BTreeSet<String>,
    /// What readers give back in this step. The hub knows a lease by its reader's name, so a reader of that name that has got
    /// the place again by now loses it too.
    pub(crate) given_back: BTreeSet<(Option<String>, Spot)>,
    /// Life and sending time of each text.
    pub(crate) lives: BTreeMap<String, (i64, i64)>,
    /// The most by which the wall clock may be ahead of what the hub knows, in milliseconds.
    pub(crate) unnoticed_ms: i64,
    /// The jumps that the log has records of, since the hub last knew the wall clock, in milliseconds.
    pub(crate) recorded_ms: i64,
    /// How long the log keeps a record in milliseconds, if it has room for all.
    kept_ms: Option<i64>,
    /// The bounds of the trims that a full disk asked for.
    pub(crate) forced: BTreeSet<Seq>,
    /// The true time of the last jump that the log has a record of.
    jumped_ms: Option<i64>,
    /// The answered questions.
    answered: BTreeMap<Seq, Seq>,
}

fn hash(kind: u8, payload: &[u8]) -> u64 {
    u64::from(kind) << 32 | u64::from(crc32c::crc32c(payload))
}

/// Returns the text of a stored notification.
pub(crate) fn text_of(json: &[u8]) -> Option<String> {
    let json = std::str::from_utf8(json).ok()?;
    let (_, rest) = json.split_once(r#""msg":""#)?;
    Some(rest[..rest.find('"')?].to_owned())
}

/// Whether a client of the simulation made this text.
fn is_own(text: &str) -> bool {
    text.starts_with("note ")
}

impl Oracle {
    /// Promises nothing yet, but that the log keeps each record for `kept_ms`.
    pub(crate) fn new(kept_ms: Option<i64>) -> Self {
        Self {
            kept_ms,
            ..Self::default()
        }
    }

    /// Takes an event that a reader sees now.
    pub(crate) fn see(&mut self, event: &Event, clocks: &Clocks) -> Result<(), Broken> {
        let now_ms = clocks.boot_ms;
        let seq = event.seq();
        if seq != self.state.head() + 1 {
            return Err(format!(
                "a reader at {} gets record {seq}",
                self.state.head()
            ));
        }
        let entry = event.entry();
        let record = event.record().ok_or("a record cannot be decoded")?;
        let seen = Seen {
            content: hash(entry.kind, &entry.payload),
            true_ms: now_ms,
            at_ms: record.at().map(hub_protocol::Timestamp::as_millis),
        };
        self.seen.insert(seq, seen);
        let before: Vec<Spot> = match record {
            Record::Settled(it) if it.inbox.is_none() => self.spots_of(&it.ids),
            Record::Settled(it) => it
                .inbox
                .iter()
                .flat_map(|place| self.spots_at(place, &it.ids))
                .collect(),
            _ => Vec::new(),
        };
        self.state.apply(seq, record);
        match record {
            Record::Notified(it) => {
                let project = &it.route.project;
                let spot = |inbox: &InboxName| (project.clone(), inbox.clone(), seq);
                let spots = it.route.targets.iter().map(|target| spot(&target.inbox));
                let text = text_of(&it.json).ok_or("a notification has no text")?;
                self.stored(seq, text, spots.collect())?;
            }
            Record::Settled(it) => {
                for spot in before {
                    self.settle(&spot, it.how, now_ms)?;
                }
            }
            Record::InboxClosed(it) => {
                self.drop_all(|spot| spot.0 == it.project && spot.1 == it.inbox);
            }
            Record::Reset(it) => self.drop_all(|spot| spot.0 == it.project),
            Record::ClockMoved(it) => {
                self.recorded_ms += it.delta_ms;
                // A hub that ended may have recorded it long before a reader sees it.
                let since_ms = clocks.wall_ms - it.at.as_millis();
                self.jumped_ms = Some(now_ms - since_ms.max(0));
            }
            Record::Trimmed(it) => self.check_age(it.below, clocks)?,
            _ => {}
        }
        Ok(())
    }

    /// Checks that retention drops nothing before its time: nothing that is young by the clock too, and for a day after a jump of
    /// the clock nothing at all. After a jump that the log has no record of, it takes wrong ages for true.
    fn check_age(&self, below: Seq, clocks: &Clocks) -> Result<(), Broken> {
        let last = self.seen.get(&(below - 1));
        let (Some(kept_ms), Some(last), false) = (self.kept_ms, last, self.forced.contains(&below))
        else {
            return Ok(());
        };
        let age_ms = clocks.boot_ms - last.true_ms;
        let since_jump_ms = self.jumped_ms.map_or(0, |at| clocks.boot_ms - at);
        let pauses = since_jump_ms + self.unnoticed_ms < DAY_MS;
        let is_young = { last.at_ms }.is_none_or(|at| clocks.wall_ms - at < kept_ms);
        if age_ms < kept_ms && (pauses || is_young) {
            let last = below - 1;
            return Err(format!("record {last} is dropped after {age_ms} ms"));
        }
        Ok(())
    }

    fn spots_of(&self, ids: &[Seq]) -> Vec<Spot> {
        let notes = ids.iter().filter_map(|id| self.notes.get(id));
        let spots = notes.flat_map(|note| note.spots.iter().cloned());
        spots
            .filter(|spot| !self.settled.contains_key(spot))
            .collect()
    }

    fn spots_at(&self, (project, inbox): &(ProjectName, InboxName), ids: &[Seq]) -> Vec<Spot> {
        let spot = |id: &Seq| (project.clone(), inbox.clone(), *id);
        let spots = ids.iter().map(spot);
        // A command may end a place twice; the first reason counts.
        spots
            .filter(|spot| !self.settled.contains_key(spot))
            .collect()
    }

    fn stored(&mut self, seq: Seq, text: String, spots: Vec<Spot>) -> Result<(), Broken> {
        if is_own(&text) {
            if let Some(before) = self.texts.insert(text.clone(), seq) {
                return Err(format!("'{text}' is stored twice: {before} and {seq}"));
            }
            if self.refused.contains(&text) {
                return Err(format!("'{text}' was refused, and is stored as {seq}"));
            }
        }
        let (life_ms, sent_ms) = self.lives.get(&text).copied().unwrap_or((0, i64::MIN));
        let note = Note {
            text,
            spots,
            life_ms,
            sent_ms,
        };
        self.notes.insert(seq, note);
        Ok(())
    }

    fn settle(&mut self, spot: &Spot, how: SettleReason, now_ms: i64) -> Result<(), Broken> {
        let Some(note) = self.notes.get(&spot.2) else {
            return Err(format!("{} is settled, and was never stored", spot.2));
        };
        if how == SettleReason::Expired && note.sent_ms != i64::MIN {
            let lived = now_ms - note.sent_ms;
            if lived + self.unnoticed_ms < note.life_ms {
                return Err(format!(
                    "{} expired after {lived} ms, and its life is {} ms",
                    spot.2, note.life_ms
                ));
            }
        }
        if how == SettleReason::Acked && !self.delivered.contains(spot) && is_own(&note.text) {
            return Err(format!("{spot:?} is acknowledged, and no reader got it"));
        }
        self.leases.remove(spot);
        if let Some(before) = self.settled.insert(spot.clone(), how) {
            return Err(format!("{spot:?} is settled twice: {before:?} and {how:?}"));
        }
        Ok(())
    }

    fn drop_all(&mut self, which: impl Fn(&Spot) -> bool) {
        let spots = self.notes.values().flat_map(|note| note.spots.iter());
        let open: Vec<Spot> = spots
            .filter(|spot| which(spot) && !self.settled.contains_key(*spot))
            .cloned()
            .collect();
        for spot in open {
            self.leases.remove(&spot);
            self.settled.insert(spot, SettleReason::Dropped);
        }
    }

    /// A publisher is told that its notifications are stored.
    pub(crate) fn publish_confirmed(
        &mut self,
        texts: &[String],
        ids: &[Seq],
    ) -> Result<(), Broken> {
        if texts.len() != ids.len() {
            return Err(format!("{texts:?} got the numbers {ids:?}"));
        }
        for (text, id) in texts.iter().zip(ids) {
            if self.texts.get(text) != Some(id) {
                let stored = self.texts.get(text);
                return Err(format!(
                    "'{text}' is confirmed as {id}, and is stored as {stored:?}"
                ));
            }
            if let Some(before) = self.told.insert(text.clone(), *id)
                && before != *id
            {
                return Err(format!("'{text}' is confirmed as {before} and as {id}"));
            }
        }
        Ok(())
    }

    /// A publisher is told that nothing of its request is stored.
    pub(crate) fn publish_refused(
        &mut self,
        texts: &[String],
        for_good: bool,
    ) -> Result<(), Broken> {
        for text in texts {
            if let Some(id) = self.texts.get(text) {
                return Err(format!("'{text}' is refused, and is stored as {id}"));
            }
            if for_good {
                self.refused.insert(text.clone());
            }
        }
        Ok(())
    }

    /// A reader is told that it has acknowledged these.
    pub(crate) fn ack_confirmed(&mut self, spots: &[Spot]) -> Result<(), Broken> {
        for spot in spots {
            if !self.settled.contains_key(spot) {
                return Err(format!(
                    "the acknowledgement of {spot:?} is confirmed, and it is pending"
                ));
            }
            self.acked.insert(spot.clone());
        }
        Ok(())
    }

    /// A reader gets a place: it must be pending, not leased by another one, and marked if it was delivered before.
    pub(crate) fn deliver(
        &mut self,
        spot: Spot,
        (by, until_ms, now_ms): (Option<&String>, u64, u64),
        marked: Option<bool>,
    ) -> Result<(), Broken> {
        if let Some(how) = self.settled.get(&spot) {
            return Err(format!(
                "{spot:?} is delivered after it was settled ({how:?})"
            ));
        }
        if self.acked.contains(&spot) {
            return Err(format!("{spot:?} is delivered after its acknowledgement"));
        }
        let inbox = self.state.inboxes.get(&spot.0, &spot.1);
        if inbox.and_then(|it| it.get(spot.2)).is_none() {
            return Err(format!(
                "{spot:?} is delivered, and is not in the log as pending"
            ));
        }
        if let Some(lease) = self.leases.get(&spot)
            && now_ms < lease.until_ms
            && (lease.by.is_none() || lease.by.as_ref() != by)
            && !lease
                .by
                .as_ref()
                .is_some_and(|it| self.waiting.contains(it))
        {
            return Err(format!(
                "{spot:?} is delivered to {by:?}, and {lease:?} holds it"
            ));
        }
        if marked == Some(false) && self.marked.contains(&spot) {
            return Err(format!("{spot:?} is delivered again without a mark"));
        }
        self.delivered.insert(spot.clone());
        self.marked.insert(spot.clone());
        self.leases.remove(&spot);
        if self.given_back.contains(&(by.cloned(), spot.clone())) {
            self.marked.remove(&spot);
            return Ok(());
        }
        // A reader that waits twice under one name loses what it gets first.
        if by.is_none_or(|it| !self.waiting.contains(it)) {
            let by = by.cloned();
            self.leases.insert(spot, Lease { by, until_ms });
        }
        Ok(())
    }

    /// A question is answered.
    pub(crate) fn answer_confirmed(&mut self, question: Seq, answer: Seq) -> Result<(), Broken> {
        match self.answered.insert(question, answer) {
            Some(before) if before != answer => Err(format!(
                "question {question} is answered by {before} and by {answer}"
            )),
            _ => Ok(()),
        }
    }

    /// Checks that a log contains every record from `first` on, as readers saw it: of its two copies, at most one is damaged.
    pub(crate) fn compare(
        &self,
        first: Seq,
        entries: &[hub_log::journal::Entry],
    ) -> Result<(), Broken> {
        if entries.is_empty() {
            return Err(format!("the log ends before record {first}"));
        }
        for (seq, entry) in (first..).zip(entries) {
            if entry.seq != seq {
                return Err(format!("the log has lost record {seq}"));
            }
            let known = self.seen.get(&seq);
            if known.is_some_and(|it| it.content != hash(entry.kind, &entry.payload)) {
                return Err(format!("record {seq} is another one after the restart"));
            }
        }
        Ok(())
    }

    /// The hub has forgotten its leases, because it ended.
    pub(crate) fn forget_leases(&mut self) {
        self.leases.clear();
    }
}
