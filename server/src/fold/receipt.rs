//! Receipts: a session's next hook event proves that a shown notification arrived; without proof it is offered again.

use std::collections::BTreeSet;

use hub_protocol::{InboxName, ProjectName, Seq, SessionState, Timestamp, Way};

use super::State;
use super::inbox::{Inbox, Item};
use super::session::Session;
use super::settle::settled;
use crate::core::command::Happened;
use crate::core::record::{Beginner, Emitted, Escalated, How, Record, Returned};

/// The time for a proof while the session is idle, and the further time until the person is notified, in milliseconds.
const PROOF_MS: i64 = 60 * 1000;

/// Unproven deliveries of one inbox, earliest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Receipts {
    emitted: BTreeSet<(Timestamp, Seq)>,
    returned: BTreeSet<(Timestamp, Seq)>,
}

impl Receipts {
    pub(super) fn insert(&mut self, item: &Item) {
        if let Some((at, _)) = item.emitted {
            self.emitted.insert((at, item.seq));
        } else if let Some(at) = item.returned {
            self.returned.insert((at, item.seq));
        }
    }

    pub(super) fn remove(&mut self, item: &Item) {
        if let Some((at, _)) = item.emitted {
            self.emitted.remove(&(at, item.seq));
        } else if let Some(at) = item.returned {
            self.returned.remove(&(at, item.seq));
        }
    }

    /// Returns how many items a reader has shown without proof.
    pub fn len(&self) -> usize {
        self.emitted.len()
    }

    /// Whether there are no unproven deliveries.
    pub fn is_empty(&self) -> bool {
        self.emitted.is_empty() && self.returned.is_empty()
    }

    /// Returns the items that a reader has shown without proof.
    pub(super) fn shown(&self) -> Vec<Seq> {
        self.emitted.iter().map(|(_, seq)| *seq).collect()
    }
}

/// An inbox, and the notifications in it that could not be delivered.
type Undelivered = (ProjectName, InboxName, Vec<Seq>);

/// Whether a session's event proves the arrival of items that were shown in this way. Some events happen without the
/// model reading anything. A rewake is proved only by the prompt that the waiter's exit starts, even in the middle of a
/// turn. Any other event may mean that the waiter died before it could wake the session.
fn is_proof(event: &Happened, way: Way) -> bool {
    match event {
        Happened::Idle { .. }
        | Happened::Ended
        | Happened::Permission { .. }
        | Happened::Interrupted => false,
        Happened::Prompt { by, .. } => way != Way::Rewake || *by != Beginner::Person,
        _ => way != Way::Rewake,
    }
}

/// Returns the items whose time for a proof is over.
fn overdue(open: &BTreeSet<(Timestamp, Seq)>, now: Timestamp) -> Vec<Seq> {
    let mut ids: Vec<Seq> = open
        .iter()
        .take_while(|(at, _)| at.plus_millis(PROOF_MS) <= now)
        .map(|(_, seq)| *seq)
        .collect();
    ids.sort_unstable();
    ids
}

impl State {
    /// Returns the inboxes that a session reads.
    pub fn inboxes_of(&self, project: &ProjectName, session: &InboxName) -> Vec<InboxName> {
        let mut names = vec![session.clone()];
        if self.sessions.primary(project) == Some(session) {
            names.insert(0, InboxName::primary());
        }
        names
    }

    /// Returns the session that reads this inbox, if one does.
    fn reader(&self, project: &ProjectName, inbox: &InboxName) -> Option<&Session> {
        let key = match inbox.as_str() {
            InboxName::PRIMARY => self.sessions.primary(project)?,
            _ => inbox,
        };
        self.sessions.get(project, key)
    }

    /// Whether hook events prove the arrival of items that this session's reader shows from this inbox.
    pub(super) fn proves(
        &self,
        project: &ProjectName,
        session: &InboxName,
        inbox: &InboxName,
    ) -> bool {
        let hooks = |session: &Session| session.has_hooks();
        self.sessions.get(project, session).is_some_and(hooks)
            && self.inboxes_of(project, session).contains(inbox)
    }

    /// Returns the record that a session's reader showed these items; `None` if there are none.
    pub(super) fn emitted(
        (project, inbox): (&ProjectName, &InboxName),
        ids: Vec<Seq>,
        way: Way,
        by: Option<&str>,
        at: Timestamp,
    ) -> Option<Record> {
        (!ids.is_empty()).then(|| {
            Record::Emitted(Emitted {
                project: project.clone(),
                inbox: inbox.clone(),
                ids,
                way,
                by: by.map(str::to_owned),
                at,
            })
        })
    }

    /// Returns the records that acknowledge shown items, because this hook event proves their arrival.
    pub(super) fn resumed(
        &self,
        (project, session): (&ProjectName, &InboxName),
        event: &Happened,
        now: Timestamp,
    ) -> Vec<Record> {
        let inboxes = self.inboxes_of(project, session);
        let open = inboxes.iter().filter_map(|name| {
            let inbox = self.inboxes.get(project, name)?;
            let way = |id: &Seq| Some(inbox.get(*id)?.emitted?.1);
            let mut shown = inbox.emitted().shown();
            shown.retain(|id| way(id).is_some_and(|way| is_proof(event, way)));
            Some(settled(
                shown,
                Some((project, name)),
                How::Acked,
                Some("resumed"),
                now,
            ))
        });
        open.flatten().collect()
    }

    /// Returns the records that hold the JSON of items shown by a session's wakes without proof yet, oldest first.
    pub fn shown_by_wakes(&self, project: &ProjectName, session: &InboxName) -> Vec<Seq> {
        let mut ids = BTreeSet::new();
        for name in self.inboxes_of(project, session) {
            let Some(inbox) = self.inboxes.get(project, &name) else {
                continue;
            };
            let shown = inbox.emitted().shown().into_iter();
            let by_wake = |id: &Seq| {
                let emitted = inbox.get(*id).and_then(|item| item.emitted);
                emitted.is_some_and(|(_, way)| way != Way::Hook)
            };
            ids.extend(shown.filter(by_wake));
        }
        let location = |id: Seq| self.location(id).unwrap_or(id);
        ids.into_iter().map(location).collect()
    }

    /// Returns the records that offer unproven deliveries again, and the items for which the second try failed as well.
    pub(super) fn unproven(&self, now: Timestamp) -> (Vec<Record>, Vec<Undelivered>) {
        let (mut returned, mut lost) = (Vec::new(), Vec::new());
        for (project, name, inbox) in self.inboxes.unproven() {
            let ids = overdue(&inbox.emitted().emitted, now);
            if !ids.is_empty() && self.is_idle(project, name) {
                returned.push(Record::Returned(Returned {
                    project: project.clone(),
                    inbox: name.clone(),
                    ids,
                    at: now,
                }));
            }
            let ids = overdue(&inbox.emitted().returned, now);
            if !ids.is_empty() {
                lost.push((project.clone(), name.clone(), ids));
            }
        }
        (returned, lost)
    }

    /// Whether the reader of this inbox is idle. A working session proves its deliveries with its next event, however
    /// late.
    fn is_idle(&self, project: &ProjectName, inbox: &InboxName) -> bool {
        self.reader(project, inbox)
            .is_none_or(|session| session.state != Some(SessionState::Working))
    }

    /// Returns when the next delivery is overdue.
    pub(super) fn next_receipt(&self) -> Option<Timestamp> {
        let due = |(project, name, inbox): (&ProjectName, &InboxName, &Inbox)| {
            let open = inbox.emitted();
            let emitted = open.emitted.first().filter(|_| self.is_idle(project, name));
            let first = [emitted, open.returned.first()];
            first.into_iter().flatten().map(|(at, _)| *at).min()
        };
        let first = self.inboxes.unproven().filter_map(due).min()?;
        Some(first.plus_millis(PROOF_MS))
    }

    pub(super) fn apply_emitted(&mut self, it: &Emitted) {
        for &id in &it.ids {
            let change = |item: &mut Item| item.emitted = Some((it.at, it.way));
            self.inboxes.deliver(&it.project, &it.inbox, id, change);
        }
    }

    pub(super) fn apply_returned(&mut self, it: &Returned) {
        for &id in &it.ids {
            self.inboxes.deliver(&it.project, &it.inbox, id, |item| {
                if let Some((_, way)) = item.emitted.take()
                    && !item.tried.contains(&way)
                {
                    item.tried.push(way);
                }
                item.returned = (!item.told).then_some(it.at);
            });
        }
    }

    pub(super) fn apply_escalated(&mut self, it: &Escalated) {
        for &id in &it.ids {
            let change = |item: &mut Item| (item.returned, item.told) = (None, true);
            self.inboxes.deliver(&it.project, &it.inbox, id, change);
        }
    }
}
