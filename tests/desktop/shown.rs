//! The notifications: titles, texts and buttons, once, until the need is settled.

use hub_harness::Client;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::desktop::Desktop;

/// Asks for a permission by a hook that the hub holds; returns the request, which ends with the person's answer.
pub(crate) fn asks_permission(client: &Client, command: &str) -> JoinHandle<Value> {
    let client = client.clone();
    let event = json!({ "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": { "command": command } });
    tokio::spawn(async move { client.hook("", "login", event).await })
}

#[tokio::test]
async fn a_question_has_its_session_as_title_and_its_options_as_buttons() {
    let mut desktop = Desktop::new().await;
    let ask = json!({ "from": "docs", "type": "question", "msg": "Which db?", "options": ["postgres", "sqlite", "none"] });
    let id = desktop.client.notify(ask).await;
    let note = desktop.daemon.one().await;
    assert_eq!(
        (note.title.as_str(), note.body.as_str()),
        ("docs", "Which db?")
    );
    assert_eq!(note.buttons(), ["postgres", "sqlite", "none", "Open"]);
    assert_eq!((note.urgency, note.expires), (1, 0));
    desktop.daemon.press(&note, "sqlite").await;
    let settled = desktop
        .client
        .read(&format!("/questions/{id}?timeout=20"))
        .await;
    assert_eq!(
        (&settled["answer"], &settled["by"]),
        (&json!("sqlite"), &json!("person"))
    );
}

#[tokio::test]
async fn options_that_do_not_fit_on_buttons_are_answered_elsewhere() {
    let mut desktop = Desktop::new().await;
    for (from, options) in [
        ("four", json!(["a", "b", "c", "d"])),
        ("long", json!(["the option with a very long text"])),
    ] {
        let ask = json!({ "from": from, "type": "question", "msg": "?", "options": options });
        desktop.client.notify(ask).await;
    }
    for note in desktop.daemon.shows(&["four", "long"]).await {
        assert_eq!(note.buttons(), ["Open"]);
    }
}

#[tokio::test]
async fn approve_on_a_permission_reaches_the_agent() {
    let mut desktop = Desktop::new().await;
    let asker = asks_permission(&desktop.client, "make test");
    let note = desktop.daemon.one().await;
    assert_eq!(note.title, "login");
    assert_eq!(note.body, "wants to run a command\nBash: make test");
    assert_eq!(note.buttons(), ["Approve", "Deny", "Open"]);
    desktop.daemon.press(&note, "Approve").await;
    let told = asker.await.expect("a reply");
    assert_eq!(told["hookSpecificOutput"]["decision"]["behavior"], "allow");
    desktop.daemon.shows(&[]).await;
}

#[tokio::test]
async fn the_notification_is_replaced_when_the_buttons_no_longer_work() {
    let mut desktop = Desktop::new().await;
    let asker = asks_permission(&desktop.client, "make");
    let before = desktop.daemon.one().await;
    // The agent shows its own dialog, or died.
    asker.abort();
    let what = "the buttons are gone";
    let after = desktop
        .daemon
        .until(what, |it| it.notes[0].buttons() == ["Open"])
        .await;
    assert_eq!(after.notes[0].id, before.id);
    assert_eq!(after.notes.len(), 1);
}

#[tokio::test]
async fn a_notification_is_closed_when_its_need_is_settled_elsewhere() {
    let mut desktop = Desktop::new().await;
    let id = desktop.ask("docs", "Which db?").await;
    desktop.daemon.one().await;
    desktop.client.answer(id, "sqlite").await.expect(201);
    desktop.daemon.shows(&[]).await;
    assert_eq!(desktop.daemon.screen().calls, 1);
}

#[tokio::test]
async fn a_stop_and_the_idle_report_of_the_same_turn_are_one_notification() {
    let mut desktop = Desktop::with(json!({ "notify": ["your_turn", "needs_you"] })).await;
    let hook = async |event: Value| desktop.client.hook("", "login", event).await;
    hook(json!({ "hook_event_name": "SessionStart", "source": "startup" })).await;
    hook(json!({ "hook_event_name": "UserPromptSubmit", "prompt": "go" })).await;
    hook(json!({ "hook_event_name": "Stop", "last_assistant_message": "All tests pass." })).await;
    let note = desktop.daemon.one().await;
    assert!(note.body.contains("All tests pass."), "{note:?}");
    let idle = json!({ "hook_event_name": "Notification", "notification_type": "idle_prompt", "message": "Claude is waiting for your input" });
    hook(idle).await;
    // A question of another session shows that the idle report was handled.
    desktop.ask("w2", "?").await;
    desktop.daemon.shows(&["login", "w2"]).await;
    assert_eq!(desktop.daemon.screen().calls, 2);
}

#[tokio::test]
async fn a_hostile_text_stays_a_text() {
    let mut desktop = Desktop::new().await;
    let hostile = "<b>rm</b> &amp; <img src=\"file:///etc/passwd\"/> \u{202e}txt";
    desktop.ask("docs", hostile).await;
    let note = desktop.daemon.one().await;
    assert_eq!(
        note.body,
        "&lt;b&gt;rm&lt;/b&gt; &amp;amp; &lt;img src=\"file:///etc/passwd\"/&gt; [U+202E]txt"
    );
}

#[tokio::test]
async fn a_daemon_without_markup_and_actions_gets_neither() {
    let hub = hub_harness::Hub::builder().memory().start();
    let mut desktop = Desktop::on(hub, json!({}), &["body"]).await;
    desktop.ask("docs", "a < b?").await;
    let note = desktop.daemon.one().await;
    assert_eq!(note.body, "a < b?");
    assert_eq!(note.actions, []);
}

#[tokio::test]
async fn hidden_characters_of_a_command_are_shown() {
    let mut desktop = Desktop::new().await;
    let _asker = asks_permission(&desktop.client, "rm -rf \u{200b}x");
    let note = desktop.daemon.one().await;
    assert_eq!(note.body, "wants to run a command\nBash: rm -rf [U+200B]x");
}

#[tokio::test]
async fn a_request_that_does_not_fit_cannot_be_approved_unread() {
    let mut desktop = Desktop::new().await;
    let long = format!("echo {} && rm -rf /", "x".repeat(240));
    let _asker = asks_permission(&desktop.client, &long);
    let note = desktop.daemon.one().await;
    assert!(note.body.ends_with('…'), "{note:?}");
    assert_eq!(note.buttons(), ["Open"]);
}

#[tokio::test]
async fn sessions_of_the_same_name_are_told_apart_by_their_projects() {
    let mut desktop = Desktop::new().await;
    for project in ["/src/shop", "/src/blog"] {
        let ask = json!({ "from": "main", "project": project, "type": "question", "msg": "?" });
        desktop.client.notify(ask).await;
    }
    let shown = desktop.daemon.until("both", |it| it.notes.len() == 2).await;
    assert_eq!(shown.titles()[1], "main, blog");
}

#[tokio::test]
async fn many_needs_at_once_are_counted() {
    let mut desktop = Desktop::new().await;
    let all: Vec<Value> = (1..=7)
        .map(|n| json!({ "from": format!("w{n}"), "type": "question", "msg": "?" }))
        .collect();
    let answer = desktop
        .client
        .post_json("/notify", &all)
        .await
        .expect(201)
        .json();
    let shown = desktop
        .daemon
        .shows(&["w1", "w2", "w3", "w4", "3 more agents need you"])
        .await;
    assert_eq!(shown[4].buttons(), ["Open"]);
    for id in answer["ids"].as_array().expect("ids") {
        desktop
            .client
            .answer(id.as_u64().expect("an id"), "x")
            .await
            .expect(201);
    }
    desktop.daemon.shows(&[]).await;
}

#[tokio::test]
async fn an_urgent_message_is_critical_until_it_is_done() {
    let mut desktop = Desktop::new().await;
    let say =
        json!({ "from": "ci", "type": "message", "priority": "urgent", "msg": "the disk is full" });
    let id = desktop.client.notify(say).await;
    let note = desktop.daemon.one().await;
    assert_eq!(note.body, "has an urgent message\nthe disk is full");
    assert_eq!(note.urgency, 2);
    let path = format!("/needs/{id}/done");
    desktop.client.post_json(&path, json!({})).await.expect(204);
    desktop.daemon.shows(&[]).await;
}
