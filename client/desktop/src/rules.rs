//! When a need may disturb the person: the states of the preferences, mutes and quiet hours. The rules are those of
//! `web/core/alerts.js`, `mutes.js` and `quiet-hours.js`.

use std::collections::BTreeSet;

use hub_protocol::{Alert, Preferences, Priority, Timestamp};

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
        || !(is_quiet(preferences, now) || is_muted(preferences, need, now))
}

fn is_muted(preferences: &Preferences, need: &Need, now: Timestamp) -> bool {
    preferences.mutes.iter().any(|mute| {
        let of = |session: &str| {
            session == need.from
                || need
                    .session
                    .as_ref()
                    .is_some_and(|it| it.as_str() == session)
        };
        mute.project == need.project
            && mute.session.as_ref().is_none_or(|it| of(it.as_str()))
            && mute.until.is_none_or(|until| now < until)
    })
}

/// Whether the quiet hours apply now: from `from` (inclusive) to `to` (exclusive), in the zone's local time.
fn is_quiet(preferences: &Preferences, now: Timestamp) -> bool {
    let Some(quiet) = &preferences.quiet else {
        return false;
    };
    let zone = jiff::tz::TimeZone::get(quiet.zone.as_str());
    let instant = jiff::Timestamp::from_millisecond(now.as_millis());
    let (Ok(zone), Ok(instant)) = (zone, instant) else {
        return false;
    };
    let time = zone.to_datetime(instant).time();
    // Both are `HH:MM`, whose order is that of the times.
    let at = format!("{:02}:{:02}", time.hour(), time.minute());
    let (from, to) = (quiet.from.to_string(), quiet.to.to_string());
    if from <= to {
        from <= at && at < to
    } else {
        from <= at || at < to
    }
}
