//! Sessions while the hub is down, and a waiter that is killed between output and exit.

use std::time::Duration;

use hub_harness::model::{Reply, rules, turns};
use hub_harness::{Model, until, within};

use crate::support::{Central, Desk, signal};

#[test]
fn an_outage_does_not_disturb_a_session_and_loses_no_notification() {
    let desk = Desk::new();
    let mut central = Central::new(&desk);
    central.install(&[]);
    let script = [("Which fruit?", Reply::text("A scripted medlar."))];
    let claude = desk.claude(Model::start(rules(script))).start();
    central.waiter("primary", "rewake");

    central.hub.stop();
    claude.say("Which fruit?");
    claude.pane.until("the answer is shown", |it| {
        it.contains("A scripted medlar.")
    });
    claude
        .pane
        .until("the turn is over", |it| !it.contains("esc to interrupt"));
    central.hubctl(&["notify", "--from", "tester", "said in the dark"]);
    let shown = claude.pane.text().to_lowercase();
    assert!(
        !shown.contains("hook") && !shown.contains("error"),
        "{shown}"
    );
    central.hub.start_again();

    // Both the events of the session's hooks and the notifications to the session must arrive.
    central.said("Agent main completed: A scripted medlar.");
    claude.model.until_told("said in the dark");
    let id = central.said("said in the dark");
    central.step(id, "acked");
    assert_eq!(claude.model.told("said in the dark").len(), 1);
}

#[test]
fn a_notification_of_a_killed_waiter_is_delivered_again_in_another_way() {
    let desk = Desk::new();
    let mut central = Central::new(&desk);
    central.install(&[]);
    // The waiter prints and acknowledges but does not exit, so its session is never woken.
    let settings = desk.home().join(".claude/settings.json");
    let text = std::fs::read_to_string(&settings).expect("settings");
    let stuck = text.replace("wait --rewake", "wait --rewake 2>&1; exec sleep 600");
    std::fs::write(&settings, stuck).expect("settings");
    let claude = desk.claude(Model::start(turns([]))).start();
    central.waiter("primary", "rewake");
    let id = central.tell("primary", "tester", "lost on the way");
    assert_eq!(central.step(id, "emitted")["way"], "rewake");
    until("the waiter is killed", || {
        let all = desk.marker().processes();
        let stuck = all.iter().find(|it| it.command.trim() == "sleep 600")?;
        signal(stuck.pid, "KILL");
        Some(())
    });
    central.hub.restart();

    // The delivery stays unproved for a minute, because a turn that the person begins is no proof.
    claude.say("Hello");
    let returned = within(Duration::from_secs(90), || {
        let steps = central.trace(id);
        steps
            .iter()
            .any(|it| it["state"] == "returned")
            .then_some(())
    });
    assert!(returned.is_some(), "{:?}", central.trace(id));
    assert_eq!(claude.model.told("lost on the way").len(), 0);
    claude.say("Anything new?");
    let told = claude.model.until_told("lost on the way");
    assert_eq!(told.tells("\"redelivered\":true"), 1);
    central.step(id, "acked");
    let steps = central.trace(id);
    let of = |field: &str| -> Vec<_> {
        let all = steps.iter().filter(|it| it["state"] == "emitted");
        all.map(|it| it[field].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(of("way"), ["rewake", "hook"]);
    assert_eq!(claude.model.told("lost on the way").len(), 1);
}
