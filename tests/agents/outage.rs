//! Sessions while the hub is down, and a waiter that is killed between output and exit.

use std::time::Duration;

use hub_harness::model::{Reply, rules, turns};
use hub_harness::{until, within};

use crate::support::{InstalledHub, signal};

#[test]
fn an_outage_does_not_disturb_a_session_and_loses_no_notification() {
    let mut hub = InstalledHub::new();
    let script = [("Which fruit?", Reply::text("A scripted medlar."))];
    let claude = hub.claude(rules(script)).start();
    hub.waiter("primary", "rewake");

    hub.server.stop();
    claude.submit("Which fruit?");
    claude.until_shown("A scripted medlar.");
    let is_over = |shown: &str| !shown.contains("esc to interrupt");
    claude.pane.until("the turn is over", is_over);
    hub.hubctl(&["notify", "--from", "tester", "said in the dark"]);
    let shown = claude.pane.text().to_lowercase();
    let is_disturbed = shown.contains("hook") || shown.contains("error");
    assert!(!is_disturbed, "{shown}");
    hub.server.start_again();

    // Both the events of the session's hooks and the notifications to the session must arrive.
    hub.published("Agent main completed: A scripted medlar.");
    claude.model.until_received("said in the dark");
    let id = hub.published("said in the dark");
    hub.step(id, "acked");
    claude.model.received_once("said in the dark");
}

#[test]
fn a_notification_of_a_killed_waiter_is_delivered_again_in_another_way() {
    let mut hub = InstalledHub::new();
    // The waiter prints and acknowledges but does not exit, so its session is never woken.
    let settings = hub.home().join(".claude/settings.json");
    let text = std::fs::read_to_string(&settings).expect("settings");
    let stuck = text.replace("wait --rewake", "wait --rewake 2>&1; exec sleep 600");
    std::fs::write(&settings, stuck).expect("settings");
    let claude = hub.claude(turns([])).start();
    hub.waiter("primary", "rewake");
    let id = hub.send("primary", "tester", "lost on the way");
    assert_eq!(hub.step(id, "emitted")["way"], "rewake");
    until("the waiter is killed", || {
        let all = hub.marker().processes();
        let stuck = all.iter().find(|it| it.command.trim() == "sleep 600")?;
        signal(stuck.pid, "KILL");
        Some(())
    });
    hub.server.restart();

    // The delivery stays unproved for a minute, because a turn that the person begins is no proof.
    claude.submit("Hello");
    let returned = within(Duration::from_secs(90), || {
        { hub.trace(id) }
            .into_iter()
            .find(|it| it["state"] == "returned")
    });
    assert!(returned.is_some(), "{:?}", hub.trace(id));
    assert_eq!(claude.model.received("lost on the way").len(), 0);
    claude.submit("Anything new?");
    let told = claude.model.until_received("lost on the way");
    assert_eq!(told.count_new("\"redelivered\":true"), 1);
    hub.step(id, "acked");
    let mut emitted = hub.trace(id);
    emitted.retain(|it| it["state"] == "emitted");
    let ways: Vec<_> = emitted.iter().map(|it| &it["way"]).collect();
    assert_eq!(ways, ["rewake", "hook"]);
    claude.model.received_once("lost on the way");
}
