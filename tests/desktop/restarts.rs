//! Restarts of the hub, of the notification daemon and of the program.

use hub_harness::Hub;
use serde_json::json;

use crate::daemon::Daemon;
use crate::desktop::{Desktop, USUAL, second};

#[tokio::test]
async fn a_new_daemon_shows_what_the_old_one_showed() {
    let mut desktop = Desktop::new().await;
    desktop.ask("closed", "?").await;
    let note = desktop.daemon.one().await;
    desktop.daemon.dismiss(&note).await;
    desktop.ask("docs", "Which db?").await;
    desktop.daemon.shows(&["docs"]).await;
    desktop.daemon.stop().await;
    // Between two daemons nothing is lost either.
    desktop.ask("between", "?").await;
    desktop.daemon = Daemon::start(&desktop.bus.address, &USUAL).await;
    desktop.daemon.shows(&["docs", "between"]).await;
}

#[tokio::test]
async fn a_restart_of_the_hub_repeats_nothing_and_loses_nothing() {
    let mut desktop = Desktop::on(Hub::start(), json!({}), &USUAL).await;
    desktop.ask("closed", "?").await;
    let note = desktop.daemon.one().await;
    desktop.daemon.dismiss(&note).await;
    let open = desktop.ask("open", "?").await;
    desktop.daemon.shows(&["open"]).await;
    desktop.hub.restart();
    desktop.reads().await;
    desktop.ask("new", "?").await;
    desktop.daemon.shows(&["open", "new"]).await;
    assert_eq!(desktop.daemon.screen().calls, 3);
    desktop.client.answer(open, "x").await.expect(201);
    desktop.daemon.shows(&["new"]).await;
}

#[tokio::test]
async fn another_log_closes_what_the_old_one_needed() {
    let mut desktop = Desktop::new().await;
    desktop.ask("old", "?").await;
    desktop.daemon.one().await;
    // The log of this hub is in memory only.
    desktop.hub.restart();
    desktop.daemon.shows(&[]).await;
    desktop.ask("new", "?").await;
    desktop.daemon.shows(&["new"]).await;
}

#[tokio::test]
async fn the_program_closes_what_it_showed_and_repeats_nothing_that_the_person_closed() {
    let mut desktop = Desktop::new().await;
    desktop.ask("closed", "?").await;
    let note = desktop.daemon.one().await;
    desktop.daemon.dismiss(&note).await;
    let urgent = json!({ "from": "ci", "type": "message", "priority": "urgent", "msg": "now" });
    desktop.client.notify(urgent).await;
    desktop.ask("open", "?").await;
    desktop.daemon.shows(&["ci", "open"]).await;
    desktop
        .restart_program(async |desktop| {
            desktop.daemon.shows(&[]).await;
            desktop.ask("meanwhile", "?").await;
        })
        .await;
    desktop.daemon.shows(&["ci", "meanwhile", "open"]).await;
}

#[tokio::test]
async fn a_second_program_says_that_one_runs_and_ends() {
    let desktop = Desktop::new().await;
    let done = second(&desktop.hub, &desktop.bus);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(1), "{said}");
    let pid = format!("runs already as process {}", desktop.program.pid());
    assert!(said.contains(&pid), "{said}");
}

#[tokio::test]
async fn it_waits_for_a_hub_that_does_not_run_yet() {
    let mut desktop = Desktop::new().await;
    desktop.hub.stop();
    desktop.restart_program(async |_| {}).await;
    desktop.hub.start_again();
    desktop.reads().await;
    desktop.ask("docs", "?").await;
    desktop.daemon.shows(&["docs"]).await;
}
