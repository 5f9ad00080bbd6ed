//! Streams: nothing is skipped without being said.

use hub_harness::{Event, Events, Hub};
use serde_json::json;

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

/// Reconnects with what a browser would send.
async fn resume(hub: &Hub, last: &Event) -> Events {
    hub.client()
        .get("/events")
        .header("last-event-id", &last.id)
        .stream()
        .await
}

#[tokio::test]
async fn a_reconnecting_reader_gets_what_it_missed_also_over_a_restart() {
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
async fn a_thousand_readers_that_come_back_at_once_miss_nothing() {
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
async fn a_new_reader_gets_only_what_comes_and_one_from_zero_gets_all() {
    let hub = Hub::builder().memory().start();
    say_all(&hub, &["one"]).await;
    let mut live = hub.client().events("").await;
    let mut all = hub.client().events("?since=0").await;
    say_all(&hub, &["two"]).await;
    assert_eq!(texts(&mut live, 1).await, ["two"]);
    assert_eq!(texts(&mut all, 2).await, ["one", "two"]);
}

#[tokio::test]
async fn a_place_that_does_not_exist_here_is_reset_and_goes_on_live() {
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
async fn after_a_reset_with_its_history_no_reader_shows_what_was_said() {
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
        hub.client()
            .post("/notify")
            .json(&batch)
            .send()
            .await
            .expect(201);
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
async fn a_filter_chooses_and_the_ids_go_on_rising() {
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
async fn what_becomes_of_notifications_is_told_on_request() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    let mut events = client.events("?kinds=delivery,seen").await;
    let id = client.say("one").await;
    client
        .put(&format!("/notifications/{id}/seen"))
        .send()
        .await
        .expect(200);
    client
        .post("/inboxes/primary/ack")
        .json(&json!({ "ids": [id], "by": "me" }))
        .send()
        .await
        .expect(200);
    let seen = events.next_of("seen").await;
    assert_eq!(
        (&seen.data["ids"], &seen.data["seen"]),
        (&json!([id]), &json!(true))
    );
    let acked = events.next_of("delivery").await;
    assert_eq!(
        (&acked.data["state"], &acked.data["by"]),
        (&json!("acked"), &json!("me"))
    );
}

/// The next delivery's state, numbers and inbox.
async fn delivery(events: &mut Events) -> serde_json::Value {
    let data = events.next_of("delivery").await.data;
    assert!(data["at"].is_string(), "{data}");
    json!([data["state"], data["ids"], data["inbox"]])
}

#[tokio::test]
async fn each_end_of_a_delivery_is_told_with_its_numbers_and_its_inbox() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
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
    let answer = client
        .post(&format!("/questions/{asked}/answer"))
        .json(&answer);
    answer.send().await.expect(201);
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
async fn what_a_session_is_shown_is_emitted_and_acked_by_its_next_event() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    let event = async |name: &str| {
        let event = json!({ "hook_event_name": name, "session_id": "w1" });
        client.post("/hooks/claude").json(&event).send().await
    };
    event("SessionStart").await.expect(200);
    let mut events = client.events("?kinds=delivery").await;
    let id = client.notify(json!({ "msg": "x", "to": "w1" })).await;
    let wait = client
        .get("/wait?session=w1&way=wait&as=me&timeout=0")
        .send();
    let lease = wait.await.expect(200).json()["lease"].clone();
    let ack = client
        .post("/inboxes/w1/ack")
        .json(&json!({ "lease": lease }));
    ack.send().await.expect(200);
    let emitted = events.next_of("delivery").await.data;
    assert_eq!(
        (
            &emitted["state"],
            &emitted["ids"],
            &emitted["inbox"],
            &emitted["by"],
            &emitted["way"]
        ),
        (
            &json!("emitted"),
            &json!([id]),
            &json!("w1"),
            &json!("me"),
            &json!("wait")
        )
    );
    event("PostToolUse").await.expect(204);
    assert_eq!(delivery(&mut events).await, json!(["acked", [id], "w1"]));
}

#[tokio::test]
async fn who_waits_is_told_whole_at_first_and_at_every_change() {
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
async fn a_stream_that_says_nothing_says_that_it_lives() {
    let hub = Hub::builder().memory().start();
    let mut reader = hub.raw();
    let head = reader.head("GET", "/events");
    reader.send(format!("{head}\r\n"));
    assert_eq!(reader.answer().expect("an answer").status, 200);
    assert!(reader.line().expect("a preface").starts_with("retry: "));
    for comment in ["", ":", ""] {
        assert_eq!(reader.line().as_deref(), Some(comment));
    }
}

#[tokio::test]
async fn streams_end_when_the_hub_stops() {
    let mut hub = Hub::builder().memory().start();
    let mut events = hub.client().events("").await;
    assert!(hub.stop().success());
    assert_eq!(events.next().await, None);
}
