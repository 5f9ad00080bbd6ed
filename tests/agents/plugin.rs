//! The plugin for Claude Code: its module wakes the session, and its hooks yield to those of the settings.

use std::io::Write as _;
use std::os::unix::net::UnixStream;

use hub_harness::model::turns;
use hub_harness::{Hub, until};
use serde_json::{Value, json};

use crate::support::{Claude, InstalledHub, Series, no_limits};

fn start(hub: &InstalledHub) -> Claude {
    let plugin = hub.plugin();
    let claude = hub.claude(turns([]));
    let claude = claude.args(&["--plugin-dir", &plugin]).start();
    hub.waiter_way("primary", "module");
    claude
}

/// The states and ways of a notification's deliveries.
fn steps(hub: &InstalledHub, id: u64) -> Vec<(String, String)> {
    let text = |it: &serde_json::Value| it.as_str().unwrap_or_default().to_owned();
    let steps = hub.trace(id);
    steps
        .iter()
        .map(|it| (text(&it["state"]), text(&it["way"])))
        .collect()
}

#[test]
fn the_module_wakes_an_idle_session_with_one_visible_prompt() {
    let hub = InstalledHub::without_hooks(Hub::builder());
    let claude = start(&hub);
    let id = hub.send("primary", "builder", "All 42 tests pass\nsecond line");
    let woken = claude.model.until_received("second line");
    let texts = &woken.new_texts;
    assert_eq!(woken.count_new("All 42 tests pass"), 1, "{texts:?}");
    claude.pane.until("the prompt is shown", |it| {
        it.contains("Notifications from the hub are pending: 1 × message.")
    });
    hub.step(id, "acked");
    let wanted = [
        ("stored", ""),
        ("emitted", "module"),
        ("emitted", "hook"),
        ("acked", ""),
    ];
    assert_eq!(steps(&hub, id), wanted.map(|(a, b)| (a.into(), b.into())));
    hub.published("woken");
    claude.model.received_once("second line");
}

#[test]
fn a_prompt_of_the_person_is_told_apart_from_a_wake() {
    let hub = InstalledHub::without_hooks(Hub::builder());
    let claude = start(&hub);
    claude.submit("Notifications from the hub are not this");
    hub.published("prompt: Notifications from the hub are not this");
}

#[test]
fn nothing_comes_twice_when_the_settings_have_the_hooks_too() {
    let hub = InstalledHub::new();
    let claude = start(&hub);
    let ids: Vec<u64> = (0..5)
        .map(|n| {
            hub.send(
                "primary",
                &format!("sender-{n}"),
                &format!("news number {n}."),
            )
        })
        .collect();
    for (n, id) in ids.into_iter().enumerate() {
        hub.step(id, "acked");
        let text = format!("\"msg\":\"news number {n}.\"");
        claude.model.received_once(&text);
    }
    claude.submit("Say something");
    hub.published("prompt: Say something");
    until("the session is idle", || {
        (hub.session("main")["state"] != json!("working")).then_some(())
    });
    hub.all_published("prompt: Say something", 1);
}

#[test]
fn the_command_shows_the_hubs_sessions() {
    let hub = InstalledHub::without_hooks(Hub::builder());
    let claude = start(&hub);
    hub.session("main");
    claude.submit("/hub");
    claude
        .pane
        .until("the sessions are shown", |it| it.contains("main *"));
}

/// Sends a message to the only running Claude Code as another session would: through the socket that its file in
/// `sessions` names.
fn send_as_peer(hub: &InstalledHub, text: &str) {
    let sessions = hub.home().join(".claude/sessions");
    let socket = until("the session has a socket", || {
        let files = std::fs::read_dir(&sessions).ok()?.flatten();
        let mut files = files.map(|file| file.path());
        let file = files.find(|file| file.extension().is_some_and(|it| it == "json"))?;
        let text = std::fs::read_to_string(file).ok()?;
        let session: Value = serde_json::from_str(&text).ok()?;
        Some(session["messagingSocketPath"].as_str()?.to_owned())
    });
    let message = json!({"type": "user", "message": {"role": "user", "content": text}});
    let mut stream = UnixStream::connect(socket).expect("it accepts messages");
    writeln!(stream, "{message}").expect("it reads messages");
}

#[test]
fn a_message_of_another_session_is_told_apart_from_a_prompt() {
    let hub = InstalledHub::without_hooks(Hub::builder());
    let _claude = start(&hub);
    send_as_peer(&hub, "Please rebase first");
    hub.published("message from another session: Please rebase first");
}

#[test]
fn without_the_module_the_end_of_the_turn_tells_that_another_session_sent_the_prompt() {
    let hub = InstalledHub::new();
    let claude = hub.claude(turns([])).start();
    hub.waiter("primary", "rewake");
    claude.submit("Say something");
    hub.all_published("completed", 1);
    send_as_peer(&hub, "Please rebase first");
    hub.all_published("completed", 2);
    let said = hub.get("/sessions/main/conversation");
    let entries = said["entries"].as_array().expect("a list").iter();
    let told: Vec<_> = entries
        .filter(|it| it["title"] == "had sent the prompt" || it["kind"] == "prompt")
        .map(|it| (it["by"].as_str(), it["text"].as_str()))
        .collect();
    let wanted = [
        ("person", Some("Say something")),
        ("person", Some("Please rebase first")),
        ("another session", None),
    ];
    assert_eq!(told, wanted.map(|(by, text)| (Some(by), text)));
}

#[test]
fn a_series_of_wakes_by_the_module_loses_and_doubles_none() {
    let Some(series) = Series::of_claude("module") else {
        return;
    };
    let hub = InstalledHub::without_hooks(no_limits());
    let claude = start(&hub);
    series.run(&hub, &claude.model, ("primary", "1s"));
}
