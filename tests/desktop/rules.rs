//! Needs that are not shown: a focused dashboard, mutes and quiet hours.

use hub_harness::until;
use hub_protocol::Timestamp;
use serde_json::json;

use crate::desktop::Desktop;

#[tokio::test]
async fn a_need_is_not_shown_while_a_dashboard_has_the_focus() {
    let mut desktop = Desktop::new().await;
    let person = desktop.hub.person().await;
    let mut presence = desktop.client.events("?kinds=presence").await;
    let page = person.events("?kinds=preferences&focused=true").await;
    while presence.next_of("presence").await.data["focused"] != true {}
    let id = desktop.ask("seen", "on the page").await;
    // The program has handled it, and so must not show it once the page is closed.
    let memory = desktop.hub.state_dir().join("desktop.json");
    until("the question is handled", || {
        let text = std::fs::read_to_string(&memory).ok()?;
        text.contains(&format!("\"handled\":[\"{id}\"]"))
            .then_some(())
    });
    drop(page);
    while presence.next_of("presence").await.data["focused"] != false {}
    desktop.ask("docs", "elsewhere").await;
    desktop.daemon.shows(&["docs"]).await;
    assert_eq!(desktop.daemon.screen().calls, 1);
}

#[tokio::test]
async fn mutes_of_the_dashboard_count_except_for_urgent_needs() {
    let mute =
        json!({ "mutes": [{ "project": "default", "session": "muted" }], "notify": ["needs_you"] });
    let mut desktop = Desktop::with(mute).await;
    desktop.ask("muted", "?").await;
    desktop.ask("docs", "?").await;
    let urgent =
        json!({ "from": "muted", "type": "question", "priority": "urgent", "msg": "now!" });
    desktop.client.notify(urgent).await;
    let shown = desktop.daemon.shows(&["docs", "muted"]).await;
    assert_eq!(shown[1].body, "now!");
}

#[tokio::test]
async fn in_quiet_hours_only_urgent_needs_are_shown() {
    let hour =
        |millis: i64| Timestamp::now().plus_millis(millis).to_string()[11..13].to_owned() + ":00";
    let quiet = json!({ "from": hour(-3_600_000), "to": hour(7_200_000), "zone": "UTC" });
    let mut desktop = Desktop::with(json!({ "quiet": quiet })).await;
    desktop.ask("docs", "?").await;
    let urgent = json!({ "from": "ci", "type": "question", "priority": "urgent", "msg": "now!" });
    desktop.client.notify(urgent).await;
    desktop.daemon.shows(&["ci"]).await;
}

#[tokio::test]
async fn states_that_the_person_did_not_choose_are_not_shown() {
    let mut desktop = Desktop::with(json!({ "notify": ["needs_you"] })).await;
    desktop
        .client
        .notify(json!({ "from": "w1", "type": "error", "msg": "it broke" }))
        .await;
    desktop
        .client
        .notify(json!({ "from": "w2", "type": "complete", "msg": "done" }))
        .await;
    desktop.ask("docs", "?").await;
    desktop.daemon.shows(&["docs"]).await;
}

#[tokio::test]
async fn without_preferences_questions_and_failures_are_shown() {
    let mut desktop = Desktop::new().await;
    desktop
        .client
        .notify(json!({ "from": "w2", "type": "complete", "msg": "done" }))
        .await;
    desktop
        .client
        .notify(json!({ "from": "w1", "type": "error", "msg": "it broke" }))
        .await;
    let shown = desktop.daemon.shows(&["w1"]).await;
    assert_eq!(shown[0].body, "has an error\nit broke");
}
