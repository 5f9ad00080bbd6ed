use std::time::{Duration, Instant};

use axum::Extension;
use axum::routing::get;
use futures_util::stream;
use hub_protocol::Timestamp;

use crate::login::{NewDevice, SESSION_LIFE};

use super::*;

const PORT: u16 = 4782;

fn token() -> Token {
    "5".repeat(64).parse().unwrap()
}

fn app(devices: Devices) -> Guarded {
    let routes = Router::new()
        .route("/", get(async || "page"))
        .route("/inboxes", get(async || "inboxes"))
        .route("/caller", get(caller))
        .route("/stream", get(stream))
        .route("/silent", get(std::future::pending::<()>))
        .route("/panic", get(panics));
    let hosts = ["hub.example:443".into()];
    protect(routes, Guard::new(token(), devices, &hosts))
}

/// Answers whether a dashboard session made the request.
async fn caller(session: Option<Extension<DashboardSession>>) -> &'static str {
    session.map_or("token", |_| "session")
}

/// A stream of one byte that never ends.
async fn stream() -> Body {
    let first = stream::iter([Ok::<_, std::io::Error>("1")]);
    Body::from_stream(first.chain(stream::pending()))
}

async fn panics() -> &'static str {
    panic!("secret place")
}

/// A request as it may arrive over TCP; a second header of the same name is added to the first.
struct Asked(Request, Devices);

fn ask(method: &str, path: &str) -> Asked {
    let mut request = Request::new(Body::empty());
    *request.method_mut() = method.parse().unwrap();
    *request.uri_mut() = path.parse().unwrap();
    request.extensions_mut().insert(Peer::Tcp {
        local: ([127, 0, 0, 1], PORT).into(),
        remote: ([127, 0, 0, 1], 1).into(),
    });
    Asked(request, Devices::default())
}

impl Asked {
    fn header(mut self, name: &'static str, value: &str) -> Self {
        self.0.headers_mut().append(name, value.parse().unwrap());
        self
    }

    fn host(self) -> Self {
        self.header("host", "127.0.0.1:4782")
    }

    fn token(self) -> Self {
        let bearer = format!("Bearer {}", token().expose());
        self.header("authorization", &bearer)
    }

    /// Adds the token of a session that ends in `left` seconds.
    fn session(self, left: i64) -> Self {
        let life = SESSION_LIFE.as_secs().cast_signed();
        let wall = Timestamp::now().plus_millis((left - life) * 1000);
        let mono = Instant::now();
        let new = NewDevice {
            name: "x".into(),
            host: "h",
            access: None,
        };
        let now = Now {
            wall,
            mono,
            boot_ms: 0,
        };
        let session = self.1.add(new, now).unwrap();
        self.header("authorization", &format!("Bearer {}", session.token))
    }

    fn over_unix(mut self) -> Self {
        self.0.extensions_mut().insert(Peer::Unix { pid: None });
        self
    }

    async fn response(self) -> Response {
        app(self.1).answer(self.0).await
    }

    async fn status(self) -> u16 {
        self.response().await.status().as_u16()
    }
}

async fn text(response: Response) -> String {
    let body = axum::body::to_bytes(response.into_body(), 4096);
    String::from_utf8(body.await.unwrap().to_vec()).unwrap()
}

#[tokio::test]
async fn only_the_hubs_own_names_are_accepted_as_host() {
    for (host, status) in [
        ("127.0.0.1:4782", 200),
        ("localhost:4782", 200),
        ("LocalHost:4782", 200),
        ("[::1]:4782", 200),
        ("hub.example:443", 200),
        ("127.0.0.1", 421),
        ("127.0.0.1:4783", 421),
        ("127.0.0.1:04782", 421),
        ("127.0.0.1:+4782", 421),
        ("localhost.:4782", 421),
        ("0.0.0.0:4782", 421),
        ("evil.example:4782", 421),
        ("localhost.evil.example:4782", 421),
        ("hub.example", 421),
        ("", 421),
        ("é:4782", 421),
    ] {
        let asked = ask("GET", "/inboxes").token().header("host", host);
        assert_eq!(asked.status().await, status, "{host}");
    }
    let two = ask("GET", "/inboxes").token().host().host();
    assert_eq!(two.status().await, 421);
    assert_eq!(ask("GET", "/inboxes").token().status().await, 421);
    let absolute = ask("GET", "http://evil.example/inboxes").token().host();
    assert_eq!(absolute.status().await, 421);
    let absolute = ask("GET", "http://localhost:4782/inboxes").token().host();
    assert_eq!(absolute.status().await, 200);
}

#[tokio::test]
async fn pages_of_other_origins_are_refused() {
    for (name, value, status) in [
        ("origin", "http://127.0.0.1:4782", 200),
        ("origin", "null", 403),
        ("origin", "http://127.0.0.1:3000", 403),
        ("origin", "http://localhost:4782", 403),
        ("origin", "http://evil.example", 403),
        ("origin", "", 403),
        ("sec-fetch-site", "same-origin", 200),
        ("sec-fetch-site", "none", 200),
        ("sec-fetch-site", "same-site", 403),
        ("sec-fetch-site", "cross-site", 403),
        ("sec-fetch-site", "", 403),
    ] {
        let asked = ask("GET", "/inboxes").token().host().header(name, value);
        assert_eq!(asked.status().await, status, "{name}: {value}");
        let unix = ask("GET", "/inboxes").over_unix().header(name, value);
        let expected = if name == "origin" { 403 } else { status };
        let unix = unix.status().await;
        assert_eq!(unix, expected, "on the socket: {name}: {value}");
    }
}

#[tokio::test]
async fn a_link_may_lead_to_the_start_page_only() {
    let navigate = |path| {
        ask("GET", path)
            .host()
            .token()
            .header("sec-fetch-site", "cross-site")
            .header("sec-fetch-mode", "navigate")
    };
    let document = navigate("/").header("sec-fetch-dest", "document");
    assert_eq!(document.status().await, 200);
    let frame = navigate("/").header("sec-fetch-dest", "iframe");
    assert_eq!(frame.status().await, 403);
    let other = navigate("/inboxes").header("sec-fetch-dest", "document");
    assert_eq!(other.status().await, 403);
}

#[tokio::test]
async fn an_expired_session_is_named_in_the_error() {
    let over = ask("GET", "/inboxes").host().session(0).response().await;
    assert!(text(over).await.contains("session is over"));
    let forged = ask("GET", "/inboxes").host();
    let forged = forged.header("authorization", "Bearer 10");
    assert!(!text(forged.response().await).await.contains("over"));
}

#[tokio::test]
async fn routes_distinguish_a_session_from_the_token() {
    let caller = || ask("GET", "/caller");
    let by_session = caller().host().session(60).response().await;
    assert_eq!(text(by_session).await, "session");
    let by_token = caller().host().token().response().await;
    assert_eq!(text(by_token).await, "token");
    let on_the_socket = caller().over_unix().response().await;
    assert_eq!(text(on_the_socket).await, "token");
}

#[tokio::test]
async fn a_stream_ends_with_its_session() {
    let stream = ask("GET", "/stream").host().session(1).response().await;
    let read = tokio::time::timeout(Duration::from_secs(20), text(stream));
    assert_eq!(read.await.expect("an end"), "1");
}

#[tokio::test]
async fn a_stream_and_a_request_end_at_once_when_their_device_is_removed() {
    let stream = ask("GET", "/stream").host().session(3600);
    let devices = stream.1.clone();
    let stream = stream.response().await;
    let waiting = ask("GET", "/silent").host();
    let waiting = Asked(waiting.0, devices.clone()).session(3600).response();
    let remove = async { devices.remove(None).unwrap() };
    let ended = async { tokio::join!(text(stream), waiting, remove) };
    let ended = tokio::time::timeout(Duration::from_secs(20), ended).await;
    let (stream, waiting, removed) = ended.expect("an end");
    assert_eq!(
        (stream.as_str(), waiting.status().as_u16(), removed),
        ("1", 401, 2)
    );
}

#[tokio::test]
async fn a_browser_is_told_to_remove_a_foreign_service_worker() {
    for (path, expected) in [
        ("/evil.js", true),
        ("/", true),
        ("/assets/main.js", true),
        ("/service-worker.js", false),
    ] {
        let script = ask("GET", path).host().header("service-worker", "script");
        let clears = |response: Response| response.headers().contains_key(CLEAR_SITE_DATA);
        assert_eq!(clears(script.response().await), expected, "{path}");
        assert!(!clears(ask("GET", path).host().response().await), "{path}");
    }
}

#[tokio::test]
async fn the_checks_run_in_their_order() {
    let bad = || ask("DELETE", "/nowhere");
    assert_eq!(ask("GET", "*").status().await, 400);
    assert_eq!(bad().header("origin", "null").status().await, 421);
    assert_eq!(bad().host().header("origin", "null").status().await, 403);
    assert_eq!(bad().host().status().await, 401);
    assert_eq!(bad().host().token().status().await, 404);
    assert_eq!(bad().over_unix().status().await, 404);
}

#[tokio::test]
async fn a_wrong_method_is_answered_with_the_allowed_ones() {
    let response = ask("DELETE", "/inboxes").host().token().response().await;
    assert_eq!(response.status(), 405);
    assert_eq!(response.headers()[ALLOW], "GET,HEAD");
    assert_eq!(response.headers()[CONTENT_TYPE], PROBLEM_JSON);
    let refused = ask("DELETE", "/inboxes").host().response().await;
    assert!(!refused.headers().contains_key(ALLOW));
}

#[tokio::test]
async fn a_panic_is_an_error_without_details() {
    let response = ask("GET", "/panic").host().token().response().await;
    assert_eq!(response.status(), 500);
    let text = text(response).await;
    let internal = text.contains("\"internal\"");
    assert!(internal && !text.contains("secret"), "{text}");
}

#[tokio::test]
async fn a_request_without_a_peer_is_refused() {
    let mut asked = ask("GET", "/inboxes").host().token();
    asked.0.extensions_mut().remove::<Peer>();
    assert_eq!(asked.status().await, 421);
}
