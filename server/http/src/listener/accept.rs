//! Accepts connections.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::sockopt::set_socket_send_buffer_size;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

use super::connection::Server;
use super::slots::ConnectionSlots;
use crate::peer::Peer;

/// Pause after an error such as too many open files, which persists until some file is closed.
const BACKOFF: Duration = Duration::from_millis(100);

/// Send buffer of a TCP connection in bytes. Without a limit it grows to 4 MB for each reader that does not read, and a
/// thousand of these use up the machine's TCP memory. It also bounds the bytes that one turn of a connection's task can
/// write.
const SEND_BYTES: usize = 128 << 10;

/// A listening socket, TCP or Unix.
pub(super) trait Acceptor: Send + 'static {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    fn accept_peer(&self) -> impl Future<Output = io::Result<(Self::Stream, Peer)>> + Send;
}

impl Acceptor for TcpListener {
    type Stream = tokio::net::TcpStream;

    async fn accept_peer(&self) -> io::Result<(Self::Stream, Peer)> {
        let (stream, remote) = self.accept().await?;
        stream.set_nodelay(true)?;
        set_socket_send_buffer_size(&stream, SEND_BYTES)?;
        let local = stream.local_addr()?;
        Ok((stream, Peer::Tcp { local, remote }))
    }
}

impl Acceptor for UnixListener {
    type Stream = tokio::net::UnixStream;

    async fn accept_peer(&self) -> io::Result<(Self::Stream, Peer)> {
        let (stream, _) = self.accept().await?;
        let credentials = stream.peer_cred()?;
        let (uid, us) = (credentials.uid(), rustix::process::geteuid().as_raw());
        if uid != us {
            tracing::warn!(uid, "refused another user on the socket");
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        // The system reports 0 for a process of another pid namespace.
        let pid = credentials.pid().and_then(|pid| u32::try_from(pid).ok());
        let pid = pid.filter(|pid| *pid > 0);
        Ok((stream, Peer::Unix { pid }))
    }
}

/// Serves every connection until shutdown.
pub(super) async fn run<L: Acceptor>(listener: L, slots: ConnectionSlots, server: Arc<Server>) {
    let accepting = async {
        loop {
            match listener.accept_peer().await {
                Ok((stream, peer)) => {
                    let slot = slots.take().await;
                    let connection = server.clone().serve_connection(stream, peer, slot);
                    server.connections.spawn(connection);
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
            // macOS reports this for an option on a socket that its peer has closed.
            | InvalidInput
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_send_buffer_of_a_reader_that_does_not_read_is_bounded() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let reader = tokio::net::TcpStream::connect(address).await.unwrap();
        let (stream, _) = listener.accept_peer().await.unwrap();
        let bytes = rustix::net::sockopt::socket_send_buffer_size(&stream).unwrap();
        // Linux includes its own bookkeeping and doubles the size.
        assert!(bytes <= 2 * SEND_BYTES, "{bytes}");
        drop(reader);
    }
}
