//! Slow, silent and many clients: none can keep others out, and no memory grows without a bound.

use hub_harness::{Hub, Raw, until};
use serde_json::json;

#[cfg(target_os = "linux")]
use crate::status_kib;
use crate::{hub_with, memory_hub};

/// Sends a request without a body; returns the connection.
fn asked(hub: &Hub, method: &str, path: &str) -> Raw {
    let mut raw = hub.raw();
    let head = raw.head(method, path);
    raw.send(head + "\r\n");
    raw
}

/// Asserts that the next response is this problem.
#[track_caller]
fn expect_problem(raw: &mut Raw, code: &str) {
    assert_eq!(raw.answer().expect("an answer").code(), code);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_sent_too_slowly_is_ended() {
    let (hub, client) = hub_with(&["limits.header_seconds=1", "limits.body_seconds=1"]);
    let mut silent = hub.raw();
    let mut half_header = hub.raw();
    half_header.send("GET /healthz HTTP/1.1\r\nHost:");
    let mut half_body = hub.raw();
    let head = half_body.head("POST", "/notify");
    half_body.send(format!("{head}Content-Length: 10\r\n\r\nhalf"));
    assert!(silent.is_hung_up());
    expect_problem(&mut half_header, "timeout");
    expect_problem(&mut half_body, "timeout");
    assert_eq!(client.head().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_no_route_wants_costs_no_answer() {
    let (hub, client) = memory_hub();
    client.register("w1", json!({})).await;
    let mut raw = hub.raw();
    let head = raw.head("POST", "/sessions/w1/primary");
    raw.send(format!("{head}Content-Length: 2\r\n\r\n"));
    // The hub has had the head before this, and the body is in a packet of its own.
    client.say("meanwhile").await;
    raw.send("{}");
    assert_eq!(raw.answer().expect("an answer").status, 200);
    let head = raw.head("GET", "/sessions/w1");
    raw.send(head + "\r\n");
    assert_eq!(raw.answer().expect("the connection stays").status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_limit_of_waiters_publishing_continues() {
    let (_hub, client) = hub_with(&["limits.streams=2"]);
    let (mut one, two) = (client.events("").await, client.events("").await);
    for path in ["/events", "/wait"] {
        let refused = client.get(path).await.expect(503);
        assert_eq!(refused.code(), "too_many_connections");
    }
    let id = client.say("still here").await;
    assert_eq!(one.next_of("notification").await.data["id"], id);
    drop(two);
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_do_not_keep_others_out() {
    let (hub, client) = hub_with(&["limits.connections=8", "limits.header_seconds=3600"]);
    let silent: Vec<_> = (0..100).map(|_| hub.raw()).collect();
    client.say("let me through").await;
    hub.unix().say("me too").await;
    drop(silent);
}

/// Returns the head of a sign-in request, which any client can send.
fn sign_in(hub: &Hub, raw: &mut Raw, length: usize) -> String {
    // Called only to register method and path, so that the response is validated; the token is not sent.
    raw.head("POST", "/login");
    let port = hub.port();
    format!("POST /login HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {length}\r\n\r\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn half_sent_sign_ins_do_not_keep_others_out_and_end_soon() {
    let (hub, client) = hub_with(&["limits.connections=8", "limits.body_seconds=3600"]);
    let mut half: Vec<_> = (0..100)
        .map(|_| {
            let mut raw = hub.raw();
            let head = sign_in(&hub, &mut raw, 1000);
            raw.send(head + "{\"code\":");
            raw
        })
        .collect();
    client.say("let me through").await;
    // The last sign-in has kept its connection, and times out after two seconds, not after the hour of clients with a
    // token.
    let mut last = half.pop().expect("a hundred");
    expect_problem(&mut last, "timeout");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_has_at_most_a_kibibyte() {
    let (hub, _client) = memory_hub();
    for length in [1025, 1 << 20] {
        let mut raw = hub.raw();
        let head = sign_in(&hub, &mut raw, length);
        raw.send(head);
        expect_problem(&mut raw, "payload_too_large");
    }
    let mut chunked = hub.raw();
    let head =
        sign_in(&hub, &mut chunked, 0).replace("Content-Length: 0", "Transfer-Encoding: chunked");
    chunked.send(head + "401\r\n" + &" ".repeat(0x401));
    expect_problem(&mut chunked, "payload_too_large");
    let code = json!({ "code": "0".repeat(1000) });
    let login = hub.stranger().post_json("/login", code).await;
    assert_eq!(login.code(), "bad_code");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_out_of_descriptors_recovers_when_some_are_free() {
    let few = ["sh", "-c", "ulimit -n 64; exec \"$@\"", "sh"];
    let hub = Hub::builder().memory().under(&few).start();
    drop((0..100).map(|_| hub.raw()).collect::<Vec<_>>());
    hub.client().say("again").await;
    let log = hub.log();
    assert!(log.contains("cannot accept connections"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_out_of_descriptors_stores_publishes_of_open_connections() {
    let few = ["sh", "-c", "ulimit -n 80; exec \"$@\"", "sh"];
    let mut hub = Hub::builder()
        .set("snapshot.every_records=20")
        .set("limits.header_seconds=3600")
        .under(&few)
        .start();
    let mut open = hub.raw();
    let crowd: Vec<_> = (0..100).map(|_| hub.raw()).collect();
    let mut said = 0;
    // Publishes until a snapshot was due, which needs descriptors too.
    while said < 100 || !hub.log().contains("snapshots and retention stand still") {
        let (head, body) = (open.head("POST", "/notify"), "said");
        open.send(format!("{head}Content-Length: 4\r\n\r\n{body}"));
        said += 1;
        assert_eq!(open.answer().map(|it| it.status), Some(201), "{said}");
    }
    drop(crowd);
    hub.restart();
    assert_eq!(hub.client().head().await, said);
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn readers_that_read_nothing_cost_no_memory() {
    // Long timeouts, so that no reader is dropped on a slow machine: every stream must stay open.
    let limits = ["header", "body", "write"].map(|it| format!("limits.{it}_seconds=3600"));
    let (hub, client) = hub_with(&limits.each_ref().map(String::as_str));
    let stalled = (0..1000).map(|_| asked(&hub, "GET", "/events"));
    let mut stalled: Vec<_> = stalled.collect();
    for reader in &mut stalled {
        assert_eq!(reader.answer().expect("a stream").status, 200);
    }
    let batch = vec![json!({ "msg": "x".repeat(10_000) }); 90];
    client.post_json("/notify", &batch).await.expect(201);
    let before = status_kib(hub.pid(), "VmRSS:");
    for _ in 0..30 {
        client.post_json("/notify", &batch).await.expect(201);
    }
    // 27 MB were published, and are in the log (here in memory) and in the ring. One copy per reader would be 27 GB.
    let grown = status_kib(hub.pid(), "VmRSS:").saturating_sub(before);
    assert!(grown < 200_000, "grew by {grown} KiB");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_whose_stderr_has_no_reader_continues_and_stops_when_told() {
    let deaf = ["bash", "-c", r#"exec "$0" "$@" 2> >(exec true)"#];
    let mut hub = Hub::builder().under(&deaf).start();
    let spool = hub.state_dir().join("spool");
    std::fs::create_dir(spool.join("no-item")).expect("a directory");
    let aside = spool.join("rejected/no-item");
    until("it is set aside, and logged", || {
        aside.exists().then_some(())
    });
    hub.client().say("still here").await;
    assert!(hub.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_streams_and_waits_and_leaves_no_socket() {
    let (mut hub, client) = memory_hub();
    let _silent = hub.raw();
    let mut events = client.events("?kinds=presence").await;
    let waiting = tokio::spawn(client.get("/wait?inbox=quiet").try_send());
    events.until_waiting("quiet").await;
    let socket = hub.socket();
    assert!(hub.stop().success());
    while events.next().await.is_some() {}
    let ended = waiting.await.expect("no panic");
    assert!(ended.is_err() || ended.is_ok_and(|answer| answer.status == 503));
    assert!(!socket.exists());
}
