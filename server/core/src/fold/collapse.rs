//! Collapse: a newer item supersedes a pending one with the same key, inbox and sender.

use std::collections::BTreeMap;

use hub_protocol::{InboxName, Kind, Priority, ProjectName, QuestionState, Seq};

use super::question::Question;
use super::questions::settled_question;
use super::status::settled;
use super::transaction::Transaction;
use crate::notification::Draft;
use crate::record::{SettleReason, Target};

/// An index of one inbox's pending items that have a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CollapseIndex {
    /// Usually one item for each key; several if older ones were leased when newer ones arrived.
    senders: BTreeMap<InboxName, BTreeMap<String, Vec<Seq>>>,
}

impl CollapseIndex {
    pub(super) fn get(&self, from: &InboxName, key: &str) -> &[Seq] {
        self.senders
            .get(from)
            .and_then(|keys| keys.get(key))
            .map_or(&[], Vec::as_slice)
    }

    pub(super) fn of_any_sender(&self, key: &str) -> impl Iterator<Item = Seq> {
        self.senders
            .values()
            .filter_map(move |keys| keys.get(key))
            .flatten()
            .copied()
    }

    pub(super) fn insert(&mut self, from: &InboxName, key: &str, seq: Seq) {
        let keys = self.senders.entry(from.clone()).or_default();
        let seqs = keys.entry(key.to_owned()).or_default();
        seqs.push(seq);
        // A snapshot inserts items in the order of delivery, the log in the order of their numbers.
        seqs.sort_unstable();
    }

    pub(super) fn remove(&mut self, from: &InboxName, key: &str, seq: Seq) {
        let Some(keys) = self.senders.get_mut(from) else {
            return;
        };
        if let Some(seqs) = keys.get_mut(key) {
            seqs.retain(|&other| other != seq);
            if seqs.is_empty() {
                keys.remove(key);
            }
        }
        if keys.is_empty() {
            self.senders.remove(from);
        }
    }
}

/// The scope in which a newer item supersedes an older one.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Scope {
    project: ProjectName,
    inbox: InboxName,
    from: InboxName,
    key: String,
}

impl Transaction<'_> {
    /// Settles the items that a draft supersedes, but no question for a person if another agent posts it. Returns its priority:
    /// its own, or the highest among these items.
    pub(super) fn supersede(
        &mut self,
        draft: &Draft,
        from: &InboxName,
        id: Seq,
        targets: &[Target],
    ) -> Priority {
        let it = &draft.body;
        let Some(key) = &it.key else {
            return it.priority;
        };
        let scopes = targets.iter().map(|target| Scope {
            project: it.project.clone(),
            inbox: target.inbox.clone(),
            from: from.clone(),
            key: key.clone(),
        });
        let scopes: Vec<_> = scopes
            .map(|scope| (self.superseded(&scope), scope))
            .collect();
        let items = scopes.iter().flat_map(|(items, _)| items);
        let priority = items.fold(it.priority, |most, (_, of)| most.min(*of));
        if matches!(it.kind, Kind::Question | Kind::Approval) {
            self.supersede_question((&it.project, from, key), id, draft.keeps_senders);
        }
        for (items, scope) in scopes {
            // A settled question has already been removed from every inbox.
            let items = items.into_iter().map(|(seq, _)| seq);
            let is_kept = |seq: &Seq| {
                let question = self.state.questions.get(*seq);
                draft.keeps_senders && question.is_some_and(Question::is_for_person)
            };
            let items = items.filter(|seq| !self.settled.contains(seq) && !is_kept(seq));
            let items = items.collect();
            let inbox = Some((&scope.project, &scope.inbox));
            let by = id.to_string();
            self.also(settled(
                items,
                inbox,
                SettleReason::Superseded,
                Some(&by),
                self.now,
            ));
            self.keyed.insert(scope, (id, priority));
        }
        priority
    }

    /// Settles a superseded question, even one that was acknowledged but not answered, and removes it from every inbox.
    fn supersede_question(
        &mut self,
        (project, from, key): (&ProjectName, &InboxName, &String),
        id: Seq,
        keeps: bool,
    ) {
        let asked = (project.clone(), from.clone(), key.clone());
        let same = self.state.questions.of(project, from);
        let is_older =
            |it: &Question| it.key.as_ref() == Some(key) && !(keeps && it.is_for_person());
        let older = same.filter(|(_, it)| is_older(it)).map(|(id, _)| id);
        let older: Vec<Seq> = older.chain(self.asked.insert(asked, id)).collect();
        for old in older {
            if self.settled.insert(old) {
                let superseded = QuestionState::Superseded;
                let record = settled_question(old, superseded, None, Some(id), self.now);
                self.also([record]);
                if old > self.state.head || self.state.inboxes.is_pending(old) {
                    let by = id.to_string();
                    let by = Some(by.as_str());
                    self.also(settled(
                        vec![old],
                        None,
                        SettleReason::Superseded,
                        by,
                        self.now,
                    ));
                }
            }
        }
    }

    /// Returns the pending items in this scope that are not leased; a leased item stays with its reader.
    fn superseded(&self, scope: &Scope) -> Vec<(Seq, Priority)> {
        let open = |seq: Seq| !self.settled.contains(&seq);
        if let Some(earlier) = self.keyed.get(scope) {
            return [*earlier].into_iter().filter(|it| open(it.0)).collect();
        }
        let Some(inbox) = self.state.inboxes.get(&scope.project, &scope.inbox) else {
            return Vec::new();
        };
        let same = inbox.keyed(Some(&scope.from), &scope.key).into_iter();
        same.filter(|&seq| !(self.leased)(&scope.project, &scope.inbox, seq))
            .filter_map(|seq| inbox.get(seq))
            .filter(|item| item.delivery().emitted.is_none() && open(item.seq))
            .map(|item| (item.seq, item.priority))
            .collect()
    }
}
