//! When a need may disturb the person: the states of the preferences, mutes and quiet hours. The rules are those of
//! `web/core/alerts.js`, `mutes.js` and `quiet-hours.js`.

use std::collections::BTreeSet;

use hub_protocol::{Alert, InboxName, Preferences, Priority, Timestamp};

use crate::needs::Need;

/// The number of simultaneous needs that are shown one by one; the others are only counted.
const MAX_SHOWN: usize = 4;

/// The states that alert if the preferences name none: whoever runs this program wants notifications. They are those of
/// the switch on the page.
const DEFAULT: [Alert; 2] = [Alert::NeedsYou, Alert::Blocked];

/// Selects the needs to show, most urgent first, and counts the others.
pub(crate) fn select<'a>(
    preferences: &Preferences,
    needs: impl IntoIterator<Item = &'a Need>,
    now: Timestamp,
) -> (Vec<&'a Need>, usize) {
    let states = states(preferences);
    let wanted = |need: &&Need| {
        need.state.is_none_or(|state| states.contains(&state)) && may_alert(preferences, need, now)
    };
    let mut show: Vec<&Need> = needs.into_iter().filter(wanted).collect();
    show.sort_by_key(|need| (rank(need), need.ts));
    // A single remaining need is shown itself, because its count would need the same space.
    let count = if show.len() == MAX_SHOWN + 1 {
        show.len()
    } else {
        MAX_SHOWN
    };
    let more = show.len().saturating_sub(count);
    show.truncate(count);
    (show, more)
}

fn states(preferences: &Preferences) -> BTreeSet<Alert> {
    if preferences.notify.is_empty() {
        DEFAULT.into()
    } else {
        preferences.notify.clone()
    }
}

fn rank(need: &Need) -> Option<Alert> {
    // `None` sorts first.
    need.state.filter(|_| need.priority != Priority::Urgent)
}

/// Whether the need may disturb the person now. `urgent` always may.
fn may_alert(preferences: &Preferences, need: &Need, now: Timestamp) -> bool {
    need.priority == Priority::Urgent
        || !(preferences.quiet.as_ref().is_some_and(|it| it.apply(now))
            || is_muted(preferences, need, now))
}

fn is_muted(preferences: &Preferences, need: &Need, now: Timestamp) -> bool {
    let is_own = |it: &InboxName| it.as_str() == need.from || Some(it) == need.session.as_ref();
    let mut mutes = preferences.mutes.iter();
    mutes.any(|it| it.applies(&need.project, is_own, now))
}
