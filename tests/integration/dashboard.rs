//! Serving the dashboard, and signing in to it.

use std::path::Path;

use hub_harness::{Client, Hub, encoded};
use serde_json::{Value, json};

const WEB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../web");

/// Returns the paths of all files below `dir`.
fn files(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("a directory").flatten();
    let found = entries.flat_map(|entry| {
        let path = entry.path();
        if path.is_dir() {
            files(&path)
        } else {
            vec![path.display().to_string()]
        }
    });
    found.collect()
}

/// Signs in; returns the token of a new session.
async fn session(hub: &Hub) -> String {
    let made = hub.unix().post("/login/code").send().await.expect(201);
    let login = sign_in(hub, &made.json()["code"]).await;
    login.expect(200).json()["token"]
        .as_str()
        .expect("a token")
        .to_owned()
}

async fn sign_in(hub: &Hub, code: &Value) -> hub_harness::Answer {
    let login = hub.stranger().post("/login").json(&json!({ "code": code }));
    login.send().await
}

fn bearer(session: &str) -> String {
    format!("Bearer {session}")
}

#[tokio::test]
async fn every_caller_gets_the_page_and_its_files_with_their_types() {
    let hub = Hub::builder().memory().start();
    let page = hub.stranger().get("/").send().await.expect(200);
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    for file in files(Path::new(WEB)) {
        let (_, extension) = file.rsplit_once('.').expect("an extension");
        let kind = match extension {
            "html" => "text/html; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "svg" => "image/svg+xml",
            "json" => "application/json",
            other => panic!("{file}: {other} is not served"),
        };
        let path = format!("/assets{}", &file[WEB.len()..]);
        let answer = hub.stranger().get(&path).send().await.expect(200);
        assert_eq!(answer.headers["content-type"], kind, "{path}");
    }
}

#[tokio::test]
async fn a_page_may_run_only_its_own_scripts() {
    let hub = Hub::builder().memory().start();
    for path in ["/", "/assets/index.html", "/assets/main.js"] {
        let answer = hub.stranger().get(path).send().await.expect(200);
        let policy = answer.headers["content-security-policy"]
            .to_str()
            .expect("text");
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
        assert!(
            !policy.contains("unsafe") && !policy.contains('*'),
            "{policy}"
        );
        assert_eq!(answer.headers["referrer-policy"], "no-referrer");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
    }
}

#[tokio::test]
async fn a_file_is_sent_again_only_when_it_has_changed() {
    let hub = Hub::builder().memory().start();
    let client = hub.stranger();
    let first = client.get("/").send().await.expect(200);
    assert_eq!(first.headers["cache-control"], "no-cache");
    let tag = first.headers["etag"].to_str().expect("text");
    let again = client.get("/").header("if-none-match", tag).send().await;
    let again = again.expect(304);
    assert_eq!(again.headers["etag"], tag);
    assert!(again.headers.contains_key("content-security-policy"));
    let other = client
        .get("/")
        .header("if-none-match", "\"0\"")
        .send()
        .await;
    assert_eq!(other.expect(200).body, first.body);
    let head = client.ask("HEAD", "/").send().await.expect(200);
    assert!(head.body.is_empty());
    assert_eq!(head.headers["content-length"], first.body.len().to_string());
    assert_eq!(head.headers["etag"], tag);
}

#[tokio::test]
async fn no_path_leads_outside_the_dashboards_files() {
    let hub = Hub::builder().memory().start();
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
    ] {
        let mut raw = hub.raw();
        let head = raw.head("GET", path);
        raw.send(head + "\r\n");
        let answer = raw.answer().expect("an answer");
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (404, "not_found"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn pages_of_other_ports_get_no_file() {
    let hub = Hub::builder().memory().start();
    for path in ["/", "/assets/main.js"] {
        for (name, value) in [
            ("sec-fetch-site", "same-site"),
            ("origin", "http://127.0.0.1:3000"),
        ] {
            let asked = hub.stranger().get(path).header(name, value).send().await;
            assert_eq!(asked.code(), "foreign_origin", "{path} {name}");
        }
    }
}

#[tokio::test]
async fn a_code_signs_in_once() {
    let hub = Hub::builder().memory().start();
    for client in [hub.unix(), hub.client()] {
        let made = client.post("/login/code").send().await.expect(201);
        assert_eq!(made.headers["cache-control"], "no-store");
        let (code, url) = (&made.json()["code"], &made.json()["url"]);
        let expected = format!("{}/#code={}", hub.url(), code.as_str().expect("a code"));
        assert_eq!(url.as_str(), Some(expected.as_str()));
        let login = sign_in(&hub, code).await.expect(200);
        assert_eq!(login.headers["cache-control"], "no-store");
        assert_eq!(sign_in(&hub, code).await.code(), "bad_code");
    }
    assert_eq!(
        sign_in(&hub, &"0".repeat(32).into()).await.code(),
        "bad_code"
    );
    assert_eq!(sign_in(&hub, &"".into()).await.code(), "bad_code");
    assert_eq!(sign_in(&hub, &7.into()).await.code(), "invalid");
}

#[tokio::test]
async fn a_session_reads_listens_and_answers() {
    let hub = Hub::builder().memory().start();
    let bearer = bearer(&session(&hub).await);
    let ask = |client: &Client, method: &str, path: &str| {
        client.ask(method, path).header("authorization", &bearer)
    };
    let client = hub.stranger();
    ask(&client, "GET", "/sessions").send().await.expect(200);
    let mut events = ask(&client, "GET", "/events").stream().await;
    let said = ask(&client, "POST", "/notify").json(&json!({ "msg": "hello" }));
    said.send().await.expect(201);
    assert_eq!(events.next_of("notification").await.data["msg"], "hello");
}

#[tokio::test]
async fn a_session_cannot_create_another_session() {
    let hub = Hub::builder().memory().start();
    let bearer = bearer(&session(&hub).await);
    let code = hub.stranger().post("/login/code");
    let code = code.header("authorization", &bearer).send().await;
    assert_eq!(code.expect(403).code(), "needs_token");
}

#[tokio::test]
async fn a_session_outlives_the_hub_and_a_code_does_not() {
    let mut hub = Hub::start();
    let bearer = bearer(&session(&hub).await);
    let open = hub.unix().post("/login/code").send().await.expect(201);
    hub.kill_9();
    hub.start_again();
    let sessions = hub.stranger().get("/sessions");
    sessions
        .header("authorization", &bearer)
        .send()
        .await
        .expect(200);
    assert_eq!(sign_in(&hub, &open.json()["code"]).await.code(), "bad_code");
}

#[tokio::test]
async fn neither_a_code_nor_a_session_is_logged() {
    let mut hub = Hub::builder().memory().set("log.level=trace").start();
    let made = hub.client().post("/login/code").send().await.expect(201);
    let code = made.json()["code"].as_str().expect("a code").to_owned();
    let login = sign_in(&hub, &code.as_str().into())
        .await
        .expect(200)
        .json();
    let session = login["token"].as_str().expect("a token");
    let late = sign_in(&hub, &code.as_str().into()).await;
    assert!(!late.text().contains(&code));
    let bearer = bearer(session);
    let inboxes = hub.stranger().get("/inboxes");
    inboxes
        .header("authorization", &bearer)
        .send()
        .await
        .expect(200);
    hub.stop();
    let log = hub.log();
    assert!(log.contains("stopping"), "the test itself works: {log}");
    assert!(!log.contains(&code) && !log.contains(session), "{log}");
}

#[tokio::test]
async fn a_page_that_begins_with_the_head_of_the_log_misses_nothing() {
    let hub = Hub::start();
    let client = hub.client();
    client.notify(json!({ "msg": "before" })).await;
    let about = client.read("/hub").await;
    let id = client.notify(json!({ "msg": "after" })).await;
    let cursor = format!(
        "{}-{}",
        about["epoch"].as_str().expect("text"),
        about["head"]
    );
    let mut events = client.events(&format!("?since={cursor}")).await;
    assert_eq!(events.next_of("notification").await.data["id"], id);
    let dir = about["state_dir"].as_str().expect("a path");
    assert!(Path::new(dir).join("auth.header").exists(), "{dir}");
}

#[tokio::test]
async fn at_another_address_a_browser_gets_the_hubs_address_and_a_program_a_problem() {
    let hub = Hub::builder().memory().start();
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
async fn the_hub_proves_a_session_to_a_caller_that_knows_its_end() {
    let hub = Hub::builder().memory().start();
    let session = session(&hub).await;
    let (ends, _) = session.split_once('.').expect("a token");
    let hello = |query: String| {
        hub.stranger()
            .get(&format!("/hello?nonce={}{query}", "0f".repeat(16)))
            .send()
    };
    let of_token = hello(String::new()).await.expect(200).json();
    let of_session = hello(format!("&session={ends}")).await.expect(200).json();
    assert_ne!(of_token["proof"], of_session["proof"]);
    assert!(!session.contains(of_session["proof"].as_str().expect("a proof")));
    for none in ["0", "99999999999", "x", ""] {
        assert_eq!(
            hello(format!("&session={none}")).await.code(),
            "invalid",
            "{none}"
        );
    }
}
