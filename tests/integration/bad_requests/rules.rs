//! Well-formed requests that break a rule of the contract.

use hub_harness::{Ask, encoded};
use serde_json::{Value, json};

use super::assert_refused;
use crate::memory_hub;

#[tokio::test]
async fn names_that_could_escape_their_directory_are_refused() {
    let (_hub, client) = memory_hub();
    let long = "a".repeat(65);
    #[rustfmt::skip]
    let names = ["", &long, "a\nb", "a/b", "..", "a..b", "\u{1b}[31m", "a\u{202e}b", "-x", "a\u{0}b", "a b"];
    for name in names {
        let refuse = async |what: &str, ask: Ask| {
            assert_refused(&format!("{what} {name:?}"), &ask.await, 422, "invalid");
        };
        for field in ["from", "to", "session", "parent"] {
            let post = json!({ "msg": "x", field: name });
            refuse(field, client.post("/notify").json(&post)).await;
        }
        let encoded = encoded(name);
        let wait = client.get(&format!("/wait?timeout=0&inbox={encoded}"));
        refuse("waiting at", wait).await;
        // HTTP clients resolve these segments before they send the path.
        if !["", ".."].contains(&name) {
            refuse("closing", client.delete(&format!("/inboxes/{encoded}"))).await;
        }
    }
    let project = json!({ "msg": "x", "project": "a\u{1b}b" });
    let project = client.post_json("/notify", project).await;
    assert_refused("project", &project, 422, "invalid");
    assert_eq!(client.head().await, 0);
}

#[tokio::test]
async fn a_notification_that_breaks_a_rule_is_refused_with_the_reason() {
    let (_hub, client) = memory_hub();
    let id = client.say("known").await;
    let head = client.head().await;
    #[rustfmt::skip]
    let rows: &[(&str, Value, u16, &str)] = &[
        ("unknown type", json!({ "type": "finished" }), 422, "unknown_type"),
        ("expired", json!({ "expires_at": "2020-01-01T00:00:00Z" }), 422, "invalid"),
        ("overflowing", json!({ "expires_at": "99999-01-01T00:00:00Z" }), 422, "invalid"),
        ("no time", json!({ "expires_at": "tomorrow" }), 422, "invalid"),
        ("ttl 0", json!({ "ttl": 0 }), 422, "invalid"),
        ("endless", json!({ "ttl": u64::MAX }), 422, "invalid"),
        ("both", json!({ "ttl": 1, "expires_at": "2999-01-01T00:00:00Z" }), 422, "invalid"),
        ("reply to nothing", json!({ "reply_to": 999 }), 422, "invalid"),
        ("answer to no question", json!({ "type": "answer", "reply_to": id }), 422, "no_such_question"),
        ("answer to nobody", json!({ "type": "answer" }), 422, "no_such_question"),
        ("from the future", json!({ "ts": "2999-01-01T00:00:00Z" }), 422, "invalid"),
    ];
    for (what, fields, status, code) in rows {
        let mut post = json!({ "msg": "x" });
        let all = post.as_object_mut().expect("an object");
        all.extend(fields.as_object().expect("an object").clone());
        let answer = client.post_json("/notify", &post).await;
        assert_refused(what, &answer, *status, code);
    }
    assert_eq!(client.head().await, head);
}

#[tokio::test]
async fn parameters_that_break_a_rule_are_refused_with_the_reason() {
    let (_hub, client) = memory_hub();
    client.say("known").await;
    let head = client.head().await;
    #[rustfmt::skip]
    let rows = [
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
        ("GET", "/events?inbx=w1", 422, "invalid"),
        ("GET", "/notifications?inbx=w1", 422, "invalid"),
        ("GET", "/events?since=x", 400, "malformed_cursor"),
        ("GET", "/events?since=", 400, "malformed_cursor"),
        ("GET", "/events?since=-1", 400, "malformed_cursor"),
        ("GET", "/events?since=1&since=2", 400, "malformed_cursor"),
        ("GET", "/events?kinds=everything", 422, "invalid"),
        ("GET", "/notifications?limit=0", 422, "invalid"),
        ("GET", "/notifications?limit=501", 422, "invalid"),
        ("GET", "/notifications?before=1&after=1", 422, "invalid"),
        ("GET", "/notifications?thread=1&before=1", 422, "invalid"),
        ("GET", "/notifications?thread=1&q=x", 422, "invalid"),
        ("GET", "/notifications?thread=1&status=acked", 422, "invalid"),
        ("GET", "/notifications?thread=1&from=x", 422, "invalid"),
        ("GET", "/notifications?thread=0", 404, "unknown_notification"),
        ("GET", "/notifications?thread=999", 404, "unknown_notification"),
        ("GET", "/timeline?since=2026-11-23T08:00:00Z&until=2026-11-22T08:00:00Z", 422, "invalid"),
        ("GET", "/timeline?since=yesterday", 422, "invalid"),
        ("GET", "/timeline/moment", 422, "invalid"),
        ("GET", "/stats?minutes=0", 422, "invalid"),
        ("GET", "/stats?minutes=10081", 422, "invalid"),
        ("GET", "/why/nobody", 404, "unknown_session"),
        ("GET", "/why/999", 404, "unknown_notification"),
        ("GET", "/stats?hours=1", 422, "invalid"),
        ("GET", "/notifications/99999999999999999999", 422, "invalid"),
        ("GET", "/notifications/-1", 422, "invalid"),
        ("GET", "/notifications/x", 422, "invalid"),
        ("GET", "/notifications/0", 404, "unknown_notification"),
        ("GET", "/notifications/999", 404, "unknown_notification"),
        ("GET", "/notifications/999/trace", 404, "unknown_notification"),
        ("DELETE", "/notifications/999", 404, "unknown_notification"),
        ("DELETE", "/inboxes/nowhere", 404, "unknown_inbox"),
        ("DELETE", "/inboxes/a%00b", 422, "invalid"),
        ("DELETE", "/inboxes/a%FFb", 400, "malformed"),
        ("POST", "/projects/%1B/reset", 422, "invalid"),
        ("GET", "/hello", 422, "invalid"),
        ("GET", "/hello?nonce=xyz", 422, "invalid"),
    ];
    for (method, path, status, code) in rows {
        let answer = client.ask(method, path).body("text").await;
        assert_refused(path, &answer, status, code);
    }
    assert_eq!(client.head().await, head);
}

#[tokio::test]
async fn an_ack_of_ids_never_delivered_changes_nothing() {
    let (_hub, client) = memory_hub();
    let id = client.say("known").await;
    let elsewhere = client.notify(json!({ "msg": "x", "to": "other" })).await;
    let head = client.head().await;
    #[rustfmt::skip]
    let rows = [
        ("unknown", json!({ "ids": [0] }), 404, "unknown_notification"),
        ("future", json!({ "ids": [999] }), 404, "unknown_notification"),
        ("overflow", json!({ "ids": [1.0e30] }), 422, "invalid"),
        ("foreign", json!({ "ids": [elsewhere] }), 404, "unknown_notification"),
        ("known and foreign", json!({ "ids": [id, elsewhere] }), 404, "unknown_notification"),
        ("nothing", json!({}), 422, "invalid"),
        ("empty", json!({ "ids": [] }), 422, "invalid"),
        ("both", json!({ "ids": [id], "lease": "x" }), 422, "forged_lease"),
        ("up to", json!({ "upto": id }), 422, "invalid"),
        ("forged", json!({ "lease": "eyJlIjoi.AAAA" }), 422, "forged_lease"),
    ];
    for (what, body, status, code) in rows {
        let ack = client.post_json("/inboxes/primary/ack", &body).await;
        assert_refused(what, &ack, status, code);
    }
    assert_eq!(client.head().await, head);
}
