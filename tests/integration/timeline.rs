//! `/timeline` and `POST /sessions/{target}/go`.

use hub_harness::{Client, Hub, Tmux, each};
use hub_protocol::Timestamp;
use serde_json::{Value, json};

use crate::{disk_hub, memory_hub};

const MINUTE: i64 = 60_000;

/// Publishes reports of a session, each with its age in minutes.
async fn report(client: &Client, session: &str, reports: &[(i64, &str)]) {
    for (minutes, kind) in reports {
        let ts = Timestamp::now().plus_millis(-minutes * MINUTE);
        let msg = format!("{kind}: {minutes} minutes ago");
        let post =
            json!({ "from": session, "session": session, "type": kind, "msg": msg, "ts": ts });
        client.notify(post).await;
    }
}

fn minutes(milliseconds: &Value) -> u64 {
    let milliseconds = milliseconds.as_u64().expect("a number");
    (milliseconds + 30_000) / 60_000
}

#[tokio::test]
async fn the_lanes_are_rebuilt_from_the_log_after_a_restart() {
    let (mut hub, client) = disk_hub();
    assert_eq!(client.read("/timeline").await["lanes"], json!([]));
    let reports = [
        (300, "progress"),
        (200, "waiting"),
        (140, "progress"),
        (20, "error"),
    ];
    report(&client, "w1", &reports).await;
    let live = client.read("/timeline").await;
    let lane = &live["lanes"][0];
    let phases = json!(["working", "your_turn", "working", "blocked"]);
    assert_eq!(each(&lane["segments"], "phase"), phases);
    assert_eq!(minutes(&lane["waited_ms"]), 80);
    assert_eq!(minutes(&live["waited_ms"]), 80);
    hub.restart();
    let again = client.read("/timeline").await;
    assert_eq!(again["lanes"][0]["segments"], lane["segments"]);
    report(&client, "w1", &[(0, "progress")]).await;
    let segments = client.read("/timeline").await["lanes"][0]["segments"].clone();
    assert_eq!(segments[4]["phase"], "working", "{segments}");
}

#[tokio::test]
async fn a_part_of_the_timeline_has_only_the_sessions_and_waits_of_that_time() {
    let (_hub, client) = memory_hub();
    report(
        &client,
        "w1",
        &[(300, "waiting"), (200, "progress"), (190, "ended")],
    )
    .await;
    report(&client, "w2", &[(100, "waiting")]).await;
    let ago = |minutes: i64| Timestamp::now().plus_millis(-minutes * MINUTE);
    let window = format!("/timeline?since={}&until={}", ago(240), ago(195));
    let part = client.read(&window).await;
    assert_eq!(each(&part["lanes"], "session"), json!(["w1"]));
    assert_eq!(minutes(&part["waited_ms"]), 40);
    let present = client.read(&format!("/timeline?since={}", ago(60))).await;
    assert_eq!(each(&present["lanes"], "session"), json!(["w2"]));
    let moment = client
        .read(&format!("/timeline/moment?at={}", ago(250)))
        .await;
    assert_eq!(each(&moment["sessions"], "phase"), json!(["your_turn"]));
    assert_eq!(moment["sessions"][0]["text"], "waiting: 300 minutes ago");
}

#[tokio::test]
async fn a_reset_project_is_not_on_the_timeline() {
    let (_hub, client) = memory_hub();
    report(&client, "w1", &[(30, "waiting")]).await;
    assert_eq!(client.read("/timeline").await["lanes"][0]["session"], "w1");
    let reset = client.post("/projects/default/reset?history=true").await;
    reset.expect(200);
    assert_eq!(client.read("/timeline").await["lanes"], json!([]));
}

/// Goes to a session that runs in a pane of a real tmux server.
pub(crate) async fn go_to_a_pane(hub: &Hub, client: &Client) {
    let dir = tempfile::tempdir().expect("a directory");
    let tmux = Tmux::new(
        dir.path(),
        [("PATH", std::env::var("PATH").unwrap_or_default())],
    );
    let pane = tmux.session("work", dir.path(), (&hub.socket(), "paned"));
    let shown = hub
        .person()
        .await
        .post("/sessions/paned/go")
        .await
        .expect(200)
        .json();
    assert_eq!(shown["pane"], pane.id());
    assert_eq!(shown["attached"], false);
    let info = client.session("paned").await;
    let pid = info["process"]["pid"].to_string();
    let killed = std::process::Command::new("kill").arg(pid).status();
    assert!(killed.expect("kill").success());
    let refused = hub
        .person()
        .await
        .post("/sessions/paned/go")
        .await
        .expect(409);
    assert_eq!(refused.code(), "pane_unreachable", "its process has ended");
}

#[tokio::test]
async fn only_a_person_goes_to_a_pane_and_only_to_one_that_runs_the_session() {
    let (hub, client) = memory_hub();
    let own = json!({ "pid": std::process::id(), "started": 1 });
    client
        .register("w1", json!({ "pane": "%7", "process": own }))
        .await;
    client.register("w2", json!({ "pane": "%7" })).await;
    client
        .register("w3", json!({ "pane": "work:1", "process": own }))
        .await;
    let refused = client.post("/sessions/w1/go").await.expect(403);
    assert_eq!(refused.code(), "needs_person");
    let person = hub.person().await;
    for session in ["w1", "w2", "w3"] {
        let refused = person
            .post(&format!("/sessions/{session}/go"))
            .await
            .expect(409);
        assert_eq!(refused.code(), "pane_unreachable", "{session}");
    }
    let unknown = person.post("/sessions/nowhere/go").await.expect(404);
    assert_eq!(unknown.code(), "unknown_session");
}
