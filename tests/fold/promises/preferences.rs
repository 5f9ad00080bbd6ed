//! The person's preferences.

use hub_core::record::PreferencesSet;
use hub_protocol::Preferences;
use serde_json::json;

use super::*;

fn wanted() -> Preferences {
    let wanted = json!({
        "quiet": { "from": "22:00", "to": "07:00", "zone": "Europe/Berlin" },
        "mutes": [{ "project": "default", "session": "w1", "until": "2026-11-21T12:00:00.000Z" }],
        "notify": ["needs_you", "blocked"],
        "sound": ["needs_you"],
    });
    serde_json::from_value(wanted).unwrap()
}

fn set(wanted: Preferences) -> Command {
    Command::SetPreferences(Box::new(wanted))
}

#[test]
fn preferences_outlive_a_restart_and_the_reset_of_a_project() {
    let mut hub = Hub::new();
    assert_eq!(hub.state.preferences, Preferences::default());
    hub.run(&set(wanted()));
    hub.run(&reset(false));
    hub.restart();
    assert_eq!(hub.state.preferences, wanted());
}

#[test]
fn setting_equal_preferences_records_nothing() {
    let mut hub = Hub::new();
    assert_eq!(hub.run(&set(Preferences::default())), []);
    assert_eq!(hub.run(&set(wanted())).len(), 1);
    assert_eq!(hub.run(&set(wanted())), []);
    assert_eq!(hub.run(&set(Preferences::default())).len(), 1);
}

#[test]
fn a_mute_lasts_as_long_whatever_the_clock_did() {
    for jump_ms in [-25 * HOUR, 25 * HOUR] {
        let mut hub = Hub::new();
        let mute =
            json!({ "mutes": [{ "project": "default", "until": hub.now.plus_millis(HOUR) }] });
        hub.run(&set(serde_json::from_value(mute).unwrap()));
        hub.jump(jump_ms);
        for (passed_ms, is_muted) in [(HOUR - 1, true), (1, false)] {
            hub.pass(passed_ms);
            let mute = hub.state.mute_of((&project(), &name("w1")), hub.now);
            assert_eq!(mute.is_some(), is_muted, "{jump_ms}");
        }
    }
}

#[test]
fn preferences_have_the_bytes_of_format_1() {
    let record = Record::PreferencesSet(PreferencesSet {
        preferences: wanted(),
        at: noon(),
    });
    let payload = r#"{"preferences":{"quiet":{"from":"22:00","to":"07:00","zone":"Europe/Berlin"},"mutes":[{"project":"default","session":"w1","until":"2026-11-21T12:00:00.000Z"}],"notify":["needs_you","blocked"],"sound":["needs_you"]},"at":"2026-11-21T12:00:00.000Z"}"#;
    assert_eq!(record.encode(), (80, payload.into()));
    assert_eq!(Record::decode(80, &payload.into()).unwrap(), record);
    // Earlier versions stored types of notifications.
    let old = r#"{"preferences":{"quiet":{"from":"22:00","to":"07:00","zone":"Europe/Berlin"},"mutes":[{"project":"default","session":"w1","until":"2026-11-21T12:00:00.000Z"}],"notify":["question","error"],"sound":["question"]},"at":"2026-11-21T12:00:00.000Z"}"#;
    assert_eq!(Record::decode(80, &old.into()).unwrap(), record);
}
