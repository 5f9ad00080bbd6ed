//! `hubd cluster check`: verifies the settings, the servers, the permissions and the log in NATS.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::header::NATS_EXPECTED_LAST_SEQUENCE;
use async_nats::{Client, Event, HeaderMap, ServerError};
use hub_config::{ClusterSettings, Config};
use hub_core::report::Report;
use hub_core::sync;
use hub_protocol::{Seq, Timestamp};
use tokio::sync::watch;

use super::last_lease;
use crate::join::{self, ClusterConnection, Membership};
use crate::journal::{LogEnd, MAX_MESSAGE, SharedLog, SharedLogError};
use crate::lease;
use crate::{audit, connection};

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the server may take to refuse what it must not allow.
const REFUSAL: Duration = Duration::from_secs(3);
/// The oldest version of nats-server with all that a hub uses.
const OLDEST: (i64, i64, i64) = (2, 11, 0);
/// The name of no hub: no other machine's name must work either.
const OTHER: &str = "another-machine";
/// A position that no stream has, so that a message is never stored.
const NEVER: u64 = 1 << 60;

/// Prints a line for each finding. Fails if there are problems.
pub(super) async fn check(config: &Config, out: impl Write) -> anyhow::Result<()> {
    let mut report = Report::new(out);
    let settings = &config.cluster;
    let mut answered = false;
    for url in &settings.urls {
        answered |= server(settings, url, &mut report).await?;
    }
    if settings.urls.is_empty() {
        report.problem("cluster.urls names no NATS server", "set it in config.toml")?;
    }
    if answered {
        let connection = join::connect(settings.clone()).await?;
        report.fine(&format!(
            "this machine is '{}' in the cluster '{}'",
            connection.node, settings.name
        ))?;
        own_key(&connection, &mut report)?;
        permissions(settings, &connection.node, &mut report).await?;
        stream(&connection, config, &mut report).await?;
    }
    report.end()
}

/// The advice about a missing or wide permission.
const PERMISSIONS: &str =
    "compare the permissions of this machine's user with docs/how-to/cluster.md";

/// The advice about lost commits.
const RESTORE: &str = "see `hubd cluster restore --help`";

/// Checks one server; returns whether it answers.
async fn server(
    settings: &ClusterSettings,
    url: &str,
    report: &mut Report<impl Write>,
) -> anyhow::Result<bool> {
    let alone = ClusterSettings {
        urls: vec![url.to_owned()],
        ..settings.clone()
    };
    let last = Arc::new(Mutex::new(None));
    let noted = Arc::clone(&last);
    let note = move |event: &Event| *sync::lock(&noted) = Some(event.to_string());
    let client = match connection::connect(&alone, "check", note).await {
        Ok(client) => client,
        Err(error) => {
            report.problem(&format!("{error:#}"), "correct the setting")?;
            return Ok(false);
        }
    };
    let answer = tokio::time::timeout(PATIENCE, client.flush()).await;
    if !matches!(answer, Ok(Ok(()))) {
        let reason = sync::lock(&last).take().unwrap_or_default();
        report.problem(
            &format!("{url} does not answer: {reason}"),
            "is nats-server running there, is its certificate signed by cluster.ca, and are cluster.creds of its user?",
        )?;
        return Ok(false);
    }
    let info = client.server_info();
    let (major, minor, patch) = OLDEST;
    let encrypted = if url.starts_with("tls://") {
        "with TLS"
    } else {
        "on this machine"
    };
    if !client.is_server_compatible(major, minor, patch) {
        let found = format!("{url} runs nats-server {}", info.version);
        report.problem(&found, &format!("install {major}.{minor} or newer"))?;
    } else if info.max_payload < MAX_MESSAGE {
        let found = format!("{url} accepts messages of {} bytes", info.max_payload);
        report.problem(
            &found,
            "set max_payload: 8MB in the configuration of nats-server",
        )?;
    } else if !info.jetstream {
        report.problem(
            &format!("{url} has no JetStream"),
            "add jetstream {…} to its configuration",
        )?;
    } else {
        report.fine(&format!(
            "{url} runs nats-server {}, {encrypted}",
            info.version
        ))?;
    }
    Ok(true)
}

/// Checks that hubs with this table of keys believe this hub who makes its requests.
fn own_key(connection: &ClusterConnection, report: &mut Report<impl Write>) -> anyhow::Result<()> {
    let (node, keys) = (&connection.node, &connection.keys);
    let Some(own) = keys.own() else {
        return Ok(report.problem(
            "without cluster.creds, other hubs take everyone on this machine for an unknown caller",
            "give the hub an nkey: docs/how-to/cluster.md",
        )?);
    };
    if keys.of(node).as_ref() == Some(&own) {
        return Ok(report.fine("this hub signs its calls with the key of cluster.nodes")?);
    }
    let todo = format!("add {node} = \"{own}\" to [cluster.nodes] on each machine, this one too");
    Ok(report.problem("cluster.nodes does not have the key of this hub", &todo)?)
}

/// The subjects whose permissions are tried.
struct Subjects {
    /// The subjects to which a hub publishes.
    needed: Vec<String>,
    /// The subjects to which it subscribes.
    heard: Vec<String>,
    /// The subjects to which it must not publish.
    forbidden: Vec<String>,
}

impl Subjects {
    /// The subjects of the hub `node`.
    fn of(settings: &ClusterSettings, node: &str) -> Self {
        let hub = format!("hub.{}", settings.name);
        let keys = format!("$KV.hub_{}", settings.name);
        let name = &settings.name;
        let base = format!("OBJ_hub_{name}");
        let mut needed = vec![
            format!("{hub}.beat.{node}"),
            format!("{hub}.call.0.{node}"),
            format!("{keys}.node.{node}"),
            format!("$JS.API.STREAM.INFO.HUB_{name}"),
            format!("$JS.API.STREAM.INFO.KV_hub_{name}"),
            format!("$JS.API.STREAM.INFO.{base}"),
            format!("$JS.API.STREAM.MSG.GET.HUB_{name}"),
            format!("$JS.API.STREAM.MSG.GET.KV_hub_{name}"),
            format!("$JS.API.DIRECT.GET.HUB_{name}"),
            format!("$JS.API.DIRECT.GET.KV_hub_{name}.{keys}.secret"),
            format!("$JS.API.CONSUMER.CREATE.{base}"),
            format!("$JS.API.CONSUMER.CREATE.{base}.{OTHER}"),
            format!("$JS.FC.{base}.{OTHER}"),
        ];
        let leading = [
            format!("{hub}.log.{node}"),
            format!("{keys}.active"),
            format!("_INBOX.hub.{OTHER}.check"),
            format!("$O.hub_{name}.C.{OTHER}"),
            format!("$JS.API.STREAM.PURGE.HUB_{name}"),
            format!("$JS.API.STREAM.PURGE.{base}"),
        ];
        let mut heard = vec![
            format!("{hub}.live.*"),
            format!("{hub}.beat.*"),
            format!("_INBOX.hub.{node}.>"),
        ];
        let calls = format!("{hub}.call.0.*");
        let mut forbidden = vec![
            format!("{hub}.live.{node}"),
            format!("{hub}.log.{OTHER}"),
            format!("{hub}.beat.{OTHER}"),
            format!("{hub}.call.0.{OTHER}"),
            format!("{keys}.secret"),
            format!("{keys}.node.{OTHER}"),
        ];
        if settings.lead {
            needed.extend(leading);
            heard.push(calls);
        } else {
            forbidden.extend(leading);
        }
        Self {
            needed,
            heard,
            forbidden,
        }
    }
}

/// Tries what a hub needs and what it must not be able to do. Nothing that is tried has an effect.
async fn permissions(
    settings: &ClusterSettings,
    node: &str,
    report: &mut Report<impl Write>,
) -> anyhow::Result<()> {
    let (refuse, mut refused) = watch::channel(Vec::<String>::new());
    let on_event = move |event: &Event| {
        if let Event::ServerError(ServerError::Other(text)) = event {
            refuse.send_modify(|it| it.push(text.clone()));
        }
    };
    let client = connection::connect(settings, node, on_event).await?;
    let Subjects {
        needed,
        heard,
        forbidden,
    } = Subjects::of(settings, node);
    for subject in needed.iter().chain(&forbidden) {
        probe(&client, subject).await?;
    }
    let spied = format!("_INBOX.hub.{OTHER}.>");
    let mut subscriptions = Vec::new();
    for subject in heard.iter().chain([&spied]) {
        subscriptions.push(client.subscribe(subject.clone()).await?);
    }
    client.flush().await?;
    // The server refuses in the order of the attempts, and the last one must be refused.
    let all = refused.wait_for(|refused| names(refused, &spied));
    let _ = tokio::time::timeout(REFUSAL, all).await;
    let refused = refused.borrow().clone();
    let is_refused = |subject: &String| names(&refused, subject);
    let publishing = needed.iter().map(|it| ("publish", it));
    let subscribing = heard.iter().map(|it| ("subscribe", it));
    let missing: Vec<_> = publishing
        .chain(subscribing)
        .filter(|(_, it)| is_refused(it))
        .collect();
    let open: Vec<&String> = forbidden
        .iter()
        .chain([&spied])
        .filter(|it| !is_refused(it))
        .collect();
    if missing.is_empty() {
        report.fine("this hub has every permission that it needs")?;
    }
    for (verb, subject) in missing {
        report.problem(
            &format!("this hub may not {verb} to {subject}"),
            PERMISSIONS,
        )?;
    }
    if open.is_empty() {
        report.fine("this hub cannot speak or read in the name of another one")?;
    }
    for subject in open {
        let found = format!("this hub may use {subject}, which it must not");
        report.problem(&found, PERMISSIONS)?;
    }
    Ok(())
}

/// Whether a refusal names this subject.
fn names(refused: &[String], subject: &str) -> bool {
    let quoted = format!("\"{subject}\"");
    refused.iter().any(|it| it.contains(&quoted))
}

/// Publishes a message that the stream refuses and that the hubs and the API of NATS ignore.
async fn probe(client: &Client, subject: &str) -> anyhow::Result<()> {
    let mut headers = HeaderMap::new();
    headers.insert(NATS_EXPECTED_LAST_SEQUENCE, NEVER.to_string());
    // No stream has this subject, so a request to drop its messages drops none.
    let request = format!(r#"{{"filter":"{OTHER}"}}"#);
    let sent = client.publish_with_headers(subject.to_owned(), headers, request.into());
    Ok(sent.await?)
}

/// Checks that the log in NATS is whole, and that it is the one of this machine's copy.
async fn stream(
    connection: &ClusterConnection,
    config: &Config,
    report: &mut Report<impl Write>,
) -> anyhow::Result<()> {
    let shared = &connection.shared;
    let epoch = match shared.epoch().await {
        Ok(epoch) => epoch,
        Err(SharedLogError::Missing(_)) => {
            return Ok(report.problem(
                "the cluster has no log yet",
                "run `hubd cluster init` on the machine whose log the others shall get",
            )?);
        }
        Err(error) => return Ok(report.problem(&format!("{error}"), PERMISSIONS)?),
    };
    let membership = Membership::load(&config.state_dir, &connection.settings.name)?;
    if membership.is_some_and(|it| it.epoch != epoch) {
        report.problem(
            &format!("NATS has the log {epoch}, and this machine a copy of another one"),
            "is cluster.name right? Otherwise start with an empty state directory",
        )?;
    }
    let state = shared.state().await?;
    let replicas = shared.replicas().await?;
    if replicas < connection.settings.replicas.get() as usize {
        report.problem(
            &format!("the log has {replicas} replicas, fewer than cluster.replicas"),
            &format!(
                "nats stream update HUB_{} --replicas=3",
                connection.settings.name
            ),
        )?;
    }
    match verify(
        shared,
        LogEnd::empty(epoch),
        (state.first_sequence, state.last_sequence),
    )
    .await
    {
        Ok(head) => {
            report.fine(&format!(
                "the log {epoch} in NATS is whole up to record {head}, with {replicas} replicas"
            ))?;
            if let Err(error) = hubs(connection, head, report).await {
                report.problem(&format!("the lease cannot be read: {error:#}"), PERMISSIONS)?;
            }
        }
        Err(error) => report.problem(&format!("the log in NATS is damaged: {error:#}"), RESTORE)?,
    }
    Ok(())
}

/// Reads the whole stream; returns its last record.
async fn verify(
    shared: &SharedLog,
    mut end: LogEnd,
    (first, last): (u64, u64),
) -> anyhow::Result<u64> {
    let mut position = first.max(1);
    while position <= last {
        position = audit::verify(shared, &mut end, position).await?;
    }
    Ok(end.head())
}

/// Reports the active hub, whether it had more than NATS has (up to record `head`), and whether another machine has the name
/// of this one.
async fn hubs(
    connection: &ClusterConnection,
    head: Seq,
    report: &mut Report<impl Write>,
) -> anyhow::Result<()> {
    let (keys, revision, lease) = last_lease(connection).await?;
    if lease.head > head {
        report.problem(
            &format!(
                "NATS lost the end of the log: a hub had it up to record {}",
                lease.head
            ),
            RESTORE,
        )?;
    }
    if !lease::is_own_name(connection, &keys).await? {
        report.problem(
            &format!("another machine is '{}' in this cluster", connection.node),
            "set cluster.node",
        )?;
    }
    let age = Timestamp::now().as_millis() - lease.at.as_millis();
    match (revision, lease.node.as_str()) {
        (0, _) | (_, "") => report.fine("no hub is active")?,
        (_, node) => report.fine(&format!(
            "the hub of '{node}' (version {}) renewed its lease {} s ago, by its clock",
            lease.version,
            age / 1000
        ))?,
    }
    Ok(())
}
