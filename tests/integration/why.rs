//! `GET /why/{target}`: each reason, with the real hub.

use std::collections::BTreeSet;

use hub_harness::{Client, PATIENCE};
use serde_json::{Value, json};

#[cfg(target_os = "linux")]
use crate::codex::AppServer;
use crate::{hub_with, memory_hub};

fn event(name: &str) -> Value {
    json!({ "hook_event_name": name })
}

fn prompt() -> Value {
    json!({ "hook_event_name": "UserPromptSubmit", "prompt": "go" })
}

fn note(to: &str) -> Value {
    json!({ "msg": "news", "from": "ci", "to": to, "type": "message" })
}

/// Sends a note to `to`; returns its number.
async fn tell(client: &Client, to: &str) -> u64 {
    client.notify(note(to)).await
}

/// Returns the explanation; each notification has one reason in each inbox, and the summary is about one of them.
async fn why(client: &Client, target: impl std::fmt::Display) -> Value {
    let why = client.read(&format!("/why/{target}")).await;
    let items = why["items"].as_array().expect("a list");
    let places = items
        .iter()
        .map(|it| format!("{} {}", it["id"], it["inbox"]));
    let places: BTreeSet<String> = places.collect();
    assert_eq!(places.len(), items.len(), "one reason each: {why}");
    let reasons: Vec<&Value> = items.iter().map(|it| &it["reason"]).collect();
    assert!(
        items.is_empty() || reasons.contains(&&why["reason"]),
        "{why}"
    );
    why
}

/// Waits until the reason of `target` is `reason`; returns the explanation.
async fn until_reason(client: &Client, target: &str, reason: &str) -> Value {
    let last = async {
        loop {
            let why = why(client, target).await;
            if why["reason"] == reason {
                return why;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    let found = tokio::time::timeout(PATIENCE, last).await;
    found.unwrap_or_else(|_| panic!("{target} is never {reason}"))
}

#[track_caller]
fn expect(why: &Value, reason: &str, words: &str) {
    assert_eq!(why["reason"], reason, "{why}");
    let summary = why["summary"].as_str().expect("a text");
    assert!(summary.contains(words), "{words:?} in {why}");
}

#[tokio::test]
async fn an_idle_session_that_nothing_can_wake_names_each_way() {
    let (_hub, client) = memory_hub();
    client.hook("", "w1", event("SessionStart")).await;
    expect(
        &why(&client, "w1").await,
        "nothing_pending",
        "w1: nothing is pending",
    );
    let id = tell(&client, "w1").await;
    let found = until_reason(&client, "w1", "no_transport").await;
    expect(&found, "no_transport", "no `hubctl wait` runs in it");
    let ways = hub_harness::each(&found["items"][0]["ways"], "way");
    assert_eq!(ways, json!(["file_changed", "socket"]));
    expect(
        &why(&client, id).await,
        "no_transport",
        "the session watches no file of the hub",
    );
}

#[tokio::test]
async fn a_wake_that_is_under_way_is_told_as_such() {
    let (_hub, client) = memory_hub();
    // On a busy machine, the module may poll too late to count.
    for n in 1.. {
        let session = format!("w{n}");
        client.hook("", &session, event("SessionStart")).await;
        // The module of the session has just got an answer, and polls again.
        let poll = format!("/wait?session={session}&way=module&timeout=0");
        client.get(&poll).await.expect(204);
        tell(&client, &session).await;
        let found = why(&client, &session).await;
        if found["reason"] == "waking" || n == 9 {
            return expect(&found, "waking", "in a moment");
        }
    }
}

#[tokio::test]
async fn a_session_at_work_or_in_a_dialog_is_delivered_to_by_its_next_hook() {
    let (_hub, client) = hub_with(&["approvals=false"]);
    client.hook("", "w1", prompt()).await;
    let id = tell(&client, "w1").await;
    expect(
        &why(&client, "w1").await,
        "busy",
        "the answer to its next hook",
    );
    let ask = json!({ "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": { "command": "make" } });
    client.hook("", "w1", ask).await;
    expect(&why(&client, "w1").await, "asks", "shows a dialog");
    client.hook("", "w1", event("PostToolUse")).await;
    expect(
        &why(&client, id).await,
        "delivered_by_hook",
        "the answer to a hook",
    );
    client.hook("", "w1", event("PostToolUse")).await;
    expect(
        &why(&client, id).await,
        "delivered_by_hook",
        "of a running turn",
    );
    expect(
        &why(&client, "w1").await,
        "delivered_by_hook",
        "nothing is pending",
    );
}

#[tokio::test]
async fn a_session_that_was_woken_says_by_which_way() {
    let (_hub, client) = memory_hub();
    client.hook("", "w1", event("SessionStart")).await;
    let waits = client
        .waiter("session=w1&way=rewake&timeout=60", "w1")
        .await;
    let id = tell(&client, "w1").await;
    let batch = waits.await.expect("an answer").expect(200).json();
    client.ack("w1", batch).await;
    expect(&why(&client, id).await, "woken", "(rewake)");
    let woken = json!({ "hook_event_name": "UserPromptSubmit", "prompt": "<task-notification>" });
    client.hook("", "w1", woken).await;
    expect(&why(&client, id).await, "woken", "it woke the session");
    expect(
        &why(&client, "w1").await,
        "woken",
        "it was woken by notification",
    );
}

#[tokio::test]
async fn an_ended_or_unknown_reader_and_one_without_hooks_are_told_apart() {
    let (_hub, client) = memory_hub();
    client.hook("", "w1", event("SessionStart")).await;
    let end = json!({ "hook_event_name": "SessionEnd", "reason": "exit" });
    client.hook("", "w1", end).await;
    client.register("job", json!({ "agent": "run" })).await;
    client.register("codex", json!({ "agent": "codex" })).await;
    for (to, reason, words) in [
        ("w1", "ended", "nobody reads its inbox"),
        ("job", "no_hooks", "has reported, and no `hubctl wait`"),
        ("codex", "hook_untrusted", "/hooks"),
        ("ghost", "no_reader", "no session has this name"),
        (
            "primary",
            "no_reader",
            "no session is the project's primary",
        ),
    ] {
        let id = tell(&client, to).await;
        expect(&why(&client, to).await, reason, words);
        expect(&why(&client, id).await, reason, words);
    }
}

#[tokio::test]
async fn an_item_that_rides_along_says_why() {
    let (_hub, client) = memory_hub();
    client
        .hook("main=true", "boss", event("SessionStart"))
        .await;
    for (post, to, words) in [
        (
            json!({ "msg": "x", "from": "ci", "priority": "low" }),
            "primary",
            "priority low",
        ),
        (
            json!({ "msg": "x", "from": "ci", "to": "boss", "type": "progress" }),
            "boss",
            "type progress",
        ),
        (
            json!({ "msg": "x", "from": "boss", "to": "boss" }),
            "boss",
            "a note to oneself",
        ),
        (
            json!({ "msg": "?", "from": "ci", "type": "approval" }),
            "primary",
            "only the person",
        ),
    ] {
        let id = client.notify(post).await;
        let found = why(&client, id).await;
        let items = found["items"].as_array().expect("a list");
        let item = items.iter().find(|it| it["inbox"] == to).expect("an item");
        assert_eq!(item["reason"], "rides_along", "{found}");
        assert!(
            item["text"].as_str().expect("a text").contains(words),
            "{item}"
        );
    }
    client.hook("watched=true", "w1", prompt()).await;
    let stop = json!({ "hook_event_name": "Stop", "last_assistant_message": "Done." });
    client.hook("watched=true", "w1", stop).await;
    let found = why(&client, "boss").await;
    let seen = "the person has this session in view";
    assert!(found["items"].to_string().contains(seen), "{found}");
}

#[tokio::test]
async fn a_waiter_that_excludes_an_item_is_named() {
    let (_hub, client) = memory_hub();
    for (inbox, query, reason, words) in [
        ("f1", "types=error", "filtered", "its filter excludes it"),
        ("f2", "all=w9", "filtered", "it waits until w9 have stopped"),
        (
            "f3",
            "count=9",
            "filtered",
            "it waits for more notifications",
        ),
        ("f4", "settle=5000", "settling", "collects a burst"),
    ] {
        let query = format!("inbox={inbox}&as=me&timeout=60&{query}");
        let _waits = client.waiter(&query, inbox).await;
        tell(&client, inbox).await;
        let found = why(&client, inbox).await;
        expect(&found, reason, words);
        assert_eq!(found["items"][0]["by"], "me");
    }
    client.hook("", "w1", event("SessionStart")).await;
    let foreign = "inbox=w1&as=spy&timeout=60&types=error";
    let _waits = client.waiter(foreign, "w1").await;
    tell(&client, "w1").await;
    expect(
        &why(&client, "w1").await,
        "inbox_held",
        "the reader spy occupies the inbox",
    );
}

#[tokio::test]
async fn a_lease_names_its_reader_and_its_end() {
    let (_hub, client) = memory_hub();
    let id = tell(&client, "w1").await;
    let batch = client.take("&inbox=w1&as=me").await;
    let found = why(&client, id).await;
    expect(&found, "leased", "me received it");
    assert!(found["items"][0]["until"].is_string(), "{found}");
    client.ack("w1", batch).await;
    expect(&why(&client, id).await, "settled", "acked by me");
    expect(&why(&client, "w1").await, "settled", "me acknowledged");
    let id = tell(&client, "w1").await;
    client
        .delete(&format!("/notifications/{id}"))
        .await
        .expect(200);
    expect(&why(&client, id).await, "settled", "withdrawn");
    let id = client
        .notify(json!({ "msg": "x", "type": "progress" }))
        .await;
    expect(&why(&client, id).await, "recorded", "went to no inbox");
}

#[tokio::test]
async fn a_wake_limit_names_the_budget_and_who_spent_it() {
    let (_hub, client) = hub_with(&["wake.per_sender_per_minute=1"]);
    client.hook("", "w1", event("SessionStart")).await;
    client.hook("", "w2", event("SessionStart")).await;
    let wait = "session=w1&way=rewake&timeout=60";
    let waits = client.waiter(wait, "w1").await;
    let post = json!({ "msg": "x", "from": "w2", "to": "w1", "type": "message" });
    client.notify(post.clone()).await;
    client
        .ack("w1", waits.await.expect("an answer").expect(200).json())
        .await;
    let _waits = client.waiter(wait, "w1").await;
    let id = client.notify(post).await;
    let found = why(&client, id).await;
    expect(&found, "limit", "1 wake a minute by w2");
    let item = &found["items"][0];
    assert_eq!(item["by"], "w2");
    assert!(item["until"].is_string(), "{item}");
}

#[tokio::test]
async fn an_item_for_the_person_is_explained_by_the_preferences() {
    let (hub, client) = memory_hub();
    let ask = json!({ "msg": "?", "from": "w1", "type": "question", "to": "person" });
    let id = client.notify(ask).await;
    let now = hub_protocol::Timestamp::now().to_string();
    let hour: u32 = now[11..13].parse().expect("an hour");
    let at = |hour: u32| format!("{:02}:00", hour % 24);
    let quiet = json!({ "from": at(hour), "to": at(hour + 2), "zone": "UTC" });
    let mute = |until: Value| {
        let mut mute = json!({ "project": "default", "session": "w1" });
        if until.is_string() {
            mute["until"] = until;
        }
        json!({ "mutes": [mute], "notify": ["needs_you"] })
    };
    for (preferences, reason, words) in [
        (json!({}), "no_alert", "raise no alert for type question"),
        (
            json!({ "notify": ["needs_you"] }),
            "no_transport",
            "no dashboard is open",
        ),
        (
            json!({ "quiet": quiet, "notify": ["needs_you"] }),
            "quiet_hours",
            "UTC",
        ),
        (mute(Value::Null), "muted", "the person has muted sender w1"),
        (
            mute("2099-01-01T00:00:00.000Z".into()),
            "snoozed",
            "until 2099",
        ),
    ] {
        client
            .put_json("/preferences", preferences)
            .await
            .expect(200);
        expect(&why(&client, "person").await, reason, words);
    }
    let person = hub.person().await;
    let _dashboard = person.events("").await;
    let alerts = json!({ "notify": ["needs_you"] });
    client.put_json("/preferences", alerts).await.expect(200);
    expect(
        &why(&client, "person").await,
        "awaits_person",
        "has not read it",
    );
    client
        .put(&format!("/notifications/{id}/seen"))
        .await
        .expect(200);
    expect(&why(&client, "person").await, "seen", "has read it");
}

#[tokio::test]
async fn every_pending_notification_of_every_inbox_has_exactly_one_reason() {
    let (_hub, client) = memory_hub();
    client
        .hook("main=true", "boss", event("SessionStart"))
        .await;
    client.hook("parent=boss", "w1", prompt()).await;
    for n in 0..20 {
        let kinds = ["message", "progress", "question", "approval", "error"];
        let to = ["boss", "w1", "person", "primary", "ghost", "all"][n % 6];
        let post = json!({ "msg": "x", "from": format!("s{n}"), "to": to, "type": kinds[n % 5] });
        client.notify(post).await;
    }
    client.take("&inbox=ghost&as=me").await;
    let inboxes = client.read("/inboxes").await;
    for inbox in inboxes["inboxes"].as_array().expect("a list") {
        let (name, pending) = (inbox["name"].as_str().expect("a name"), &inbox["pending"]);
        let found = why(&client, name).await;
        let items = found["items"].as_array().expect("a list").iter();
        let here = items.filter(|it| it["inbox"] == name && it["reason"] != "other");
        assert_eq!(&json!(here.count()), pending, "{name}: {found}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_session_whose_hooks_are_not_trusted_any_more_says_so() {
    let (hub, client) = memory_hub();
    let _server = AppServer::start(&hub, &["w1"], |_, _| false);
    tell(&client, "w1").await;
    let found = until_reason(&client, "w1", "hook_untrusted").await;
    expect(
        &found,
        "hook_untrusted",
        "changed since the person trusted them",
    );
}
