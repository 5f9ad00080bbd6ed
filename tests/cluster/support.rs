//! Hubs of one cluster.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use hub_harness::{Client, Hub, HubBuilder};
use nkeys::{KeyPair, KeyPairType};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::nats::Nats;

/// Far more than a takeover takes.
pub(crate) const TAKEOVER: Duration = Duration::from_secs(60);

/// Returns a builder of the hub `node` in the cluster on these servers.
pub(crate) fn member(node: &str, servers: &[Nats]) -> HubBuilder {
    let set = |hub: HubBuilder, setting: &String| hub.set(setting);
    settings(node, servers).iter().fold(Hub::builder(), set)
}

/// Runs `hubd` with a command, as the hub `node` in the state directory `dir`; returns its output if it succeeds, else the
/// error.
pub(crate) fn hubd(dir: &Path, settings: &[String], command: &[&str]) -> Result<String, String> {
    let mut hubd = Command::new(env!("CARGO_BIN_EXE_hubd"));
    hubd.arg("--state-dir").arg(dir).env("HOME", dir);
    for setting in settings {
        hubd.args(["--set", setting]);
    }
    outcome(hubd.args(command))
}

/// Runs `hubctl` with the hub of a state directory; returns its output if it succeeds, else the error.
pub(crate) fn hubctl(hub: &Hub, command: &[&str]) -> Result<String, String> {
    let mut hubctl = Command::new(hub_harness::binary("hubctl"));
    hubctl.arg("--state-dir").arg(hub.state_dir()).args(command);
    outcome(&mut hubctl)
}

fn outcome(command: &mut Command) -> Result<String, String> {
    let output = command.output().expect("the program can be started");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    if output.status.success() {
        Ok(out)
    } else {
        Err(out + &err)
    }
}

/// Returns the settings of the hub `node` in the cluster on these servers, which check no user.
pub(crate) fn settings(node: &str, servers: &[Nats]) -> Vec<String> {
    let urls: Vec<String> = servers.iter().map(Nats::url).collect();
    vec![
        "journal=jetstream".to_owned(),
        format!("cluster.urls={urls:?}"),
        format!("cluster.replicas={}", servers.len().max(1)),
        format!("cluster.node={node}"),
        format!("cluster.creds={}", seed_file(node).display()),
        known(&NODES.map(|node| (node, key(node)))),
    ]
}

/// The nodes whose keys all hubs of a test know.
const NODES: [&str; 3] = ["a", "b", "c"];

/// The setting with the keys of these nodes.
pub(crate) fn known(nodes: &[(&str, KeyPair)]) -> String {
    let pairs = nodes
        .iter()
        .map(|(node, key)| format!("{node} = '{}'", key.public_key()));
    format!(
        "cluster.nodes={{ {} }}",
        pairs.collect::<Vec<_>>().join(", ")
    )
}

/// The key of a node, always the same one.
pub(crate) fn key(node: &str) -> KeyPair {
    let mut seed = [0; 32];
    seed[..node.len()].copy_from_slice(node.as_bytes());
    KeyPair::new_from_raw(KeyPairType::User, seed).expect("a key")
}

/// Returns the file with the seed of a node's key. Tests in other processes write the same one.
fn seed_file(node: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = dir.join(format!("{node}.seed"));
    let mut file = NamedTempFile::new_in(dir).expect("a file");
    let seed = key(node).seed().expect("a seed");
    file.write_all(seed.as_bytes())
        .expect("the file can be written");
    file.persist(&path).expect("the file can be renamed");
    path
}

/// Returns what a hub reports about its cluster.
pub(crate) async fn cluster(hub: &Hub) -> Value {
    hub.client().read("/hub").await["cluster"].clone()
}

/// Asks again and again until it gets an answer.
pub(crate) async fn eventually<T>(
    what: &str,
    mut ask: impl AsyncFnMut() -> Result<T, String>,
) -> T {
    let began = Instant::now();
    loop {
        let seen = match ask().await {
            Ok(answer) => return answer,
            Err(seen) => seen,
        };
        assert!(began.elapsed() < TAKEOVER, "not {what}: {seen}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until a hub reports this of its cluster.
pub(crate) async fn until_cluster(hub: &Hub, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
    eventually(what, async || {
        let found = cluster(hub).await;
        holds(&found)
            .then(|| found.clone())
            .ok_or_else(|| found.to_string())
    })
    .await
}

/// Waits until a hub is active.
pub(crate) async fn until_active(hub: &Hub) {
    until_cluster(hub, "active", |it| it["role"] == "active").await;
}

/// Waits until a hub follows the active hub `node`.
pub(crate) async fn until_follows(hub: &Hub, node: &str) {
    until_cluster(hub, "following", |it| {
        it["role"] == "standby" && it["active"] == node && it["behind"] == 0
    })
    .await;
}

/// Waits until two hubs have the same notifications. What a hub knows of another one's head may be two seconds old, so a hub
/// that reports to follow may still lack some.
pub(crate) async fn until_same(a: &Hub, b: &Hub) {
    eventually("the same, the copies", async || {
        same(&stored(a).await, &stored(b).await)
    })
    .await;
}

/// Waits until a hub has exactly these notifications.
pub(crate) async fn until_stored(hub: &Hub, all: &[(u64, String)]) {
    eventually("complete, the copy", async || same(&stored(hub).await, all)).await;
}

fn same(a: &[(u64, String)], b: &[(u64, String)]) -> Result<(), String> {
    let lengths = || format!("{} and {} notifications", a.len(), b.len());
    (a == b).then_some(()).ok_or_else(lengths)
}

/// Starts two hubs, `a` active and `b` following.
pub(crate) async fn pair(servers: &[Nats]) -> (Hub, Hub) {
    let a = member("a", servers).start();
    until_active(&a).await;
    let b = member("b", servers).start();
    until_follows(&b, "a").await;
    (a, b)
}

/// A message to an inbox.
pub(crate) fn message(to: &str, msg: &str) -> Value {
    json!({ "from": "tester", "type": "message", "to": to, "msg": msg })
}

/// Publishes a message under a key until a hub accepts it; returns its number.
pub(crate) async fn publish(hub: &Hub, key: &str, to: &str) -> u64 {
    publish_by(&hub.client(), key, to).await
}

/// [`publish`] by a client whose hub may be restarted in between.
pub(crate) async fn publish_by(client: &Client, key: &str, to: &str) -> u64 {
    let began = Instant::now();
    loop {
        let post = client.post("/notify").header("Idempotency-Key", key);
        let sent = post.json(&message(to, key)).try_send().await;
        if let Ok(answer) = sent
            && matches!(answer.status, 200 | 201)
        {
            return answer.json()["id"].as_u64().expect("a number");
        }
        assert!(began.elapsed() < TAKEOVER, "'{key}' was not accepted");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Returns the texts of all notifications in a hub's own copy of the log, with their numbers.
pub(crate) async fn stored(hub: &Hub) -> Vec<(u64, String)> {
    let mut all = Vec::new();
    let mut since = 0;
    loop {
        let page = hub
            .client()
            .read(&format!("/notifications?after={since}&limit=500"))
            .await;
        let items = page["notifications"].as_array().expect("a list").clone();
        let Some(last) = items.last() else { return all };
        since = last["id"].as_u64().expect("a number");
        all.extend(items.iter().map(|it| {
            let id = it["id"].as_u64().expect("a number");
            (id, it["msg"].as_str().expect("a text").to_owned())
        }));
    }
}

/// Returns the value of a variable of the environment.
pub(crate) fn setting(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(default, |it| it.parse().expect("a number"))
}
