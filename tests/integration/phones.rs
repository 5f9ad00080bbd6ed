//! Phones that are paired at an address of `allowed_hosts`.

use std::process::Command;
use std::time::{Duration, Instant};

use hub_harness::{Answer, Client, Hub};
use serde_json::{Value, json};

use crate::hub_with;
use crate::secrets::is_root;

const HOST: &str = "hub.example";
const ORIGIN: &str = "https://hub.example";

fn start() -> (Hub, Client) {
    hub_with(&["allowed_hosts=['hub.example', 'other.example:8443']"])
}

/// Returns the code of a link for a phone, and the link.
async fn link(hub: &Hub, pairing: Value) -> (String, String) {
    let made = hub.unix().post_json("/login/phone", pairing).await;
    let made = made.expect(201).json();
    let text = |it: &Value| it.as_str().expect("text").to_owned();
    (text(&made["code"]), text(&made["url"]))
}

async fn redeem(hub: &Hub, code: &str, host: &str, origin: Option<&str>) -> Answer {
    let ask = hub.stranger().post("/login").header("host", host);
    let ask = ask.json(&json!({ "code": code }));
    match origin {
        Some(origin) => ask.header("origin", origin).await,
        None => ask.await,
    }
}

/// Pairs a phone with this access.
async fn phone(hub: &Hub, access: &str) -> Client {
    let (code, _) = link(hub, json!({ "access": access })).await;
    let login = redeem(hub, &code, HOST, Some(ORIGIN)).await.expect(200);
    hub.session(login.json()["token"].as_str().expect("a token"))
}

#[tokio::test]
async fn a_code_pairs_one_phone_at_its_address_by_https_only() {
    let (hub, client) = start();
    let (code, url) = link(&hub, json!({ "name": "Anna's phone" })).await;
    assert_eq!(url, format!("{ORIGIN}/#code={code}"));
    for (host, origin) in [
        (HOST, Some("http://hub.example")),
        (HOST, None),
        ("other.example:8443", Some("https://other.example:8443")),
        (&format!("127.0.0.1:{}", hub.port()), None),
    ] {
        let refused = redeem(&hub, &code, host, origin).await;
        assert_eq!(refused.code(), "bad_code", "{host} {origin:?}");
    }
    let login = redeem(&hub, &code, HOST, Some(ORIGIN)).await.expect(200);
    let again = redeem(&hub, &code, HOST, Some(ORIGIN)).await;
    assert_eq!(again.code(), "bad_code", "a code works once");
    let devices = client.read("/login/devices").await;
    let device = &devices["devices"][0];
    assert_eq!(device["name"], "Anna's phone");
    assert_eq!(device["access"], "answers");
    assert_eq!(device["expires_at"], login.json()["expires_at"]);
}

#[tokio::test]
async fn a_link_is_for_an_address_that_the_hub_knows() {
    let (hub, _client) = start();
    let (_, url) = link(&hub, json!({ "host": "OTHER.example:8443" })).await;
    assert!(url.starts_with("https://other.example:8443/#"), "{url}");
    for pairing in [
        json!({ "host": "evil.example" }),
        json!({ "host": "other.example" }),
        json!({ "name": "" }),
        json!({ "name": "a\u{202e}b" }),
        json!({ "name": "x".repeat(65) }),
        json!({ "access": "all" }),
    ] {
        let refused = hub.unix().post_json("/login/phone", &pairing).await;
        assert_eq!(refused.code(), "invalid", "{pairing}");
    }
    let (bare, _) = hub_with(&[]);
    let refused = bare.unix().post_json("/login/phone", json!({})).await;
    let text = refused.text();
    assert!(text.contains("allowed_hosts"), "{text}");
}

#[tokio::test]
async fn a_code_for_a_phone_may_come_from_another_user_and_one_for_a_browser_may_not() {
    if !is_root() {
        return;
    }
    let (hub, _client) = start();
    let sign_in = |code: &str| {
        let asked = Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
            .args(["curl", "-s", "-H", "Host: hub.example"])
            .args(["-H", &format!("Origin: {ORIGIN}")])
            .args(["-d", &json!({ "code": code }).to_string()])
            .arg(format!("{}/login", hub.url()))
            .output();
        let answer = asked.expect("setpriv and curl").stdout;
        serde_json::from_slice::<Value>(&answer).expect("JSON")
    };
    let made = hub.unix().post("/login/code").await.expect(201).json();
    let asked = Instant::now();
    let refused = sign_in(made["code"].as_str().expect("a code"));
    assert_eq!(refused["code"], "foreign_user");
    let delay = Duration::from_millis(250);
    assert!(asked.elapsed() >= delay, "a loop of attempts slows itself");
    let (code, _) = link(&hub, json!({})).await;
    let token = sign_in(&code)["token"].as_str().map(str::to_owned);
    let phone = hub.session(&token.expect("a session"));
    phone.get("/needs").await.expect(200);
}

#[tokio::test]
async fn a_phone_answers_and_one_that_only_reads_does_not() {
    let (hub, client) = start();
    let (answers, reads) = (phone(&hub, "answers").await, phone(&hub, "reads").await);
    let id = client.asks("w1").await;
    let answer = json!({ "reply": "yes" });
    let path = format!("/needs/{id}/answer");
    for phone in [&answers, &reads] {
        let data = phone.read("/dashboard").await;
        assert_eq!(data["needs"][0]["id"], id.to_string());
    }
    let refused = reads.post_json(&path, &answer).await;
    assert_eq!(refused.code(), "not_for_phones");
    let said = json!({ "from": "person", "to": "w1", "msg": "go on" });
    let refused = reads.post_json("/notify", &said).await;
    assert_eq!(refused.code(), "not_for_phones");
    answers.post_json(&path, &answer).await.expect(201);
    answers.post_json("/notify", &said).await.expect(201);
}

#[tokio::test]
async fn a_phone_signs_in_nobody_and_removes_only_itself() {
    let (hub, client) = start();
    let phones = [phone(&hub, "answers").await, phone(&hub, "reads").await];
    let devices = client.read("/login/devices").await;
    let ids = [0, 1].map(|at| devices["devices"][at]["id"].as_str().expect("an id"));
    for (own, phone) in phones.iter().enumerate() {
        for (method, path) in [
            ("POST", "/login/code".to_owned()),
            ("POST", "/login/phone".to_owned()),
            ("DELETE", "/login/devices/all".to_owned()),
            ("DELETE", format!("/login/devices/{}", ids[1 - own])),
            ("POST", "/projects/default/reset".to_owned()),
            ("POST", "/hooks/claude".to_owned()),
            ("GET", "/wait?inbox=primary&timeout=0".to_owned()),
        ] {
            let refused = phone.ask(method, &path).await;
            assert_eq!(refused.code(), "not_for_phones", "{method} {path}");
        }
    }
    for (phone, id) in phones.iter().zip(ids) {
        // The session ends before the answer.
        phone.delete(&format!("/login/devices/{id}")).await;
        assert_eq!(phone.get("/needs").await.status, 401);
    }
}

#[tokio::test]
async fn agents_do_not_wait_for_a_phone_that_only_reads() {
    let (hub, client) = start();
    let form = json!({
        "hook_event_name": "Elicitation", "mcp_server_name": "db", "mode": "form",
        "message": "Which?", "requested_schema": { "type": "object" },
    });
    let phone = phone(&hub, "reads").await;
    let mut events = phone.events("?kinds=presence").await;
    events.next_of("presence").await;
    // A form is held only while a dashboard is open: the answer comes at once.
    client.hook("", "w1", form).await;
    let needs = client.read("/needs").await;
    assert_eq!(needs["needs"][0]["answerable"], false, "{needs}");
}
