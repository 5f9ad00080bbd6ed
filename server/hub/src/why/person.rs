//! Whether a notification to the person raises an alert, and if not, what keeps it from that.

use hub_core::fold::{Item, State};
use hub_core::time::Now;
use hub_protocol::{Mute, NeedKind, Priority, ProjectName, Quiet, Reason};

use super::Explained;
use crate::needs;

/// The reason of an item that is pending for the person and not read yet, and the need that it makes, if it makes one.
pub(super) fn alert(
    state: &State,
    project: &ProjectName,
    (item, need): (&Item, Option<NeedKind>),
    is_reached: bool,
    now: Now,
) -> Explained {
    let is_urgent = item.priority == Priority::Urgent;
    let preferences = &state.preferences;
    let mute = state.mute_of((project, &item.from), now.wall);
    if let Some(mute) = mute.filter(|_| !is_urgent) {
        return muted(mute);
    }
    let quiet = preferences.quiet.as_ref().filter(|_| !is_urgent);
    if let Some(quiet) = quiet.filter(|it| it.apply(now.wall)) {
        let Quiet { from, to, zone } = quiet;
        let (from, to) = (String::from(*from), String::from(*to));
        let text = format!("quiet hours, from {from} to {to} ({})", zone.as_str());
        return Explained::new(Reason::QuietHours, text);
    }
    let chosen = need.is_some_and(|need| match needs::alert(need, item.priority) {
        Some(alert) => preferences.notify.contains(&alert),
        None => !preferences.notify.is_empty(),
    });
    if !chosen {
        let kind = item.kind.as_str();
        let text = match need {
            Some(_) => {
                format!("the dashboard shows it, but the settings raise no alert for type {kind}")
            }
            None => {
                format!("the dashboard shows it, but type {kind} asks nothing of the person here")
            }
        };
        return Explained::new(Reason::NoAlert, text);
    }
    if !is_reached {
        let text = "no dashboard is open, and no device has Web Push: run hubctl dashboard";
        return Explained::new(Reason::NoTransport, text);
    }
    Explained::new(
        Reason::AwaitsPerson,
        "the person has been alerted and has not read it",
    )
}

fn muted(mute: &Mute) -> Explained {
    let who = mute.session.as_ref().map_or_else(
        || format!("project {}", mute.project),
        |it| format!("sender {it}"),
    );
    match mute.until {
        Some(until) => {
            let text = format!("the person has snoozed {who} until {until}");
            Explained::new(Reason::Snoozed, text).until(until)
        }
        None => Explained::new(Reason::Muted, format!("the person has muted {who}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_hours_may_last_past_midnight_and_follow_the_zone() {
        let quiet = |from: &str, to: &str| Quiet {
            from: from.parse().unwrap(),
            to: to.parse().unwrap(),
            zone: "Europe/Berlin".parse().unwrap(),
        };
        for (from, to, at, expected) in [
            ("22:00", "07:00", "2026-11-24T20:59:00Z", false),
            ("22:00", "07:00", "2026-11-24T21:00:00Z", true),
            ("22:00", "07:00", "2026-11-25T05:59:00Z", true),
            ("22:00", "07:00", "2026-11-25T06:00:00Z", false),
            ("09:00", "10:00", "2026-07-01T07:30:00Z", true),
            ("09:00", "10:00", "2026-11-24T07:30:00Z", false),
        ] {
            let at = at.parse().unwrap();
            assert_eq!(quiet(from, to).apply(at), expected, "{at}");
        }
    }
}
