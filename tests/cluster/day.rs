//! A person's day: a machine sleeps, a disk is full, one version is upgraded before the other.

use std::time::Duration;

use async_nats::HeaderMap;
use hub_harness::{Hub, pause};
use serde_json::{Value, json};

use super::nats::Nats;
use super::network::Network;
use super::support::{
    cluster, hubctl, hubd, member, message, pair, publish, settings, stored, until_active,
    until_cluster, until_follows, until_same, until_stored,
};
use crate::small_disk::SmallDisk;

/// Longer than the lease of the active hub, the beats, and the lease of a batch.
const SLEEP: Duration = Duration::from_secs(35);

// The proxies must run while a hub is started.
#[tokio::test(flavor = "multi_thread")]
async fn the_active_hub_sleeps_while_another_one_leads_and_wakes_up_as_a_standby() {
    let network = Network::start().await;
    let ([a, b], lines) = network.pair().await;
    publish(&a, "offered", "w").await;
    let path = "/wait?inbox=w&timeout=30";
    let offered = a.client().get(path).send().await.expect(200).json();
    // Its process stops, and its connections do not answer any more.
    pause(a.pid(), true);
    lines[0].cut(|_| true, true);
    until_active(&b).await;
    let wait = tokio::spawn(b.client().get("/wait?inbox=x&timeout=60").send());
    publish(&b, "meanwhile", "y").await;
    tokio::time::sleep(SLEEP).await;
    assert_eq!(cluster(&b).await["nodes"][0]["role"], "silent");
    lines[0].cut(|_| true, false);
    pause(a.pid(), false);
    // It may still believe that it is active. The notification is stored once, and delivered once.
    let id = publish(&a, "good morning", "x").await;
    assert_eq!(
        wait.await.unwrap().expect(200).json()["notifications"][0]["id"],
        id
    );
    until_follows(&a, "b").await;
    until_same(&a, &b).await;
    let again = a.client().get(path).send().await.expect(200).json();
    let item = &again["notifications"][0];
    assert_eq!(item["id"], offered["notifications"][0]["id"]);
    assert_eq!(item["redelivered"], true);
    // The first reader has it too, and acknowledges it at the other hub.
    let lease = offered["lease"].as_str().unwrap();
    let done = a
        .client()
        .get(&format!("/wait?inbox=w&timeout=0&ack={lease}"));
    done.send().await.expect(204);
}

/// Publishes until a hub says `full`; returns the number of notifications.
async fn fill(hub: &Hub, mut full: impl FnMut(u16, &Value) -> bool) -> usize {
    let text = "x".repeat(60_000);
    for count in 1.. {
        let post = message("big", &format!("{count} {text}"));
        let status = hub.client().post_json("/notify", post).await.status;
        if full(status, &cluster(hub).await) {
            return count;
        }
    }
    unreachable!()
}

#[tokio::test]
async fn a_standby_whose_disk_is_full_says_so_stays_behind_and_follows_when_there_is_room() {
    let servers = [Nats::start()];
    let a = member("a", &servers).start();
    until_active(&a).await;
    let disk = SmallDisk::new(48);
    let mut b = member("b", &servers).state_dir(disk.state()).start();
    until_follows(&b, "a").await;
    fill(&a, |status, it| {
        assert_eq!(status, 201);
        it["nodes"][0]["fault"].is_string()
    })
    .await;
    let told = until_cluster(&b, "behind", |it| it["behind"].as_u64() > Some(0)).await;
    let fault = told["fault"].as_str().unwrap();
    assert!(fault.contains("its disk is full"), "{fault}");
    // Its clients still publish, and it is not chosen.
    publish(&b, "through the full one", "w").await;
    let asked = a
        .client()
        .post_json("/cluster/handover", json!({ "node": "b" }))
        .await;
    assert!(asked.expect(409).text().contains("its disk is full"));
    disk.resize(400);
    until_follows(&b, "a").await;
    assert!(cluster(&b).await["fault"].is_null());
    until_same(&a, &b).await;
    b.stop();
}

#[tokio::test]
async fn an_active_hub_whose_disk_is_full_hands_over_to_one_with_room() {
    let servers = [Nats::start()];
    let disk = SmallDisk::new(48);
    let mut a = member("a", &servers).state_dir(disk.state()).start();
    until_active(&a).await;
    let b = member("b", &servers).start();
    until_follows(&b, "a").await;
    let kept = fill(&a, |status, it| {
        // Until the other hub is active: none is, or this one has no room.
        assert!(matches!(status, 201 | 503 | 507), "{status}");
        it["role"] == "standby"
    })
    .await;
    assert!(kept > 10, "{kept}");
    until_active(&b).await;
    publish(&a, "goes on", "w").await;
    let told = cluster(&a).await;
    assert!(
        told["fault"].as_str().unwrap().contains("its disk is full"),
        "{told}"
    );
    disk.resize(400);
    until_follows(&a, "b").await;
    until_same(&a, &b).await;
    a.stop();
}

/// Encodes a commit of one record behind `last`, another commit; the form is that of `disk/frame.rs`.
fn commit_behind(last: &[u8], kind: u8, payload: &[u8]) -> Vec<u8> {
    let u32_at = |at: usize| u32::from_le_bytes(last[at..at + 4].try_into().unwrap());
    let first = u64::from_le_bytes(last[16..24].try_into().unwrap()) + u64::from(u32_at(24));
    let chain = crc32c::crc32c_append(u32_at(28), &last[36..]);
    let mut body = vec![kind];
    body.extend(u32::try_from(payload.len()).unwrap().to_le_bytes());
    body.extend(payload);
    let mut frame = last[..4].to_vec();
    frame.extend(u32::try_from(body.len()).unwrap().to_le_bytes());
    frame.extend(&last[8..16]);
    frame.extend(first.to_le_bytes());
    frame.extend(1_u32.to_le_bytes());
    frame.extend(chain.to_le_bytes());
    let after = crc32c::crc32c_append(chain, &body);
    let crc = crc32c::crc32c_append(crc32c::crc32c(&frame), &after.to_le_bytes());
    frame.extend(crc.to_le_bytes());
    frame.extend(body);
    frame
}

#[tokio::test]
async fn a_standby_stops_at_a_record_of_a_newer_version_and_says_so() {
    let servers = [Nats::start()];
    let (a, mut b) = pair(&servers).await;
    publish(&a, "known", "w").await;
    let known = stored(&a).await;
    // A newer hub in the place of `a`: it appends a record of a kind that this version does not have.
    drop(a);
    let client = async_nats::connect(servers[0].url()).await.unwrap();
    let context = async_nats::jetstream::new(client);
    let stream = context.get_stream("HUB_hub").await.unwrap();
    let last = stream.cached_info().state.last_sequence;
    let message = stream.get_raw_message(last).await.unwrap();
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Expected-Last-Sequence", last.to_string());
    let frame = commit_behind(&message.payload, 250, b"{}");
    let sent = context.publish_with_headers("hub.hub.log.a", headers, frame.into());
    sent.await.unwrap().await.unwrap();
    let told = until_cluster(&b, "stopped", |it| it["fault"].is_string()).await;
    let fault = told["fault"].as_str().unwrap();
    assert!(
        fault.contains("is of kind 250") && fault.contains("install the version of the active hub"),
        "{fault}"
    );
    b.client().get("/readyz").send().await.expect(503);
    // It neither skips the record nor leads, and this version still starts with what it has.
    until_stored(&b, &known).await;
    b.stop();
    b.start_again();
    until_cluster(&b, "stopped", |it| it["fault"].is_string()).await;
    assert_eq!(
        (stored(&b).await, &cluster(&b).await["role"]),
        (known, &json!("standby"))
    );
}

#[tokio::test]
async fn a_hub_of_another_version_is_shown_with_its_version() {
    let servers = [Nats::start()];
    let a = member("a", &servers).start();
    until_active(&a).await;
    let client = async_nats::connect(servers[0].url()).await.unwrap();
    // A newer hub's beat has members that this version does not know.
    let beat = json!({
        "role": "standby", "head": 1, "version": "9.9.9", "at": "2026-02-17T14:30:05.000Z", "open": [], "held": [],
        "presence": 0, "mood": "fine",
    });
    client
        .publish("hub.hub.beat.newer", beat.to_string().into())
        .await
        .unwrap();
    client.flush().await.unwrap();
    let told = until_cluster(&a, "complete", |it| it["nodes"][0]["node"] == "newer").await;
    assert_eq!(told["nodes"][0]["version"], "9.9.9");
    let shown = hubctl(&a, &["status"]).unwrap_err();
    assert!(shown.contains("version 9.9.9"), "{shown}");
    let advice = hubctl(&a, &["doctor"]).unwrap_or_else(|it| it);
    assert!(
        advice.contains("install the same version on all machines"),
        "{advice}"
    );
    let dir = tempfile::tempdir().unwrap();
    let checked = hubd(dir.path(), &settings("a", &servers), &["cluster", "check"]).unwrap_err();
    let lease = format!(
        "the hub of 'a' (version {}) renewed its lease",
        env!("CARGO_PKG_VERSION")
    );
    assert!(checked.contains(&lease), "{checked}");
}
