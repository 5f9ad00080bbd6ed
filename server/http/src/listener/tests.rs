use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use axum::body::Body;
use axum::extract::RawQuery;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use futures_util::{Stream, StreamExt as _, stream};
use hub_config::{Config, ConfigArgs, Positive};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::*;
use crate::guard::{Guard, protect};
use crate::login::Devices;
use crate::peer::Peer;
use crate::request::payload::Payload;

/// Timeout after which a test fails. No test takes this long if the code is right.
const DEADLINE: std::time::Duration = std::time::Duration::from_secs(20);

/// A small application on real sockets.
struct Running {
    dir: TempDir,
    port: u16,
    token: String,
    shutdown: CancellationToken,
    serving: JoinHandle<io::Result<()>>,
}

/// An answer of unknown length.
fn endless(texts: impl Stream<Item = &'static str> + Send + 'static) -> Response {
    Body::from_stream(texts.map(Ok::<_, Infallible>)).into_response()
}

async fn slow(Payload(body): Payload) -> Vec<u8> {
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    body.to_vec()
}

fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let none = |_: &str| None;
    let mut limits = Config::load(&ConfigArgs::default(), &none).unwrap().limits;
    change(&mut limits);
    limits
}

fn start(limits: Limits) -> Running {
    let dir = tempfile::tempdir().unwrap();
    let state = StateDir::open(&dir.path().join("state")).unwrap();
    let token = state.token().unwrap();
    let shutdown = CancellationToken::new();
    let routes = Router::new()
        .route(
            "/peer",
            get(async |Extension(peer): Extension<Peer>| format!("{peer:?}")),
        )
        .route(
            "/query",
            get(async |RawQuery(query): RawQuery| query.unwrap_or_default()),
        )
        .route("/body", post(async |Payload(body): Payload| body))
        .route("/slow", post(slow))
        .route("/needs/{id}/answer", post(slow))
        .route("/large", get(async || vec![b'x'; 64 << 20]))
        .route(
            "/once",
            get(async || endless(stream::once(async { "first" }))),
        )
        .route("/silent", get(async || endless(stream::pending())))
        .route("/flood", get(async || endless(stream::repeat("flood"))));
    let app = protect(routes, Guard::new(token.clone(), Devices::default(), &[]));
    let sockets =
        Sockets::bind("127.0.0.1:0".parse().unwrap(), &state, Inherited::default()).unwrap();
    let port = sockets.port();
    let serving = tokio::spawn({
        let shutdown = shutdown.clone();
        async move {
            let served = sockets.serve(app, &limits, shutdown).await;
            drop(state);
            served
        }
    });
    Running {
        dir,
        port,
        token: token.expose().into(),
        shutdown,
        serving,
    }
}

impl Running {
    fn tcp(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream
    }

    fn unix(&self) -> UnixStream {
        UnixStream::connect(self.dir.path().join("state/hub.sock")).unwrap()
    }

    /// A request head that passes the guard.
    fn head(&self, line: &str) -> String {
        let (port, token) = (self.port, &self.token);
        format!("{line} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n")
    }

    /// A whole request, after which the server closes.
    fn one_request(&self) -> String {
        self.head("GET /peer") + "Connection: close\r\n\r\n"
    }

    /// Sends `bytes` and returns the server's answer, read until the server closes.
    async fn exchange(&self, bytes: impl Into<Vec<u8>>) -> String {
        exchange_on(self.tcp(), bytes.into()).await
    }
}

async fn exchange_on<S: Read + Write + Send + 'static>(mut stream: S, bytes: Vec<u8>) -> String {
    tokio::task::spawn_blocking(move || {
        let _ = stream.write_all(&bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    })
    .await
    .unwrap()
}

fn status(answer: &str) -> &str {
    answer.get(9..12).unwrap_or("none")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_carries_its_peer() {
    let hub = start(limits(|_| ()));
    let answer = hub.exchange(hub.one_request()).await;
    let local = format!("Tcp {{ local: 127.0.0.1:{},", hub.port);
    assert!(answer.contains(&local), "{answer}");
    let request = "GET /peer HTTP/1.1\r\nConnection: close\r\n\r\n";
    let answer = exchange_on(hub.unix(), request.into()).await;
    let own = format!("Unix {{ pid: Some({}) }}", std::process::id());
    assert!(answer.ends_with(&own), "{answer}");
    let v6 = TcpStream::connect(("::1", hub.port)).unwrap();
    let request = hub.one_request().replace("127.0.0.1", "[::1]");
    assert!(exchange_on(v6, request.into()).await.contains("Tcp"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_with_two_framings_is_refused_for_any_split() {
    let hub = start(limits(|_| ()));
    for framing in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nContent-Length: 5\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
    ] {
        let head = hub.head("POST /body") + framing;
        // Some cuts are after the first name, so that neither piece shows both headers.
        for cut in [head.len(), head.len() - framing.len() + 8, head.len() - 12] {
            let mut stream = hub.tcp();
            stream.write_all(&head.as_bytes()[..cut]).unwrap();
            // Another request gives the server time to read the first piece.
            hub.exchange(hub.one_request()).await;
            let rest = head[cut..].to_owned() + "\r\n0\r\n\r\nGET /peer HTTP/1.1\r\n\r\n";
            let answer = exchange_on(stream, rest.into()).await;
            assert_eq!(status(&answer), "400", "{framing:?} {cut}: {answer}");
            assert_eq!(answer.matches("\r\n\r\n").count(), 1, "{answer}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_with_two_framings_is_refused_after_any_trailer() {
    let hub = start(limits(|_| ()));
    let chunked = "Transfer-Encoding: chunked\r\n";
    // Bytes that other programs read as the next request are part of the trailer to hyper.
    let first = hub.head("POST /body") + chunked + "\r\n0\r\na: b\n\r\nGET: /peer\r\n\r\n";
    let second = hub.head("POST /body") + "Content-Length: 5\r\n" + chunked + "\r\n0\r\n\r\n";
    let answers = hub.exchange(first + &second).await;
    assert_eq!(status(&answers), "200", "{answers}");
    assert!(answers.contains("HTTP/1.1 400 "), "{answers}");
    assert!(answers.contains("connection: close"), "{answers}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_closes_its_input_gets_its_answer() {
    let hub = start(limits(|_| ()));
    let chunked = "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
    for rest in ["Content-Length: 2\r\n\r\nhi", chunked] {
        for path in ["/slow", "/needs/7/answer"].repeat(25) {
            let mut stream = hub.tcp();
            let request = hub.head(&format!("POST {path}")) + rest;
            stream.write_all(request.as_bytes()).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            let answer = exchange_on(stream, Vec::new()).await;
            assert_eq!(status(&answer), "200", "{answer}");
            assert!(answer.ends_with("hi"), "{answer}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_of_four_kilobytes_fits_into_a_query() {
    let hub = start(limits(|_| ()));
    let lease = "x".repeat(4096);
    let request = hub.head(&format!("GET /query?ack={lease}")) + "Connection: close\r\n\r\n";
    assert!(hub.exchange(request).await.ends_with(&lease));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_does_not_read_is_dropped() {
    let hub = start(limits(|limits| {
        limits.write_seconds = Positive::MIN;
        limits.connections = Positive::MIN;
    }));
    for path in ["/large", "/flood"] {
        let mut stalled = hub.tcp();
        write!(stalled, "{}\r\n", hub.head(&format!("GET {path}"))).unwrap();
        stalled.peek(&mut [0]).unwrap();
        let answer = hub.exchange(hub.one_request()).await;
        assert_eq!(status(&answer), "200", "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_its_connection() {
    let hub = start(limits(|_| ()));
    let request = hub.head("GET /once") + "\r\nGET /peer HTTP/1.1\r\n\r\n";
    let answer = hub.exchange(request).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, "first", "{head}");
    for header in ["connection: close", "date: ", "cache-control: no-store"] {
        assert!(head.contains(header), "{head}");
    }
    assert!(!head.contains("transfer-encoding"), "{head}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipelined_stream_is_sent_after_the_answers_before_it() {
    let hub = start(limits(|_| ()));
    let requests = hub.head("GET /large") + "\r\n" + &hub.head("GET /once") + "\r\n";
    let answers = hub.exchange(requests).await;
    let (_, large) = answers.split_once("\r\n\r\n").unwrap();
    assert_eq!(large.find(|letter| letter != 'x'), Some(64 << 20));
    assert!(large.ends_with("\r\n\r\nfirst"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_its_reader_whatever_the_reader_sent_before() {
    let hub = start(limits(|limits| limits.connections = Positive::MIN));
    let mut reader = hub.tcp();
    write!(reader, "{}\r\n", hub.head("GET /silent")).unwrap();
    reader.peek(&mut [0]).unwrap();
    reader.write_all(&[b'x'; 1000]).unwrap();
    drop(reader);
    assert_eq!(status(&hub.exchange(hub.one_request()).await), "200");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_does_not_end_at_shutdown_is_cut() {
    let hub = start(limits(|limits| limits.shutdown_seconds = Positive::MIN));
    let mut reader = hub.tcp();
    write!(reader, "{}\r\n", hub.head("GET /silent")).unwrap();
    reader.peek(&mut [0]).unwrap();
    hub.shutdown.cancel();
    hub.serving.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_is_taken_on_one_address_is_refused() {
    let hub = start(limits(|_| ()));
    let dir = tempfile::tempdir().unwrap();
    let state = StateDir::open(&dir.path().join("state")).unwrap();
    let squatter = TcpListener::bind("[::1]:0").unwrap();
    for port in [hub.port, squatter.local_addr().unwrap().port()] {
        let listen = format!("127.0.0.1:{port}").parse().unwrap();
        let bound = Sockets::bind(listen, &state, Inherited::default());
        assert!(matches!(bound, Err(BindError::InUse { .. })), "{port}");
    }
}
