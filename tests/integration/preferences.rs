//! The person's preferences over HTTP.

use serde_json::{Value, json};

use crate::{disk_hub, memory_hub};

fn wanted() -> Value {
    json!({
        "quiet": { "from": "22:00", "to": "07:00", "zone": "Europe/Berlin" },
        "mutes": [{ "project": "/home/me/src/hub", "session": "w1", "until": "2026-11-23T08:00:00.000Z" }],
        "notify": ["needs_you", "blocked"],
        "sound": ["needs_you"],
        "editor": "zed://file{path}:{line}",
    })
}

#[tokio::test]
async fn preferences_are_empty_until_they_are_set_and_then_outlive_a_crash() {
    let (mut hub, client) = disk_hub();
    let nothing = json!({ "quiet": null, "mutes": [], "notify": [], "sound": [] });
    assert_eq!(client.read("/preferences").await, nothing);
    let put = client.put_json("/preferences", wanted()).await;
    assert_eq!(put.expect(200).json(), wanted());
    hub.crash();
    assert_eq!(client.read("/preferences").await, wanted());
    let put = client.put_json("/preferences", json!({})).await;
    assert_eq!(put.expect(200).json(), nothing);
}

#[tokio::test]
async fn streams_receive_changed_preferences_but_not_equal_ones() {
    let (_hub, client) = memory_hub();
    let mut events = client.events("?kinds=preferences").await;
    for wanted in [wanted(), wanted(), json!({ "sound": ["blocked"] })] {
        client.put_json("/preferences", &wanted).await.expect(200);
    }
    assert_eq!(events.next_of("preferences").await.data, wanted());
    let next = events.next_of("preferences").await.data;
    assert_eq!(next["sound"], json!(["blocked"]));
}

#[tokio::test]
async fn a_time_zone_has_the_spelling_of_the_database() {
    let (_hub, client) = memory_hub();
    let quiet = json!({ "quiet": { "from": "22:00", "to": "07:00", "zone": "america/new_york" } });
    let put = client.put_json("/preferences", &quiet).await;
    assert_eq!(put.expect(200).json()["quiet"]["zone"], "America/New_York");
}

#[tokio::test]
async fn invalid_preferences_are_refused_with_what_to_do() {
    let (_hub, client) = memory_hub();
    let quiet = |from, to, zone: &str| json!({ "quiet": { "from": from, "to": to, "zone": zone } });
    let mutes = vec![json!({ "project": "p" }); 1001];
    let large = vec![json!({ "project": "p".repeat(1000) }); 100];
    #[rustfmt::skip]
    let rows = [
        (quiet("22:00", "07:00", "Europe/Atlantis"), "invalid", "such as Europe/Berlin"),
        (quiet("22:00", "07:00", "Etc/Unknown"), "invalid", "such as Europe/Berlin"),
        (quiet("22:00", "07:00", "../../etc/passwd"), "invalid", "such as Europe/Berlin"),
        (quiet("24:00", "07:00", "UTC"), "invalid", "HH:MM"),
        (quiet("7:00", "08:00", "UTC"), "invalid", "HH:MM"),
        (quiet("07:00", "07:00", "UTC"), "invalid", "give null"),
        (json!({ "notify": ["finished"] }), "invalid", "needs_you, blocked or your_turn"),
        (json!({ "mutes": [{ "project": "" }] }), "invalid", "invalid project"),
        (json!({ "mutes": [{ "project": "p", "until": "soon" }] }), "invalid", "RFC 3339"),
        (json!({ "mutes": mutes }), "invalid", "1000 mutes"),
        (json!({ "mutes": large }), "invalid", "65536 bytes"),
        (json!({ "editor": "javascript:{path}" }), "invalid", "its scheme one of"),
        (json!({ "editor": "vscode://file/" }), "invalid", "{path}"),
        (json!({ "colour": "red" }), "invalid", "unknown field"),
    ];
    for (wanted, code, detail) in rows {
        let put = client.put_json("/preferences", &wanted).await;
        let problem = put.expect(422).json();
        assert_eq!(problem["code"], code, "{problem}");
        let told = problem["detail"].as_str().unwrap_or_default();
        assert!(told.contains(detail), "{problem}");
    }
    assert_eq!(client.head().await, 0);
}
