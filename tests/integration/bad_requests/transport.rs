//! Malformed HTTP/1.1.

use hub_harness::Hub;

use super::assert_refused;

/// Method, path, further head lines and body of a request, and the status and code of its response.
type Raw<'a> = (&'a str, &'a str, &'a str, &'a str, u16, &'a str);

#[tokio::test(flavor = "multi_thread")]
async fn malformed_http_is_refused_with_a_problem() {
    let hub = Hub::builder().memory().start();
    let many = "X: 1\r\n".repeat(101);
    let large = format!("X: {}\r\n", "x".repeat(500_000));
    #[rustfmt::skip]
    let rows: &[Raw] = &[
        ("POST", "both lengths", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n", 400, "malformed"),
        ("POST", "10 GB", "Content-Length: 10000000000\r\n", "", 413, "payload_too_large"),
        ("POST", "10 GB, expected", "Content-Length: 10000000000\r\nExpect: 100-continue\r\n", "", 413, "payload_too_large"),
        ("POST", "negative length", "Content-Length: -1\r\n", "", 400, "malformed"),
        ("POST", "no number", "Content-Length: one\r\n", "x", 400, "malformed"),
        ("POST", "two lengths", "Content-Length: 1\r\nContent-Length: 2\r\n", "xy", 400, "malformed"),
        ("POST", "bad chunk", "Transfer-Encoding: chunked\r\n", "zz\r\nx\r\n0\r\n\r\n", 400, "malformed"),
        ("POST", "the same length twice", "Content-Length: 1\r\nContent-Length: 1\r\n", "x", 400, "malformed"),
        ("POST", "2^64-1", "Content-Length: 18446744073709551615\r\n", "x", 413, "payload_too_large"),
        ("POST", "a coding behind another", "Transfer-Encoding: gzip, chunked\r\n", "1\r\nx\r\n0\r\n\r\n", 400, "malformed"),
        ("POST", "unknown coding", "Transfer-Encoding: gzip\r\n", "x", 400, "malformed"),
        ("GET", "500 KB of header", &large, "", 431, "header_too_large"),
        ("GET", "101 headers", &many, "", 431, "header_too_large"),
        ("GET", "NUL in a header", "X: a\0b\r\n", "", 400, "malformed"),
        ("GET", "header without colon", "X\r\n", "", 400, "malformed"),
        ("GET", "folded header", "X: a\r\n b\r\n", "", 400, "malformed"),
        ("TRACE", "TRACE", "", "", 405, "method_not_allowed"),
        ("BREW", "unknown method", "", "", 405, "method_not_allowed"),
        ("GET", "wrong method", "", "", 405, "method_not_allowed"),
    ];
    for (method, what, headers, body, status, code) in rows {
        let mut raw = hub.raw();
        let head = raw.head(method, "/notify");
        raw.send(format!("{head}{headers}\r\n{body}"));
        assert_refused(what, &raw.answer().expect(what), *status, code);
    }
    assert_eq!(hub.client().head().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_not_http_are_refused_with_a_problem() {
    let hub = Hub::builder().memory().start();
    let port = hub.port();
    let long = "x".repeat(70_000);
    #[rustfmt::skip]
    let rows = [
        ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(), 400, "malformed"),
        ("h2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), 400, "malformed"),
        ("no HTTP", b"hello\r\n\r\n".to_vec(), 400, "malformed"),
        ("HTTP/0.9", b"GET /\r\n\r\n".to_vec(), 400, "malformed"),
        ("HTTP/3.0", b"GET / HTTP/3.0\r\n\r\n".to_vec(), 400, "malformed"),
        ("CONNECT", format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").into(), 400, "malformed"),
        ("asterisk", format!("OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").into(), 400, "malformed"),
        ("70 KB URI", format!("GET /{long} HTTP/1.1\r\n\r\n").into(), 414, "uri_too_long"),
        ("no Host", b"GET /healthz HTTP/1.1\r\n\r\n".to_vec(), 421, "wrong_host"),
        ("HTTP/1.0", b"GET /healthz HTTP/1.0\r\n\r\n".to_vec(), 421, "wrong_host"),
        ("two Hosts", format!("GET /healthz HTTP/1.1\r\nHost: localhost:{port}\r\nHost: localhost:{port}\r\n\r\n").into(), 421, "wrong_host"),
        ("trailing dot", format!("GET /healthz HTTP/1.1\r\nHost: localhost.:{port}\r\n\r\n").into(), 421, "wrong_host"),
        ("0.0.0.0", format!("GET /healthz HTTP/1.1\r\nHost: 0.0.0.0:{port}\r\n\r\n").into(), 421, "wrong_host"),
        ("foreign URI", format!("GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n").into(), 421, "wrong_host"),
    ];
    for (what, bytes, status, code) in rows {
        let mut raw = hub.raw();
        raw.send(&bytes);
        assert_refused(what, &raw.answer().expect(what), status, code);
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

#[tokio::test(flavor = "multi_thread")]
async fn a_publish_of_a_half_closed_connection_is_stored_and_answered() {
    let hub = Hub::start();
    for n in 1..=100 {
        let mut raw = hub.raw();
        let head = raw.head("POST", "/notify");
        raw.send(format!("{head}Content-Length: 4\r\n\r\nsaid"));
        raw.finish();
        let answer = raw.answer().expect("an answer").expect(201);
        assert_eq!(answer.json()["id"], n);
        assert!(raw.is_hung_up());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_body_of_a_client_that_disconnects_is_not_stored() {
    let hub = Hub::builder().memory().start();
    let mut raw = hub.raw();
    let head = raw.head("POST", "/notify");
    raw.send(format!("{head}Content-Length: 100\r\n\r\nhalf"));
    raw.finish();
    let answer = raw.answer().expect("an answer");
    assert_refused("short body", &answer, 400, "malformed");
    assert_eq!(hub.client().head().await, 0);
}
