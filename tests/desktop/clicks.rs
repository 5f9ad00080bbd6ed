//! Clicks: the pane, the page, and answers that come too late.

use hub_harness::{Tmux, pause, until};
use serde_json::json;

use crate::desktop::{Desktop, browser};
use crate::shown::asks_permission;

/// Registers the session `docs` with a program in a pane of a real tmux; returns the pane and its tmux.
fn paned(desktop: &Desktop) -> (Tmux, hub_harness::Pane) {
    let dir = desktop.hub.scratch();
    let tmux = Tmux::new(dir, [("PATH", std::env::var("PATH").unwrap_or_default())]);
    let socket = desktop.hub.socket();
    let pane = tmux.session("work", dir, (&socket, "docs"));
    (tmux, pane)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_click_shows_the_pane_of_the_session() {
    let mut desktop = Desktop::new().await;
    let (tmux, pane) = paned(&desktop);
    let other = tmux.start(
        "other",
        desktop.hub.scratch(),
        &[],
        &["sleep".into(), "600".into()],
    );
    let _terminal = other.attach(&desktop.hub.scratch().join("person"));
    desktop.ask("docs", "Which db?").await;
    let note = desktop.daemon.one().await;
    desktop.daemon.click(&note).await;
    until("the terminal shows the pane", || {
        pane.visible().contains(&pane.id().to_owned()).then_some(())
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_terminal_that_shows_tmux_a_click_opens_the_page_at_the_question() {
    let mut desktop = Desktop::new().await;
    let (_tmux, _pane) = paned(&desktop);
    let id = desktop.ask("docs", "Which db?").await;
    let note = desktop.daemon.one().await;
    desktop.daemon.click(&note).await;
    let url = browser(&desktop.hub);
    let (page, code) = url.split_once("#code=").expect("a sign-in code");
    assert_eq!(page, format!("{}/?id={id}", desktop.hub.url()));
    let login = desktop
        .hub
        .stranger()
        .post_json("/login", json!({ "code": code }))
        .await;
    login.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn open_on_a_sender_without_a_pane_opens_the_page() {
    let mut desktop = Desktop::new().await;
    let id = desktop.ask("ci", "Which db?").await;
    let note = desktop.daemon.one().await;
    desktop.daemon.press(&note, "Open").await;
    assert!(browser(&desktop.hub).contains(&format!("/?id={id}#code=")));
    // The question stays open, and is not shown again.
    assert_eq!(desktop.client.question(id).await["state"], "open");
    assert_eq!(desktop.daemon.screen().calls, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_comes_too_late_says_why() {
    let mut desktop = Desktop::new().await;
    let asker = asks_permission(&desktop.client, "make");
    let note = desktop.daemon.one().await;
    // The person clicks before the program has read that somebody else was faster.
    pause(desktop.program.pid(), true);
    let id = desktop.client.read("/questions").await["questions"][0]["id"]
        .as_u64()
        .expect("an id");
    desktop
        .hub
        .person()
        .await
        .answer(id, "deny")
        .await
        .expect(201);
    asker.await.expect("a reply");
    desktop.daemon.press(&note, "Approve").await;
    pause(desktop.program.pid(), false);
    let report = desktop.daemon.one().await;
    assert_eq!(report.title, "login");
    assert!(report.body.contains("Approve"), "{report:?}");
    assert_eq!(report.expires, 10_000);
    let question = desktop.client.question(id).await;
    assert_eq!(question["answer"], "deny");
}
