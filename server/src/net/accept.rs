//! Taking connections in.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

use super::Peer;
use super::connection::Server;
use super::slots::Slots;

/// How long accepting rests after an error such as too many open files, which passes only when something closes.
const BACKOFF: Duration = Duration::from_millis(100);

/// A socket that connections come from.
pub(super) trait Listener: Send + 'static {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    fn next(&self) -> impl Future<Output = io::Result<(Self::Stream, Peer)>> + Send;
}

impl Listener for TcpListener {
    type Stream = tokio::net::TcpStream;

    async fn next(&self) -> io::Result<(Self::Stream, Peer)> {
        let (stream, _) = self.accept().await?;
        stream.set_nodelay(true)?;
        let local_port = stream.local_addr()?.port();
        Ok((stream, Peer::Tcp { local_port }))
    }
}

impl Listener for UnixListener {
    type Stream = tokio::net::UnixStream;

    async fn next(&self) -> io::Result<(Self::Stream, Peer)> {
        let (stream, _) = self.accept().await?;
        let (uid, us) = (
            stream.peer_cred()?.uid(),
            rustix::process::geteuid().as_raw(),
        );
        if uid != us {
            tracing::warn!(uid, "refused another user on the socket");
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        Ok((stream, Peer::Unix))
    }
}

/// Serves what connects, until shutdown.
pub(super) async fn run<L: Listener>(listener: L, slots: Slots, server: Arc<Server>) {
    let accepting = async {
        loop {
            match listener.next().await {
                Ok((stream, peer)) => {
                    let slot = slots.take().await;
                    let conversation = server.clone().converse(stream, peer, slot);
                    server.connections.spawn(conversation);
                }
                Err(error) if of_one_connection(&error) => {
                    tracing::debug!(%error, "a connection ended before it began");
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept connections");
                    tokio::time::sleep(BACKOFF).await;
                }
            }
        }
    };
    let () = server
        .shutdown
        .run_until_cancelled(accepting)
        .await
        .unwrap_or(());
}

fn of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{
        BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, InvalidInput,
        NotConnected,
    };
    matches!(
        error.kind(),
        ConnectionRefused
            | ConnectionAborted
            | ConnectionReset
            | NotConnected
            | BrokenPipe
            // macOS, for an option on a socket that its peer has closed
            | InvalidInput
    )
}
