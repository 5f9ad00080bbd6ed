//! The room that inboxes take: how many there may be, and which empty ones are closed for a new one.

use std::collections::{BTreeMap, BTreeSet};

use hub_protocol::{InboxName, ProjectName, Seq};

use super::State;
use super::session::SessionKey;
use super::transaction::Transaction;
use crate::command::Refusal;
use crate::record::{Route, Target};

/// The most inboxes in one project.
const MAX_IN_PROJECT: usize = 1_000;
/// The most inboxes in all projects.
const MAX_IN_ALL: usize = 10_000;

/// Names of inboxes by project.
pub(super) type InboxSet = BTreeMap<ProjectName, BTreeSet<InboxName>>;

/// Returns how many inboxes of one project, or of all, a set has.
fn count(of: &InboxSet, within: Option<&ProjectName>) -> usize {
    match within {
        Some(project) => of.get(project).map_or(0, BTreeSet::len),
        None => of.values().map(BTreeSet::len).sum(),
    }
}

fn contains(set: &InboxSet, project: &ProjectName, name: &InboxName) -> bool {
    set.get(project).is_some_and(|names| names.contains(name))
}

impl State {
    /// Returns the empty inboxes of one project, or of all; the last makes room first. Those of live sessions and the
    /// reserved ones come last, the others by how long their session was silent. Nothing is lost with an empty inbox: its
    /// waiter stays, and the next notification opens it again.
    fn empty_inboxes(&self, within: Option<&ProjectName>) -> Vec<SessionKey> {
        let empty = self.inboxes.iter(within).filter(|(_, _, it)| it.is_empty());
        let ranked = empty.map(|(project, name, _)| {
            let session = self.sessions.get(project, name);
            let lives = session.is_some_and(|it| it.is_alive() && it.registered.is_some());
            let lasts = lives || hub_protocol::looks_reserved(name.as_str());
            let touched: Seq = session.map_or(0, |it| it.touched);
            ((lasts, touched), (project, name))
        });
        let mut ranked: Vec<_> = ranked.collect();
        ranked.sort_unstable_by(|one, other| other.cmp(one));
        let keys = ranked.into_iter().map(|(_, key)| key);
        keys.map(|(project, name)| (project.clone(), name.clone()))
            .collect()
    }
}

impl Transaction<'_> {
    /// Opens the inboxes of a notification that do not exist yet. At a cap, empty ones are closed for them. Fails if all
    /// others hold notifications.
    pub(super) fn open(
        &mut self,
        project: &ProjectName,
        targets: &[Target],
    ) -> Result<(), Refusal> {
        for Target { inbox, .. } in targets {
            let is_closing = contains(&self.closing, project, inbox);
            let exists = self.state.inboxes.get(project, inbox).is_some();
            if exists && !is_closing || contains(&self.opened, project, inbox) {
                continue;
            }
            self.make_room((project, targets))?;
            if is_closing {
                let closing = self.closing.get_mut(project);
                closing.map(|names| names.remove(inbox));
            } else {
                let opened = self.opened.entry(project.clone()).or_default();
                opened.insert(inbox.clone());
            }
        }
        Ok(())
    }

    /// Notes the inboxes that a notification of this command has opened already.
    pub(super) fn note_opened(&mut self, route: &Route) {
        let state = self.state;
        let is_new = |it: &&Target| state.inboxes.get(&route.project, &it.inbox).is_none();
        for target in route.targets.iter().filter(is_new) {
            let opened = self.opened.entry(route.project.clone()).or_default();
            opened.insert(target.inbox.clone());
        }
    }

    /// Makes room for one more inbox of a notification.
    fn make_room(&mut self, to: (&ProjectName, &[Target])) -> Result<(), Refusal> {
        for (scope, within, cap) in [
            ("the project", Some(to.0), MAX_IN_PROJECT),
            ("the hub", None, MAX_IN_ALL),
        ] {
            while self.inbox_count(within) >= cap {
                let empty = self.next_empty(within, to);
                let (project, name) = empty.ok_or(Refusal::TooManyInboxes { scope, cap })?;
                self.closing.entry(project).or_default().insert(name);
            }
        }
        Ok(())
    }

    /// Returns the number of inboxes of one project, or of all, after this command.
    fn inbox_count(&self, within: Option<&ProjectName>) -> usize {
        let inboxes = &self.state.inboxes;
        let known = within.map_or_else(|| inboxes.count(), |it| inboxes.count_in(it));
        known + count(&self.opened, within) - count(&self.closing, within)
    }

    /// Returns the inbox that makes room next: one that is empty, also after this command and a notification to `to`.
    fn next_empty(
        &mut self,
        within: Option<&ProjectName>,
        (project, targets): (&ProjectName, &[Target]),
    ) -> Option<SessionKey> {
        let state = self.state;
        loop {
            let empty = self.empty.entry(within.cloned());
            let empty = empty.or_insert_with(|| state.empty_inboxes(within));
            let (of, name) = empty.pop()?;
            let is_target = of == *project && targets.iter().any(|it| it.inbox == name);
            let is_filled = is_target || self.fills(&of, &name);
            if !is_filled && !contains(&self.closing, &of, &name) {
                return Some((of, name));
            }
        }
    }
}
