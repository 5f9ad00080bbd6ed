//! An HTTP server of a test.

use std::net::{Ipv4Addr, TcpListener};
use std::thread::JoinHandle;

use axum::Router;
use tokio::sync::oneshot;

use crate::Port;

/// A server on a loopback port, in a thread of its own; stopped when dropped, which cuts open connections.
#[derive(Debug)]
pub(crate) struct Server {
    port: Port,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves `app` at `port`.
    pub(crate) fn start(port: Port, app: Router) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.number())).expect("the port");
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || run(listener, app, stopped));
        Self {
            port,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    pub(crate) fn port(&self) -> &Port {
        &self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port.number())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(listener: TcpListener, app: Router, stopped: oneshot::Receiver<()>) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().expect("a runtime");
    runtime.block_on(async {
        listener.set_nonblocking(true).expect("a socket");
        let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
        tokio::select! {
            served = axum::serve(listener, app) => served.expect("a server"),
            _ = stopped => {}
        }
    });
    // A handler may still block.
    runtime.shutdown_background();
}
