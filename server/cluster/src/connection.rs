//! The connection to NATS: beyond this machine only with TLS, and with credentials that no other user can read.

use std::future::{Ready, ready};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use async_nats::{
    Client, ConnectOptions, Event, ReconnectToServer, Server, ServerAddr, ServerInfo,
};
use hub_config::ClusterSettings;
use hub_config::state_dir::read_private;

/// How long a connection attempt may take, and the longest pause between two.
const PATIENCE: Duration = Duration::from_secs(3);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// A dead connection is noticed after two of these.
const PING: Duration = Duration::from_secs(5);

/// Connects to the servers of a cluster. Returns at once; the client connects and reconnects in the background, and reports
/// events to `report`.
pub(super) async fn connect(
    settings: &ClusterSettings,
    node: &str,
    report: impl Fn(&Event) + Send + Sync + 'static,
) -> anyhow::Result<Client> {
    let report = Arc::new(report);
    let servers = servers(&settings.urls)?;
    let mut options = ConnectOptions::new()
        .name(format!("hubd {node}"))
        .custom_inbox_prefix(format!("_INBOX.hub.{node}"))
        .connection_timeout(PATIENCE)
        .ping_interval(PING)
        .reconnect_delay_callback(|attempt| {
            let pause =
                Duration::from_millis(100) * u32::try_from(attempt).unwrap_or(u32::MAX).min(20);
            pause.min(LONGEST_PAUSE)
        })
        .reconnect_to_server_callback(in_turn(getrandom::u32()? as usize))
        // Only the servers in the settings were checked.
        .ignore_discovered_servers()
        .retry_on_initial_connect()
        .event_callback(move |event| {
            let report = Arc::clone(&report);
            async move { report(&event) }
        });
    if !settings.ca.as_os_str().is_empty() {
        options = options.add_root_certificates(settings.ca.clone());
    }
    if let Some(text) = credentials(&settings.creds).context("cluster.creds")? {
        options = with_credentials(options, &text).context("cluster.creds")?;
    }
    options
        .connect(servers)
        .await
        .context("cannot connect to NATS")
}

/// Chooses the servers in turn. So a hub that leaves a server, because that one is cut off from the others, gets to another.
fn in_turn(
    first: usize,
) -> impl Fn(Vec<Server>, ServerInfo) -> Ready<Option<ReconnectToServer>> + Send + Sync {
    let turn = AtomicUsize::new(first);
    move |servers, _| {
        let turn = turn.fetch_add(1, Ordering::Relaxed);
        let server = servers.get(turn % servers.len().max(1));
        ready(server.map(|it| ReconnectToServer {
            addr: it.addr.clone(),
            delay: None,
        }))
    }
}

/// Logs an event of the connection.
pub(super) fn log(event: &Event) {
    match event {
        Event::Connected => tracing::info!("connected to NATS"),
        event => tracing::warn!(%event, "NATS"),
    }
}

/// Parses the addresses. Refuses one beyond this machine without TLS, and one that contains a password.
fn servers(urls: &[String]) -> anyhow::Result<Vec<ServerAddr>> {
    ensure!(!urls.is_empty(), "cluster.urls names no NATS server");
    let parse = |url: &String| {
        let server: ServerAddr = url.parse().context("cluster.urls")?;
        ensure!(
            !server.has_user_pass(),
            "cluster.urls: put the credentials of NATS into a file and name it in cluster.creds"
        );
        let encrypted = server.scheme() == "tls";
        let plain = server.scheme() == "nats" && is_loopback(server.host());
        ensure!(
            encrypted || plain,
            "cluster.urls: '{url}' leaves this machine, so it must begin with tls://"
        );
        Ok(server)
    };
    urls.iter().map(parse).collect()
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|it| it.is_loopback())
}

/// Reads the file of the credentials; `None` if the settings name none.
pub(super) fn credentials(path: &Path) -> anyhow::Result<Option<String>> {
    if path.as_os_str().is_empty() {
        return Ok(None);
    }
    let Some(text) = read_private(path)? else {
        bail!("there is no file {}", path.display());
    };
    Ok(Some(text))
}

/// Returns the seed of a user's nkey in the text of a file of credentials, with or without a JWT.
pub(super) fn seed(text: &str) -> Option<&str> {
    text.lines()
        .map(str::trim)
        .find(|line| line.starts_with("SU"))
}

/// Adds credentials: those of a user with a JWT, or the seed of an nkey.
fn with_credentials(options: ConnectOptions, text: &str) -> anyhow::Result<ConnectOptions> {
    if text.contains("BEGIN NATS USER JWT") {
        return Ok(options.credentials(text)?);
    }
    let seed = seed(text).context("the file has neither a user's JWT nor a user's seed")?;
    Ok(options.nkey(seed.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> Option<String> {
        let error = servers(&[url.to_owned()]).err()?;
        Some(error.to_string())
    }

    #[test]
    fn a_server_beyond_this_machine_needs_tls() {
        for sound in [
            "tls://nats.example.org:4222",
            "tls://10.0.0.1",
            "nats://127.0.0.1:4222",
            "nats://localhost:4222",
            "nats://[::1]:4222",
        ] {
            assert_eq!(refusal(sound), None, "{sound}");
        }
        for open in [
            "nats://10.0.0.1:4222",
            "10.0.0.1:4222",
            "ws://127.0.0.1:4222",
            "wss://example.org",
            "nats://localhost.example.org",
            "nats://127.0.0.1.example.org",
            "nats://0.0.0.0:4222",
            "nats://[::]:4222",
        ] {
            assert!(
                refusal(open).is_some_and(|it| it.contains("tls://")),
                "{open}"
            );
        }
    }

    #[test]
    fn an_address_with_a_password_is_refused_and_not_shown() {
        let refused = refusal("tls://user:secret@example.org").unwrap();
        assert!(refused.contains("cluster.creds") && !refused.contains("secret"));
    }
}
