//! A flipped bit in what was stored long ago: in one copy, and in both.

use std::fs;
use std::path::Path;
use std::time::Duration;

use hub_harness::{Client, Hub};
use memchr::memmem;
use serde_json::{Value, json};

/// The id of the notification whose text is damaged, and the number of stored notifications.
const BROKEN: u64 = 400;
const STORED: u64 = 2000;

/// Returns the open questions whose text begins with this, once there are any.
async fn open_questions(client: &Client, with: &str) -> Vec<Value> {
    loop {
        let found = client.read("/questions").await;
        let mut found = found["questions"].as_array().unwrap().clone();
        found.retain(|it| it["msg"].as_str().is_some_and(|it| it.starts_with(with)));
        if !found.is_empty() {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Flips a bit in each copy of the notification that the file has.
fn flip(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let text = format!("text {BROKEN} end");
    let places: Vec<_> = memmem::find_iter(&bytes, text.as_bytes()).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at] ^= 1;
    }
    fs::write(file, bytes).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_copy_is_repaired_and_told() {
    for file in ["journal/db", "segments/00000000000000000001"] {
        let mut hub = Hub::start();
        let client = hub.client();
        let post = |n| json!({ "msg": format!("text {n} end {}", "x".repeat(300)) });
        let batch: Vec<_> = (1..=500).map(post).collect();
        client.post_json("/notify", &batch).await.expect(201);
        hub.restart();
        assert!(hub.stop().success());
        flip(&hub.state_dir().join(file));
        hub.start_again();
        let client = hub.client();
        let found = client.read(&format!("/notifications/{BROKEN}")).await;
        assert!(found["msg"].as_str().unwrap().starts_with("text 400 end"));
        let told = "a damaged copy of records was repaired from the other";
        while client.read("/readyz").await["detail"] != told {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let metrics = client.get("/metrics").await.text().clone();
        assert!(metrics.contains("hub_repairs_total 1"), "{metrics}");
        assert_eq!(open_questions(&client, "Repaired: ").await.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_get_a_gap_of_that_block_and_publishing_continues() {
    let mut hub = Hub::start();
    let client = hub.client();
    for first in (1..=STORED).step_by(400) {
        let post = |n| json!({ "msg": format!("text {n} end {}", "x".repeat(300)) });
        let batch: Vec<_> = (first..first + 400).map(post).collect();
        client.post_json("/notify", &batch).await.expect(201);
    }
    // The fold is saved, and sled's data is older than its last start.
    hub.restart();
    assert!(hub.stop().success());
    flip(&hub.state_dir().join("journal/db"));
    flip(&hub.state_dir().join("segments/00000000000000000001"));
    // The first start finds the damage, the second has left it out.
    for start in 1..=2 {
        hub.start_again();
        let client = hub.client();
        let published = client.say("still here").await;
        let mut events = client.events("?since=1").await;
        let gap = events.next_of("gap").await.data;
        assert_eq!(gap["reason"], "corrupt", "start {start}: {gap}");
        let (from, to) = (gap["from"].as_u64().unwrap(), gap["to"].as_u64().unwrap());
        assert!((from..=to).contains(&BROKEN), "start {start}: {gap}");
        let mut next = async || {
            events.next_of("notification").await.data["id"]
                .as_u64()
                .unwrap()
        };
        let mut last = next().await;
        assert_eq!(last, to + 1, "start {start}");
        while last < published {
            let id = next().await;
            assert!(id > last);
            last = id;
        }
        assert_eq!(last, published);
        let questions = open_questions(&client, "Lost: ").await;
        if start == 1 {
            let told = format!("in {from} to {to}");
            let msg = questions[0]["msg"].as_str().unwrap();
            assert!(msg.contains(&told), "{msg}");
        }
        assert_eq!(questions.len(), 1, "start {start}: it is told once");
        assert_eq!(questions[0]["from"], "hub");
        let ready = client.read("/readyz").await;
        let detail = ready["detail"].as_str().unwrap();
        assert!(
            detail.contains("records of the log cannot be read any more"),
            "{detail}"
        );
        assert!(hub.stop().success());
    }
}
