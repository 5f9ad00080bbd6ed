//! Bodies that are no notification.

use hub_harness::Hub;

use super::assert_told;

#[tokio::test]
async fn a_body_in_another_form_is_refused() {
    let hub = Hub::builder().memory().start();
    #[rustfmt::skip]
    let rows = [
        ("content-type", "multipart/form-data; boundary=x"),
        ("content-type", "text/plain; charset=utf-16"),
        ("content-encoding", "gzip"),
    ];
    for (name, value) in rows {
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
        let post = hub.client().post("/notify").body(body.to_vec());
        assert_told(what, &post.send().await, *status, code);
    }
    let like_json = hub.client().post("/notify").body("[WARN] disk full");
    let told = like_json.send().await.expect(400).json()["detail"].to_string();
    assert!(told.contains("send such a text as"), "{told}");
    assert_eq!(hub.client().head().await, 0);
}
