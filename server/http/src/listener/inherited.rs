//! The sockets that a service manager listens on for the hub, and passes to it (`LISTEN_FDS`, `sd_listen_fds(3)`).
//!
//! They outlive the process, so clients that connect during a restart wait instead of being refused.

use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use listenfd::ListenFd;

/// The sockets that were passed to this process.
#[derive(Debug, Default)]
pub struct Inherited {
    /// The loopback listeners, all on one port.
    pub(super) tcp: Vec<TcpListener>,
    /// The listener on the Unix socket of the state directory.
    pub(super) unix: Option<UnixListener>,
}

impl Inherited {
    /// Takes them, and removes the variables that describe them from the environment. Call it before the process has a
    /// second thread, because the environment has no lock.
    pub fn take() -> io::Result<Self> {
        let mut passed = ListenFd::from_env();
        let mut all = Self::default();
        for index in 0..passed.len() {
            if let Ok(Some(listener)) = passed.take_tcp_listener(index) {
                all.add_tcp(listener)?;
            } else if let Some(listener) = passed.take_unix_listener(index)? {
                all.unix = Some(listener);
            }
        }
        Ok(all)
    }

    fn add_tcp(&mut self, listener: TcpListener) -> io::Result<()> {
        let address = listener.local_addr()?;
        let first = self.tcp.first().map(TcpListener::local_addr).transpose()?;
        if !address.ip().is_loopback() || first.is_some_and(|it| it.port() != address.port()) {
            let reason = format!("{address} was passed: pass only loopback addresses of one port");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        self.tcp.push(listener);
        Ok(())
    }
}
