//! A proxy before NATS that loses acknowledgements.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The proxy; its task ends with the test's runtime.
pub(crate) struct Proxy {
    port: u16,
    armed: Arc<AtomicBool>,
    lost: Arc<AtomicU32>,
}

/// The begin of the acknowledgement of a commit.
const ACK: &[u8] = b"{\"stream\":\"HUB_hub\",";

impl Proxy {
    /// Starts a proxy before the server at `url`.
    pub(crate) async fn start(url: &str) -> Self {
        let server = url.trim_start_matches("nats://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (armed, lost) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let proxy = Self {
            port,
            armed: Arc::clone(&armed),
            lost: Arc::clone(&lost),
        };
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if let Ok(server) = TcpStream::connect(&server).await {
                    tokio::spawn(relay(client, server, Arc::clone(&armed), Arc::clone(&lost)));
                }
            }
        });
        proxy
    }

    /// Returns the address for a hub's settings.
    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Loses the next acknowledgement, and breaks the connection.
    pub(crate) fn lose_next(&self) {
        self.armed.store(true, Ordering::SeqCst);
    }

    /// Returns how many acknowledgements were lost.
    pub(crate) fn lost(&self) -> u32 {
        self.lost.load(Ordering::SeqCst)
    }
}

async fn relay(client: TcpStream, server: TcpStream, armed: Arc<AtomicBool>, lost: Arc<AtomicU32>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let up = async {
        let _ = tokio::io::copy(&mut from_client, &mut to_server).await;
    };
    let down = async {
        let mut bytes = vec![0; 64 << 10];
        while let Ok(length @ 1..) = from_server.read(&mut bytes).await {
            let is_ack = bytes[..length].windows(ACK.len()).any(|it| it == ACK);
            if is_ack && armed.swap(false, Ordering::SeqCst) {
                lost.fetch_add(1, Ordering::SeqCst);
                return;
            }
            if to_client.write_all(&bytes[..length]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! { () = up => {}, () = down => {} }
}
