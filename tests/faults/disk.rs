//! Disks that are slow, unreadable in places, or read-only.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hub_harness::{Client, Hub, HubBuilder, binary, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;

use crate::small_disk::SmallDisk;

/// Arguments of strace that delay each thread's fifth sync by half a minute.
const SLOW: &str = "-e trace=fdatasync -e inject=fdatasync:delay_exit=30000000:when=5";
/// A publish without a response for this long waits for the slow sync, of which two thirds remain.
const STALLED: Duration = Duration::from_secs(10);
const PUBLISHED: u64 = 12;

/// Returns a builder of a hub that runs under strace with these arguments.
fn traced(arguments: &str) -> HubBuilder {
    let strace = format!("strace -D -qqf -o /dev/null {arguments}");
    let words: Vec<_> = strace.split(' ').collect();
    Hub::builder().under(&words)
}

/// Returns the id of the newest notification that `query` selects.
async fn newest(client: &Client, query: &str) -> Value {
    let page = client.read(&format!("/notifications{query}")).await;
    page["notifications"][0]["id"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_of_half_a_minute_delays_responses_and_nothing_else() {
    let mut hub = traced(SLOW).start();
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
    client.read("/healthz").await;
    // A record that could still be lost is not shown.
    assert_eq!(newest(&client, "").await, before);
    publishing.await.unwrap();
    for id in 1..=PUBLISHED {
        assert_eq!(events.next_of("notification").await.data["id"], id);
    }
    hub.kill_9();
}

/// strace attached to a running hub, which fails the hub's reads from the disk until it is dropped.
struct Unreadable(Child);

impl Unreadable {
    fn make(hub: &Hub) -> Self {
        let log = hub.scratch().join("strace");
        let child = Command::new("strace")
            .args("-f -o /dev/null -e trace=pread64 -e inject=pread64:error=EIO -p".split(' '))
            .arg(hub.pid().to_string())
            .stderr(std::fs::File::create(&log).expect("a file for its log"))
            .stdin(Stdio::null())
            .spawn()
            .expect("strace can be started");
        until("strace holds the hub", || {
            let output = std::fs::read_to_string(&log).ok()?;
            output.contains("attached").then_some(())
        });
        Self(child)
    }
}

impl Drop for Unreadable {
    /// Detaches from the hub.
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_records_are_reported_and_publishing_continues() {
    let mut hub = Hub::start();
    let client = hub.client();
    let batch = vec![json!({ "msg": "x".repeat(2000) }); 400];
    for _ in 0..12 {
        client.post_json("/notify", &batch).await.expect(201);
    }
    // The notification is on the disk only, and so late in the log that it has not been verified yet.
    hub.restart();
    let client = hub.client();
    let unreadable = Unreadable::make(&hub);
    let refused = client.get("/notifications?before=4700").await;
    assert!(refused.status >= 500, "{}", refused.text());
    assert_eq!(refused.code(), "storage_failed");
    let id = client.say("still here").await;
    drop(unreadable);
    assert_eq!(newest(&client, "?before=4700").await, 4699);
    assert_eq!(newest(&client, "?from=tester").await, id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_error_of_the_segments_at_the_start_exits_with_74_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut hub = Hub::builder().state_dir(dir.path()).start();
    let id = hub.client().say("kept").await;
    assert!(hub.stop().success());
    let file = dir.path().join("segments/00000000000000000001");
    let before = std::fs::read(&file).unwrap();
    let fails = format!(
        "-e trace=pread64 -e inject=pread64:error=EIO -P {}",
        file.display()
    );
    let refused = traced(&fails).state_dir(dir.path()).try_start();
    let refused = refused.expect_err("nothing can be read");
    assert_eq!(refused.status.code(), Some(74), "{refused}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
    let hub = Hub::builder().state_dir(dir.path()).start();
    assert_eq!(newest(&hub.client(), "").await, id);
}

impl SmallDisk {
    fn make_read_only(&self) {
        let mut mount = Command::new("mount");
        mount.args(["-o", "remount,bind,ro"]).arg(self.path());
        assert!(mount.status().unwrap().success());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_reports_a_read_only_disk_and_does_not_recommend_adopt() {
    let disk = SmallDisk::new(48);
    let mut hub = disk.hub(&[]);
    hub.client().say("kept").await;
    assert!(hub.stop().success());
    disk.make_read_only();
    let mut doctor = Command::new(binary("hubd"));
    let doctor = doctor.arg("--state-dir").arg(disk.state()).arg("doctor");
    let doctor = doctor.output().unwrap();
    let output = String::from_utf8_lossy(&doctor.stdout);
    assert!(!doctor.status.success(), "{output}");
    assert!(output.contains("mount it writable"), "{output}");
    assert!(!output.contains("adopt"), "{output}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_whose_state_directory_was_removed_acknowledges_nothing_and_exits_with_74() {
    let mut hub = Hub::start();
    let client = hub.client();
    client.say("kept").await;
    std::fs::remove_dir_all(hub.state_dir()).unwrap();
    let refused = client.post_json("/notify", json!({ "msg": "x" })).await;
    assert_eq!(refused.code(), "storage_failed");
    assert_eq!(hub.stop().code(), Some(74), "{}", hub.log());
    let reason = "was removed or replaced while the hub was running";
    assert!(hub.log().contains(reason), "{}", hub.log());
}
