//! Callers without a proof, and pages of other origins.

use hub_harness::Hub;

use super::assert_refused;

#[tokio::test]
async fn only_the_token_is_accepted_as_proof() {
    let hub = Hub::builder().memory().start();
    let token = hub.token();
    let bearer = format!("Bearer {token}");
    #[rustfmt::skip]
    let rows = [
        ("none", "/inboxes".to_owned(), String::new()),
        ("in the query", format!("/inboxes?token={token}&access_token={token}"), String::new()),
        ("Basic", "/inboxes".into(), "Basic dXNlcjpwYXNz".into()),
        ("Basic with the token", "/inboxes".into(), format!("Basic {token}")),
        ("without a scheme", "/inboxes".into(), token.clone()),
        ("cut short", "/inboxes".into(), bearer[..50].into()),
        ("with more", "/inboxes".into(), format!("{bearer}0")),
        ("too long", "/inboxes".into(), format!("Bearer {}", "0".repeat(6000))),
    ];
    for (what, path, header) in rows {
        let ask = hub.stranger().get(&path).header("authorization", &header);
        assert_refused(what, &ask.send().await, 401, "unauthorized");
    }
    let two = hub
        .client()
        .get("/inboxes")
        .header("authorization", &bearer);
    assert_refused("two", &two.send().await, 401, "unauthorized");
    let mut raw = hub.raw();
    raw.send(format!(
        "GET /inboxes HTTP/1.1\r\nAuthorization: Bearer {}\r\n\r\n",
        "0".repeat(10_000)
    ));
    assert_refused(
        "10 KB",
        &raw.answer().expect("an answer"),
        431,
        "header_too_large",
    );
}

#[tokio::test]
async fn pages_of_other_origins_are_refused_whatever_they_send() {
    let hub = Hub::builder().memory().start();
    #[rustfmt::skip]
    let rows = [
        ("origin", "null"),
        ("origin", "http://evil.example"),
        ("origin", "http://127.0.0.1:3000"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ];
    for (name, value) in rows {
        let post = hub.client().post("/notify").header(name, value).body("x");
        assert_refused(value, &post.send().await, 403, "foreign_origin");
    }
    let preflight = hub
        .stranger()
        .ask("OPTIONS", "/notify")
        .header("origin", "http://evil.example");
    let preflight = preflight.header("access-control-request-method", "POST");
    assert_refused("preflight", &preflight.send().await, 403, "foreign_origin");
    assert_eq!(hub.client().head().await, 0);
}
