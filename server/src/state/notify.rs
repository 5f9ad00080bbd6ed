//! Notify: what is said becomes records, and goes to the inboxes that its type and its sender say.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bytes::Bytes;
use hub_protocol::{InboxName, Kind, Priority, ProjectName, Seq, SessionState, Timestamp};

use super::collapse::with_priority;
use super::settle::settled;
use super::{Leased, State};
use crate::command::{Decision, Draft, Once, Refusal};
use crate::record::{How, KeyUsed, Notified, Record, Route, Target};

/// Inboxes in one project.
const MAX_IN_PROJECT: usize = 1_000;
/// Inboxes in all.
const MAX_IN_ALL: usize = 10_000;
/// Replies to replies beyond this wake nobody: two agents that answer each other come to rest.
const MAX_HOPS: u32 = 8;

impl State {
    pub(super) fn decide_notify(
        &self,
        drafts: &[Draft],
        once: Option<&Once>,
        now: Timestamp,
        leased: &Leased<'_>,
    ) -> Result<Decision, Refusal> {
        if let Some(once) = once
            && let Some(ids) = self.keys.made_by(once, now)?
        {
            return Ok(Decision::Repeat(ids));
        }
        let mut batch = Batch::new(self, now, leased, drafts.len());
        for draft in drafts {
            batch.add(draft)?;
        }
        Ok(Decision::Records(batch.finish(once)))
    }
}

/// The records of one request. Its later notifications see the earlier ones, though the state does not hold them yet.
struct Batch<'a> {
    state: &'a State,
    now: Timestamp,
    leased: &'a Leased<'a>,
    notified: Vec<Record>,
    settled: Vec<Record>,
    opened: BTreeMap<ProjectName, BTreeSet<InboxName>>,
    keyed: HashMap<Place, (Seq, Priority)>,
    sessions: BTreeMap<(ProjectName, InboxName), SessionState>,
}

/// Within this a key collapses.
#[derive(PartialEq, Eq, Hash)]
struct Place {
    project: ProjectName,
    inbox: InboxName,
    from: InboxName,
    key: String,
}

impl<'a> Batch<'a> {
    fn new(state: &'a State, now: Timestamp, leased: &'a Leased<'a>, size: usize) -> Self {
        Self {
            state,
            now,
            leased,
            notified: Vec::with_capacity(size + 1),
            settled: Vec::new(),
            opened: BTreeMap::new(),
            keyed: HashMap::new(),
            sessions: BTreeMap::new(),
        }
    }

    fn add(&mut self, draft: &Draft) -> Result<(), Refusal> {
        if draft.expires_at <= self.now {
            return Err(Refusal::ExpiredAlready);
        }
        if draft.kind == Kind::Answer {
            return Err(Refusal::NoSuchQuestion);
        }
        let mut targets = self.targets(draft);
        for target in &targets {
            self.open(&draft.project, &target.inbox)?;
        }
        let id = self.state.head + 1 + self.notified.len() as u64;
        let priority = self.supersede(draft, id, &targets);
        if draft.quiet || draft.hops > MAX_HOPS || priority == Priority::Low {
            for target in &mut targets {
                target.wakes = false;
            }
        }
        let session = session_change(draft);
        if let Some((name, state)) = &session {
            self.sessions
                .insert((draft.project.clone(), name.clone()), *state);
        }
        let mut json = with_id(id, &draft.tail);
        if priority != draft.priority {
            json = with_priority(&json, priority);
        }
        self.notified.push(Record::Notified(Notified {
            route: Route {
                project: draft.project.clone(),
                from: draft.from.clone(),
                kind: draft.kind,
                priority,
                ts: draft.ts,
                expires_at: draft.expires_at,
                targets,
                key: draft.key.clone(),
                session,
                hops: draft.hops,
            },
            json,
        }));
        Ok(())
    }

    /// The inboxes that a draft goes to, each once, and whether its type wakes there.
    fn targets(&self, draft: &Draft) -> Vec<Target> {
        let mut targets: Vec<Target> = Vec::with_capacity(2);
        let mut add = |inbox: InboxName, wakes: bool| {
            let own = inbox == draft.from;
            // What the primary says never comes back to it; a note to oneself does not wake.
            if own && inbox.as_str() == InboxName::PRIMARY || inbox.as_str() == InboxName::ALL {
                return;
            }
            if targets.iter().all(|target| target.inbox != inbox) {
                targets.push(Target {
                    inbox,
                    wakes: wakes && !own,
                });
            }
        };
        let wakes = !matches!(draft.kind, Kind::Progress | Kind::Ended);
        match &draft.to {
            Some(all) if all.as_str() == InboxName::ALL => {
                for inbox in self.everybody(draft) {
                    add(inbox, wakes);
                }
            }
            Some(to) => add(to.clone(), wakes),
            None if draft.kind == Kind::Progress => {}
            None => {
                let approval = draft.kind == Kind::Approval;
                if approval {
                    add(person(), wakes);
                }
                for inbox in draft.parent.iter().filter(|parent| **parent != draft.from) {
                    add(inbox.clone(), wakes && !approval);
                }
                add(InboxName::primary(), wakes && !approval);
            }
        }
        targets
    }

    /// The primary, the person and the sessions that are alive, less the sender.
    fn everybody(&self, draft: &Draft) -> Vec<InboxName> {
        let project = &draft.project;
        let mut names: BTreeSet<InboxName> = self.state.sessions.alive(project).cloned().collect();
        for ((_, name), state) in self.sessions.iter().filter(|((of, _), _)| of == project) {
            match state {
                SessionState::Ended => names.remove(name),
                _ => names.insert(name.clone()),
            };
        }
        names.extend([InboxName::primary(), person()]);
        names.remove(&draft.from);
        names.into_iter().collect()
    }

    /// Counts an inbox that does not exist yet against the caps.
    fn open(&mut self, project: &ProjectName, name: &InboxName) -> Result<(), Refusal> {
        if self.state.inboxes.get(project, name).is_some() {
            return Ok(());
        }
        let in_all: usize = self.opened.values().map(BTreeSet::len).sum();
        let here = self.opened.entry(project.clone()).or_default();
        if here.contains(name) {
            return Ok(());
        }
        if self.state.inboxes.count_in(project) + here.len() >= MAX_IN_PROJECT {
            return Err(Refusal::TooManyInboxes {
                scope: "the project",
                cap: MAX_IN_PROJECT,
            });
        }
        if self.state.inboxes.count() + in_all >= MAX_IN_ALL {
            return Err(Refusal::TooManyInboxes {
                scope: "the hub",
                cap: MAX_IN_ALL,
            });
        }
        here.insert(name.clone());
        Ok(())
    }

    /// Settles what a draft replaces, and gives the priority it keeps: its own, or the highest that it replaces.
    fn supersede(&mut self, draft: &Draft, id: Seq, targets: &[Target]) -> Priority {
        let Some(key) = &draft.key else {
            return draft.priority;
        };
        let mut priority = draft.priority;
        let mut places = Vec::with_capacity(targets.len());
        for target in targets {
            let place = Place {
                project: draft.project.clone(),
                inbox: target.inbox.clone(),
                from: draft.from.clone(),
                key: key.clone(),
            };
            let replaced = self.replaced(&place);
            priority = replaced
                .iter()
                .fold(priority, |most, (_, of)| most.min(*of));
            self.settled.extend(settled(
                replaced.into_iter().map(|(seq, _)| seq).collect(),
                Some((&place.project, &place.inbox)),
                How::Superseded,
                Some(&id.to_string()),
                self.now,
            ));
            places.push(place);
        }
        for place in places {
            self.keyed.insert(place, (id, priority));
        }
        priority
    }

    /// What is pending in this place and not leased: what a reader holds is left alone.
    fn replaced(&self, place: &Place) -> Vec<(Seq, Priority)> {
        if let Some(earlier) = self.keyed.get(place) {
            return vec![*earlier];
        }
        let Some(inbox) = self.state.inboxes.get(&place.project, &place.inbox) else {
            return Vec::new();
        };
        inbox
            .replaceable(&place.from, &place.key)
            .iter()
            .filter(|&&seq| !(self.leased)(&place.project, &place.inbox, seq))
            .filter_map(|&seq| Some((seq, inbox.get(seq)?.priority)))
            .collect()
    }

    fn finish(self, once: Option<&Once>) -> Vec<Record> {
        let mut records = self.notified;
        let first = self.state.head + 1;
        let ids = (first..).take(records.len()).collect();
        records.extend(self.settled);
        if let Some(once) = once {
            records.push(Record::KeyUsed(KeyUsed {
                key: once.key.clone(),
                digest: once.digest.clone(),
                ids,
                at: self.now,
            }));
        }
        records
    }
}

/// The session whose state a draft changes. A sender that nobody named is no session.
fn session_change(draft: &Draft) -> Option<(InboxName, SessionState)> {
    let name = draft.session.as_ref().unwrap_or(&draft.from);
    let named = draft.explicit_kind && name.as_str() != InboxName::UNKNOWN;
    let state = draft.kind.session_state().filter(|_| named)?;
    Some((name.clone(), state))
}

fn with_id(id: Seq, tail: &Bytes) -> Bytes {
    let mut json = Vec::with_capacity(tail.len() + 16);
    json.extend_from_slice(format!("{{\"id\":{id},").as_bytes());
    json.extend_from_slice(tail);
    json.into()
}

fn person() -> InboxName {
    InboxName::PERSON.parse().expect("a constant name")
}
