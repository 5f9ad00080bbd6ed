//! Slow, silent and many: nobody keeps others out, and nothing grows without a bound.

use hub_harness::{Hub, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_comes_too_slowly_is_ended() {
    let hub = Hub::builder()
        .memory()
        .set("limits.header_seconds=1")
        .set("limits.body_seconds=1")
        .start();
    let mut silent = hub.raw();
    let mut half_header = hub.raw();
    half_header.send("GET /healthz HTTP/1.1\r\nHost:");
    let mut half_body = hub.raw();
    let head = half_body.head("POST", "/notify");
    half_body.send(format!("{head}Content-Length: 10\r\n\r\nhalf"));
    assert!(silent.is_hung_up());
    assert_eq!(half_header.answer().expect("an answer").code(), "timeout");
    assert_eq!(half_body.answer().expect("an answer").code(), "timeout");
    assert_eq!(hub.client().head().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_more_may_wait_publishing_goes_on() {
    let hub = Hub::builder().memory().set("limits.streams=2").start();
    let client = hub.client();
    let (mut one, two) = (client.events("").await, client.events("").await);
    for path in ["/events", "/wait"] {
        let refused = client.get(path).send().await.expect(503);
        assert_eq!(refused.code(), "too_many_connections");
    }
    let id = client.say("still here").await;
    assert_eq!(one.next_of("notification").await.data["id"], id);
    drop(two);
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_keep_nobody_out() {
    let hub = Hub::builder()
        .memory()
        .set("limits.connections=8")
        .set("limits.header_seconds=3600")
        .start();
    let silent: Vec<_> = (0..100).map(|_| hub.raw()).collect();
    hub.client().say("let me through").await;
    hub.unix().say("me too").await;
    drop(silent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_out_of_descriptors_goes_on_when_some_are_free_again() {
    let few = ["sh", "-c", "ulimit -n 64; exec \"$@\"", "sh"];
    let hub = Hub::builder().memory().under(&few).start();
    let many: Vec<_> = (0..100).map(|_| hub.raw()).collect();
    drop(many);
    hub.client().say("again").await;
    assert!(
        hub.log().contains("cannot accept connections"),
        "{}",
        hub.log()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_out_of_descriptors_stores_what_open_connections_say() {
    let few = ["sh", "-c", "ulimit -n 80; exec \"$@\"", "sh"];
    let mut hub = Hub::builder()
        .set("snapshot.every_records=20")
        .set("limits.header_seconds=3600")
        .under(&few)
        .start();
    let mut open = hub.raw();
    let crowd: Vec<_> = (0..100).map(|_| hub.raw()).collect();
    let mut said = 0;
    // Until a snapshot was due, which needs descriptors too.
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
async fn readers_that_take_nothing_cost_no_memory() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    let mut stalled: Vec<_> = (0..1000).map(|_| hub.raw()).collect();
    for reader in &mut stalled {
        let head = reader.head("GET", "/events");
        reader.send(format!("{head}\r\n"));
    }
    let batch = vec![serde_json::json!({ "msg": "x".repeat(10_000) }); 90];
    client.post("/notify").json(&batch).send().await.expect(201);
    let before = resident_kib(hub.pid());
    for _ in 0..30 {
        client.post("/notify").json(&batch).send().await.expect(201);
    }
    // 27 MB were said, and are in the log, which is memory here, and in the ring. One copy a reader would be 27 GB.
    let grown = resident_kib(hub.pid()).saturating_sub(before);
    assert!(grown < 200_000, "grew by {grown} KiB");
}

#[cfg(target_os = "linux")]
fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
    number
        .and_then(|number| number.parse().ok())
        .expect("a size")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_whose_log_nobody_reads_any_more_goes_on_and_ends_when_told() {
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
    let mut hub = Hub::builder().memory().start();
    let client = hub.client();
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
