//! Codex in a terminal: its idle sessions are woken through its app-server.

use hub_harness::Hub;
use hub_harness::model::turns;

use crate::support::{Codex, InstalledHub};

fn installed() -> InstalledHub {
    let hub = InstalledHub::without_hooks(Hub::builder());
    hub.hubctl(&["hooks", "install", "codex"]);
    hub
}

#[test]
fn doctor_reports_hooks_that_the_person_has_not_trusted() {
    let hub = installed();
    let doctor = || hub.try_hubctl(&["doctor"]);
    let report =
        |output: std::process::Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let before = report(doctor());
    let all = "codex runs only 0 of the hub's 8 hooks: 8 are not trusted";
    assert!(before.contains(all), "{before}");
    let _codex: Codex = hub.codex_terminal(&[], turns([]));
    let after = report(doctor());
    assert!(after.contains("codex trusts the hub's 8 hooks"), "{after}");
}
