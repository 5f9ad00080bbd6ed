//! Expensive requests: what they may cost, that others are answered meanwhile, and that they end with their client.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use hub_harness::{Answer, Client, Hub, until};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{hub_with, memory_hub};

#[tokio::test]
async fn a_text_that_nests_without_end_is_shown_as_it_is() {
    let (_hub, client) = memory_hub();
    for text in [
        ">".repeat(256 * 1024),
        "- ".repeat(128 * 1024),
        format!("a\n{}", "1. ".repeat(80_000)),
    ] {
        let answer = client.post_json("/markdown", json!({ "text": text })).await;
        let plain =
            json!([{ "type": "paragraph", "children": [{ "type": "text", "value": text }] }]);
        assert!(answer.expect(200).json()["children"] == plain);
    }
}

/// Texts on which the expressions of [`hostile_rules`] need long.
async fn publish_hostile_texts(client: &Client) {
    let text = |n: u64| -> String {
        let mut bits = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let next = std::iter::repeat_with(move || {
            bits ^= bits << 13;
            bits ^= bits >> 7;
            bits ^= bits << 17;
            if bits & 1 == 0 { 'a' } else { 'b' }
        });
        next.take(8000).collect()
    };
    let posts = (0..100).map(|n| json!({ "from": "x", "type": "progress", "msg": text(n) }));
    let posts: Vec<Value> = posts.collect();
    client.post_json("/notify", &posts).await.expect(201);
}

/// As many rules as a configuration may have.
fn hostile_rules() -> String {
    let rule = |n| format!("[[on]]\nname='{n}'\ntext='[ab]*a[ab]{{16}}$|{n}'\nmute=true\n");
    (0..100).map(rule).collect()
}

/// Begins a test of hostile rules.
fn test(client: &Client) -> JoinHandle<Answer> {
    let rules = json!({ "config": hostile_rules() });
    client
        .post("/rules/test?seconds=86400")
        .json(&rules)
        .spawn()
}

/// The threads of a hub on which expensive requests run.
#[cfg(target_os = "linux")]
fn threads(hub: &Hub) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", hub.pid())).expect("a process");
    let names = tasks
        .flatten()
        .map(|it| std::fs::read_to_string(it.path().join("comm")));
    names
        .flatten()
        .filter(|name| name.trim() == "budget")
        .count()
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn tests_of_rules_take_turns_leave_room_for_others_and_end_with_their_clients() {
    let (hub, client) = memory_hub();
    publish_hostile_texts(&client).await;
    let first = test(&client);
    until("the first runs", || (threads(&hub) == 1).then_some(()));
    let mut others: Vec<_> = (0..7).map(|_| test(&client)).collect();
    // One of them may wait; the others are refused while the first goes on.
    while others.len() > 1 {
        let (refused, _, rest) = futures_util::future::select_all(others).await;
        let refused = refused.expect("an answer").expect(503);
        assert_eq!(refused.code(), "overloaded");
        assert_eq!(refused.headers["retry-after"], "1");
        others = rest;
    }
    client.get("/healthz").await.expect(200);
    client.say("let me through").await;
    assert!(!first.is_finished() && !others[0].is_finished());
    assert_eq!(threads(&hub), 1);
    for client in others.into_iter().chain([first]) {
        client.abort();
    }
    until("they have ended", || (threads(&hub) == 0).then_some(()));
    let own = client.post_json("/rules/test", json!({})).await;
    assert_eq!(own.expect(200).json()["partial"], false);
    // Eight side by side took 2.2 GB.
    let most = crate::status_kib(hub.pid(), "VmHWM:");
    assert!(most < 500_000, "{most} KiB");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_that_nobody_waits_for_gives_its_turn_to_the_next() {
    let (_hub, client) = memory_hub();
    let posts = vec![json!({ "from": "x", "msg": "m".repeat(900) }); 1000];
    for _ in 0..4 {
        client.post_json("/notify", &posts).await.expect(201);
    }
    let search = || client.get("/notifications?q=no-such-text").spawn();
    let searches: Vec<_> = (0..200).map(|_| search()).collect();
    searches.iter().for_each(JoinHandle::abort);
    join_all(searches).await;
    client
        .get("/notifications?q=no-such-text")
        .await
        .expect(200);
}

#[tokio::test]
async fn a_page_of_the_history_ends_after_eight_mebibytes_and_the_next_goes_on() {
    let (_hub, client) = memory_hub();
    let posts = vec![json!({ "from": "x", "msg": "m".repeat(60_000) }); 16];
    for _ in 0..12 {
        client.post_json("/notify", &posts).await.expect(201);
    }
    let first = client.read("/notifications?limit=500").await;
    let count = first["notifications"].as_array().expect("a list").len();
    assert!((100..192).contains(&count), "{count}");
    let next = format!("/notifications?limit=500&before={}", first["next"]);
    let rest = client.read(&next).await;
    let rest = rest["notifications"].as_array().expect("a list").len();
    assert_eq!(count + rest, 192);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_too_many_is_refused_by_name() {
    let (_hub, client) = hub_with(&[]);
    let put = |n: u32| {
        client
            .put(&format!("/sessions/s{n}"))
            .json(&json!({ "cwd": "/c" }))
            .send()
    };
    for chunk in (0..1000).collect::<Vec<u32>>().chunks(50) {
        for answer in join_all(chunk.iter().map(|n| put(*n))).await {
            answer.expect(201);
        }
    }
    let asked = Instant::now();
    assert_eq!(put(1000).await.expect(409).code(), "too_many_sessions");
    // One that tries again at once leaves the hub to the others.
    assert!(asked.elapsed() >= Duration::from_millis(250));
    let started = json!({ "session_id": "s1001", "hook_event_name": "SessionStart" });
    let refused = client.post_json("/hooks/claude", &started).await;
    assert_eq!(refused.expect(409).code(), "too_many_sessions");
    client.end_session("s7").await;
    put(1000).await.expect(201);
    let large = json!({ "title": "t".repeat(4000), "metadata": "m".repeat(15_000) });
    client.put_json("/sessions/s8", &large).await.expect(200);
    let larger = json!({ "branch": "b".repeat(4000), "repository": "r".repeat(4000), "host": "h".repeat(4000), "pane": "p".repeat(4000) });
    let refused = client.put_json("/sessions/s8", &larger).await.expect(422);
    assert!(refused.text().contains("32768 bytes"), "{}", refused.text());
}

#[tokio::test]
async fn keys_of_hooks_are_refused_so_nobody_replaces_or_withdraws_what_they_asked() {
    let (_hub, client) = memory_hub();
    for key in ["hook:permission", " hook:waiting", "hook:dialog@a"] {
        let post = json!({ "from": "w1", "type": "approval", "msg": "?", "key": key });
        let refused = client.post_json("/notify", &post).await.expect(422);
        assert_eq!(refused.code(), "invalid");
        let path = format!("/notifications?key={}", hub_harness::encoded(key));
        client.delete(&path).await.expect(422);
    }
    let post = json!({ "from": "w1", "msg": "?", "key": "webhook:permission" });
    client.publish(post).await;
}
