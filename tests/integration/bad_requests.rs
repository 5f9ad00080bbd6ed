//! Bad input: a clear problem with a code and a hint, nothing stored, and the hub goes on.

use hub_harness::{Answer, Client, Hub, encoded};
use serde_json::{Value, json};

/// Asserts what a bad request was told; that it is a sound problem with a hint the harness has checked.
#[track_caller]
fn assert_told(what: &str, answer: &Answer, status: u16, code: &str) {
    let told = (answer.status, answer.code());
    assert_eq!(told, (status, code.to_owned()), "{what}: {}", answer.text());
}

/// What comes before the empty line, behind a good head for a method and a path; and what comes after it.
type Raw<'a> = (&'a str, &'a str, &'a str, &'a str, u16, &'a str);

#[tokio::test(flavor = "multi_thread")]
async fn what_breaks_http_is_told_so() {
    let hub = Hub::builder().memory().start();
    let many = "X: 1\r\n".repeat(101);
    let large = format!("X: {}\r\n", "x".repeat(500_000));
    let rows: &[Raw] = &[
        (
            "POST",
            "both lengths",
            "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
            "0\r\n\r\n",
            400,
            "malformed",
        ),
        (
            "POST",
            "10 GB",
            "Content-Length: 10000000000\r\n",
            "",
            413,
            "payload_too_large",
        ),
        (
            "POST",
            "10 GB, expected",
            "Content-Length: 10000000000\r\nExpect: 100-continue\r\n",
            "",
            413,
            "payload_too_large",
        ),
        (
            "POST",
            "negative length",
            "Content-Length: -1\r\n",
            "",
            400,
            "malformed",
        ),
        (
            "POST",
            "no number",
            "Content-Length: one\r\n",
            "x",
            400,
            "malformed",
        ),
        (
            "POST",
            "two lengths",
            "Content-Length: 1\r\nContent-Length: 2\r\n",
            "xy",
            400,
            "malformed",
        ),
        (
            "POST",
            "short body",
            "Content-Length: 100\r\n",
            "x",
            400,
            "malformed",
        ),
        (
            "POST",
            "bad chunk",
            "Transfer-Encoding: chunked\r\n",
            "zz\r\nx\r\n0\r\n\r\n",
            400,
            "malformed",
        ),
        (
            "POST",
            "unknown coding",
            "Transfer-Encoding: gzip\r\n",
            "x",
            400,
            "malformed",
        ),
        (
            "GET",
            "500 KB of header",
            &large,
            "",
            431,
            "header_too_large",
        ),
        ("GET", "101 headers", &many, "", 431, "header_too_large"),
        (
            "GET",
            "NUL in a header",
            "X: a\0b\r\n",
            "",
            400,
            "malformed",
        ),
        ("GET", "header without colon", "X\r\n", "", 400, "malformed"),
        (
            "GET",
            "folded header",
            "X: a\r\n b\r\n",
            "",
            400,
            "malformed",
        ),
        ("TRACE", "TRACE", "", "", 405, "method_not_allowed"),
        ("BREW", "unknown method", "", "", 405, "method_not_allowed"),
        ("GET", "wrong method", "", "", 405, "method_not_allowed"),
    ];
    for (method, what, headers, body, status, code) in rows {
        let mut raw = hub.raw();
        let head = raw.head(method, "/notify");
        raw.send(format!("{head}{headers}\r\n{body}"));
        raw.finish();
        assert_told(what, &raw.answer().expect(what), *status, code);
    }
    assert_eq!(hub.client().head().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_request_at_all_is_told_so() {
    let hub = Hub::builder().memory().start();
    let port = hub.port();
    let long = "x".repeat(70_000);
    for (what, bytes, status, code) in [
        (
            "TLS",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
            400,
            "malformed",
        ),
        (
            "h2 preface",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
            400,
            "malformed",
        ),
        ("no HTTP", b"hello\r\n\r\n".to_vec(), 400, "malformed"),
        ("HTTP/0.9", b"GET /\r\n\r\n".to_vec(), 400, "malformed"),
        (
            "HTTP/3.0",
            b"GET / HTTP/3.0\r\n\r\n".to_vec(),
            400,
            "malformed",
        ),
        (
            "CONNECT",
            format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").into(),
            400,
            "malformed",
        ),
        (
            "asterisk",
            format!("OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").into(),
            400,
            "malformed",
        ),
        (
            "70 KB URI",
            format!("GET /{long} HTTP/1.1\r\n\r\n").into(),
            414,
            "uri_too_long",
        ),
        (
            "no Host",
            b"GET /healthz HTTP/1.1\r\n\r\n".to_vec(),
            421,
            "wrong_host",
        ),
        (
            "HTTP/1.0",
            b"GET /healthz HTTP/1.0\r\n\r\n".to_vec(),
            421,
            "wrong_host",
        ),
        (
            "two Hosts",
            format!(
                "GET /healthz HTTP/1.1\r\nHost: localhost:{port}\r\nHost: localhost:{port}\r\n\r\n"
            )
            .into(),
            421,
            "wrong_host",
        ),
        (
            "trailing dot",
            format!("GET /healthz HTTP/1.1\r\nHost: localhost.:{port}\r\n\r\n").into(),
            421,
            "wrong_host",
        ),
        (
            "0.0.0.0",
            format!("GET /healthz HTTP/1.1\r\nHost: 0.0.0.0:{port}\r\n\r\n").into(),
            421,
            "wrong_host",
        ),
        (
            "foreign URI",
            format!("GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n")
                .into(),
            421,
            "wrong_host",
        ),
    ] {
        let mut raw = hub.raw();
        raw.send(&bytes);
        raw.finish();
        assert_told(what, &raw.answer().expect(what), status, code);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pipelined_requests_are_answered_in_order() {
    let hub = Hub::builder().memory().start();
    let mut raw = hub.raw();
    let (one, two) = (raw.head("GET", "/healthz"), raw.head("GET", "/nowhere"));
    raw.send(format!("{one}\r\n{two}\r\n{one}\r\n"));
    let statuses = [(); 3].map(|()| raw.answer().expect("an answer").status);
    assert_eq!(statuses, [200, 404, 200]);
}

#[tokio::test]
async fn no_other_proof_than_the_token_counts() {
    let hub = Hub::builder().memory().start();
    let token = hub.token();
    let bearer = format!("Bearer {token}");
    for (what, path, header) in [
        ("none", "/inboxes".to_owned(), String::new()),
        (
            "in the query",
            format!("/inboxes?token={token}&access_token={token}"),
            String::new(),
        ),
        ("Basic", "/inboxes".into(), "Basic dXNlcjpwYXNz".into()),
        (
            "Basic with the token",
            "/inboxes".into(),
            format!("Basic {token}"),
        ),
        ("without a scheme", "/inboxes".into(), token.clone()),
        ("cut short", "/inboxes".into(), bearer[..50].into()),
        ("with more", "/inboxes".into(), format!("{bearer}0")),
        (
            "too long",
            "/inboxes".into(),
            format!("Bearer {}", "0".repeat(6000)),
        ),
    ] {
        let ask = hub.stranger().get(&path).header("authorization", &header);
        assert_told(what, &ask.send().await, 401, "unauthorized");
    }
    let two = hub
        .client()
        .get("/inboxes")
        .header("authorization", &bearer);
    assert_told("two", &two.send().await, 401, "unauthorized");
    let mut raw = hub.raw();
    raw.send(format!(
        "GET /inboxes HTTP/1.1\r\nAuthorization: Bearer {}\r\n\r\n",
        "0".repeat(10_000)
    ));
    assert_told(
        "10 KB",
        &raw.answer().expect("an answer"),
        431,
        "header_too_large",
    );
}

#[tokio::test]
async fn pages_of_others_are_refused_whatever_they_send() {
    let hub = Hub::builder().memory().start();
    for (name, value) in [
        ("origin", "null"),
        ("origin", "http://evil.example"),
        ("origin", "http://127.0.0.1:3000"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let post = hub.client().post("/notify").header(name, value).body("x");
        assert_told(value, &post.send().await, 403, "foreign_origin");
    }
    let preflight = hub
        .stranger()
        .ask("OPTIONS", "/notify")
        .header("origin", "http://evil.example");
    let preflight = preflight.header("access-control-request-method", "POST");
    assert_told("preflight", &preflight.send().await, 403, "foreign_origin");
    assert_eq!(hub.client().head().await, 0);
}

#[tokio::test]
async fn a_body_in_another_form_is_refused() {
    let hub = Hub::builder().memory().start();
    for (name, value) in [
        ("content-type", "multipart/form-data; boundary=x"),
        ("content-type", "text/plain; charset=utf-16"),
        ("content-encoding", "gzip"),
    ] {
        let post = hub.client().post("/notify").header(name, value).body("x");
        assert_told(value, &post.send().await, 415, "unsupported_media_type");
    }
    assert_eq!(hub.client().head().await, 0);
}

#[tokio::test]
async fn a_body_that_is_no_notification_is_told_why() {
    let hub = Hub::builder().memory().start();
    let deep = format!(
        "{{\"msg\":\"x\",\"data\":{}{}}}",
        "[".repeat(30_000),
        "]".repeat(30_000)
    );
    let large = format!("{{\"msg\":\"{}\"}}", "x".repeat(70_000));
    let many = format!("[{}]", vec!["{\"msg\":\"x\"}"; 1001].join(","));
    let rows: &[(&str, &[u8], u16, &str)] = &[
        ("empty", b"", 422, "invalid"),
        ("truncated", br#"{"msg":"x""#, 400, "malformed"),
        ("trailing bytes", br#"{"msg":"x"} x"#, 400, "malformed"),
        (
            "byte order mark",
            b"\xef\xbb\xbf{\"msg\":\"x\"}",
            400,
            "malformed",
        ),
        ("invalid UTF-8", b"caf\xe9", 400, "malformed"),
        (
            "invalid UTF-8 in JSON",
            b"{\"msg\":\"caf\xe9\"}",
            400,
            "malformed",
        ),
        ("lone surrogate", br#"{"msg":"\ud800"}"#, 400, "malformed"),
        ("NUL", br#"{"msg":"a\u0000b"}"#, 422, "invalid"),
        (
            "raw control character",
            b"{\"msg\":\"a\x01b\"}",
            400,
            "malformed",
        ),
        (
            "duplicate field",
            br#"{"msg":"x","msg":"y"}"#,
            422,
            "invalid",
        ),
        (
            "unknown field",
            br#"{"msg":"x","colour":"red"}"#,
            422,
            "invalid",
        ),
        ("missing field", br#"{"from":"a"}"#, 422, "invalid"),
        ("wrong type", br#"{"msg":1}"#, 422, "invalid"),
        ("null", br#"{"msg":null}"#, 422, "invalid"),
        ("scalar", b"[42]", 422, "invalid"),
        ("empty batch", b"[]", 422, "invalid"),
        (
            "priority 256",
            br#"{"msg":"x","priority":256}"#,
            422,
            "invalid",
        ),
        (
            "priority -1",
            br#"{"msg":"x","priority":-1}"#,
            422,
            "invalid",
        ),
        (
            "priority 1.5",
            br#"{"msg":"x","priority":1.5}"#,
            422,
            "invalid",
        ),
        ("1e999", br#"{"msg":"x","data":1e999}"#, 400, "malformed"),
        (
            "30 digits",
            br#"{"msg":"x","reply_to":123456789012345678901234567890}"#,
            422,
            "invalid",
        ),
        ("deep nesting", deep.as_bytes(), 400, "malformed"),
        ("70 KB", large.as_bytes(), 413, "payload_too_large"),
        ("1001 notifications", many.as_bytes(), 422, "invalid"),
        (
            "1 MiB and more",
            &[b'x'; 1024 * 1024 + 1],
            413,
            "payload_too_large",
        ),
        ("white space", b" \n\t ", 422, "invalid"),
        ("white space in JSON", br#"{"msg":" \n "}"#, 422, "invalid"),
        (
            "a bad one in a good batch",
            br#"[{"msg":"x"},{"msg":""}]"#,
            422,
            "invalid",
        ),
    ];
    for (what, body, status, code) in rows {
        let post = hub.client().post("/notify").body(body.to_vec());
        assert_told(what, &post.send().await, *status, code);
    }
    assert_eq!(hub.client().head().await, 0);
}

#[tokio::test]
async fn names_that_could_leave_their_place_are_refused() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    let long = "a".repeat(65);
    for name in [
        "",
        &long,
        "a\nb",
        "a/b",
        "..",
        "a..b",
        "\u{1b}[31m",
        "a\u{202e}b",
        "-x",
        "a\u{0}b",
        "a b",
    ] {
        for field in ["from", "to", "session", "parent"] {
            let post = client
                .post("/notify")
                .json(&json!({ "msg": "x", field: name }));
            assert_told(
                &format!("{field} {name:?}"),
                &post.send().await,
                422,
                "invalid",
            );
        }
        let encoded = encoded(name);
        let wait = client.get(&format!("/wait?timeout=0&inbox={encoded}"));
        assert_told(
            &format!("waiting at {name:?}"),
            &wait.send().await,
            422,
            "invalid",
        );
        if !name.is_empty() {
            let delete = client.delete(&format!("/inboxes/{encoded}"));
            assert_told(
                &format!("closing {name:?}"),
                &delete.send().await,
                422,
                "invalid",
            );
        }
    }
    let project = client
        .post("/notify")
        .json(&json!({ "msg": "x", "project": "a\u{1b}b" }));
    assert_told("project", &project.send().await, 422, "invalid");
    assert_eq!(client.head().await, 0);
}

#[tokio::test]
async fn what_breaks_a_rule_of_the_contract_is_told_why() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    let id = client.say("known").await;
    let head = client.head().await;
    let rows: &[(&str, Value, u16, &str)] = &[
        (
            "unknown type",
            json!({ "type": "finished" }),
            422,
            "unknown_type",
        ),
        (
            "expired",
            json!({ "expires_at": "2020-01-01T00:00:00Z" }),
            422,
            "invalid",
        ),
        (
            "overflowing",
            json!({ "expires_at": "99999-01-01T00:00:00Z" }),
            422,
            "invalid",
        ),
        (
            "no time",
            json!({ "expires_at": "tomorrow" }),
            422,
            "invalid",
        ),
        ("ttl 0", json!({ "ttl": 0 }), 422, "invalid"),
        ("endless", json!({ "ttl": u64::MAX }), 422, "invalid"),
        (
            "both",
            json!({ "ttl": 1, "expires_at": "2999-01-01T00:00:00Z" }),
            422,
            "invalid",
        ),
        (
            "reply to nothing",
            json!({ "reply_to": 999 }),
            422,
            "invalid",
        ),
        (
            "answer to no question",
            json!({ "type": "answer", "reply_to": id }),
            422,
            "no_such_question",
        ),
        (
            "answer to nobody",
            json!({ "type": "answer" }),
            422,
            "no_such_question",
        ),
        (
            "from the future",
            json!({ "ts": "2999-01-01T00:00:00Z" }),
            422,
            "invalid",
        ),
    ];
    for (what, fields, status, code) in rows {
        let mut post = json!({ "msg": "x" });
        let all = post.as_object_mut().expect("an object");
        all.extend(fields.as_object().expect("an object").clone());
        assert_told(
            what,
            &client.post("/notify").json(&post).send().await,
            *status,
            code,
        );
    }
    for (method, path, status, code) in [
        ("POST", "/notify?type=finished", 422, "unknown_type"),
        ("POST", "/notify?colour=red", 422, "invalid"),
        ("GET", "/wait?timeout=1e9", 422, "invalid"),
        ("GET", "/wait?timeout=1000000000", 422, "invalid"),
        ("GET", "/wait?timeout=-1", 422, "invalid"),
        ("GET", "/wait?settle=60000", 422, "invalid"),
        ("GET", "/wait?types=finished", 422, "unknown_type"),
        ("GET", "/wait?since=x", 400, "malformed_cursor"),
        ("GET", "/wait?since=1&since=2", 400, "malformed_cursor"),
        ("GET", "/wait?ack=forged.lease", 422, "forged_lease"),
        ("GET", "/events?since=x", 400, "malformed_cursor"),
        ("GET", "/events?since=", 400, "malformed_cursor"),
        ("GET", "/events?since=1&since=2", 400, "malformed_cursor"),
        ("GET", "/events?kinds=everything", 422, "invalid"),
        ("GET", "/notifications?limit=0", 422, "invalid"),
        ("GET", "/notifications?limit=501", 422, "invalid"),
        ("GET", "/notifications?before=1&after=1", 422, "invalid"),
        ("GET", "/notifications/99999999999999999999", 422, "invalid"),
        ("GET", "/notifications/-1", 422, "invalid"),
        ("GET", "/notifications/x", 422, "invalid"),
        ("GET", "/notifications/0", 404, "unknown_notification"),
        ("GET", "/notifications/999", 404, "unknown_notification"),
        (
            "GET",
            "/notifications/999/trace",
            404,
            "unknown_notification",
        ),
        ("DELETE", "/notifications/999", 404, "unknown_notification"),
        ("DELETE", "/inboxes/nowhere", 404, "unknown_inbox"),
        ("DELETE", "/inboxes/a%00b", 422, "invalid"),
        ("DELETE", "/inboxes/a%FFb", 400, "malformed"),
        ("POST", "/projects/%1B/reset", 422, "invalid"),
        ("GET", "/hello", 422, "invalid"),
        ("GET", "/hello?nonce=xyz", 422, "invalid"),
    ] {
        let answer = client.ask(method, path).body("text").send().await;
        assert_told(path, &answer, status, code);
    }
    assert_eq!(client.head().await, head);
}

#[tokio::test]
async fn an_ack_of_what_was_never_given_changes_nothing() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    let id = client.say("known").await;
    let elsewhere = client.notify(json!({ "msg": "x", "to": "other" })).await;
    let head = client.head().await;
    for (what, body, status, code) in [
        (
            "unknown",
            json!({ "ids": [0] }),
            404,
            "unknown_notification",
        ),
        (
            "future",
            json!({ "ids": [999] }),
            404,
            "unknown_notification",
        ),
        ("overflow", json!({ "ids": [1.0e30] }), 422, "invalid"),
        (
            "foreign",
            json!({ "ids": [elsewhere] }),
            404,
            "unknown_notification",
        ),
        (
            "known and foreign",
            json!({ "ids": [id, elsewhere] }),
            404,
            "unknown_notification",
        ),
        ("nothing", json!({}), 422, "invalid"),
        ("empty", json!({ "ids": [] }), 422, "invalid"),
        ("both", json!({ "ids": [id], "lease": "x" }), 422, "invalid"),
        ("up to", json!({ "upto": id }), 422, "invalid"),
        (
            "forged",
            json!({ "lease": "eyJlIjoi.AAAA" }),
            422,
            "forged_lease",
        ),
    ] {
        let ack = client.post("/inboxes/primary/ack").json(&body).send().await;
        assert_told(what, &ack, status, code);
    }
    assert_eq!(client.head().await, head);
}

#[tokio::test]
async fn a_repeated_ack_is_fine_and_a_reused_key_is_not() {
    let hub = Hub::builder().memory().start();
    let client = hub.client();
    let id = client.say("known").await;
    let ack = async || {
        client
            .post("/inboxes/primary/ack")
            .json(&json!({ "ids": [id] }))
            .send()
            .await
    };
    assert_eq!(ack().await.expect(200).json(), json!({ "acked": [id] }));
    assert_eq!(ack().await.expect(200).json(), json!({ "acked": [] }));
    let keyed = async |body: &'static str| {
        client
            .post("/notify")
            .header("idempotency-key", "k")
            .body(body)
            .send()
            .await
    };
    let first = keyed("one").await.expect(201).json()["id"].clone();
    assert_eq!(keyed("one").await.expect(200).json()["id"], first);
    assert_told("reused", &keyed("two").await, 409, "key_reused");
}

#[tokio::test]
async fn a_reader_whose_place_is_unknown_is_reset() {
    let hub = Hub::builder().memory().start();
    let client: Client = hub.client();
    client.say("known").await;
    for id in ["x", "", "0000000000000000-1", "999", "99999999999999999999"] {
        let mut events = client
            .get("/events")
            .header("last-event-id", id)
            .stream()
            .await;
        let first = events.next().await.expect("an event");
        assert_eq!(
            (first.name.as_str(), &first.data["head"]),
            ("reset", &json!(1)),
            "{id}"
        );
    }
}
