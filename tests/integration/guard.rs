//! The guard: every route, and unknown ones, against every kind of caller.

use axum::http::HeaderName;
use hub_harness::{Ask, Client, Hub, Operation};
use serde_json::json;

use crate::{hub_with, memory_hub};

/// A kind of caller, and the response of a protected route to it.
struct Caller {
    name: &'static str,
    ask: fn(&Callers, &str, &str) -> Ask,
    /// The status; `None` if the caller may pass.
    refused: Option<u16>,
    /// Whether public routes refuse the caller as well.
    even_from_public: bool,
}

struct Callers {
    token: Client,
    stranger: Client,
    unix: Client,
    session: String,
    over: String,
    forged: String,
}

impl Callers {
    async fn of(hub: &Hub) -> Self {
        let (session, over) = (sign_in(hub).await, sign_in(hub).await);
        let (id, proof) = over.split_once('.').expect("a session");
        let device = format!("/login/devices/{id}");
        hub.client().delete(&device).await.expect(200);
        let (live, _) = session.split_once('.').expect("a session");
        let forged = format!("{live}.{proof}");
        let bearer = |session: &str| format!("Bearer {session}");
        Self {
            token: hub.client(),
            stranger: hub.stranger(),
            unix: hub.unix(),
            session: bearer(&session),
            over: bearer(&over),
            forged: bearer(&forged),
        }
    }
}

/// Signs a browser in; returns the token of its session.
async fn sign_in(hub: &Hub) -> String {
    let made = hub.unix().post("/login/code").await.expect(201).json();
    let body = json!({ "code": made["code"] });
    let login = hub.stranger().post_json("/login", body).await;
    let login = login.expect(200).json();
    login["token"].as_str().expect("a token").to_owned()
}

#[rustfmt::skip]
const CALLERS: [Caller; 11] = [
    caller("the token", |c, m, p| c.token.ask(m, p), None, false),
    caller("the Unix socket", |c, m, p| c.unix.ask(m, p), None, false),
    caller("no token", |c, m, p| c.stranger.ask(m, p), Some(401), false),
    caller("a wrong token", |c, m, p| c.stranger.ask(m, p).header("authorization", WRONG), Some(401), false),
    caller("a dashboard's session", |c, m, p| c.stranger.ask(m, p).header("authorization", &c.session), None, false),
    caller("a session that is over", |c, m, p| c.stranger.ask(m, p).header("authorization", &c.over), Some(401), false),
    caller("a forged session", |c, m, p| c.stranger.ask(m, p).header("authorization", &c.forged), Some(401), false),
    caller("a foreign Host", |c, m, p| c.token.ask(m, p).header("host", "evil.example"), Some(421), true),
    caller("the wrong port", |c, m, p| c.token.ask(m, p).header("host", "127.0.0.1:1"), Some(421), true),
    caller("Origin null", |c, m, p| c.token.ask(m, p).header("origin", "null"), Some(403), true),
    caller("another port's page", |c, m, p| c.token.ask(m, p).header("sec-fetch-site", "same-site"), Some(403), true),
];

const WRONG: &str = "Bearer 0000000000000000000000000000000000000000000000000000000000000000";

const fn caller(
    name: &'static str,
    ask: fn(&Callers, &str, &str) -> Ask,
    refused: Option<u16>,
    even_from_public: bool,
) -> Caller {
    Caller {
        name,
        ask,
        refused,
        even_from_public,
    }
}

/// Returns requests that reach the router, and fail its validation if they would otherwise wait or store something.
fn requests(operations: &[Operation]) -> Vec<(String, String, bool)> {
    let concrete = |operation: &Operation| {
        let path = operation
            .path
            .replace("{id}", "0")
            .replace("{inbox}", "-")
            .replace("{project}", "%20")
            .replace("{path}", "style/none.css");
        let waits = operation.id == "wait" || operation.id == "events";
        let query = if waits { "?since=x" } else { "" };
        (operation.method.clone(), path + query, operation.public)
    };
    let unknown = [
        ("GET", "/nowhere"),
        ("POST", "/nowhere"),
        ("DELETE", "/notify"),
        ("PATCH", "/inboxes"),
        ("OPTIONS", "/notify"),
        ("TRACE", "/notify"),
        ("POST", "/healthz"),
        ("GET", "/notify/"),
        ("GET", "//notify"),
        ("GET", "/notifications/../notify"),
        ("POST", "/assets/main.js"),
        ("GET", "/assets"),
        ("GET", "/login"),
        ("POST", "/login/"),
    ];
    let unknown = unknown.map(|(method, path)| (method.to_owned(), path.to_owned(), false));
    operations.iter().map(concrete).chain(unknown).collect()
}

#[tokio::test]
async fn every_route_checks_every_caller() {
    let (hub, client) = memory_hub();
    let callers = Callers::of(&hub).await;
    for (method, path, public) in requests(hub.contract().operations()) {
        for caller in &CALLERS {
            let answer = (caller.ask)(&callers, &method, &path).await;
            let what = format!("{method} {path} with {}: {}", caller.name, answer.text());
            let refused = caller
                .refused
                .filter(|_| !public || caller.even_from_public);
            match refused {
                Some(status) => assert_eq!(answer.status, status, "{what}"),
                // Otherwise a session could outlive its end by creating codes of its own.
                None if caller.name == "a dashboard's session" && gives_codes(&path) => {
                    assert_eq!(answer.code(), "needs_token", "{what}");
                }
                // And a program that has only the token is no person.
                None if caller.name == "the token" && gives_codes(&path) => {
                    assert_eq!(answer.code(), "needs_person", "{what}");
                }
                None => assert!(![401, 403, 421].contains(&answer.status), "{what}"),
            }
            let mut names = answer.headers.keys().map(HeaderName::as_str);
            assert!(
                !names.any(|name| name.starts_with("access-control-")),
                "{what}"
            );
        }
    }
    assert_eq!(client.head().await, 0, "something was stored");
}

fn gives_codes(path: &str) -> bool {
    matches!(path, "/login/code" | "/login/phone")
}

#[tokio::test]
async fn both_loopback_addresses_answer_under_each_name() {
    let (hub, client) = memory_hub();
    for name in ["127.0.0.1", "localhost", "[::1]"] {
        let host = format!("{name}:{}", hub.port());
        let ask = client.get("/inboxes").header("host", &host);
        assert_eq!(ask.await.status, 200, "{host}");
    }
    std::net::TcpStream::connect(("::1", hub.port())).expect("IPv6");
}

#[tokio::test]
async fn an_allowed_host_may_be_any_other_name() {
    let (_hub, client) = hub_with(&["allowed_hosts=['hub.example']"]);
    let ask = client.get("/inboxes").header("host", "hub.example");
    let ask = ask.header("origin", "https://hub.example");
    ask.await.expect(200);
}
