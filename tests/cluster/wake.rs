//! A notification on one hub wakes a reader at another one.

use hub_protocol::{SpoolItem, Spooled};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::nats::Nats;
use super::support::{cluster, message, pair, publish};

#[tokio::test]
async fn a_wait_at_one_hub_is_woken_by_a_notification_at_another() {
    let servers = [Nats::start()];
    let (a, b) = pair(&servers).await;
    for (waits, notifies) in [(&b, &a), (&a, &b), (&b, &b)] {
        let wait = tokio::spawn(waits.client().get("/wait?inbox=w&timeout=30").send());
        // The waiter is at the active hub, which both ask.
        loop {
            let inboxes = notifies.client().read("/inboxes?project=default").await;
            let waits = |it: &Value| it["name"] == "w" && !it["waiter"].is_null();
            if inboxes["inboxes"].as_array().unwrap().iter().any(waits) {
                break;
            }
            tokio::task::yield_now().await;
        }
        let sent = notifies
            .client()
            .post_json("/notify", message("w", "up"))
            .await;
        let sent = sent.expect(201).json();
        let woken = wait.await.unwrap().expect(200).json();
        assert_eq!(woken["notifications"][0]["id"], sent["id"]);
        let lease = woken["lease"].as_str().unwrap();
        let rest = waits
            .client()
            .get(&format!("/wait?inbox=w&timeout=0&ack={lease}"));
        rest.send().await.expect(204);
    }
}

#[tokio::test]
async fn numbers_and_cursors_are_the_same_on_all_hubs() {
    let servers = [Nats::start()];
    let (a, b) = pair(&servers).await;
    let mut stream = b.client().events("").await;
    let at_a = publish(&a, "first", "w").await;
    let event = stream.next_of("notification").await;
    assert_eq!(event.data["id"], at_a);
    let at_b = publish(&b, "second", "w").await;
    // The answer of a standby includes what it wrote, so its own copy has it.
    let own = b.client().read(&format!("/notifications/{at_b}")).await;
    assert_eq!(own["msg"], "second");
    let cursor = event.id;
    let mut other = a.client().events(&format!("?since={cursor}")).await;
    assert_eq!(other.next_of("notification").await.data["id"], at_b);
    // A repeated key returns the first number, whichever hub is asked.
    assert_eq!(publish(&b, "first", "w").await, at_a);
    assert_eq!(cluster(&b).await["behind"], 0);
}

#[tokio::test]
async fn a_reader_that_changes_its_hub_200_times_misses_nothing_and_repeats_nothing() {
    let servers = [Nats::start()];
    let (a, b) = pair(&servers).await;
    let hubs = [a, b];
    let mut ids = Vec::new();
    for number in 0..200 {
        ids.push(publish(&hubs[number % 2], &format!("k{number}"), "w").await);
    }
    let mut cursor = "0".to_owned();
    for (number, id) in ids.into_iter().enumerate() {
        let reader = hubs[(number + 1) % 2].client();
        let mut stream = reader.events(&format!("?since={cursor}")).await;
        let event = stream.next_of("notification").await;
        assert_eq!(event.data["id"], id);
        cursor = event.id;
    }
}

#[tokio::test]
async fn a_notification_in_the_spool_of_a_standby_reaches_the_log() {
    let servers = [Nats::start()];
    let (a, b) = pair(&servers).await;
    let spool = b.state_dir().join("spool");
    let item = SpoolItem {
        key: "spooled".parse().unwrap(),
        request: Spooled::Post(to_raw_value(&message("w", "late")).unwrap()),
    };
    let path = spool.join(".item");
    std::fs::write(&path, serde_json::to_vec(&item).unwrap()).unwrap();
    std::fs::rename(&path, spool.join(item.key.path())).unwrap();
    let got = a
        .client()
        .get("/wait?inbox=w&timeout=30")
        .send()
        .await
        .expect(200)
        .json();
    assert_eq!(got["notifications"][0]["msg"], "late");
}

#[tokio::test]
async fn the_dashboard_of_a_standby_has_the_active_hubs_data_and_its_own_description() {
    let servers = [Nats::start()];
    let (a, b) = pair(&servers).await;
    let asked = json!({ "from": "w", "type": "question", "msg": "Go on?" });
    a.client().post_json("/notify", asked).await.expect(201);
    let shown = b.client().read("/dashboard").await;
    assert_eq!(shown["needs"][0]["brief"], "Go on?");
    assert_eq!(shown["hub"]["url"], b.url());
    assert_eq!(shown["hub"]["cluster"]["node"], "b");
}
