//! Three nats-servers that replicate each other, and what NATS itself costs: a bare publisher and a bare request.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use async_nats::header::NATS_EXPECTED_LAST_SEQUENCE;
use async_nats::jetstream::{self, stream};
use async_nats::{Client, HeaderMap};
use futures_util::StreamExt as _;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::http::TIMEOUT;
use crate::running::Running;

/// The size of a commit with one notification.
const COMMIT: usize = 300;

/// The servers; killed when dropped.
pub(crate) struct Nats {
    children: Vec<Child>,
    ports: Vec<u16>,
    dir: TempDir,
    running: Running,
    runtime: Runtime,
}

fn program() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("HUB_NATS_SERVER") {
        return Ok(path.into());
    }
    let own = std::env::current_exe()?;
    let mut found = own.ancestors().map(|dir| dir.join("nats/nats-server"));
    let found = found.find(|path| path.is_file());
    found.context("nats-server is missing: tests/run installs it; or name it in HUB_NATS_SERVER")
}

fn free_port() -> Result<u16> {
    let socket = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(socket.local_addr()?.port())
}

impl Nats {
    /// Starts the servers, and waits until they have a leader.
    pub(crate) fn start(running: &Running) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let free = |_| Ok((free_port()?, free_port()?));
        let ports: Vec<(u16, u16)> = (0..3).map(free).collect::<Result<_>>()?;
        let routes: Vec<String> = ports
            .iter()
            .map(|(_, route)| format!("nats://127.0.0.1:{route}"))
            .collect();
        let mut nats = Self {
            children: Vec::new(),
            ports: ports.iter().map(|(port, _)| *port).collect(),
            running: running.clone(),
            runtime: Runtime::new()?,
            dir,
        };
        for (number, (port, route)) in ports.iter().enumerate() {
            let own = nats.dir.path().join(number.to_string());
            std::fs::create_dir(&own)?;
            let config = format!(
                "server_name: n{number}\nlisten: \"127.0.0.1:{port}\"\nmax_payload: 8MB\n\
                 jetstream {{ store_dir: \"{}\", sync_interval: always }}\n\
                 cluster {{ name: bench, listen: \"127.0.0.1:{route}\", routes: [{}] }}\n",
                own.display(),
                routes.join(", ")
            );
            let path = own.join("nats.conf");
            std::fs::write(&path, config)?;
            let child = Command::new(program()?)
                .arg("-c")
                .arg(path)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?;
            nats.running.add(child.id());
            nats.children.push(child);
        }
        nats.make_stream()?;
        Ok(nats)
    }

    /// Returns the setting with the servers' addresses.
    pub(crate) fn urls(&self) -> String {
        let url = |port| format!("nats://127.0.0.1:{port}");
        let urls: Vec<String> = self.ports.iter().map(url).collect();
        format!("cluster.urls={urls:?}")
    }

    async fn connect(port: u16) -> Result<Client> {
        let options = async_nats::ConnectOptions::new().retry_on_initial_connect();
        Ok(options.connect(format!("127.0.0.1:{port}")).await?)
    }

    /// Makes the stream of the bare publisher, as soon as the servers can.
    fn make_stream(&self) -> Result<()> {
        let config = stream::Config {
            name: "BARE".into(),
            subjects: vec!["bare".into()],
            num_replicas: 3,
            ..stream::Config::default()
        };
        self.runtime.block_on(async {
            let context = jetstream::new(Self::connect(self.ports[0]).await?);
            let began = Instant::now();
            while let Err(error) = context.create_stream(&config).await {
                ensure!(began.elapsed() < TIMEOUT, "no stream: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Ok(())
        })
    }

    /// Publishes one message after another for `time`, each with the position that it expects; returns messages a second.
    pub(crate) fn publish(&self, time: Duration) -> Result<f64> {
        self.runtime.block_on(async {
            let context = jetstream::new(Self::connect(self.ports[0]).await?);
            let stream = context.get_stream("BARE").await?;
            let mut last = stream.cached_info().state.last_sequence;
            let (first, start) = (last, Instant::now());
            while start.elapsed() < time {
                let mut headers = HeaderMap::new();
                headers.insert(NATS_EXPECTED_LAST_SEQUENCE, last.to_string());
                let message = vec![b'x'; COMMIT].into();
                let sent = context.publish_with_headers("bare", headers, message);
                last = sent.await?.await?.sequence;
            }
            #[allow(clippy::cast_precision_loss)] // some thousands
            Ok((last - first) as f64 / start.elapsed().as_secs_f64())
        })
    }

    /// Reads the log of the hubs with a consumer; returns the time that it takes.
    pub(crate) fn replay(&self) -> Result<Duration> {
        self.runtime.block_on(async {
            let context = jetstream::new(Self::connect(self.ports[0]).await?);
            let stream = context.get_stream("HUB_hub").await?;
            let state = &stream.cached_info().state;
            let mut left = state.last_sequence + 1 - state.first_sequence;
            let start = Instant::now();
            let config = jetstream::consumer::pull::OrderedConfig::default();
            let mut messages = stream.create_consumer(config).await?.messages().await?;
            while left > 0 {
                messages.next().await.context("the stream ended")??;
                left -= 1;
            }
            Ok(start.elapsed())
        })
    }

    /// Sends one request after another to a client of another server; returns the mean time of one in µs.
    pub(crate) fn request(&self, time: Duration) -> Result<f64> {
        self.runtime.block_on(async {
            let (asking, answering) = (
                Self::connect(self.ports[0]).await?,
                Self::connect(self.ports[1]).await?,
            );
            let mut requests = answering.subscribe("echo").await?;
            answering.flush().await?;
            let echo = tokio::spawn(async move {
                while let Some(request) = requests.next().await {
                    if let Some(reply) = request.reply {
                        let _ = answering.publish(reply, request.payload).await;
                    }
                }
            });
            // The routes between the servers learn of the subscription.
            while asking.request("echo", "".into()).await.is_err() {}
            let (mut count, start) = (0_u32, Instant::now());
            while start.elapsed() < time {
                asking.request("echo", vec![b'x'; COMMIT].into()).await?;
                count += 1;
            }
            echo.abort();
            Ok(start.elapsed().as_secs_f64() * 1e6 / f64::from(count))
        })
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        for child in &mut self.children {
            // Killing fails if the server has ended by itself.
            let _ = child.kill();
            let _ = child.wait();
            self.running.remove(child.id());
        }
    }
}
