//! Why a forward does not pass on a notification that it selects.

use hub_core::fold::State;
use hub_core::record::Route;
use hub_protocol::{Priority, Seq, TimeOfDay, Timestamp};

use super::Forward;

impl Forward {
    /// Whether the person still wants the notification `id`: it is open, and neither the quiet hours nor a mute stop it.
    pub(super) fn is_wanted(&self, state: &State, id: Seq, route: &Route, now: Timestamp) -> bool {
        let loud = route.priority == Priority::Urgent
            || !self.is_quiet(now) && state.mute_of((&route.project, &route.from), now).is_none();
        loud && route.expires_at > now && self.is_open(state, id, route)
    }

    /// Whether a notification still needs somebody. A question does until it is settled; any other is passed on in any case,
    /// unless the forward waits for `after`.
    fn is_open(&self, state: &State, id: Seq, route: &Route) -> bool {
        if state
            .questions
            .get(id)
            .is_some_and(|it| it.state.is_final())
        {
            return false;
        }
        if self.settings.after.is_zero() {
            return true;
        }
        let is_pending = route.targets.is_empty() || !state.inboxes.pending_in(id).is_empty();
        is_pending && !state.seen.contains(id)
    }

    fn is_quiet(&self, now: Timestamp) -> bool {
        let hours = self.settings.quiet_hours;
        hours.is_some_and(|hours| local_time(now).is_some_and(|time| hours.include(time)))
    }
}

/// The time of the day on this machine.
fn local_time(now: Timestamp) -> Option<TimeOfDay> {
    let now = jiff::Timestamp::from_millisecond(now.as_millis()).ok()?;
    Some(now.to_zoned(jiff::tz::TimeZone::system()).time().into())
}
