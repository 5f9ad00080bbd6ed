//! The needs that disturb the person now: those of the chosen states that the hub does not silence, the most urgent first.

use std::collections::BTreeSet;

use hub_protocol::{Alert, Need, Preferences, Priority};

/// The number of simultaneous needs that are shown one by one; the others are only counted.
const MAX_SHOWN: usize = 4;

/// The states that alert if the preferences name none: whoever runs this program wants notifications. They are those of
/// the switch on the page.
const DEFAULT: [Alert; 2] = [Alert::NeedsYou, Alert::Blocked];

/// Selects the needs to show, most urgent first, and counts the others.
pub(crate) fn select<'a>(
    preferences: &Preferences,
    needs: impl IntoIterator<Item = &'a Need>,
) -> (Vec<&'a Need>, usize) {
    let states = states(preferences);
    let wanted = |need: &&Need| {
        need.silenced.is_none() && need.alert.is_none_or(|state| states.contains(&state))
    };
    let mut show: Vec<&Need> = needs.into_iter().filter(wanted).collect();
    show.sort_by_key(|need| (rank(need), need.since));
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
    need.alert.filter(|_| need.priority != Priority::Urgent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, from_value, json};

    fn fixture(text: &str) -> Vec<Value> {
        serde_json::from_str(text).unwrap()
    }

    /// Each case is also one of `tests/web/alerts.test.js`.
    #[test]
    fn the_needs_that_are_shown_are_those_of_the_dashboard() {
        for case in fixture(include_str!("../../../tests/fixtures/alerts.json")) {
            let needs: Vec<Need> = from_value(case["needs"].clone()).unwrap();
            let preferences = from_value(case["preferences"].clone()).unwrap();
            let (shown, _) = select(&preferences, &needs);
            let tags: Vec<&str> = shown.iter().map(|it| it.id.as_str()).collect();
            assert_eq!(json!(tags), case["show"], "{}", case["name"]);
        }
    }

    #[test]
    fn the_need_of_every_agent_is_read_with_all_that_it_says() {
        let own = json!({ "id": "7", "since": "2026-01-10T12:00:00.000Z", "project": "default", "name": "api", "revision": 7 });
        for case in fixture(include_str!("../../../tests/fixtures/needs.json")) {
            let mut all = own.clone();
            let fields = case["need"].as_object().unwrap().clone();
            all.as_object_mut().unwrap().extend(fields);
            let need: Need = from_value(all.clone()).unwrap();
            assert_eq!(serde_json::to_value(need).unwrap(), all);
        }
    }
}
