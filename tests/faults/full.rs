//! A disk that the hub itself fills: a small tmpfs.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use hub_harness::{Client, Hub};
use serde_json::json;

use crate::small_disk::SmallDisk;

/// Timeout for retention to free space.
const PATIENCE: Duration = Duration::from_secs(120);
/// The size in bytes below which a start does not rewrite sled's file.
const SMALL: u64 = 64 << 20;

impl SmallDisk {
    /// Starts a hub on the disk.
    pub(crate) fn hub(&self, settings: &[&str]) -> Hub {
        let builder = Hub::builder().state_dir(self.state());
        settings
            .iter()
            .fold(builder, |builder, it| builder.set(it))
            .start()
    }
}

/// Publishes and acknowledges until a publish is refused for a full disk.
async fn fill(client: &Client) {
    for inbox in 0.. {
        let post = json!({ "msg": "read me", "to": format!("in{inbox}") });
        let batch = vec![json!({ "msg": "x".repeat(60_000), "to": "big" }); 15];
        let answer = client.post("/notify").json(&batch).send().await;
        if answer.status == 507 {
            return;
        }
        answer.expect(201);
        let id = client.post("/notify").json(&post).send().await;
        if id.status == 507 {
            return;
        }
        let path = format!("/inboxes/in{inbox}/ack");
        let ids = json!({ "ids": [id.expect(201).json()["id"]] });
        client.post(&path).json(&ids).send().await.expect(200);
    }
}

async fn acks_continue(client: &Client, pending: std::ops::RangeInclusive<u64>) {
    for id in pending {
        let ids = json!({ "ids": [id] });
        client
            .post("/inboxes/big/ack")
            .json(&ids)
            .send()
            .await
            .expect(200);
    }
}

fn size_of_db(state: &Path) -> u64 {
    fs::metadata(state.join("journal/db")).unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_filled_its_disk_refuses_publishes_by_name_and_starts_again() {
    let disk = SmallDisk::new(48);
    let mut hub = disk.hub(&[]);
    let client = hub.client();
    fill(&client).await;
    acks_continue(&client, 1..=7).await;
    client.get("/readyz").send().await.expect(503);
    client.get("/healthz").send().await.expect(200);
    assert_eq!(hub.stop().code(), Some(0));
    // The partial file that sled leaves when a write fails.
    fs::write(disk.state().join("journal/snap.00.generating"), b"half").unwrap();
    hub.start_again();
    let client = hub.client();
    acks_continue(&client, 8..=15).await;
    client
        .post("/notify")
        .json(&json!({ "msg": "x" }))
        .send()
        .await
        .expect(507);
    assert!(hub.stop().success());
    // Another program uses the remaining space.
    let ballast = fs::File::create(disk.path().join("ballast")).unwrap();
    let mut chunk = 1 << 20;
    let mut taken = 0;
    while chunk >= 4096 {
        match rustix::fs::fallocate(&ballast, rustix::fs::FallocateFlags::empty(), taken, chunk) {
            Ok(()) => taken += chunk,
            Err(_) => chunk /= 2,
        }
    }
    match hub.try_start_again() {
        Ok(()) => {
            hub.client().get("/readyz").send().await.expect(503);
        }
        Err(error) => assert!(error.stderr.contains("the disk is full"), "{error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lower_cap_frees_a_hub_that_filled_its_disk_and_its_file_gets_smaller() {
    let disk = SmallDisk::new(110);
    let mut hub = disk.hub(&[]);
    fill(&hub.client()).await;
    assert!(hub.stop().success());
    let full = size_of_db(&disk.state());
    assert!(full > SMALL, "{full}");
    let mut hub = disk.hub(&["retention.max_bytes=4000000"]);
    let client = hub.client();
    let begun = Instant::now();
    loop {
        let post = json!({ "msg": "room again" });
        let answer = client.post("/notify").json(&post).send().await;
        if answer.status == 201 {
            break;
        }
        assert_eq!(answer.status, 507, "{}", answer.text());
        assert!(begun.elapsed() < PATIENCE, "nothing made room");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    client.get("/readyz").send().await.expect(200);
    // Retention reaches the cap after some time; then a start rewrites the file.
    let begun = Instant::now();
    loop {
        hub.restart();
        if size_of_db(&disk.state()) < SMALL {
            break;
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "{full} {}",
            size_of_db(&disk.state())
        );
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    let post = json!({ "msg": "room for good" });
    hub.client()
        .post("/notify")
        .json(&post)
        .send()
        .await
        .expect(201);
}
