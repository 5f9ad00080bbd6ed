//! Event streams: every skipped record is reported.

use hub_harness::{Client, Event, Events, each};
use serde_json::{Value, json};

use crate::{assert_fields, disk_hub, memory_hub};

async fn texts(events: &mut Events, count: usize) -> Vec<String> {
    let mut texts = Vec::new();
    while texts.len() < count {
        let event = events.next_of("notification").await;
        texts.push(event.data["msg"].as_str().expect("a text").to_owned());
    }
    texts
}

/// Reconnects with the headers that a browser would send.
async fn resume(client: &Client, last: &str) -> Events {
    let ask = client.get("/events").header("last-event-id", last);
    ask.stream().await
}

#[tokio::test]
async fn a_reconnecting_reader_gets_missed_events_also_after_a_restart() {
    let (mut hub, client) = disk_hub();
    let mut events = client.events("?since=0").await;
    client.say("one").await;
    let last = events.next_of("notification").await;
    drop(events);
    client.say("two").await;
    hub.crash();
    client.say("three").await;
    let mut missed = resume(&client, &last.id).await;
    assert_eq!(texts(&mut missed, 2).await, ["two", "three"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_readers_that_reconnect_at_once_miss_nothing() {
    let (mut hub, client) = disk_hub();
    client.say("before").await;
    hub.crash();
    let readers = (0..1000).map(|_| {
        let client = hub.client();
        tokio::spawn(async move {
            let mut events = client.events("?since=0").await;
            assert_eq!(texts(&mut events, 1).await, ["before"]);
            events
        })
    });
    let readers = futures_util::future::try_join_all(readers).await;
    client.say("after").await;
    for mut events in readers.expect("no reader panics") {
        assert_eq!(texts(&mut events, 1).await, ["after"]);
    }
}

#[tokio::test]
async fn a_reader_without_a_cursor_gets_new_events_and_one_from_zero_gets_all() {
    let (_hub, client) = memory_hub();
    client.say("one").await;
    let mut live = client.events("").await;
    let mut all = client.events("?since=0").await;
    client.say("two").await;
    assert_eq!(texts(&mut live, 1).await, ["two"]);
    assert_eq!(texts(&mut all, 2).await, ["one", "two"]);
}

#[tokio::test]
async fn a_reader_with_an_unknown_cursor_is_reset_and_continues_live() {
    let (_hub, client) = memory_hub();
    client.say("one").await;
    let unknown = ["", "nonsense", "0000000000000000-1", "ffffffffffffffff-1"];
    for id in unknown.into_iter().chain(["999", "99999999999999999999"]) {
        let mut events = resume(&client, id).await;
        let first = events.next().await.expect("an event");
        let head = json!(client.head().await);
        assert_eq!(
            (first.name.as_str(), &first.data["head"]),
            ("reset", &head),
            "{id}"
        );
        client.say("after").await;
        assert_eq!(texts(&mut events, 1).await, ["after"], "{id}");
    }
}

#[tokio::test]
async fn after_a_reset_with_history_no_reader_gets_past_notifications() {
    let (mut hub, client) = disk_hub();
    let say = |project, kind, msg| {
        client.notify(json!({ "project": project, "type": kind, "msg": msg, "from": "w1" }))
    };
    let secret = say("/a", "complete", "secret").await;
    let asked = say("/a", "question", "which?").await;
    say("/b", "complete", "not ours").await;
    let reset = client.post("/projects/%2Fa/reset?history=true").await;
    assert_eq!(reset.expect(200).json()["dropped"], json!([secret, asked]));
    say("/a", "complete", "new").await;
    for _ in 0..2 {
        let mut all = client.events("?since=0").await;
        assert_eq!(texts(&mut all, 2).await, ["not ours", "new"]);
        let told = client.read("/notifications?project=%2Fa").await;
        assert_eq!(each(&told["notifications"], "msg"), json!(["new"]));
        for gone in [
            format!("/notifications/{secret}"),
            format!("/notifications/{secret}/trace"),
            format!("/questions/{asked}"),
        ] {
            client.get(&gone).await.expect(404);
        }
        let asked = client.read("/questions?state=all").await;
        assert_eq!(asked["questions"], json!([]));
        hub.crash();
    }
}

#[tokio::test]
async fn a_reader_behind_the_ring_gets_everything_from_the_disk() {
    let (_hub, client) = disk_hub();
    let batch: Vec<_> = (0..1000).map(|n| json!({ "msg": n.to_string() })).collect();
    for _ in 0..6 {
        client.post_json("/notify", &batch).await.expect(201);
    }
    let mut events = client.events("?since=0").await;
    for n in 0..6000 {
        let event = events.next_of("notification").await.data;
        assert_fields(
            &event,
            json!({ "id": n + 1, "msg": (n % 1000).to_string() }),
        );
    }
}

#[tokio::test]
async fn a_filtered_stream_has_rising_ids() {
    let (_hub, client) = memory_hub();
    let filter = "?since=0&types=error&project=p&inbox=primary";
    let mut events = client.events(filter).await;
    for post in [
        json!({ "msg": "a", "project": "p" }),
        json!({ "msg": "b", "project": "p", "type": "error" }),
        json!({ "msg": "c", "type": "error" }),
        json!({ "msg": "d", "project": "p", "type": "error", "to": "w1" }),
        json!({ "msg": "e", "project": "p", "type": "error" }),
    ] {
        client.notify(post).await;
    }
    assert_eq!(texts(&mut events, 2).await, ["b", "e"]);
}

#[tokio::test]
async fn deliveries_are_sent_on_request() {
    let (_hub, client) = memory_hub();
    let mut events = client.events("?kinds=delivery,seen").await;
    let id = client.say("one").await;
    let path = format!("/notifications/{id}/seen");
    client.put(&path).await.expect(200);
    let ack = json!({ "ids": [id], "by": "me" });
    client.ack("primary", ack).await;
    let seen = events.next_of("seen").await;
    assert_fields(&seen.data, json!({ "ids": [id], "seen": true }));
    let acked = events.next_of("delivery").await;
    assert_fields(&acked.data, json!({ "state": "acked", "by": "me" }));
}

/// Asserts state, ids and inbox of the next delivery event.
async fn expect_delivery(events: &mut Events, expected: Value) {
    let data = events.next_of("delivery").await.data;
    assert!(data["at"].is_string(), "{data}");
    assert_eq!(json!([data["state"], data["ids"], data["inbox"]]), expected);
}

#[tokio::test]
async fn each_end_of_a_delivery_is_sent_with_its_ids_and_inbox() {
    let (_hub, client) = memory_hub();
    let keyed = |msg| client.notify(json!({ "msg": msg, "to": "w1", "key": "k" }));
    let mut events = client
        .events("?kinds=delivery&project=default&inbox=w1")
        .await;
    let first = keyed("old").await;
    let second = keyed("new").await;
    expect_delivery(&mut events, json!(["superseded", [first], "w1"])).await;
    let path = format!("/notifications/{second}");
    client.delete(&path).await.expect(200);
    expect_delivery(&mut events, json!(["withdrawn", [second], null])).await;
    let post = json!({ "msg": "x", "to": "w1", "ttl": 1 });
    let third = client.notify(post).await;
    expect_delivery(&mut events, json!(["expired", [third], null])).await;
    let asked = json!({ "msg": "?", "type": "question", "from": "w2", "to": "w1" });
    let asked = client.notify(asked).await;
    client.answer(asked, "yes").await.expect(201);
    expect_delivery(&mut events, json!(["answered", [asked], null])).await;
    let fourth = client.notify(json!({ "msg": "x", "to": "w1" })).await;
    client.delete("/inboxes/w1").await.expect(200);
    expect_delivery(&mut events, json!(["dropped", [fourth], "w1"])).await;
}

#[tokio::test]
async fn an_item_shown_to_a_session_is_emitted_and_acked_by_its_next_event() {
    let (_hub, client) = memory_hub();
    let event = |name| client.hook("", "w1", json!({ "hook_event_name": name }));
    event("SessionStart").await;
    let mut events = client.events("?kinds=delivery").await;
    let id = client.notify(json!({ "msg": "x", "to": "w1" })).await;
    let batch = client.take("&session=w1&way=wait&as=me").await;
    client.ack("w1", batch).await;
    let shown =
        json!({ "state": "emitted", "ids": [id], "inbox": "w1", "by": "me", "way": "wait" });
    assert_fields(&events.next_of("delivery").await.data, shown);
    assert_eq!(event("PostToolUse").await, Value::Null);
    expect_delivery(&mut events, json!(["acked", [id], "w1"])).await;
}

#[tokio::test]
async fn presence_is_sent_in_full_at_first_and_at_every_change() {
    let (_hub, client) = memory_hub();
    let nothing = json!({ "waiters": [], "held": [], "focused": false });
    let mut presence = client.events("?kinds=presence").await;
    assert_eq!(presence.next_of("presence").await.data, nothing);
    let wait = client.get("/wait?timeout=20&as=me&inbox=w1").spawn();
    presence.until_waiting("w1").await;
    client.notify(json!({ "msg": "x", "to": "w1" })).await;
    wait.await.unwrap().expect(200);
    while presence.next_of("presence").await.data != nothing {}
}

#[tokio::test]
async fn presence_says_whether_a_page_of_the_dashboard_has_the_focus() {
    let (hub, client) = memory_hub();
    let mut presence = client.events("?kinds=presence").await;
    assert_eq!(presence.next_of("presence").await.data["focused"], false);
    let page = hub.person().await.events("?kinds=seen&focused=true").await;
    while presence.next_of("presence").await.data["focused"] != true {}
    drop(page);
    while presence.next_of("presence").await.data["focused"] != false {}
    let refused = client.get("/events?focused=true").await.expect(422);
    assert_eq!(refused.code(), "invalid");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_stream_sends_keep_alives() {
    let (hub, _client) = memory_hub();
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
    let Event { id, name, data } = client.events("").await.any().await.expect("an event");
    assert_eq!((name.as_str(), &data["after"]), ("start", &json!(1)));
    let next = client.say("in between").await;
    let mut events = resume(&client, &id).await;
    assert_eq!(events.next_of("notification").await.data["id"], next);
}

#[tokio::test]
async fn lists_are_separated_by_commas_or_repeated() {
    let (_hub, client) = memory_hub();
    for kind in ["progress", "complete", "error"] {
        client.notify(json!({ "msg": kind, "type": kind })).await;
    }
    for types in [
        "types=progress,error",
        "types=progress&types=error",
        "types=progress,%20error",
    ] {
        let page = client.read(&format!("/notifications?{types}")).await;
        let found = each(&page["notifications"], "msg");
        assert_eq!(found, json!(["error", "progress"]), "{types}");
        let mut events = client.events(&format!("?since=0&{types}")).await;
        assert_eq!(texts(&mut events, 2).await, ["progress", "error"]);
    }
    let got = client
        .take("&inbox=a&inbox=primary&types=error&types=waiting")
        .await;
    assert_eq!(got["notifications"][0]["msg"], "error");
    let mut both = client.events("?kinds=presence&kinds=seen").await;
    both.next_of("presence").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_can_inject_a_line_into_a_stream() {
    let (hub, client) = memory_hub();
    let forged = "x\r\n\r\nid: 00-999\revent: reset\ndata: {}\u{2028}\u{85}\n\n";
    let post = json!({ "msg": forged, "title": forged, "key": forged, "data": { forged: [forged] }, "to": "ops" });
    client.notify(post).await;
    let pretty = "{\n\"msg\":\"y\",\r\n\"data\":{\n\"event\":\r1\n}\n}\n";
    client.post("/notify").body(pretty).await.expect(201);
    let info =
        json!({ "name": forged, "title": forged, "cwd": forged, "metadata": { "x": forged } });
    client.put_json("/sessions/w1", info).await;
    let batch = client.take("&inbox=ops&as=a%20b").await;
    let ack = json!({ "lease": batch["lease"], "by": forged });
    client.post_json("/inboxes/ops/ack", &ack).await;
    client.say("the end").await;
    let mut raw = hub.raw();
    let kinds = "kinds=notification,delivery,session,seen,presence";
    let head = raw.head("GET", &format!("/events?since=0&{kinds}"));
    raw.send(head + "\r\n");
    while raw.line().expect("a head") != "\r" {}
    for _ in 0..1000 {
        let line = raw.line().expect("a stream");
        let known = ["retry: ", "id: ", "event: ", "data: {"];
        let known = line.is_empty() || known.iter().any(|it| line.starts_with(it));
        assert!(known && !line.contains('\r'), "{line:?}");
        assert!(
            !line.starts_with("id: 00-999") && line != "event: reset",
            "{line:?}"
        );
        if line.contains("the end") {
            return;
        }
    }
    panic!("the stream does not end");
}

#[tokio::test]
async fn the_sessions_come_whole_at_first_and_then_as_they_change() {
    let (_hub, client) = memory_hub();
    client.register("w1", json!({})).await;
    client.register("w2", json!({})).await;
    let mut events = client.events("?kinds=sessions").await;
    let first = events.next_of("sessions").await.data;
    assert_eq!(first["whole"], true);
    assert_eq!(each(&first["sessions"], "id"), json!(["w1", "w2"]));
    assert_eq!(
        first["sessions"],
        client.read("/sessions").await["sessions"]
    );
    let titled = json!({ "title": "Cart" });
    client.put_json("/sessions/w2", titled).await.expect(200);
    let changed = events.next_of("sessions").await.data;
    assert_eq!(each(&changed["sessions"], "title"), json!(["Cart"]));
    client.end_session("w1").await;
    let gone = json!([{ "project": "default", "id": "w1" }]);
    let ended = events.next_of("sessions").await.data;
    assert_fields(
        &ended,
        json!({ "whole": false, "sessions": [], "gone": gone, "ended": 1 }),
    );
    let mut later = client.events("?kinds=sessions").await;
    assert_eq!(
        each(&later.next_of("sessions").await.data["sessions"], "id"),
        json!(["w2"])
    );
    let tool = json!({ "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": "make" } });
    let prompt = json!({ "hook_event_name": "UserPromptSubmit", "prompt": "go" });
    client.hook("", "w2", prompt).await;
    assert_eq!(ended["reporting"], json!([]));
    let reporting = events.next_of("sessions").await.data["reporting"].take();
    assert_eq!(reporting, json!(["Claude Code"]));
    client.hook("", "w2", tool).await;
    loop {
        let list = events.next_of("sessions").await.data["sessions"].take();
        if list[0]["phase"]["tool"]["on"] == "make" {
            break;
        }
    }
}

#[tokio::test]
async fn a_stream_repeats_no_list_that_its_reader_has_until_it_changes() {
    let (_hub, client) = memory_hub();
    client.register("s0", json!({})).await;
    client.asks("s0").await;
    let query = async || {
        let tags = client.read("/dashboard").await["tags"].take();
        let (sessions, needs) = (tags["sessions"].as_str(), tags["needs"].as_str());
        let (sessions, needs) = (sessions.expect("a tag"), needs.expect("a tag"));
        format!("?kinds=sessions,need&sessions_tag={sessions}&needs_tag={needs}")
    };
    let outdated = query().await;
    let mut is_skipped = (false, false);
    // A list that changes before the stream has compared it comes whole.
    for n in 1..10 {
        let mut events = client.events(&query().await).await;
        events.any().await;
        client.register(&format!("s{n}"), json!({})).await;
        let sessions = events.next_of("sessions").await.data;
        is_skipped.0 |= sessions["whole"] == false;
        client.asks(&format!("s{n}")).await;
        let needs = events.next_of("need").await.data;
        is_skipped.1 |= needs["needs"].as_array().map(Vec::len) == Some(n + 1);
        if is_skipped == (true, true) {
            break;
        }
    }
    assert_eq!(is_skipped, (true, true));
    for list in ["sessions", "need"] {
        let mut events = client.events(&outdated).await;
        events.next_of(list).await;
    }
}
