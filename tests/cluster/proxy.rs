//! A proxy before NATS that loses acknowledgements or answers, or everything while the line is cut.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The proxy; its tasks end with the test's runtime.
pub(crate) struct Proxy {
    port: u16,
    line: Arc<Line>,
}

#[derive(Default)]
struct Line {
    armed: AtomicBool,
    lost: AtomicU32,
    /// How many of the next answers about the stream are lost.
    silent: AtomicU32,
    open: AtomicU32,
    cut: watch::Sender<bool>,
}

/// The begin of the acknowledgement of a commit.
const ACK: &[u8] = b"{\"stream\":\"HUB_hub\",";
/// A part of the answer about a stream.
const INFO: &[u8] = b"api.v1.stream_info_response";

impl Proxy {
    /// Starts a proxy before the server at `address`.
    pub(crate) async fn start(address: &str) -> Self {
        let server = address.trim_start_matches("nats://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let line = Arc::<Line>::default();
        let own = Arc::clone(&line);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&own).relay(client, server.clone()));
            }
        });
        Self { port, line }
    }

    /// Returns the address for the settings of a hub or a server.
    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Loses the next acknowledgement, and breaks the connection.
    pub(crate) fn lose_next(&self) {
        self.line.armed.store(true, Ordering::SeqCst);
    }

    /// Loses the next answers about the stream, as a server does that is too busy to answer in time.
    pub(crate) fn lose_answers(&self, count: u32) {
        self.line.silent.store(count, Ordering::SeqCst);
    }

    /// Returns how many acknowledgements were lost.
    pub(crate) fn lost(&self) -> u32 {
        self.line.lost.load(Ordering::SeqCst)
    }

    /// Cuts the line, or mends it. Connections stay open, as when a cable is pulled; nothing passes.
    pub(crate) fn cut(&self, cut: bool) {
        self.line.cut.send_replace(cut);
    }

    /// Whether a connection is open.
    pub(crate) fn is_used(&self) -> bool {
        self.line.open.load(Ordering::SeqCst) > 0
    }
}

impl Line {
    async fn relay(self: Arc<Self>, client: TcpStream, server: String) {
        self.mended().await;
        let Ok(server) = TcpStream::connect(server).await else {
            return;
        };
        self.open.fetch_add(1, Ordering::SeqCst);
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        tokio::select! {
            () = self.pump(from_client, to_server, false) => {}
            () = self.pump(from_server, to_client, true) => {}
        }
        self.open.fetch_sub(1, Ordering::SeqCst);
    }

    async fn pump(&self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf, has_acks: bool) {
        let mut bytes = vec![0; 64 << 10];
        while let Ok(length @ 1..) = from.read(&mut bytes).await {
            let has = |text: &[u8]| bytes[..length].windows(text.len()).any(|it| it == text);
            let left = |it: u32| it.checked_sub(1);
            let silent = &self.silent;
            if has_acks
                && has(INFO)
                && silent
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, left)
                    .is_ok()
            {
                continue;
            }
            let is_ack = has_acks && has(ACK);
            if is_ack && self.armed.swap(false, Ordering::SeqCst) {
                self.lost.fetch_add(1, Ordering::SeqCst);
                return;
            }
            self.mended().await;
            if to.write_all(&bytes[..length]).await.is_err() {
                break;
            }
        }
        self.mended().await;
    }

    async fn mended(&self) {
        let _ = self.cut.subscribe().wait_for(|cut| !cut).await;
    }
}
