//! Rules of the naive model: a mute, a notification with a cooldown, an escalation, and a stay in a phase.

use hub_protocol::{InboxName, Kind, Priority, ProjectName, Seq, Timestamp};

use super::listeners::hub_says;
use super::{Key, Model};

const COOLDOWN_MS: i64 = 10_000;
const ESCALATE_MS: i64 = 5_000;

fn name(text: &str) -> InboxName {
    text.parse().unwrap()
}

impl Model {
    /// Fires the rules on the notifications after `head`, with ids from `next` on.
    pub(super) fn fire(&mut self, head: Seq, mut next: Seq, now: Timestamp) {
        let new = self.notes.iter().filter(|note| note.id > head);
        let new: Vec<(Seq, Key, Kind)> = new
            .map(|note| {
                let key = (note.body.project.clone(), note.body.from.clone());
                (note.id, key, note.body.kind)
            })
            .collect();
        for (id, key, kind) in new {
            let from = key.1.as_str();
            if kind == Kind::Error && from == "w2" {
                for note in self.mut_notes(|note| note.id == id) {
                    note.body.muted_by = Some("mute".into());
                    note.places.iter_mut().for_each(|place| place.wakes = false);
                }
            }
            if kind == Kind::Testing && self.quiet.get(&key).is_none_or(|until| *until <= now) {
                self.quiet.insert(key.clone(), now.plus_millis(COOLDOWN_MS));
                self.rule_says(next, &key.0, Priority::Normal, now);
                next += 1;
            }
            if matches!(kind, Kind::Question | Kind::Complete) && from == "w1" {
                let due = (key.0, now.plus_millis(ESCALATE_MS));
                self.escalations.insert(id, due);
            }
        }
    }

    fn rule_says(&mut self, id: Seq, project: &ProjectName, priority: Priority, now: Timestamp) {
        let mut draft = hub_says(project, &name("hub"), &name("person"), Kind::Message);
        draft.body.priority = priority;
        self.hub_says(id, draft, now);
    }

    /// Returns the notifications whose escalation is due, each with its project and whether it is still unsettled.
    pub(super) fn due_escalations(&self, now: Timestamp) -> Vec<(Seq, ProjectName, bool)> {
        let due = self.escalations.iter().filter(|(_, (_, at))| *at <= now);
        due.map(|(id, (project, _))| (*id, project.clone(), self.is_unsettled(*id)))
            .collect()
    }

    fn is_unsettled(&self, id: Seq) -> bool {
        let note = self.notes.iter().find(|note| note.id == id);
        match self.questions.get(&id) {
            Some(question) => question.is_open(),
            None => note.is_some_and(super::Note::is_pending) && !self.seen.contains(&id),
        }
    }

    /// Ends these escalations, with ids from `next` on.
    pub(super) fn escalate(
        &mut self,
        due: Vec<(Seq, ProjectName, bool)>,
        mut next: Seq,
        now: Timestamp,
    ) {
        for (id, project, is_unsettled) in due {
            self.escalations.remove(&id);
            if is_unsettled {
                self.rule_says(next, &project, Priority::Urgent, now);
                next += 1;
            }
        }
    }

    /// A session has been in its phase since then for as long as a rule says.
    pub(crate) fn lasted(&mut self, head: Seq, key: &Key, since: Timestamp, now: Timestamp) {
        if self.stays.get(key).is_none_or(|last| *last < since) {
            self.stays.insert(key.clone(), since);
            self.runs.push(key.0.clone());
            self.rule_says(head + 1, &key.0, Priority::Normal, now);
        }
    }

    pub(super) fn reset_rules(&mut self, project: &ProjectName) {
        self.quiet.retain(|(of, _), _| of != project);
        self.stays.retain(|(of, _), _| of != project);
        self.escalations.retain(|_, (of, _)| of != project);
        self.runs.retain(|of| of != project);
    }

    pub(super) fn shift_rules(&mut self, delta_ms: i64) {
        let due = self.escalations.values_mut().map(|(_, at)| at);
        let times = self.quiet.values_mut().chain(due);
        for at in times.chain(self.stays.values_mut()) {
            *at = at.plus_millis(delta_ms);
        }
    }
}
