//! A disk that the hub itself fills: a small tmpfs.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use hub_harness::{Answer, Client, Hub, HubBuilder};
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
        let set = |builder: HubBuilder, it: &&str| builder.set(it);
        settings.iter().fold(builder, set).start()
    }
}

/// Publishes and acknowledges until a publish is refused for a full disk.
async fn fill(client: &Client) {
    for inbox in 0.. {
        let inbox = format!("in{inbox}");
        let batch = json!(vec![json!({ "msg": "x".repeat(60_000), "to": "big" }); 15]);
        let post = json!({ "msg": "read me", "to": inbox });
        let mut answer = None;
        for body in [batch, post] {
            let said = client.post_json("/notify", body).await;
            if said.status == 507 {
                return;
            }
            answer = Some(said.expect(201));
        }
        let id = &answer.expect("two answers").json()["id"];
        client.ack(&inbox, json!({ "ids": [id] })).await;
    }
}

async fn say(client: &Client, msg: &str) -> Answer {
    client.post_json("/notify", json!({ "msg": msg })).await
}

async fn acks_continue(client: &Client, pending: std::ops::RangeInclusive<u64>) {
    for id in pending {
        client.ack("big", json!({ "ids": [id] })).await;
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
    client.get("/readyz").await.expect(503);
    client.read("/healthz").await;
    assert_eq!(hub.stop().code(), Some(0));
    // The partial file that sled leaves when a write fails.
    fs::write(disk.state().join("journal/snap.00.generating"), b"half").unwrap();
    hub.start_again();
    let client = hub.client();
    acks_continue(&client, 8..=15).await;
    say(&client, "x").await.expect(507);
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
        Ok(()) => drop(hub.client().get("/readyz").await.expect(503)),
        Err(error) => assert!(error.stderr.contains("the disk is full"), "{error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lower_cap_frees_a_hub_that_filled_its_disk_and_its_file_gets_smaller() {
    let disk = SmallDisk::new(160);
    let mut hub = disk.hub(&[]);
    fill(&hub.client()).await;
    assert!(hub.stop().success());
    let full = size_of_db(&disk.state());
    assert!(full > SMALL, "{full}");
    let mut hub = disk.hub(&["retention.max_bytes=4000000"]);
    let client = hub.client();
    let begun = Instant::now();
    loop {
        let answer = say(&client, "room again").await;
        if answer.status == 201 {
            break;
        }
        assert_eq!(answer.status, 507, "{}", answer.text());
        assert!(begun.elapsed() < PATIENCE, "nothing made room");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    client.read("/readyz").await;
    // Retention reaches the cap after some time; then a start rewrites the file.
    let begun = Instant::now();
    loop {
        hub.restart();
        let size = size_of_db(&disk.state());
        if size < SMALL {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{full} {size}");
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    say(&hub.client(), "room for good").await.expect(201);
}
