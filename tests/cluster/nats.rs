//! A real nats-server, started, paused and ended by its process id.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hub_harness::{DEADLINE, Port};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// A NATS server with streams; killed when dropped.
pub(crate) struct Nats {
    dir: TempDir,
    ports: Ports,
    /// The settings of its cluster of servers, or of its security; empty for one on its own.
    extra: String,
    child: Option<Child>,
}

/// The ports of a server, for clients and for the other servers.
#[derive(Clone)]
pub(crate) struct Ports {
    client: Port,
    route: Port,
}

impl Ports {
    pub(crate) fn free() -> Self {
        Self {
            client: Port::new(),
            route: Port::new(),
        }
    }

    /// Returns the address for the other servers.
    pub(crate) fn route(&self) -> String {
        format!("nats://127.0.0.1:{}", self.route.number())
    }
}

/// Returns the path of the server's program.
fn program() -> PathBuf {
    if let Some(path) = std::env::var_os("HUB_NATS_SERVER") {
        return path.into();
    }
    let test = std::env::current_exe().expect("a test has a path");
    let mut found = test.ancestors().map(|dir| dir.join("nats/nats-server"));
    let found = found.find(|path| path.is_file());
    found.expect("nats-server is missing: tests/run installs it; or name it in HUB_NATS_SERVER")
}

impl Nats {
    /// Starts a server on its own, and waits until it is ready.
    pub(crate) fn start() -> Self {
        let mut nats = Self::new(Ports::free(), String::new());
        nats.start_again();
        nats
    }

    /// Starts three servers that replicate each other.
    pub(crate) fn start_three() -> Vec<Self> {
        let ports: [Ports; 3] = std::array::from_fn(|_| Ports::free());
        let all: Vec<String> = ports.iter().map(Ports::route).collect();
        Self::start_replicated(&ports, |_| all.clone())
    }

    /// Starts servers that replicate each other; `routes` returns the addresses by which one reaches the others.
    pub(crate) fn start_replicated(
        ports: &[Ports],
        routes: impl Fn(usize) -> Vec<String>,
    ) -> Vec<Self> {
        let server = |(number, ports): (usize, &Ports)| {
            // No server listens at the advertised address, so the servers use only the addresses of the settings.
            let cluster = format!(
                "server_name: n{number}\ncluster {{ name: test, listen: \"127.0.0.1:{}\", advertise: \"127.0.0.1:1\", \
                 no_advertise: true, routes: [{}] }}\n",
                ports.route.number(),
                routes(number).join(", ")
            );
            Self::new(ports.clone(), cluster)
        };
        let mut all: Vec<Self> = ports.iter().enumerate().map(server).collect();
        for nats in &mut all {
            nats.launch();
        }
        for nats in &mut all {
            nats.ready();
        }
        all
    }

    /// Starts a server with TLS, and the users in `extra`.
    pub(crate) fn start_secure(extra: &str) -> Self {
        let mut nats = Self::new(Ports::free(), extra.into());
        nats.start_again();
        nats
    }

    fn new(ports: Ports, extra: String) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        Self {
            dir,
            ports,
            extra,
            child: None,
        }
    }

    /// Returns the address for a hub's settings.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.extra.contains("tls {") {
            "tls"
        } else {
            "nats"
        };
        format!("{scheme}://127.0.0.1:{}", self.ports.client.number())
    }

    /// Returns the directory of the log.
    pub(crate) fn stream_dir(&self) -> PathBuf {
        self.dir.path().join("store/jetstream/$G/streams/HUB_hub")
    }

    /// Deletes everything that the server, which must be stopped, has stored.
    pub(crate) fn wipe(&self) {
        std::fs::remove_dir_all(self.dir.path().join("store")).expect("a directory");
    }

    /// Starts the server again, on the same port.
    pub(crate) fn start_again(&mut self) {
        self.launch();
        self.ready();
    }

    /// Sends SIGKILL, and waits for the exit.
    pub(crate) fn kill_9(&mut self) {
        let mut child = self.child.take().expect("the server runs");
        let _ = kill_process(Pid::from_child(&child), Signal::KILL);
        child.wait().expect("a child can be waited for");
    }

    /// Pauses the server, or continues it.
    pub(crate) fn pause(&self, paused: bool) {
        let child = self.child.as_ref().expect("the server runs");
        hub_harness::pause(child.id(), paused);
    }

    fn launch(&mut self) {
        let ports = self.dir.path().join("ports");
        let _ = std::fs::remove_dir_all(&ports);
        std::fs::create_dir(&ports).expect("a directory");
        let config = format!(
            "listen: \"127.0.0.1:{}\"\nmax_payload: 8MB\nports_file_dir: \"{}\"\n\
             jetstream {{ store_dir: \"{}\", sync_interval: always }}\n{}",
            self.ports.client.number(),
            ports.display(),
            self.dir.path().join("store").display(),
            self.extra,
        );
        let path = self.dir.path().join("nats.conf");
        std::fs::write(&path, config).expect("a file");
        let log = File::options()
            .append(true)
            .create(true)
            .open(self.log_path());
        let child = Command::new(program())
            .arg("-c")
            .arg(&path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log.expect("a log"))
            .spawn()
            .expect("nats-server can be started");
        self.child = Some(child);
    }

    /// Waits until the server has written its ports.
    fn ready(&mut self) {
        let until = Instant::now() + DEADLINE;
        while Instant::now() < until {
            let ports = std::fs::read_dir(self.dir.path().join("ports"));
            if ports.is_ok_and(|mut files| files.next().is_some()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("nats-server is not ready: {}", self.log());
    }

    fn log_path(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        if self.child.is_some() {
            self.kill_9();
        }
        if std::thread::panicking() {
            eprintln!("--- what nats-server logged:\n{}", self.log());
        }
    }
}
