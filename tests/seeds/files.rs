//! Lines of a status file.

use std::fs;

use hub_harness::Hub;
use hub_protocol::Kind;

use super::{drain, read};

#[tokio::test]
async fn each_line_of_the_protocol_has_its_type() {
    use Kind::{Complete, Error, Question, Testing};
    for (state, msg, kind) in [
        ("completed", "Implemented the login feature", Complete),
        ("needs_input", "Should I delete these 5 files?", Question),
        ("error", "Build failed - missing dependency", Error),
        ("completed", "Done", Complete),
        ("needs_testing", "message", Testing),
        ("completed", "", Complete),
    ] {
        let hub = Hub::builder().memory().start();
        let line = format!("{state} {msg}");
        let line = line.trim_end();
        fs::write(
            hub.state_dir().join("status/session-1"),
            format!("{line}\n"),
        )
        .expect("a file");
        let got = &read(&hub.client(), "primary", 60).await[0];
        let msg = if msg.is_empty() { state } else { msg };
        assert_eq!((got.kind, &*got.msg), (kind, msg), "{line}");
        assert_eq!(got.from.as_str(), "session-1");
    }
}

#[tokio::test]
async fn a_bare_working_is_recorded_and_wakes_nobody() {
    let hub = Hub::builder().memory().start();
    let mut events = hub.client().events("?kinds=notification").await;
    fs::write(hub.state_dir().join("status/session-1"), "working\n").expect("a status file");
    let event = events.next_of("notification").await;
    assert_eq!(event.data["type"], "progress");
    assert!(drain(&hub.client(), "primary").await.is_empty());
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
    let got = read(&hub.client(), "primary", 60).await;
    assert_eq!((got.len(), got[0].from.as_str()), (1, "session-5"));
}
