//! Lines of a status file.

use std::fs;

use hub_harness::Hub;
use hub_protocol::Kind::{Complete, Error, Question, Testing};

use super::{drain, hub, read};

fn write(hub: &Hub, session: &str, text: &str) {
    let status = hub.state_dir().join("status");
    fs::write(status.join(session), text).expect("a status file");
}

#[tokio::test]
async fn each_line_of_the_protocol_has_its_type() {
    for (line, msg, kind) in [
        (
            "completed Implemented the login feature",
            "Implemented the login feature",
            Complete,
        ),
        (
            "needs_input Should I delete these 5 files?",
            "Should I delete these 5 files?",
            Question,
        ),
        (
            "error Build failed - missing dependency",
            "Build failed - missing dependency",
            Error,
        ),
        ("completed Done", "Done", Complete),
        ("needs_testing message", "message", Testing),
        ("completed", "completed", Complete),
    ] {
        let (hub, client) = hub();
        write(&hub, "session-1", &format!("{line}\n"));
        let got = &read(&client, "primary", 60).await[0];
        assert_eq!((got.kind, &*got.msg), (kind, msg), "{line}");
        assert_eq!(got.from.as_str(), "session-1");
    }
}

#[tokio::test]
async fn a_bare_working_is_recorded_and_wakes_nobody() {
    let (hub, client) = hub();
    let mut events = client.events("?kinds=notification").await;
    write(&hub, "session-1", "working\n");
    let event = events.next_of("notification").await;
    assert_eq!(event.data["type"], "progress");
    assert!(drain(&client, "primary").await.is_empty());
}

#[tokio::test]
async fn a_line_without_a_state_is_ignored_and_later_ones_count() {
    let (hub, client) = hub();
    write(&hub, "session-1", "STATE message\n");
    write(&hub, "session-2", "");
    write(
        &hub,
        "session-3",
        "__SCHMUX_SIGNAL__completed Done__END__\n",
    );
    write(&hub, "session-4", "--<[schmux:completed:Done]>--\n");
    write(&hub, "session-5", "completed Done\n");
    let got = read(&client, "primary", 60).await;
    assert_eq!((got.len(), got[0].from.as_str()), (1, "session-5"));
}
