//! Wakes waiters for records that are durable.

use hub_core::record::{Notified, Record, SettleReason, Settled, Target};
use hub_core::time::Now;
use hub_core::waiters::Hold;
use hub_protocol::{Kind, Seq, SessionState};

use super::Writer;

impl Writer {
    /// Wakes the waiters that a durable record concerns; returns how many.
    pub(super) fn wake(&mut self, seq: Seq, record: &Record, now: Now) -> u32 {
        match record {
            Record::Notified(notified) => self.wake_for(seq, notified, now),
            Record::Settled(settled) => {
                if let (SettleReason::Acked, Some((_, inbox))) = (settled.how, &settled.inbox) {
                    self.waiters.write().read(inbox, &settled.ids, now);
                }
                self.forget_leases(settled);
                0
            }
            Record::Emitted(it) => {
                self.waiters.write().read(&it.inbox, &it.ids, now);
                self.waiters
                    .write()
                    .settled(&it.project, &it.inbox, &it.ids);
                0
            }
            Record::Returned(it) => {
                let place = (&it.project, &it.inbox);
                self.waiters
                    .write()
                    .returned(&self.state, place, &it.ids, now);
                0
            }
            Record::SessionSet(_) | Record::PrimaryTaken(_) => {
                self.waiters.write().sessions_moved(&self.state);
                0
            }
            Record::SessionEnded(it) => {
                self.waiters.write().sessions_moved(&self.state);
                self.waiters
                    .write()
                    .session_changed(&self.state, &it.project, now)
            }
            Record::TurnNoted(it) => {
                self.waiters
                    .write()
                    .session_changed(&self.state, &it.project, now)
            }
            Record::InboxClosed(it) => {
                let place = (&it.project, &it.inbox);
                self.waiters.write().closed(&self.state, place.0, place.1);
                0
            }
            Record::Reset(reset) => {
                self.waiters
                    .write()
                    .dismiss_project(&self.state, &reset.project);
                0
            }
            Record::Seen(_)
            | Record::NeedClosed(_)
            | Record::KeyUsed(_)
            | Record::ClockMoved(_)
            | Record::Led(_)
            | Record::Rewritten(_)
            | Record::Trimmed(_)
            | Record::ListenerSet(_)
            | Record::ListenerRemoved(_)
            | Record::QuestionClaimed(_)
            | Record::QuestionSettled(_)
            | Record::Escalated(_)
            | Record::PreferencesSet(_)
            | Record::ForwardNoted(_)
            | Record::RuleFired(_)
            | Record::RuleNoted(_) => 0,
        }
    }

    fn wake_for(&mut self, seq: Seq, notified: &Notified, now: Now) -> u32 {
        self.metrics.notifications.inc();
        let route = &notified.route;
        let mut woken = 0;
        for target in &route.targets {
            woken += u32::from(self.waiters.write().arrived(
                &self.state,
                &route.project,
                &target.inbox,
                seq,
                now,
            ));
        }
        let state = route.session.as_ref().map(|(_, state)| *state);
        if state == Some(SessionState::Ended) {
            self.waiters.write().sessions_moved(&self.state);
        }
        // A notification without a type reports that its sender is done.
        if state.is_some() || route.kind == Kind::Complete {
            woken += self
                .waiters
                .write()
                .session_changed(&self.state, &route.project, now);
        }
        self.metrics.wakes.inc_by(woken.into());
        woken
    }

    fn forget_leases(&mut self, settled: &Settled) {
        if settled.how == SettleReason::Evicted {
            self.metrics.evicted.inc_by(settled.ids.len() as u64);
        }
        match &settled.inbox {
            Some((project, inbox)) => self.waiters.write().settled(project, inbox, &settled.ids),
            None => self.waiters.write().settled_everywhere(&settled.ids),
        }
    }

    /// Returns a hint for the sender if a notification wakes nobody: it went to the sender's own inbox, the session is
    /// over, a wake limit is reached, or the only waiter of that name waits in another project.
    pub(super) fn hint(&self, seq: Seq, record: &Record, now: Now) -> Option<String> {
        let Record::Notified(Notified { route, .. }) = record else {
            return None;
        };
        // A waiter that was just woken has leased the notification and waits no more.
        let is_taken = |inbox| self.waiters.read().is_leased(&route.project, inbox, seq);
        if let [Target { inbox, .. }] = route.targets.as_slice()
            && let Some(session) = self.state.sessions.get(&route.project, inbox)
            && !session.is_alive()
            && !is_taken(inbox)
        {
            let name = self.state.sessions.shown_name(&route.project, inbox);
            return Some(format!(
                "session '{name}' is over: nobody reads its inbox unless it is resumed"
            ));
        }
        for Target { inbox, wakes } in &route.targets {
            if is_taken(inbox) {
                continue;
            }
            let name = self.state.sessions.shown_name(&route.project, inbox);
            if *inbox == route.from {
                return Some(format!(
                    "'{name}' wrote to its own inbox: it is stored there and wakes nobody"
                ));
            }
            if self.waiters.read().holder(&route.project, inbox).is_some() {
                let place = (&route.project, inbox);
                let hold = wakes.then(|| self.waiters.read().hold_of(&self.state, place, seq, now));
                match hold.flatten() {
                    Some(Hold { until, limit }) => {
                        return Some(format!(
                            "a wake limit ({limit}) holds this back from '{name}' until {until}; it is stored and need not be sent again"
                        ));
                    }
                    None => continue,
                }
            }
            if let Some(project) = self.waiters.read().waits_elsewhere(&route.project, inbox) {
                return Some(format!(
                    "nobody waits at '{name}' in project '{}', but somebody does in project '{project}': pass that project to reach them",
                    route.project
                ));
            }
            if self.state.sessions.get(&route.project, inbox).is_none()
                && let Some(project) = self.state.sessions.elsewhere(&route.project, inbox)
            {
                return Some(format!(
                    "no session '{name}' in project '{}', but one in project '{project}': pass that project to reach it",
                    route.project
                ));
            }
        }
        None
    }
}
