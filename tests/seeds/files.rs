//! Lines of a status file.

use std::fs;

use hub_harness::Hub;

#[tokio::test]
async fn each_line_of_the_protocol_has_its_type() {
    for (line, kind, msg) in [
        (
            "completed Implemented the login feature\n",
            "complete",
            "Implemented the login feature",
        ),
        (
            "needs_input Should I delete these 5 files?\n",
            "question",
            "Should I delete these 5 files?",
        ),
        (
            "error Build failed - missing dependency\n",
            "error",
            "Build failed - missing dependency",
        ),
        ("completed Done\n", "complete", "Done"),
        ("needs_testing message\n", "testing", "message"),
        ("completed\n", "complete", "completed"),
    ] {
        let hub = Hub::builder().memory().start();
        fs::write(hub.state_dir().join("status/session-1"), line).expect("a status file");
        let got = hub
            .client()
            .get("/wait?timeout=60")
            .send()
            .await
            .expect(200)
            .json();
        let got = &got["notifications"][0];
        assert_eq!(
            (&got["type"], &got["msg"], &got["from"]),
            (&kind.into(), &msg.into(), &"session-1".into()),
            "{line}"
        );
    }
}

#[tokio::test]
async fn a_bare_working_is_recorded_and_wakes_nobody() {
    let hub = Hub::builder().memory().start();
    let mut events = hub.client().events("?kinds=notification").await;
    fs::write(hub.state_dir().join("status/session-1"), "working\n").expect("a status file");
    let event = events.next_of("notification").await;
    assert_eq!(event.data["type"], "progress");
    hub.client().get("/wait?timeout=0").send().await.expect(204);
}

#[tokio::test]
async fn a_line_without_a_state_is_ignored_and_later_ones_count() {
    let hub = Hub::builder().memory().start();
    let status = hub.state_dir().join("status");
    for (session, line) in [
        ("session-1", "STATE message\n"),
        ("session-2", ""),
        ("session-3", "__SCHMUX_SIGNAL__completed Done__END__\n"),
        ("session-4", "--<[schmux:completed:Done]>--\n"),
        ("session-5", "completed Done\n"),
    ] {
        fs::write(status.join(session), line).expect("a status file");
    }
    let got = hub.client().get("/wait?timeout=60").send().await;
    let got = got.expect(200).json()["notifications"].clone();
    assert_eq!(
        (&got[0]["from"], got.as_array().map(Vec::len)),
        (&"session-5".into(), Some(1))
    );
}
