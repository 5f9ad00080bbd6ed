//! Who makes a request of another hub: the active hub believes only a hub whose key it knows.

use async_nats::{Client, HeaderMap};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt as _;
use hub_harness::Hub;
use nkeys::KeyPair;
use serde_json::{Value, json};

use super::nats::Nats;
use super::support::{
    cluster, eventually, hubd, key, known, member, pair, publish, settings, stored, until_active,
    until_follows,
};

/// A program that may publish under the names of all hubs.
struct Forger {
    client: Client,
    term: String,
}

impl Forger {
    /// Connects, and learns the number of the term from a call of `standby`.
    async fn new(nats: &Nats, standby: &Hub) -> Self {
        let client = async_nats::connect(nats.url()).await.unwrap();
        let mut calls = client.subscribe("hub.hub.call.*.*").await.unwrap();
        client.flush().await.unwrap();
        publish(standby, "first", "w").await;
        let call = calls.next().await.unwrap();
        let term = call.subject.split('.').nth(3).unwrap().to_owned();
        Self { client, term }
    }

    /// Sends a call, signed with `key`; returns the first line and the body of the answer.
    async fn call(
        &self,
        node: &str,
        head: &Value,
        body: &Value,
        key: Option<&KeyPair>,
    ) -> (Value, Value) {
        let subject = format!("hub.hub.call.{}.{node}", self.term);
        let reply = self.client.new_inbox();
        let payload = format!("{head}\n{body}");
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            let signed = format!("hub call\n{subject}\n{reply}\n{payload}");
            headers.insert(
                "Hub-Signature",
                STANDARD.encode(key.sign(signed.as_bytes()).unwrap()),
            );
        }
        let mut answers = self.client.subscribe(reply.clone()).await.unwrap();
        let sent =
            self.client
                .publish_with_reply_and_headers(subject, reply, headers, payload.into());
        sent.await.unwrap();
        let answer = answers.next().await.unwrap();
        let text = String::from_utf8(answer.payload.to_vec()).unwrap();
        let (head, body) = text.split_once('\n').unwrap();
        (
            serde_json::from_str(head).unwrap(),
            serde_json::from_str(body).unwrap_or_default(),
        )
    }
}

#[tokio::test]
async fn a_call_counts_as_a_persons_only_with_the_signature_of_the_hub_that_took_it() {
    let servers = [Nats::start()];
    let (a, b) = pair(&servers).await;
    let forger = Forger::new(&servers[0], &b).await;
    let open = json!({ "Open": {
        "id": "x-1", "method": "POST", "uri": "/notify", "headers": [["content-type", "application/json"]],
        "dashboard": true, "caller": "Person",
    }});
    let speech = json!({ "from": "person", "type": "message", "to": "w", "msg": "go on" });
    let (own, other) = (key("b"), key("c"));
    for (what, node, signature) in [
        ("without a signature", "b", None),
        ("as the active hub", "a", None),
        ("as a hub that nobody knows", "z", None),
        ("with the key of another hub", "b", Some(&other)),
        ("under another name", "a", Some(&own)),
    ] {
        let (head, body) = forger.call(node, &open, &speech, signature).await;
        assert_eq!(
            (&head["status"], &body["code"]),
            (&json!(403), &json!("not_yours")),
            "{what}"
        );
    }
    assert_eq!(stored(&a).await.len(), 1, "only the first one");
    let (head, _) = forger.call("b", &open, &speech, Some(&own)).await;
    assert_eq!(head["status"], 201);
}

#[tokio::test]
async fn a_captured_call_that_is_sent_again_changes_nothing() {
    let servers = [Nats::start()];
    let (a, b) = pair(&servers).await;
    let spy = async_nats::connect(servers[0].url()).await.unwrap();
    let mut calls = spy.subscribe("hub.hub.call.*.*").await.unwrap();
    spy.flush().await.unwrap();
    publish(&b, "once", "w").await;
    let call = calls.next().await.unwrap();
    let (reply, headers) = (call.reply.unwrap(), call.headers.unwrap());
    let again = spy.publish_with_reply_and_headers(call.subject, reply, headers, call.payload);
    again.await.unwrap();
    eventually("refused, the second one", async || {
        let is_refused = a.log().contains("received before");
        is_refused.then_some(()).ok_or_else(|| a.log())
    })
    .await;
    publish(&b, "next", "w").await;
    let said: Vec<_> = stored(&a).await.into_iter().map(|(_, it)| it).collect();
    assert_eq!(said, ["once", "next"]);
}

#[tokio::test]
async fn a_command_of_a_hub_needs_its_signature() {
    let servers = [Nats::start()];
    let (a, b) = pair(&servers).await;
    let forger = Forger::new(&servers[0], &b).await;
    let close = json!({ "CloseInbox": { "project": "default", "inbox": "w" } });
    let submit = json!({ "Submit": { "id": "x-1", "command": close } });
    let (refused, _) = forger.call("b", &submit, &Value::Null, None).await;
    assert_eq!(refused, "Later");
    assert_eq!(
        a.client().read("/inboxes").await["inboxes"][0]["pending"],
        1,
        "it is open"
    );
    let (done, _) = forger
        .call("b", &submit, &Value::Null, Some(&key("b")))
        .await;
    assert!(done["Done"].is_object(), "{done}");
}

#[tokio::test]
async fn a_hub_that_the_active_one_does_not_know_says_so_and_its_people_are_unknown() {
    let servers = [Nats::start()];
    let only_own = known(&[("a", key("a"))]);
    let a = member("a", &servers).set(&only_own).start();
    until_active(&a).await;
    let b = member("b", &servers).start();
    until_follows(&b, "a").await;
    publish(&b, "anyone may publish", "w").await;
    let speech = json!({ "from": "person", "type": "message", "to": "w", "msg": "go on" });
    let refused = b.unix().post_json("/notify", speech.clone()).await;
    assert_eq!(refused.expect(403).code(), "not_yours");
    let fault = cluster(&b).await["fault"].clone();
    let fault = fault.as_str().unwrap();
    assert!(
        fault.contains("everyone here counts as an unknown caller"),
        "{fault}"
    );
    assert!(
        a.log().contains("not signed with its key in cluster.nodes"),
        "{}",
        a.log()
    );
    // The command that finds such faults names the line to add.
    let dir = tempfile::tempdir().unwrap();
    let mut alone = settings("b", &servers);
    alone.push(only_own);
    let checked = hubd(dir.path(), &alone, &["cluster", "check"]).unwrap_err();
    let line = format!("add b = \"{}\" to [cluster.nodes]", key("b").public_key());
    assert!(checked.contains(&line), "{checked}");
}
