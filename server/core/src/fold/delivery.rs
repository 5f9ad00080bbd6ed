//! Deliveries: how an item of an inbox reaches its reader.
//!
//! An item is *offered* until a reader acknowledges it. For a session with hooks, the reader only *emits* it: the
//! session's next hook event proves that it arrived and acknowledges it. Without proof it is *returned*, so that it is
//! offered again in another way, and after a second try without proof it is *escalated* to the person.

use std::collections::BTreeSet;

use hub_protocol::{InboxName, Kind, ProjectName, Seq, Timestamp, Way};

use super::deadlines::Deadlines;
use super::inbox::{Inbox, Item};
use super::inboxes::Inboxes;
use super::notification::person;
use super::status::settled;
use super::transaction::Transaction;
use super::{State, texts};
use crate::command::{AgentEvent, Refusal};
use crate::record::{Emitted, Escalated, Record, Returned, SettleReason, TurnCause};

/// The time for a proof while the session is idle, and the further time until the person is notified, in milliseconds.
const PROOF_MS: i64 = 60 * 1000;

/// How far the delivery of an item is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delivery {
    /// When and how a reader showed it, if no hook event has proved its arrival yet.
    pub emitted: Option<(Timestamp, Way)>,
    /// The ways in which it was shown without proof of arrival.
    pub tried: Vec<Way>,
    /// When it was offered again for lack of proof, until the person is notified.
    pub returned: Option<Timestamp>,
    /// Whether the person was notified that it could not be delivered.
    pub escalated: bool,
}

/// The delivery of an item that no reader has shown.
pub(super) static OFFERED: Delivery = Delivery {
    emitted: None,
    tried: Vec::new(),
    returned: None,
    escalated: false,
};

impl Delivery {
    pub(super) fn shift(&mut self, delta_ms: i64) {
        if let Some((at, _)) = &mut self.emitted {
            *at = at.plus_millis(delta_ms);
        }
        self.returned = self.returned.map(|at| at.plus_millis(delta_ms));
    }
}

/// The unproven deliveries of one inbox, by the time of their last step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnprovenDeliveries {
    emitted: Deadlines<Seq>,
    returned: Deadlines<Seq>,
}

impl UnprovenDeliveries {
    pub(super) fn insert(&mut self, item: &Item) {
        if let Some((at, _)) = item.delivery().emitted {
            self.emitted.insert(at, item.seq);
        } else if let Some(at) = item.delivery().returned {
            self.returned.insert(at, item.seq);
        }
    }

    pub(super) fn remove(&mut self, item: &Item) {
        if let Some((at, _)) = item.delivery().emitted {
            self.emitted.remove(at, item.seq);
        } else if let Some(at) = item.delivery().returned {
            self.returned.remove(at, item.seq);
        }
    }

    /// Returns how many items are emitted without proof.
    pub fn len(&self) -> usize {
        self.emitted.len()
    }

    /// Whether there are no unproven deliveries.
    pub fn is_empty(&self) -> bool {
        self.emitted.is_empty() && self.returned.is_empty()
    }
}

/// Returns the items whose time for a proof is over, ascending.
fn overdue(unproven: &Deadlines<Seq>, now: Timestamp) -> Vec<Seq> {
    let due = unproven.due(now.plus_millis(-PROOF_MS));
    let due: BTreeSet<Seq> = due.copied().collect();
    due.into_iter().collect()
}

/// Whether a session's event proves the arrival of items that were emitted in this way. Some events happen without the
/// model reading anything. A rewake is proved only by the prompt that the waiter's exit starts, even in the middle of a
/// turn. Any other event may mean that the waiter died before it could wake the session. An announcement is no delivery:
/// the answer to the hook of its prompt emits the items again.
pub(super) fn is_proof(event: &AgentEvent, way: Way) -> bool {
    match event {
        _ if way.announces() => false,
        AgentEvent::Idle { .. }
        | AgentEvent::Ended
        | AgentEvent::Exited
        | AgentEvent::Left
        | AgentEvent::Cleared
        | AgentEvent::Permission { .. }
        | AgentEvent::Interrupted => false,
        AgentEvent::Prompt { by, .. } => {
            !begins_a_turn(way) || !matches!(by, TurnCause::Person | TurnCause::Peer)
        }
        AgentEvent::Started
        | AgentEvent::Resumed
        | AgentEvent::Worked
        | AgentEvent::Stopped { .. }
        | AgentEvent::Failed { .. }
        | AgentEvent::Asks { .. }
        | AgentEvent::Seen => !begins_a_turn(way),
    }
}

/// Whether the items are in the prompt of the turn that this way begins, so that only this prompt proves them.
fn begins_a_turn(way: Way) -> bool {
    matches!(way, Way::Rewake | Way::AppServer)
}

/// Whether a reader that shows an item in this way emits it: nobody did yet, or it was announced and the hook of
/// the announcing prompt delivers it.
fn may_be_emitted(item: &Item, way: Way) -> bool {
    match item.delivery().emitted {
        None => true,
        Some((_, before)) => before.announces() && way == Way::Hook,
    }
}

impl Inboxes {
    /// Returns the items of an inbox that are emitted without proof, each with the way.
    fn emitted(&self, project: &ProjectName, name: &InboxName) -> impl Iterator<Item = (Seq, Way)> {
        let inbox = self.get(project, name).into_iter();
        inbox.flat_map(|inbox| {
            let items = inbox.unproven().emitted.iter();
            items.filter_map(|id| Some((*id, inbox.get(*id)?.delivery().emitted?.1)))
        })
    }

    /// Returns items at once that could not be shown in this way, for example because the agent refused them.
    pub(super) fn decide_undelivered(
        &self,
        project: &ProjectName,
        items: &[(InboxName, Vec<Seq>)],
        way: Way,
        why: &str,
        now: Timestamp,
    ) -> Vec<Record> {
        let returned = |(name, ids): &(InboxName, Vec<Seq>)| {
            let inbox = self.get(project, name)?;
            let shown = |id: &&Seq| {
                let emitted = inbox.get(**id).and_then(|item| item.delivery().emitted);
                emitted.is_some_and(|(_, by)| by == way)
            };
            let ids: Vec<Seq> = ids.iter().filter(shown).copied().collect();
            (!ids.is_empty()).then(|| {
                Record::Returned(Returned {
                    project: project.clone(),
                    inbox: name.clone(),
                    ids,
                    why: Some(why.to_owned()),
                    at: now,
                })
            })
        };
        items.iter().filter_map(returned).collect()
    }

    pub(super) fn note_emitted(&mut self, it: &Emitted) {
        let emit = |delivery: &mut Delivery| delivery.emitted = Some((it.at, it.way));
        self.change(&it.project, &it.inbox, &it.ids, emit);
    }

    pub(super) fn note_returned(&mut self, it: &Returned) {
        self.change(&it.project, &it.inbox, &it.ids, |delivery| {
            if let Some((_, way)) = delivery.emitted.take()
                && !delivery.tried.contains(&way)
            {
                delivery.tried.push(way);
            }
            delivery.returned = (!delivery.escalated).then_some(it.at);
        });
    }

    pub(super) fn note_escalated(&mut self, it: &Escalated) {
        let escalate =
            |delivery: &mut Delivery| (delivery.returned, delivery.escalated) = (None, true);
        self.change(&it.project, &it.inbox, &it.ids, escalate);
    }
}

impl State {
    /// Returns the notifications that a session was shown without proof yet, ascending.
    pub(super) fn unproven(&self, project: &ProjectName, session: &InboxName) -> Vec<Seq> {
        let inboxes = self.sessions.inboxes_of(project, session);
        let emitted = inboxes
            .iter()
            .flat_map(|it| self.inboxes.emitted(project, it));
        let ids: BTreeSet<Seq> = emitted.map(|(id, _)| id).collect();
        ids.into_iter().collect()
    }

    /// Acknowledges items; for a session with hooks, notes only that its reader emitted them.
    pub(super) fn decide_ack(
        &self,
        project: &ProjectName,
        items: &[(InboxName, Vec<Seq>)],
        by: Option<&str>,
        shown: Option<&(InboxName, Way)>,
        now: Timestamp,
    ) -> Result<Vec<Record>, Refusal> {
        let mut records = Vec::new();
        for (name, ids) in items {
            self.check_ids(ids)?;
            let Some(inbox) = self.inboxes.get(project, name) else {
                continue;
            };
            let items = ids.iter().filter_map(|&id| inbox.get(id));
            let Some((_, way)) = shown.filter(|(it, _)| self.sessions.can_prove(project, it, name))
            else {
                // An announcement or a push is no delivery: the session has ended meanwhile.
                if shown.is_some_and(|(_, way)| way.announces() || way.is_pushed()) {
                    continue;
                }
                let pending = items.map(|item| item.seq).collect();
                let (place, acked) = (Some((project, name)), SettleReason::Acked);
                records.extend(settled(pending, place, acked, by, now));
                continue;
            };
            let offered = items.filter(|item| may_be_emitted(item, *way));
            let ids: Vec<Seq> = offered.map(|item| item.seq).collect();
            if !ids.is_empty() {
                records.push(Record::Emitted(Emitted {
                    project: project.clone(),
                    inbox: name.clone(),
                    ids,
                    way: *way,
                    by: by.map(str::to_owned),
                    at: now,
                }));
            }
        }
        Ok(records)
    }

    /// Returns the records that acknowledge emitted items, because this hook event proves their arrival.
    pub(super) fn proved_by(
        &self,
        (project, session): (&ProjectName, &InboxName),
        event: &AgentEvent,
        now: Timestamp,
    ) -> Vec<Record> {
        let inboxes = self.sessions.inboxes_of(project, session);
        let proved = inboxes.iter().flat_map(|name| {
            let emitted = self.inboxes.emitted(project, name);
            let proved = emitted.filter(|(_, way)| is_proof(event, *way));
            let ids = proved.map(|(id, _)| id).collect();
            let (acked, by) = (SettleReason::Acked, Some("resumed"));
            settled(ids, Some((project, name)), acked, by, now)
        });
        proved.collect()
    }

    /// Returns the records that hold the JSON of items emitted by a session's wakes without proof yet, oldest first. A
    /// module shows its items itself, and an app server shows the prompt.
    pub fn emitted_by_wakes(&self, project: &ProjectName, session: &InboxName) -> Vec<Seq> {
        let inboxes = self.sessions.inboxes_of(project, session);
        let emitted = inboxes
            .iter()
            .flat_map(|it| self.inboxes.emitted(project, it));
        let by_wakes = emitted.filter(|(_, way)| {
            matches!(
                way,
                Way::Rewake | Way::FileChanged | Way::Socket | Way::Wait | Way::Pane
            )
        });
        let ids: BTreeSet<Seq> = by_wakes.map(|(id, _)| id).collect();
        let location = |id: Seq| self.location(id).unwrap_or(id);
        ids.into_iter().map(location).collect()
    }

    /// Returns the items that were announced to a session and that no hook has delivered yet, each inbox with its own.
    pub fn announced(
        &self,
        project: &ProjectName,
        session: &InboxName,
    ) -> Vec<(InboxName, Vec<Seq>)> {
        let inboxes = self.sessions.inboxes_of(project, session);
        let of = |name: InboxName| {
            let emitted = self.inboxes.emitted(project, &name);
            let ids = emitted.filter(|(_, way)| way.announces());
            let ids: Vec<Seq> = ids.map(|(id, _)| id).collect();
            (name, ids)
        };
        let all = inboxes.into_iter().map(of);
        all.filter(|(_, ids)| !ids.is_empty()).collect()
    }

    /// Returns when the next delivery is overdue.
    pub(super) fn next_delivery(&self) -> Option<Timestamp> {
        let due = |(project, name, inbox): (&ProjectName, &InboxName, &Inbox)| {
            let unproven = inbox.unproven();
            let emitted = unproven.emitted.next();
            let emitted = emitted.filter(|_| self.sessions.is_idle(project, name));
            let next = [emitted, unproven.returned.next()];
            next.into_iter().flatten().min()
        };
        let first = self.inboxes.unproven().filter_map(due).min()?;
        Some(first.plus_millis(PROOF_MS))
    }
}

impl Transaction<'_> {
    /// Returns emitted items without proof to their inboxes, and escalates those that were returned before.
    pub(super) fn due_deliveries(&mut self) {
        let (state, now) = (self.state, self.now);
        let mut undelivered = Vec::new();
        for (project, inbox, it) in state.inboxes.unproven() {
            let ids = overdue(&it.unproven().emitted, now);
            if !ids.is_empty() && state.sessions.is_idle(project, inbox) {
                self.also([Record::Returned(Returned {
                    project: project.clone(),
                    inbox: inbox.clone(),
                    ids,
                    why: None,
                    at: now,
                })]);
            }
            let ids = overdue(&it.unproven().returned, now);
            if !ids.is_empty() {
                undelivered.push((project, inbox, ids));
            }
        }
        for (project, inbox, ids) in undelivered {
            let name = texts::name(inbox, state.sessions.get(project, inbox));
            let msg = format!(
                "{} notifications in inbox '{name}' reach nobody: its session was not woken by them",
                ids.len()
            );
            self.post_or_record(self.notice(project, person(), Kind::Message, msg));
            self.also([Record::Escalated(Escalated {
                project: project.clone(),
                inbox: inbox.clone(),
                ids,
                at: now,
            })]);
        }
    }
}
