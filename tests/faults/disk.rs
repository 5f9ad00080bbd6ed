//! A disk that is slow, and one that cannot be read in places.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hub_harness::{Hub, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::sync::mpsc::unbounded_channel;

/// Each thread's fifth sync takes half a minute.
const SLOW: [&str; 9] = [
    "strace",
    "-D",
    "-qqf",
    "-o",
    "/dev/null",
    "-e",
    "trace=fdatasync",
    "-e",
    "inject=fdatasync:delay_exit=30000000:when=5",
];
/// A publish that is not answered for as long waits for the slow sync.
const STALLED: Duration = Duration::from_secs(3);
const PUBLISHED: u64 = 12;

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_of_half_a_minute_holds_back_answers_and_nothing_else() {
    let mut hub = Hub::builder().under(&SLOW).start();
    let client = hub.client();
    let mut events = client.events("").await;
    let (answered, mut answers) = unbounded_channel();
    let publishing = tokio::spawn({
        let client = client.clone();
        async move {
            for n in 1..=PUBLISHED {
                let _ = answered.send(client.say(&format!("{n}")).await);
            }
        }
    });
    let mut before = 0;
    while let Ok(Some(id)) = tokio::time::timeout(STALLED, answers.recv()).await {
        before = id;
    }
    assert!(before < PUBLISHED, "no sync was slow");
    client.get("/healthz").send().await.expect(200);
    let shown = client.get("/notifications").send().await.expect(200).json();
    // Nobody is shown what could still be lost.
    assert_eq!(shown["notifications"][0]["id"], before);
    publishing.await.unwrap();
    for id in 1..=PUBLISHED {
        assert_eq!(events.next_of("notification").await.data["id"], id);
    }
    hub.kill_9();
}

/// strace on a running hub, whose reads from the disk fail as long as it lives.
struct Unreadable(Child);

impl Unreadable {
    fn make(hub: &Hub) -> Self {
        let log: PathBuf = hub.scratch().join("strace");
        let child = Command::new("strace")
            .args(["-f", "-o", "/dev/null", "-e", "trace=pread64"])
            .args(["-e", "inject=pread64:error=EIO"])
            .args(["-p", &hub.pid().to_string()])
            .stderr(std::fs::File::create(&log).expect("a file for its log"))
            .stdin(Stdio::null())
            .spawn()
            .expect("strace can be started");
        until("strace holds the hub", || {
            let said = std::fs::read_to_string(&log).ok()?;
            said.contains("attached").then_some(())
        });
        Self(child)
    }
}

impl Drop for Unreadable {
    /// Lets go of the hub.
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_said_and_what_is_new_goes_on() {
    let mut hub = Hub::start();
    let client = hub.client();
    let batch = vec![json!({ "msg": "x".repeat(2000) }); 400];
    for _ in 0..12 {
        client.post("/notify").json(&batch).send().await.expect(201);
    }
    // What was said is on the disk only, and late enough in the log that nothing has verified it yet.
    hub.restart();
    let client = hub.client();
    let unreadable = Unreadable::make(&hub);
    let refused = client.get("/notifications?before=4700").send().await;
    assert!(refused.status >= 500, "{}", refused.text());
    assert_eq!(refused.code(), "storage_failed");
    let id = client.say("still here").await;
    drop(unreadable);
    let old = client.get("/notifications?before=4700").send().await;
    assert_eq!(old.expect(200).json()["notifications"][0]["id"], 4699);
    let new = client.get("/notifications").send().await.expect(200).json();
    assert_eq!(new["notifications"][0]["id"], id);
}
