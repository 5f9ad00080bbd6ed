//! Malformed bodies.

use serde_json::{Value, json};

use super::assert_refused;
use crate::memory_hub;

#[tokio::test]
async fn a_body_of_another_content_type_is_refused() {
    let (_hub, client) = memory_hub();
    #[rustfmt::skip]
    let rows = [
        ("content-type", "multipart/form-data; boundary=x"),
        ("content-type", "text/plain; charset=utf-16"),
        ("content-encoding", "gzip"),
    ];
    for (name, value) in rows {
        let post = client.post("/notify").header(name, value).body("x");
        assert_refused(value, &post.await, 415, "unsupported_media_type");
    }
    assert_eq!(client.head().await, 0);
}

#[tokio::test]
async fn a_json_body_must_be_an_object_or_an_array() {
    let (_hub, client) = memory_hub();
    let post = |kind: &str, body: &'static str| {
        let post = client.post("/notify").header("content-type", kind);
        post.body(body).send()
    };
    for (body, status, code) in [
        ("\"done\"", 422, "invalid"),
        ("42", 422, "invalid"),
        ("null", 422, "invalid"),
        (" true", 422, "invalid"),
        ("done", 400, "malformed"),
    ] {
        for kind in ["application/json", "Application/JSON; charset=utf-8"] {
            assert_refused(body, &post(kind, body).await, status, code);
        }
    }
    assert_eq!(client.head().await, 0);
    post("text/plain", "42").await.expect(201);
    post("application/json", " {\"msg\":\"42\"}")
        .await
        .expect(201);
}

#[tokio::test]
async fn a_malformed_notification_is_refused_with_the_reason() {
    let (_hub, client) = memory_hub();
    let (open, close) = ("[".repeat(30_000), "]".repeat(30_000));
    let deep = format!("{{\"msg\":\"x\",\"data\":{open}{close}}}");
    let large = format!("{{\"msg\":\"{}\"}}", "x".repeat(70_000));
    let over_a_mebibyte = vec![b'x'; 1024 * 1024 + 1];
    let many = format!("[{}]", vec!["{\"msg\":\"x\"}"; 1001].join(","));
    #[rustfmt::skip]
    let rows: &[(&str, &[u8], u16, &str)] = &[
        ("empty", b"", 422, "invalid"),
        ("truncated", br#"{"msg":"x""#, 400, "malformed"),
        ("trailing bytes", br#"{"msg":"x"} x"#, 400, "malformed"),
        ("byte order mark", b"\xef\xbb\xbf{\"msg\":\"x\"}", 400, "malformed"),
        ("invalid UTF-8", b"caf\xe9", 400, "malformed"),
        ("invalid UTF-8 in JSON", b"{\"msg\":\"caf\xe9\"}", 400, "malformed"),
        ("lone surrogate", br#"{"msg":"\ud800"}"#, 400, "malformed"),
        ("NUL", br#"{"msg":"a\u0000b"}"#, 422, "invalid"),
        ("raw control character", b"{\"msg\":\"a\x01b\"}", 400, "malformed"),
        ("duplicate field", br#"{"msg":"x","msg":"y"}"#, 422, "invalid"),
        ("unknown field", br#"{"msg":"x","colour":"red"}"#, 422, "invalid"),
        ("missing field", br#"{"from":"a"}"#, 422, "invalid"),
        ("wrong type", br#"{"msg":1}"#, 422, "invalid"),
        ("null", br#"{"msg":null}"#, 422, "invalid"),
        ("scalar", b"[42]", 422, "invalid"),
        ("array for an object", br#"[["a","b"]]"#, 422, "invalid"),
        ("null for a field", br#"{"msg":"x","from":null}"#, 422, "invalid"),
        ("null in a batch", br#"[{"msg":"x"},{"msg":"x","ttl":null}]"#, 422, "invalid"),
        ("empty batch", b"[]", 422, "invalid"),
        ("priority 256", br#"{"msg":"x","priority":256}"#, 422, "invalid"),
        ("priority -1", br#"{"msg":"x","priority":-1}"#, 422, "invalid"),
        ("priority 1.5", br#"{"msg":"x","priority":1.5}"#, 422, "invalid"),
        ("1e999", br#"{"msg":"x","data":1e999}"#, 400, "malformed"),
        ("30 digits", br#"{"msg":"x","reply_to":123456789012345678901234567890}"#, 422, "invalid"),
        ("deep nesting", deep.as_bytes(), 400, "malformed"),
        ("70 KB", large.as_bytes(), 413, "payload_too_large"),
        ("1001 notifications", many.as_bytes(), 422, "invalid"),
        ("1 MiB and more", &over_a_mebibyte, 413, "payload_too_large"),
        ("white space", b" \n\t ", 422, "invalid"),
        ("white space in JSON", br#"{"msg":" \n "}"#, 422, "invalid"),
        ("a bad one in a good batch", br#"[{"msg":"x"},{"msg":""}]"#, 422, "invalid"),
    ];
    for (what, body, status, code) in rows {
        let post = client.post("/notify").body(body.to_vec());
        assert_refused(what, &post.await, *status, code);
    }
    let like_json = client.post("/notify").body("[WARN] disk full");
    let detail = like_json.await.expect(400).json()["detail"].to_string();
    assert!(detail.contains("send such a text as"), "{detail}");
    assert_eq!(client.head().await, 0);
}

/// Every request in which the hub reads JSON, each with a body that it accepts.
#[rustfmt::skip]
const BODIES: &[(&str, &str, &str)] = &[
    ("POST", "/notify", r#"{"msg":"x","from":"a"}"#),
    ("POST", "/inboxes/primary/ack", r#"{"ids":[1],"by":"me"}"#),
    ("POST", "/seen", r#"{"up_to":1,"seen":true}"#),
    ("PUT", "/sessions/s1", r#"{"name":"n","process":{"pid":1}}"#),
    ("POST", "/questions/1/claim", r#"{"by":"me"}"#),
    ("POST", "/questions/1/withdraw", r#"{"by":"me"}"#),
    ("POST", "/needs/1/answer", r#"{"reply":"yes","by":"me"}"#),
    ("PUT", "/preferences", r#"{"quiet":{"from":"22:00","to":"07:00","zone":"UTC"},"mutes":[{"project":"p"}]}"#),
    ("POST", "/markdown", r##"{"text":"# x"}"##),
    ("POST", "/login", r#"{"code":"0"}"#),
    ("POST", "/hooks/claude", r#"{"hook_event_name":"Stop","session_id":"s1"}"#),
];

/// Returns the values of an object as an array.
fn values_of(object: &Value) -> Option<Value> {
    Some(object.as_object()?.values().cloned().collect())
}

#[tokio::test]
async fn an_array_as_object_and_null_as_value_are_refused_in_every_json_body() {
    let (_hub, client) = memory_hub();
    let post = json!({ "msg": "?", "type": "question" });
    client.notify(post).await;
    let head = client.head().await;
    for (method, path, body) in BODIES {
        let refuse = async |broken: Value| {
            let answer = client.ask(method, path).json(&broken).await;
            assert_refused(&format!("{path} {broken}"), &answer, 422, "invalid");
            let detail = answer.json()["detail"].to_string();
            let leaks = [
                "struct", "usize", "u64", "u32", "sequence", " map", "enum", "variant",
            ];
            let leaks = leaks.iter().any(|leak| detail.contains(leak));
            assert!(!leaks, "{path}: {detail}");
        };
        let sound: Value = serde_json::from_str(body).expect("JSON");
        for (name, value) in sound.as_object().expect("an object") {
            let mut broken = sound.clone();
            // An agent's own payload may contain anything, and quiet hours may be null.
            if !path.starts_with("/hooks") && name != "quiet" {
                broken[name] = Value::Null;
                refuse(broken.clone()).await;
            }
            for values in [value, &value[0]].into_iter().filter_map(values_of) {
                broken[name] = if value.is_array() {
                    json!([values])
                } else {
                    values
                };
                refuse(broken.clone()).await;
            }
        }
        let values = values_of(&sound).expect("an object");
        let batch = *path == "/notify";
        refuse(if batch { json!([values]) } else { values }).await;
    }
    assert_eq!(client.head().await, head);
}

#[tokio::test]
async fn a_wrong_parameter_is_named_with_its_type() {
    let (_hub, client) = memory_hub();
    for (path, detail) in [
        ("/wait?timeout=x", "timeout is a whole number of at least 0"),
        ("/wait?takeover=1", "takeover is true or false"),
        ("/notifications/x", "a whole number belongs here"),
        (
            "/notifications?limit=x",
            "limit is a whole number of at least 0",
        ),
        (
            "/notifications?limit=-1",
            "limit is a whole number of at least 0",
        ),
        (
            "/notifications?limit=",
            "limit is a whole number of at least 0",
        ),
        (
            "/notifications?limit=9007199254740992",
            "limit is at most 2^53 - 1",
        ),
        ("/notifications?limit=1&limit=2", "duplicate field `limit`"),
        ("/notifications?q=a&q=b", "duplicate field `q`"),
        ("/notifications?colour=red", "unknown field `colour`"),
    ] {
        let answer = client.get(path).await;
        let told = answer.json()["detail"].to_string();
        assert!(told.contains(detail), "{path}: {told}");
    }
}

#[tokio::test]
async fn limits_count_characters_as_the_contract_does() {
    let (_hub, client) = memory_hub();
    for (field, most) in [("title", 512), ("key", 256), ("project", 1024)] {
        for (count, status) in [(most, 201), (most + 1, 422)] {
            let post = json!({ "msg": "x", field: "é".repeat(count) });
            let answer = client.post_json("/notify", post).await;
            assert_eq!(answer.status, status, "{field} of {count}");
        }
    }
    for key in ["", &"k".repeat(257)] {
        let path = format!("/notifications?key={key}");
        let answer = client.delete(&path).await;
        assert_refused("withdrawing a key", &answer, 422, "invalid");
    }
    let by = json!({ "ids": [1], "by": "x".repeat(129) });
    let answer = client.post_json("/inboxes/primary/ack", &by).await;
    assert_refused("a reader's name", &answer, 422, "invalid");
}
