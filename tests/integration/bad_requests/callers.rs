//! Callers without a proof.

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
        ("wrong", "/inboxes".into(), format!("Bearer {}", "6".repeat(64))),
        ("with more", "/inboxes".into(), format!("{bearer}0")),
        ("too long", "/inboxes".into(), format!("Bearer {}", "0".repeat(6000))),
    ];
    for (what, path, header) in rows {
        let ask = hub.stranger().get(&path).header("authorization", &header);
        assert_refused(what, &ask.await, 401, "unauthorized");
    }
    let two = hub
        .client()
        .get("/inboxes")
        .header("authorization", &bearer);
    assert_refused("two", &two.await, 401, "unauthorized");
    let mut raw = hub.raw();
    let long = "0".repeat(10_000);
    raw.send(format!(
        "GET /inboxes HTTP/1.1\r\nAuthorization: Bearer {long}\r\n\r\n"
    ));
    let answer = raw.answer().expect("an answer");
    assert_refused("10 KB", &answer, 431, "header_too_large");
    let lower = hub
        .stranger()
        .get("/inboxes")
        .header("authorization", &bearer.to_lowercase());
    lower.await.expect(200);
}
