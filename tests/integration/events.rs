//! Event streams: every skipped record is reported.

use hub_harness::{Event, Events, Hub};
use serde_json::json;

use crate::{assert_fields, memory_hub};

async fn texts(events: &mut Events, count: usize) -> Vec<String> {
    let mut texts = Vec::new();
    while texts.len() < count {
        let event = events.next_of("notification").await;
        texts.push(event.data["msg"].as_str().expect("a text").to_owned());
    }
    texts
}

async fn say_all(hub: &Hub, texts: &[&str]) {
    for text in texts {
        hub.client().say(text).await;
    }
}

/// Reconnects with the headers that a browser would send.
async fn resume(hub: &Hub, last: &Event) -> Events {
    hub.client()
        .get("/events")
        .header("last-event-id", &last.id)
        .stream()
        .await
}

#[tokio::test]
async fn a_reconnecting_reader_gets_missed_events_also_after_a_restart() {
    let mut hub = Hub::start();
    let mut events = hub.client().events("?since=0").await;
    say_all(&hub, &["one"]).await;
    let last = events.next_of("notification").await;
    drop(events);
    say_all(&hub, &["two"]).await;
    hub.kill_9();
    hub.start_again();
    say_all(&hub, &["three"]).await;
    assert_eq!(
        texts(&mut resume(&hub, &last).await, 2).await,
        ["two", "three"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_readers_that_reconnect_at_once_miss_nothing() {
    let mut hub = Hub::start();
    say_all(&hub, &["before"]).await;
    hub.kill_9();
    hub.start_again();
    let readers = (0..1000).map(|_| {
        let client = hub.client();
        tokio::spawn(async move {
            let mut events = client.events("?since=0").await;
            assert_eq!(texts(&mut events, 1).await, ["before"]);
            events
        })
    });
    let readers = futures_util::future::try_join_all(readers).await;
    say_all(&hub, &["after"]).await;
    for mut events in readers.expect("no reader panics") {
        assert_eq!(texts(&mut events, 1).await, ["after"]);
    }
}

#[tokio::test]
async fn a_reader_without_a_cursor_gets_new_events_and_one_from_zero_gets_all() {
    let hub = Hub::builder().memory().start();
    say_all(&hub, &["one"]).await;
    let mut live = hub.client().events("").await;
    let mut all = hub.client().events("?since=0").await;
    say_all(&hub, &["two"]).await;
    assert_eq!(texts(&mut live, 1).await, ["two"]);
    assert_eq!(texts(&mut all, 2).await, ["one", "two"]);
}

#[tokio::test]
async fn a_reader_with_an_unknown_cursor_is_reset_and_continues_live() {
    let hub = Hub::builder().memory().start();
    say_all(&hub, &["one"]).await;
    for id in ["nonsense", "ffffffffffffffff-1", "999"] {
        let mut events = hub
            .client()
            .get("/events")
            .header("last-event-id", id)
            .stream()
            .await;
        let reset = events.next_of("reset").await;
        assert_eq!(reset.data["head"], hub.client().head().await, "{id}");
        say_all(&hub, &["after"]).await;
        assert_eq!(texts(&mut events, 1).await, ["after"], "{id}");
    }
}

#[tokio::test]
async fn after_a_reset_with_history_no_reader_gets_past_notifications() {
    let mut hub = Hub::start();
    let say = async |hub: &Hub, project: &str, kind: &str, msg: &str| {
        let post = json!({ "project": project, "type": kind, "msg": msg, "from": "w1" });
        hub.client().notify(post).await
    };
    let secret = say(&hub, "/a", "complete", "secret").await;
    let asked = say(&hub, "/a", "question", "which?").await;
    say(&hub, "/b", "complete", "not ours").await;
    let reset = hub.client().post("/projects/%2Fa/reset?history=true");
    assert_eq!(
        reset.send().await.expect(200).json()["dropped"],
        json!([secret, asked])
    );
    say(&hub, "/a", "complete", "new").await;
    for _ in 0..2 {
        let client = hub.client();
        let mut all = client.events("?since=0").await;
        assert_eq!(texts(&mut all, 2).await, ["not ours", "new"]);
        let history = client.get("/notifications?project=%2Fa").send().await;
        let told = history.expect(200).json()["notifications"].clone();
        assert_eq!(told.as_array().expect("a list").len(), 1, "{told}");
        for gone in [
            format!("/notifications/{secret}"),
            format!("/notifications/{secret}/trace"),
            format!("/questions/{asked}"),
        ] {
            client.get(&gone).send().await.expect(404);
        }
        let asked = client.get("/questions?state=all").send().await;
        assert_eq!(asked.expect(200).json()["questions"], json!([]));
        hub.kill_9();
        hub.start_again();
    }
}

#[tokio::test]
async fn a_malformed_since_is_an_error() {
    let hub = Hub::builder().memory().start();
    for query in ["since=x", "since=-1", "since=1&since=2", "since="] {
        let answer = hub
            .client()
            .get(&format!("/events?{query}"))
            .send()
            .await
            .expect(400);
        assert_eq!(answer.code(), "malformed_cursor", "{query}");
    }
}

#[tokio::test]
async fn a_reader_behind_the_ring_gets_everything_from_the_disk() {
    let hub = Hub::start();
    let batch: Vec<_> = (0..1000)
        .map(|n| json!({ "msg": format!("{n}") }))
        .collect();
    for _ in 0..6 {
        hub.client().post_json("/notify", &batch).await.expect(201);
    }
    let mut events = hub.client().events("?since=0").await;
    let mut expected = 0;
    while expected < 6000 {
        let event = events.next_of("notification").await;
        assert_eq!(event.data["msg"], format!("{}", expected % 1000));
        expected += 1;
        assert_eq!(event.data["id"], expected);
    }
}

#[tokio::test]
async fn a_filtered_stream_has_rising_ids() {
    let hub = Hub::builder().memory().start();
    let mut events = hub
        .client()
        .events("?since=0&types=error&project=p&inbox=primary")
        .await;
    let posts = [
        json!({ "msg": "a", "project": "p" }),
        json!({ "msg": "b", "project": "p", "type": "error" }),
        json!({ "msg": "c", "type": "error" }),
        json!({ "msg": "d", "project": "p", "type": "error", "to": "w1" }),
        json!({ "msg": "e", "project": "p", "type": "error" }),
    ];
    for post in posts {
        hub.client().notify(post).await;
    }
    assert_eq!(texts(&mut events, 2).await, ["b", "e"]);
}

#[tokio::test]
async fn deliveries_are_sent_on_request() {
    let (_hub, client) = memory_hub();
    let mut events = client.events("?kinds=delivery,seen").await;
    let id = client.say("one").await;
    client
        .put(&format!("/notifications/{id}/seen"))
        .send()
        .await
        .expect(200);
    client
        .post_json("/inboxes/primary/ack", json!({ "ids": [id], "by": "me" }))
        .await
        .expect(200);
    let seen = events.next_of("seen").await;
    assert_fields(&seen.data, json!({ "ids": [id], "seen": true }));
    let acked = events.next_of("delivery").await;
    assert_fields(&acked.data, json!({ "state": "acked", "by": "me" }));
}

/// Returns state, ids and inbox of the next delivery event.
async fn delivery(events: &mut Events) -> serde_json::Value {
    let data = events.next_of("delivery").await.data;
    assert!(data["at"].is_string(), "{data}");
    json!([data["state"], data["ids"], data["inbox"]])
}

#[tokio::test]
async fn each_end_of_a_delivery_is_sent_with_its_ids_and_inbox() {
    let (_hub, client) = memory_hub();
    let keyed = |msg| json!({ "msg": msg, "to": "w1", "key": "k" });
    let mut events = client
        .events("?kinds=delivery&project=default&inbox=w1")
        .await;
    let first = client.notify(keyed("old")).await;
    let second = client.notify(keyed("new")).await;
    assert_eq!(
        delivery(&mut events).await,
        json!(["superseded", [first], "w1"])
    );
    let withdraw = client.delete(&format!("/notifications/{second}")).send();
    withdraw.await.expect(200);
    assert_eq!(
        delivery(&mut events).await,
        json!(["withdrawn", [second], null])
    );
    let short = json!({ "msg": "x", "to": "w1", "ttl": 1 });
    let third = client.notify(short).await;
    assert_eq!(
        delivery(&mut events).await,
        json!(["expired", [third], null])
    );
    let asked = json!({ "msg": "?", "type": "question", "from": "w2", "to": "w1" });
    let asked = client.notify(asked).await;
    let answer = json!({ "answer": "yes" });
    client
        .post_json(&format!("/questions/{asked}/answer"), &answer)
        .await
        .expect(201);
    assert_eq!(
        delivery(&mut events).await,
        json!(["answered", [asked], null])
    );
    let fourth = client.notify(json!({ "msg": "x", "to": "w1" })).await;
    client.delete("/inboxes/w1").send().await.expect(200);
    assert_eq!(
        delivery(&mut events).await,
        json!(["dropped", [fourth], "w1"])
    );
}

#[tokio::test]
async fn an_item_shown_to_a_session_is_emitted_and_acked_by_its_next_event() {
    let (_hub, client) = memory_hub();
    let event = async |name: &str| {
        let event = json!({ "hook_event_name": name, "session_id": "w1" });
        client.post_json("/hooks/claude", &event).await
    };
    event("SessionStart").await.expect(200);
    let mut events = client.events("?kinds=delivery").await;
    let id = client.notify(json!({ "msg": "x", "to": "w1" })).await;
    let wait = client
        .get("/wait?session=w1&way=wait&as=me&timeout=0")
        .send();
    let lease = wait.await.expect(200).json()["lease"].clone();
    client
        .post_json("/inboxes/w1/ack", json!({ "lease": lease }))
        .await
        .expect(200);
    let emitted = events.next_of("delivery").await.data;
    assert_fields(
        &emitted,
        json!({ "state": "emitted", "ids": [id], "inbox": "w1", "by": "me", "way": "wait" }),
    );
    event("PostToolUse").await.expect(204);
    assert_eq!(delivery(&mut events).await, json!(["acked", [id], "w1"]));
}

#[tokio::test]
async fn presence_is_sent_in_full_at_first_and_at_every_change() {
    let hub = Hub::builder().memory().start();
    let mut presence = hub.client().events("?kinds=presence").await;
    assert_eq!(
        presence.next_of("presence").await.data,
        json!({ "waiters": [], "held": [] })
    );
    let ask = hub.client().get("/wait?timeout=20&as=me&inbox=w1");
    let wait = tokio::spawn(async move { ask.send().await });
    presence.until_waiting("w1").await;
    hub.client().notify(json!({ "msg": "x", "to": "w1" })).await;
    wait.await.unwrap().expect(200);
    while presence.next_of("presence").await.data != json!({ "waiters": [], "held": [] }) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_stream_sends_keep_alives() {
    let hub = Hub::builder().memory().start();
    let mut reader = hub.raw();
    let head = reader.head("GET", "/events");
    reader.send(format!("{head}\r\n"));
    assert_eq!(reader.answer().expect("an answer").status, 200);
    for field in ["retry: ", "id: ", "event: start", "data: {"] {
        let line = reader.line().expect("the first event");
        assert!(line.starts_with(field), "{line}");
    }
    for comment in ["", ":", ""] {
        assert_eq!(reader.line().as_deref(), Some(comment));
    }
}

#[tokio::test]
async fn a_reader_that_disconnected_before_any_event_resumes_from_the_first() {
    let (_hub, client) = memory_hub();
    client.say("before").await;
    let first = client.events("").await.any().await.expect("an event");
    assert_eq!(
        (first.name.as_str(), &first.data["after"]),
        ("start", &json!(1))
    );
    let id = client.say("in between").await;
    let ask = client.get("/events").header("last-event-id", &first.id);
    let mut events = ask.stream().await;
    assert_eq!(events.next_of("notification").await.data["id"], id);
}

#[tokio::test]
async fn lists_are_separated_by_commas_or_repeated() {
    let (_hub, client) = memory_hub();
    for kind in ["progress", "complete", "error"] {
        client.notify(json!({ "msg": kind, "type": kind })).await;
    }
    for types in ["types=progress,error", "types=progress&types=error"] {
        let page = client.get(&format!("/notifications?{types}")).send().await;
        let found = page.expect(200).json()["notifications"].clone();
        assert_eq!(found.as_array().map(Vec::len), Some(2), "{types}");
        let mut events = client.events(&format!("?since=0&{types}")).await;
        for kind in ["progress", "error"] {
            assert_eq!(events.next_of("notification").await.data["type"], kind);
        }
    }
    let wait = client
        .get("/wait?timeout=0&inbox=a&inbox=primary&types=error&types=waiting")
        .send()
        .await;
    let got = wait.expect(200).json();
    assert_eq!(got["notifications"][0]["msg"], "error");
    client
        .events("?kinds=presence&kinds=seen")
        .await
        .next_of("presence")
        .await;
}

#[tokio::test]
async fn streams_end_when_the_hub_stops() {
    let mut hub = Hub::builder().memory().start();
    let mut events = hub.client().events("").await;
    assert!(hub.stop().success());
    assert_eq!(events.next().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_can_inject_a_line_into_a_stream() {
    let (hub, client) = memory_hub();
    let forged = "x\r\n\r\nid: 00-999\revent: reset\ndata: {}\u{2028}\u{85}\n\n";
    client
        .notify(json!({ "msg": forged, "title": forged, "key": forged, "data": { forged: [forged] }, "to": "ops" }))
        .await;
    let pretty = "{\n\"msg\":\"y\",\r\n\"data\":{\n\"event\":\r1\n}\n}\n";
    client.post("/notify").body(pretty).send().await.expect(201);
    client
        .put_json(
            "/sessions/w1",
            json!({ "name": forged, "title": forged, "cwd": forged, "metadata": { "x": forged } }),
        )
        .await;
    let waiting = client
        .get("/wait?inbox=ops&as=a%20b&timeout=0")
        .send()
        .await
        .expect(200);
    let ack = json!({ "lease": waiting.json()["lease"], "by": forged });
    client.post_json("/inboxes/ops/ack", &ack).await;
    client.say("the end").await;
    let mut raw = hub.raw();
    let head = raw.head(
        "GET",
        "/events?since=0&kinds=notification,delivery,session,seen,presence",
    );
    raw.send(head + "\r\n");
    while raw.line().expect("a head") != "\r" {}
    for _ in 0..1000 {
        let line = raw.line().expect("a stream");
        let known = ["retry: ", "id: ", "event: ", "data: {"];
        assert!(
            line.is_empty() || known.iter().any(|it| line.starts_with(it)),
            "{line:?}"
        );
        assert!(
            !line.contains('\r') && !line.starts_with("id: 00-999") && line != "event: reset",
            "{line:?}"
        );
        if line.contains("the end") {
            return;
        }
    }
    panic!("the stream does not end");
}
