//! Applies every action to the fold and to the model.

use std::collections::BTreeSet;

use bytes::Bytes;
use hub_core::command::{Command, Decision, IdempotencyKey, Refusal};
use hub_core::fold::{Item, State};
use hub_core::notification::{Draft, tail_of};
use hub_core::record::{Record, notification_json};
use hub_core::rule::RuleSet;
use hub_protocol::{InboxName, ProjectName, Seq, Timestamp};
use proptest::sample::Index;

use super::action::Action;
use super::model::{Leases, Model};

mod agents;
mod listeners;
mod questions;
mod rules;

pub(crate) struct Driver {
    pub(super) state: State,
    pub(super) model: Model,
    /// The journal's entries.
    pub(super) log: Vec<(u8, Bytes)>,
    pub(crate) now: Timestamp,
    leases: Leases,
    rules: RuleSet,
    pub(super) durable: Durable,
    snapshot: (usize, Vec<u8>),
    /// Records that wait for the next sync before their publisher is answered.
    unanswered: Vec<Seq>,
    unanswered_acks: Leases,
}

/// Answered records, which must survive a crash.
#[derive(Default)]
pub(super) struct Durable {
    records: usize,
    model: Model,
    ids: BTreeSet<Seq>,
    pub(super) acks: Leases,
}

impl Driver {
    pub(crate) fn new() -> Self {
        let state = State::default();
        Self {
            snapshot: (0, bytes(&state)),
            state,
            model: Model::default(),
            log: Vec::new(),
            now: "2026-11-21T12:00:00Z".parse().unwrap(),
            leases: Leases::new(),
            rules: rules::rules(),
            durable: Durable::default(),
            unanswered: Vec::new(),
            unanswered_acks: Leases::new(),
        }
    }

    pub(crate) fn run(&mut self, action: &Action) {
        match action {
            Action::Notify { drafts, once } => self.notify(drafts, *once),
            Action::Lease(project, inbox, count) => self.lease(project, inbox, *count),
            Action::Release(project, inbox) => drop(self.release(project, inbox)),
            Action::AckLeased(project, inbox) => {
                let ids = self.release(project, inbox);
                self.ack(project, inbox, ids);
            }
            Action::AckIds(project, inbox, picks) => self.ack(project, inbox, self.pick(picks)),
            Action::AckUnknown(project, inbox) => self.ack_unknown(project, inbox),
            Action::Sync => self.sync(),
            Action::Crash => self.crash(),
            Action::Snapshot => self.snapshot = (self.log.len(), bytes(&self.state)),
            Action::Restart => self.restart(),
            Action::Pass(ms) => self.now = self.now.plus_millis(*ms),
            other => self.maintain(other),
        }
    }

    fn maintain(&mut self, action: &Action) {
        match action {
            Action::Withdraw(picks) => {
                let ids = self.pick(picks);
                self.model.withdraw(&ids);
                self.must(&Command::Withdraw { ids });
            }
            Action::WithdrawKey(project, from, key) => {
                self.model.withdraw_key(project, from.as_ref(), key);
                self.must(&Command::WithdrawKey {
                    project: project.clone(),
                    from: from.clone(),
                    key: (*key).into(),
                });
            }
            Action::Seen { ids, up_to, seen } => self.mark(ids, *up_to, *seen),
            Action::Close(project, inbox) => self.close(project, inbox),
            Action::Reset(project, history) => self.reset(project, *history),
            Action::Trim { below, evict } => self.trim(*below, *evict),
            Action::Tick => self.tick(),
            Action::Due => {
                let due = self.state.next_deadline();
                self.now = due.map_or(self.now, |due| due.max(self.now));
                self.tick();
            }
            Action::ClockMoved(delta_ms) => {
                self.now = self.now.plus_millis(*delta_ms);
                self.model.clock_moved(*delta_ms, self.now);
                self.must(&Command::ClockMoved {
                    delta_ms: *delta_ms,
                });
            }
            other => self.agents(other),
        }
    }

    fn reset(&mut self, project: &ProjectName, history: bool) {
        self.model.reset(project, history);
        self.must(&Command::Reset {
            project: project.clone(),
            history,
        });
        if history {
            let below = self.state.head();
            self.model.hidden.insert(project.clone(), below);
        }
    }

    fn tick(&mut self) {
        self.model.tick(self.state.head(), self.now);
        self.must(&Command::Tick);
        let next = self.state.next_deadline();
        assert!(next.is_none_or(|next| next > self.now), "it ticks for ever");
    }

    fn notify(&mut self, drafts: &[Draft], once: Option<(&str, &str)>) {
        let drafts = drafts.iter().map(|draft| published(draft, self.now));
        let drafts: Vec<Draft> = drafts.collect();
        let once = once.map(|(key, digest)| IdempotencyKey {
            key: key.into(),
            digest: digest.into(),
        });
        self.publish(drafts, once);
    }

    fn publish(&mut self, drafts: Vec<Draft>, once: Option<IdempotencyKey>) {
        let expected = self.model.notify(
            self.state.head(),
            &drafts,
            once.as_ref(),
            self.now,
            &self.leases,
        );
        match self.decide(&Command::Notify { drafts, once }) {
            Ok(Decision::Repeat(ids)) => assert_eq!(expected, Ok((ids, true))),
            Err(refusal) => assert_eq!(expected, Err(refusal)),
            Ok(Decision::Records(records)) => {
                let (ids, repeated) = expected.expect("the model refuses");
                assert!(!repeated, "it was done twice");
                self.unanswered.extend(ids);
                self.commit(records);
            }
        }
    }

    fn lease(&mut self, project: &ProjectName, inbox: &InboxName, count: usize) {
        let offered: Vec<Seq> = pending(&self.state, project, inbox)
            .iter()
            .map(|item| item.seq)
            .filter(|&seq| !self.leases.contains(&(project.clone(), inbox.clone(), seq)))
            .take(count)
            .collect();
        for seq in offered {
            self.leases.insert((project.clone(), inbox.clone(), seq));
        }
    }

    fn release(&mut self, project: &ProjectName, inbox: &InboxName) -> Vec<Seq> {
        let mine = |lease: &(ProjectName, InboxName, Seq)| lease.0 == *project && lease.1 == *inbox;
        let released = self.leases.iter().filter(|lease| mine(lease));
        let released = released.map(|(_, _, seq)| *seq).collect();
        self.leases.retain(|lease| !mine(lease));
        released
    }

    fn ack(&mut self, project: &ProjectName, inbox: &InboxName, ids: Vec<Seq>) {
        for item in pending(&self.state, project, inbox) {
            if ids.contains(&item.seq) {
                let acked = (project.clone(), inbox.clone(), item.seq);
                self.unanswered_acks.insert(acked);
            }
        }
        self.model.ack(project, inbox, &ids);
        self.must(&Command::Ack {
            shown: None,
            project: project.clone(),
            items: vec![(inbox.clone(), ids)],
            by: Some("reader".into()),
        });
    }

    fn ack_unknown(&mut self, project: &ProjectName, inbox: &InboxName) {
        let unknown = self.state.head() + 1;
        let refusal = self.decide(&Command::Ack {
            shown: None,
            project: project.clone(),
            items: vec![(inbox.clone(), vec![unknown])],
            by: None,
        });
        assert_eq!(refusal, Err(Refusal::UnknownId(unknown)));
    }

    fn mark(&mut self, picks: &[Index], up_to: Option<Index>, seen: bool) {
        let ids = self.pick(picks);
        let up_to = up_to.map(|up_to| up_to.index(self.log.len() + 1) as Seq);
        let ranges = up_to.map(|up_to| (1, up_to)).into_iter().collect();
        for note in &self.model.notes {
            if ids.contains(&note.id) || up_to.is_some_and(|up_to| note.id <= up_to) {
                if seen {
                    self.model.seen.insert(note.id);
                } else {
                    self.model.seen.remove(&note.id);
                }
            }
        }
        let before: Vec<String> = self.needs(None).collect();
        self.must(&Command::Seen { ids, ranges, seen });
        let after: Vec<String> = self.needs(None).collect();
        assert_eq!(after, before, "reading ends nothing");
    }

    fn close(&mut self, project: &ProjectName, inbox: &InboxName) {
        let known = self
            .model
            .inboxes
            .contains(&(project.clone(), inbox.clone()));
        let command = Command::CloseInbox {
            project: project.clone(),
            inbox: inbox.clone(),
        };
        if known {
            self.model.close(project, inbox);
            self.must(&command);
        } else {
            let refusal = self.decide(&command).unwrap_err();
            assert!(matches!(refusal, Refusal::UnknownInbox { .. }), "{refusal}");
        }
    }

    fn trim(&mut self, below: Index, evict: bool) {
        let below = below.index(self.log.len() + 1) as Seq + 1;
        if below <= self.model.kept_from {
            return;
        }
        let carried: Vec<(Seq, Bytes)> = self
            .state
            .needed_below(below)
            .into_iter()
            .filter(|(id, _)| !evict || id % 2 == 0)
            .map(|(id, location)| (id, self.stored_json(location)))
            .collect();
        let ids: Vec<Seq> = carried.iter().map(|(id, _)| *id).collect();
        self.model.trim(below, &ids);
        self.must(&Command::Trim {
            below,
            rewritten: carried,
            by_age: false,
        });
    }

    fn sync(&mut self) {
        for id in self.unanswered.drain(..) {
            assert!(self.durable.ids.insert(id), "id {id} was given twice");
        }
        self.durable.acks.append(&mut self.unanswered_acks);
        self.durable.records = self.log.len();
        self.durable.model = self.model.clone();
    }

    fn crash(&mut self) {
        self.log.truncate(self.durable.records);
        if self.snapshot.0 > self.log.len() {
            self.snapshot = (0, bytes(&State::default()));
        }
        self.model = self.durable.model.clone();
        self.unanswered.clear();
        self.unanswered_acks.clear();
        self.leases.clear();
        self.state = self.refold();
    }

    fn restart(&mut self) {
        self.leases.clear();
        let refolded = self.refold();
        assert_eq!(refolded, self.state, "snapshot and log give another state");
        self.state = refolded;
    }

    /// Folds the snapshot and the log after it.
    fn refold(&self) -> State {
        let (taken, snapshot) = &self.snapshot;
        let mut state: State = serde_json::from_slice(snapshot).unwrap();
        assert_eq!(
            bytes(&state),
            *snapshot,
            "a snapshot changes when it is read"
        );
        fold(&mut state, *taken, &self.log[*taken..]);
        state
    }

    fn must(&mut self, command: &Command) {
        match self.decide(command) {
            Ok(Decision::Records(records)) => self.commit(records),
            other => panic!("{command:?} gave {other:?}"),
        }
    }

    fn decide(&self, command: &Command) -> Result<Decision, Refusal> {
        let leased = |project: &ProjectName, inbox: &InboxName, seq| {
            self.leases.contains(&(project.clone(), inbox.clone(), seq))
        };
        self.state.decide(command, self.now, &leased, &self.rules)
    }

    fn commit(&mut self, records: Vec<Record>) {
        for record in records {
            let (kind, payload) = record.encode();
            assert_eq!(Record::decode(kind, &payload).unwrap(), record);
            self.log.push((kind, payload));
            let seq = self.log.len() as Seq;
            self.state.apply(seq, &record);
            match record {
                Record::Rewritten(carried) => self.model.carried(carried.id, seq),
                Record::Trimmed(trimmed) => self.forget_marks(trimmed.below),
                _ => {}
            }
        }
    }

    fn forget_marks(&mut self, below: Seq) {
        let kept: BTreeSet<Seq> = self.model.in_log().map(|note| note.id).collect();
        self.model
            .seen
            .retain(|id| *id >= below || kept.contains(id));
    }

    /// Picks numbers of the log; they need not be notifications.
    fn pick(&self, picks: &[Index]) -> Vec<Seq> {
        picks
            .iter()
            .map(|pick| pick.index(self.log.len() + 1) as Seq)
            .collect()
    }

    pub(super) fn stored_json(&self, location: Seq) -> Bytes {
        assert!(location >= self.model.kept_from, "it is no longer stored");
        let (kind, payload) = &self.log[usize::try_from(location).unwrap() - 1];
        payload.slice_ref(notification_json(*kind, payload).expect("no JSON is stored there"))
    }
}

pub(super) fn fold(state: &mut State, before: usize, log: &[(u8, Bytes)]) {
    for (seq, (kind, payload)) in (before as Seq + 1..).zip(log) {
        state.apply(seq, &Record::decode(*kind, payload).unwrap());
    }
}

pub(super) fn bytes(state: &State) -> Vec<u8> {
    serde_json::to_vec(state).unwrap()
}

pub(super) fn pending<'a>(
    state: &'a State,
    project: &ProjectName,
    inbox: &InboxName,
) -> Vec<&'a Item> {
    state
        .inboxes
        .get(project, inbox)
        .into_iter()
        .flat_map(hub_core::fold::Inbox::pending)
        .collect()
}

/// Returns a draft that is published now; its expiry is a time to live.
fn published(draft: &Draft, now: Timestamp) -> Draft {
    let mut draft = draft.clone();
    let ttl_ms = draft.body.expires_at.as_millis();
    (draft.body.ts, draft.body.expires_at) = (now, now.plus_millis(ttl_ms));
    draft.tail = Some(tail_of(&draft.body));
    draft
}
