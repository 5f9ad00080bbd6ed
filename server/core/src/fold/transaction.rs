//! The records of one command. Later notifications of the command see the earlier ones, although the state does not
//! contain them yet.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hub_protocol::{InboxName, Kind, Priority, ProjectName, Seq, SessionState, Timestamp};

use super::collapse::Scope;
use super::inbox_room::InboxSet;
use super::listener::Pair;
use super::session::SessionKey;
use super::{Leased, State};
use crate::command::Refusal;
use crate::notification::Draft;
use crate::record::{InboxClosed, Notified, Record};

/// The time to live of the hub's own notifications, in milliseconds.
const TTL_MS: i64 = 7 * 24 * 3600 * 1000;

/// The records of a command: notifications first, so that their numbers are known, then the records that follow from
/// them.
pub(super) struct Transaction<'a> {
    pub(super) state: &'a State,
    pub(super) now: Timestamp,
    pub(super) leased: &'a Leased<'a>,
    notified: Vec<Notified>,
    after: Vec<Record>,
    /// Inboxes that this command creates.
    pub(super) opened: InboxSet,
    /// Empty inboxes that this command closes, because it creates others.
    pub(super) closing: InboxSet,
    /// The empty inboxes of a project, or of all, that may still make room; the last one first.
    pub(super) empty: BTreeMap<Option<ProjectName>, Vec<SessionKey>>,
    /// The items that this command stores under a collapse key, with their priorities.
    pub(super) keyed: HashMap<Scope, (Seq, Priority)>,
    /// The session states that this command reports.
    pub(super) sessions: BTreeMap<(ProjectName, InboxName), SessionState>,
    /// The turns that begin with this command.
    pub(super) turns: BTreeMap<(ProjectName, InboxName), Seq>,
    /// Questions that this command settles.
    pub(super) settled: BTreeSet<Seq>,
    /// Questions that this command asks under a key.
    pub(super) asked: HashMap<(ProjectName, InboxName, String), Seq>,
    /// Listeners that this command removes.
    pub(super) fired: BTreeSet<Pair>,
}

impl<'a> Transaction<'a> {
    pub(super) fn new(state: &'a State, now: Timestamp, leased: &'a Leased<'a>) -> Self {
        Self {
            state,
            now,
            leased,
            notified: Vec::new(),
            after: Vec::new(),
            opened: BTreeMap::new(),
            closing: BTreeMap::new(),
            empty: BTreeMap::new(),
            keyed: HashMap::new(),
            sessions: BTreeMap::new(),
            turns: BTreeMap::new(),
            settled: BTreeSet::new(),
            asked: HashMap::new(),
            fired: BTreeSet::new(),
        }
    }

    /// Continues a transaction that has finished with `records`. It no longer knows which of them it made under keys.
    pub(super) fn continued(
        state: &'a State,
        now: Timestamp,
        leased: &'a Leased<'a>,
        records: Vec<Record>,
    ) -> Self {
        let mut transaction = Self::new(state, now, leased);
        for record in records {
            match record {
                Record::Notified(it) => {
                    transaction.note_opened(&it.route);
                    transaction.notified.push(it);
                }
                // A notification that follows may still go to an inbox that makes room.
                Record::InboxClosed(it) if state.inboxes.is_empty(&it.project, &it.inbox) => {
                    let closing = transaction.closing.entry(it.project);
                    closing.or_default().insert(it.inbox);
                }
                other => transaction.after.push(other),
            }
        }
        transaction
    }

    /// Returns the number of the next notification.
    pub(super) fn next_id(&self) -> Seq {
        self.state.head + 1 + self.notified.len() as u64
    }

    /// Adds the notification with the number [`Transaction::next_id`].
    pub(super) fn push(&mut self, notified: Notified) {
        self.notified.push(notified);
    }

    /// Returns a notification of this command.
    pub(super) fn notified(&mut self, id: Seq) -> Option<&mut Notified> {
        let at = id.checked_sub(self.state.head + 1)?;
        self.notified.get_mut(usize::try_from(at).ok()?)
    }

    /// Whether a notification of this command goes to this inbox.
    pub(super) fn fills(&self, project: &ProjectName, inbox: &InboxName) -> bool {
        let to_project = self.notified.iter().map(|it| &it.route);
        let mut to_project = to_project.filter(|it| it.project == *project);
        to_project.any(|it| it.targets.iter().any(|target| target.inbox == *inbox))
    }

    /// Adds records that follow from the notifications.
    pub(super) fn also(&mut self, records: impl IntoIterator<Item = Record>) {
        self.after.extend(records);
    }

    /// Whether a rule of this command has passed a notification to a forward.
    pub(super) fn passes_on(&self, id: Seq, forward: &str) -> bool {
        self.after.iter().any(|it| match it {
            Record::RuleFired(it) => {
                it.notification == Some(id) && it.forward.as_deref() == Some(forward)
            }
            _ => false,
        })
    }

    /// Returns a notification that the hub makes by itself, in its own name or in a session's.
    pub(super) fn draft(&self, from: (&ProjectName, &InboxName), kind: Kind, msg: String) -> Draft {
        Draft::new(from, kind, msg, self.now, TTL_MS)
    }

    /// Returns a notification of the hub in its own name, which changes no session's state.
    pub(super) fn notice(
        &self,
        project: &ProjectName,
        to: InboxName,
        kind: Kind,
        msg: String,
    ) -> Draft {
        let hub = "hub".parse().expect("a constant name");
        let mut draft = self.draft((project, &hub), kind, msg);
        draft.body.to = Some(to);
        draft.explicit_kind = false;
        draft
    }

    /// Adds a notification, and notifies the listeners if it is a stop.
    pub(super) fn post(&mut self, draft: &Draft) -> Result<(), Refusal> {
        match self.add(draft)? {
            Some(stop) => self.notify_listeners(&stop),
            None => Ok(()),
        }
    }

    /// [`Transaction::post`] for notifications that must not get lost: if its inboxes cannot be created, it is only
    /// recorded.
    pub(super) fn post_or_record(&mut self, mut draft: Draft) {
        let stop = self.add(&draft).or_else(|_| {
            draft.recorded = true;
            self.add(&draft)
        });
        if let Ok(Some(stop)) = stop {
            // A caller whose inbox cannot be created is not notified.
            let _ = self.notify_listeners(&stop);
        }
    }

    /// Returns the records in the order of their numbers.
    pub(super) fn finish(self) -> Vec<Record> {
        let at = self.now;
        let mut records: Vec<Record> = self.notified.into_iter().map(Record::Notified).collect();
        records.extend(self.after);
        for (project, names) in self.closing {
            records.extend(names.into_iter().map(|inbox| {
                let project = project.clone();
                Record::InboxClosed(InboxClosed { project, inbox, at })
            }));
        }
        records
    }
}
