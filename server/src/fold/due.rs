//! Records that are due by time alone, without any request.

use hub_protocol::{InboxName, Kind, ProjectName, Timestamp};

use super::batch::{Batch, Said};
use super::listener::removed;
use super::notify::person;
use super::session::Due;
use super::{Leased, State, texts};
use crate::core::record::{Escalated, InboxClosed, ListenerEnd, Record};

impl State {
    /// Returns the records that are due for sessions: stops with long background work, model failures without recovery,
    /// inboxes of ended sessions, missed deadlines of listeners, and deliveries without proof.
    pub(super) fn due_sessions(&self, now: Timestamp, leased: &Leased<'_>) -> Vec<Record> {
        let mut batch = Batch::new(self, now, leased);
        for ((project, key), due) in self.sessions.due(now) {
            let place = (project, key);
            let name = texts::name(key, self.session(project, key));
            let said = match due {
                Due::Waits => Said::of(place, Kind::Waiting, self.still_busy(place)),
                Due::Fails(reason) => {
                    Said::of(place, Kind::Error, format!("Agent {name} failed: {reason}"))
                }
                Due::InboxCloses => {
                    batch.also(Record::InboxClosed(InboxClosed {
                        project: project.clone(),
                        inbox: key.clone(),
                        at: now,
                    }));
                    continue;
                }
            };
            batch.say_in_any_case(said);
        }
        self.due_listeners(&mut batch);
        self.due_receipts(&mut batch);
        batch.finish()
    }

    fn due_listeners(&self, batch: &mut Batch<'_>) {
        for (pair, listener) in self.late(batch.now) {
            // Another stop that is due in this tick has already notified this caller.
            if batch.has_fired(pair) {
                continue;
            }
            batch.also(removed(pair, ListenerEnd::Late, batch.now));
            let within = listener
                .until
                .map_or(0, |until| until.as_millis() - listener.since.as_millis());
            let within = texts::duration(within);
            let name = texts::name(&pair.target, self.session(&pair.project, &pair.target));
            let hub = "hub".parse().expect("a constant name");
            let msg =
                format!("Expected {name} within {within}, nothing came. Look: hubctl look {name}");
            batch.say_in_any_case(Said {
                to: Some(&pair.caller),
                tells_state: false,
                ..Said::of((&pair.project, &hub), Kind::Error, msg)
            });
        }
    }

    /// Returns the text about a session that stopped while its background work or its workers still run.
    pub(super) fn still_busy(&self, (project, key): (&ProjectName, &InboxName)) -> String {
        let session = self.session(project, key);
        let tasks = session.map_or(0, |it| it.turn.tasks.len());
        let name = texts::name(key, session);
        match self.sessions.busy_workers(project, key) {
            0 => format!("Agent {name} stopped, {tasks} tasks still run"),
            workers => {
                format!("Agent {name} stopped, {tasks} tasks and {workers} workers still run")
            }
        }
    }

    fn due_receipts(&self, batch: &mut Batch<'_>) {
        let (returned, lost) = self.unproven(batch.now);
        batch.after.extend(returned);
        for (project, inbox, ids) in lost {
            let hub = "hub".parse().expect("a constant name");
            let name = texts::name(&inbox, self.session(&project, &inbox));
            let msg = format!(
                "{} notifications in inbox '{name}' reach nobody: its session was not woken by them",
                ids.len()
            );
            let to = person();
            batch.say_in_any_case(Said {
                to: Some(&to),
                tells_state: false,
                ..Said::of((&project, &hub), Kind::Message, msg)
            });
            batch.also(Record::Escalated(Escalated {
                project,
                inbox,
                ids,
                at: batch.now,
            }));
        }
    }
}
