//! Serving the dashboard, and signing in to it.

use std::path::Path;

use hub_harness::{Answer, Hub, encoded};
use serde_json::{Value, json};

use crate::{disk_hub, hub_with, memory_hub};

/// Returns the paths of the page's script and of its style sheet, which have the hash of their content.
async fn hashed(hub: &Hub) -> [String; 2] {
    let page = hub.stranger().get("/").await.expect(200).text();
    [
        "<script type=\"module\" src=\"",
        "<link rel=\"stylesheet\" href=\"",
    ]
    .map(|tag| {
        let (_, rest) = page.split_once(tag).expect(tag);
        rest.split('"').next().expect("a path").to_owned()
    })
}

/// Returns a new sign-in code.
async fn code(hub: &Hub) -> Value {
    let made = hub.unix().post("/login/code").await;
    made.expect(201).json()["code"].clone()
}

async fn sign_in(hub: &Hub, code: &Value) -> Answer {
    hub.stranger()
        .post_json("/login", json!({ "code": code }))
        .await
}

/// Signs in; returns the token of a new session.
async fn session(hub: &Hub) -> String {
    let login = sign_in(hub, &code(hub).await).await.expect(200).json();
    login["token"].as_str().expect("a token").to_owned()
}

fn header<'a>(answer: &'a Answer, name: &str) -> &'a str {
    answer.headers[name].to_str().expect("text")
}

#[tokio::test]
async fn every_caller_gets_the_page_and_its_files_with_their_types() {
    let (hub, _client) = memory_hub();
    let page = hub.stranger().get("/").await.expect(200);
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    let [script, style] = hashed(&hub).await;
    for (path, kind) in [
        ("/assets/index.html", "text/html; charset=utf-8"),
        (&script, "text/javascript; charset=utf-8"),
        (&style, "text/css; charset=utf-8"),
        ("/assets/icon.svg", "image/svg+xml"),
        ("/assets/icon-192.png", "image/png"),
        ("/assets/manifest.webmanifest", "application/manifest+json"),
        ("/service-worker.js", "text/javascript; charset=utf-8"),
    ] {
        let answer = hub.stranger().get(path).await.expect(200);
        assert_eq!(answer.headers["content-type"], kind, "{path}");
    }
}

#[tokio::test]
async fn a_file_with_a_hash_in_its_name_is_kept_for_good() {
    let (hub, _client) = memory_hub();
    for path in hashed(&hub).await {
        let first = hub.stranger().get(&path).await.expect(200);
        let cache = header(&first, "cache-control");
        assert_eq!(cache, "public, max-age=31536000, immutable", "{path}");
        let tag = header(&first, "etag");
        let again = hub.stranger().get(&path).header("if-none-match", tag);
        let again = again.await.expect(304);
        assert_eq!(header(&again, "cache-control"), cache);
        assert!(again.body.is_empty());
        let (name, extension) = path.rsplit_once('.').expect("an extension");
        let (begin, last) = name.split_at(name.len() - 1);
        let last = if last == "0" { "1" } else { "0" };
        let other = format!("{begin}{last}.{extension}");
        let refusal = hub.stranger().get(&other).await;
        assert_eq!((refusal.status, &*refusal.code()), (404, "not_found"));
    }
}

#[tokio::test]
async fn a_client_gets_the_smallest_encoding_that_it_accepts() {
    let (hub, _client) = memory_hub();
    let [script, style] = hashed(&hub).await;
    for path in ["/", &script, &style] {
        let mut sizes = Vec::new();
        let mut tags = Vec::new();
        for (accepted, encoding) in [
            ("gzip, deflate, br, zstd", Some("br")),
            ("gzip, br;q=0", Some("gzip")),
            ("deflate", None),
        ] {
            let answer = hub.stranger().get(path).header("accept-encoding", accepted);
            let answer = answer.await.expect(200);
            let sent = answer.headers.get("content-encoding");
            assert_eq!(sent.map(|it| it.to_str().unwrap()), encoding, "{path}");
            assert_eq!(answer.headers["vary"], "accept-encoding");
            sizes.push(answer.body.len());
            tags.push(header(&answer, "etag").to_owned());
        }
        assert!(sizes.is_sorted(), "{path}: {sizes:?}");
        tags.dedup();
        assert_eq!(tags.len(), 3, "each encoding has a tag of its own");
        let plain = hub.stranger().get(path).await.expect(200);
        assert_eq!(plain.body.len(), sizes[2], "{path}");
        assert!(plain.headers.get("content-encoding").is_none());
    }
}

#[tokio::test]
async fn a_page_may_run_only_its_own_scripts() {
    let (hub, _client) = memory_hub();
    let [script, _] = hashed(&hub).await;
    for path in ["/", "/assets/index.html", &script] {
        let answer = hub.stranger().get(path).await.expect(200);
        let policy = header(&answer, "content-security-policy");
        let rules: Vec<_> = policy.split("; ").collect();
        for rule in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ] {
            assert!(rules.contains(&rule), "{path}: {rule}: {policy}");
        }
        let lax = policy.contains("unsafe") || policy.contains('*');
        assert!(!lax, "{policy}");
        assert_eq!(answer.headers["referrer-policy"], "no-referrer");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
    }
}

#[tokio::test]
async fn a_file_is_sent_again_only_when_it_has_changed() {
    let (hub, _client) = memory_hub();
    let client = hub.stranger();
    let first = client.get("/").await.expect(200);
    assert_eq!(first.headers["cache-control"], "no-cache");
    let tag = header(&first, "etag");
    let again = client
        .get("/")
        .header("if-none-match", tag)
        .await
        .expect(304);
    assert_eq!(again.headers["etag"], tag);
    assert!(again.headers.contains_key("content-security-policy"));
    let other = client.get("/").header("if-none-match", "\"0\"").await;
    assert_eq!(other.expect(200).body, first.body);
    let head = client.ask("HEAD", "/").await.expect(200);
    assert!(head.body.is_empty());
    let expected = first.body.len().to_string();
    assert_eq!(header(&head, "content-length"), expected);
    assert_eq!(head.headers["etag"], tag);
}

#[tokio::test]
async fn no_path_leads_outside_the_dashboards_files() {
    let (hub, _client) = memory_hub();
    let dots = encoded("../Cargo.toml");
    for path in [
        "/assets/../Cargo.toml",
        "/assets/%2e%2e/Cargo.toml",
        &format!("/assets/{dots}"),
        "/assets/style/../../Cargo.toml",
        "/assets/style/%2e%2e/index.html",
        "/assets//index.html",
        "/assets/%2findex.html",
        "/assets/%2fetc/passwd",
        "/assets/..%5cCargo.toml",
        "/assets/index.html%00",
        "/assets/index.html/",
        "/assets/style",
        "/assets/nothing.js",
        "/assets/",
        "/assets/./index.html",
        "/assets/style%5c..%5cindex.html",
        "/assets/.hidden.html",
        "/assets/INDEX.HTML",
    ] {
        let mut raw = hub.raw();
        let head = raw.head("GET", path);
        raw.send(head + "\r\n");
        let answer = raw.answer().expect("an answer");
        let refusal = (answer.status, &*answer.code());
        assert_eq!(refusal, (404, "not_found"), "{path}");
    }
}

#[tokio::test]
async fn a_code_signs_in_once() {
    let (hub, _client) = memory_hub();
    let by_token = hub.client().post("/login/code").await;
    assert_eq!(by_token.code(), "needs_person", "any program has the token");
    for client in [hub.unix(), hub.unix()] {
        let made = client.post("/login/code").await.expect(201);
        assert_eq!(made.headers["cache-control"], "no-store");
        let (code, url) = (&made.json()["code"], &made.json()["url"]);
        let expected = format!("{}/#code={}", hub.url(), code.as_str().expect("a code"));
        assert_eq!(url.as_str(), Some(expected.as_str()));
        let login = sign_in(&hub, code).await.expect(200);
        assert_eq!(login.headers["cache-control"], "no-store");
        assert_eq!(sign_in(&hub, code).await.code(), "bad_code");
    }
    for (wrong, refusal) in [
        (json!("0".repeat(32)), "bad_code"),
        (json!(""), "bad_code"),
        (json!(7), "invalid"),
    ] {
        assert_eq!(sign_in(&hub, &wrong).await.code(), refusal);
    }
}

#[tokio::test]
async fn a_session_reads_listens_and_publishes() {
    let (hub, _client) = memory_hub();
    let person = hub.person().await;
    person.get("/sessions").await.expect(200);
    let mut events = person.events("").await;
    person.say("hello").await;
    assert_eq!(events.next_of("notification").await.data["msg"], "hello");
}

#[tokio::test]
async fn a_session_outlives_the_hub_and_a_code_does_not() {
    let (mut hub, _client) = disk_hub();
    let (person, open) = (hub.person().await, code(&hub).await);
    hub.crash();
    person.get("/sessions").await.expect(200);
    assert_eq!(sign_in(&hub, &open).await.code(), "bad_code");
}

#[tokio::test]
async fn neither_a_code_nor_a_session_is_logged() {
    let (mut hub, _client) = hub_with(&["log.level=trace"]);
    let code = code(&hub).await;
    let login = sign_in(&hub, &code).await.expect(200).json();
    let session = login["token"].as_str().expect("a token");
    let late = sign_in(&hub, &code).await.text();
    let code = code.as_str().expect("a code");
    assert!(!late.contains(code));
    let inboxes = hub.stranger().get("/inboxes");
    let inboxes = inboxes.header("authorization", &format!("Bearer {session}"));
    inboxes.await.expect(200);
    hub.stop();
    let log = hub.log();
    assert!(log.contains("stopping"), "the test itself works: {log}");
    assert!(!log.contains(code) && !log.contains(session), "{log}");
}

#[tokio::test]
async fn a_page_that_begins_with_the_head_of_the_log_misses_nothing() {
    let (_hub, client) = disk_hub();
    client.say("before").await;
    let asked = client.asks("s1").await;
    let data = client.read("/dashboard").await;
    for part in ["sessions", "preferences"] {
        assert_eq!(data[part], client.read(&format!("/{part}")).await);
    }
    assert_eq!(
        data["history"],
        client.read("/notifications?limit=200").await
    );
    let whole = client.read(&format!("/needs/{asked}")).await;
    assert_eq!(data["wholes"], json!([whole]));
    assert_eq!(
        data["devices"],
        client.read("/login/devices").await["devices"]
    );
    let about = &data["hub"];
    let id = client.say("after").await;
    let epoch = about["epoch"].as_str().expect("text");
    let since = format!("?since={epoch}-{}", about["head"]);
    let mut events = client.events(&since).await;
    assert_eq!(events.next_of("notification").await.data["id"], id);
    let dir = about["state_dir"].as_str().expect("a path");
    assert!(Path::new(dir).join("auth.header").exists(), "{dir}");
}

#[tokio::test]
async fn the_first_view_is_packed_and_has_long_words_only_of_last_notifications() {
    let (hub, client) = memory_hub();
    let long = |it: &str| {
        format!("{it} turn. {}", "More about it. ".repeat(40))
            .trim()
            .to_owned()
    };
    for words in ["A short one", &long("The first"), &long("The second")] {
        let prompt = json!({ "hook_event_name": "UserPromptSubmit", "prompt": "go" });
        client.hook("", "w1", prompt).await;
        let stop = json!({ "hook_event_name": "Stop", "last_assistant_message": words });
        client.hook("", "w1", stop).await;
    }
    let data = client.read("/dashboard").await;
    let rows = data["history"]["notifications"].as_array().expect("a list");
    let said: Vec<_> = rows
        .iter()
        .filter_map(|it| it["data"]["said"].as_str())
        .collect();
    assert!(!said.contains(&long("The first").as_str()));
    assert!(said.contains(&"A short one") && said.contains(&long("The second").as_str()));
    let mut raw = hub.raw();
    let head = raw.head("GET", "/dashboard");
    raw.send(format!("{head}Accept-Encoding: gzip\r\n\r\n"));
    let packed = raw.answer().expect("an answer").headers;
    assert_eq!(packed["content-encoding"], "gzip");
    let first = rows
        .last()
        .and_then(|it| it["id"].as_u64())
        .expect("the first prompt");
    assert_eq!(client.notification(first).await["data"]["said"], "go");
}

#[tokio::test]
async fn at_another_address_a_browser_gets_the_hubs_address_and_a_program_a_problem() {
    let (hub, _client) = memory_hub();
    let at_wrong_port = |accept: &str| {
        let request = hub.stranger().get("/").header("host", "localhost:1");
        request.header("accept", accept).send()
    };
    let page = at_wrong_port("text/html,application/xhtml+xml,*/*;q=0.8").await;
    let page = page.expect(421);
    assert!(page.text().starts_with("<!doctype html>"));
    let port = hub.port();
    let forward =
        format!("ssh -t -L {port}:127.0.0.1:{port} HOST 'hubctl dashboard --print; exec $SHELL'");
    assert!(page.text().contains(&forward), "{}", page.text());
    let problem = at_wrong_port("*/*").await.expect(421);
    assert_eq!(problem.json()["code"], "wrong_host");
}

#[tokio::test]
async fn the_hub_proves_a_session_to_a_caller_that_knows_its_device() {
    let (hub, _client) = memory_hub();
    let session = session(&hub).await;
    let (id, _) = session.split_once('.').expect("a token");
    let path = format!("/hello?nonce={}", "0f".repeat(16));
    let of_token = hub.stranger().read(&path).await;
    let path = format!("{path}&session=");
    let of_session = hub.stranger().read(&format!("{path}{id}")).await;
    assert_ne!(of_token["proof"], of_session["proof"]);
    assert!(!session.contains(of_session["proof"].as_str().expect("a proof")));
    for none in ["0", "99999999999", "x", ""] {
        let refused = hub.stranger().get(&format!("{path}{none}")).await;
        assert_eq!(refused.code(), "invalid", "{none}");
    }
}

/// A browser's answer to a challenge, for the address `host`.
fn answer(session: &str, challenge: &Value, host: &str) -> Value {
    use hmac::{Hmac, KeyInit as _, Mac as _};
    use sha2::{Digest as _, Sha256};
    let (id, _) = session.split_once('.').expect("a token");
    let mac = |key: &[u8], text: String| {
        let mac = Hmac::<Sha256>::new_from_slice(key).expect("a key");
        mac.chain_update(text).finalize().into_bytes()
    };
    let key = mac(session.as_bytes(), format!("browser\0{host}"));
    let text = challenge.as_str().expect("a challenge");
    let cover = mac(&Sha256::digest(key), format!("{text}\0{host}"));
    let proof: Vec<u8> = key.iter().zip(cover).map(|(a, b)| a ^ b).collect();
    let proof = hub_core::secret::hex(&proof);
    json!({ "session": id, "challenge": challenge, "proof": proof })
}

async fn challenge(hub: &Hub) -> Value {
    let made = hub.stranger().post("/login/challenge").await;
    made.expect(200).json()["challenge"].clone()
}

/// Resumes a session as a browser does.
pub(crate) async fn resume(hub: &Hub, session: &str) -> Answer {
    let host = format!("127.0.0.1:{}", hub.port());
    let body = answer(session, &challenge(hub).await, &host);
    hub.stranger().post_json("/login/resume", body).await
}

#[tokio::test]
async fn a_browser_resumes_its_session_with_a_new_challenge_each_time() {
    let (mut hub, _client) = disk_hub();
    let session = session(&hub).await;
    hub.crash();
    let host = format!("127.0.0.1:{}", hub.port());
    let fresh = challenge(&hub).await;
    let body = answer(&session, &fresh, &host);
    let stranger = hub.stranger();
    let resumed = stranger.post_json("/login/resume", body.clone()).await;
    assert_eq!(resumed.expect(200).json()["token"], session);
    // A replay.
    let again = stranger.post_json("/login/resume", body).await;
    assert_eq!(again.code(), "unauthorized");
    let invented = answer(&session, &json!("0".repeat(32)), &host);
    let invented = stranger.post_json("/login/resume", invented).await;
    assert_eq!(invented.code(), "unauthorized");
}

#[tokio::test]
async fn a_session_is_resumed_only_at_the_address_of_its_sign_in() {
    let (hub, _client) = memory_hub();
    let session = session(&hub).await;
    // Another name of the same hub, as a page of another program at another port would have to use.
    let host = format!("localhost:{}", hub.port());
    let body = answer(&session, &challenge(&hub).await, &host);
    let ask = hub.stranger().post("/login/resume").json(&body);
    let refused = ask.header("host", &host).await;
    assert_eq!(refused.code(), "unauthorized");
    // A proof for another address is not one for this.
    let body = answer(&session, &challenge(&hub).await, "127.0.0.1:1");
    let refused = hub.stranger().post_json("/login/resume", body).await;
    assert_eq!(refused.code(), "unauthorized");
}

#[tokio::test]
async fn a_device_that_is_signed_out_loses_its_session_and_its_streams_at_once() {
    let (mut hub, client) = disk_hub();
    let (person, other) = (hub.person().await, hub.person().await);
    let devices = client.read("/login/devices").await["devices"].clone();
    let [first, second] = [0, 1].map(|n| devices[n]["id"].as_str().expect("an id").to_owned());
    let mut stream = person.events("").await;
    let path = format!("/login/devices/{first}");
    assert_eq!(client.delete(&path).await.expect(200).json()["removed"], 1);
    while stream.any().await.is_some() {}
    assert_eq!(person.get("/sessions").await.code(), "unauthorized");
    other.get("/sessions").await.expect(200);
    assert_eq!(client.delete(&path).await.code(), "unknown_device");
    hub.crash();
    assert_eq!(person.get("/sessions").await.code(), "unauthorized");
    other.get("/sessions").await.expect(200);
    let left = client.read("/login/devices").await["devices"].clone();
    assert_eq!(left[0]["id"], second);
    let all = client.delete("/login/devices/all").await.expect(200);
    assert_eq!(all.json()["removed"], 1);
    assert_eq!(other.get("/sessions").await.code(), "unauthorized");
}
