//! Sessions while the hub is down, and a waiter that is killed between output and exit.

use std::time::Duration;

use hub_harness::model::{Reply, rules, turns};
use hub_harness::{Model, until, within};

use crate::support::{InstalledHub, signal};

#[test]
fn an_outage_does_not_disturb_a_session_and_loses_no_notification() {
    let mut hub = InstalledHub::new();
    let script = [("Which fruit?", Reply::text("A scripted medlar."))];
    let claude = hub.claude(Model::start(rules(script))).start();
    hub.waiter("primary", "rewake");

    hub.server.stop();
    claude.submit("Which fruit?");
    claude.pane.until("the answer is shown", |it| {
        it.contains("A scripted medlar.")
    });
    claude
        .pane
        .until("the turn is over", |it| !it.contains("esc to interrupt"));
    hub.hubctl(&["notify", "--from", "tester", "said in the dark"]);
    let shown = claude.pane.text().to_lowercase();
    assert!(
        !shown.contains("hook") && !shown.contains("error"),
        "{shown}"
    );
    hub.server.start_again();

    // Both the events of the session's hooks and the notifications to the session must arrive.
    hub.published("Agent main completed: A scripted medlar.");
    claude.model.until_received("said in the dark");
    let id = hub.published("said in the dark");
    hub.step(id, "acked");
    assert_eq!(claude.model.received("said in the dark").len(), 1);
}

#[test]
fn a_notification_of_a_killed_waiter_is_delivered_again_in_another_way() {
    let mut hub = InstalledHub::new();
    // The waiter prints and acknowledges but does not exit, so its session is never woken.
    let settings = hub.home().join(".claude/settings.json");
    let text = std::fs::read_to_string(&settings).expect("settings");
    let stuck = text.replace("wait --rewake", "wait --rewake 2>&1; exec sleep 600");
    std::fs::write(&settings, stuck).expect("settings");
    let claude = hub.claude(Model::start(turns([]))).start();
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
        let steps = hub.trace(id);
        steps
            .iter()
            .any(|it| it["state"] == "returned")
            .then_some(())
    });
    assert!(returned.is_some(), "{:?}", hub.trace(id));
    assert_eq!(claude.model.received("lost on the way").len(), 0);
    claude.submit("Anything new?");
    let told = claude.model.until_received("lost on the way");
    assert_eq!(told.count_new("\"redelivered\":true"), 1);
    hub.step(id, "acked");
    let steps = hub.trace(id);
    let of = |field: &str| -> Vec<_> {
        let all = steps.iter().filter(|it| it["state"] == "emitted");
        all.map(|it| it[field].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(of("way"), ["rewake", "hook"]);
    assert_eq!(claude.model.received("lost on the way").len(), 1);
}
