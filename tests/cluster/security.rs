//! The servers' configuration of docs/how-to/cluster.md: TLS, and a user with its own permissions for each machine.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_nats::{Client, ConnectOptions, Event};
use futures_util::StreamExt as _;
use hub_harness::{Hub, HubBuilder};
use nkeys::KeyPair;
use serde_json::json;
use tempfile::TempDir;

use super::nats::Nats;
use super::support::{
    TAKEOVER, hubd, known, publish, settings, until_active, until_follows, until_same,
};

/// A server with the users of the documentation.
struct Secure {
    dir: TempDir,
    server: [Nats; 1],
}

/// Returns the configuration of nats-server in the documentation.
fn documented() -> String {
    let page = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../docs/how-to/cluster.md"
    ));
    let page = page.expect("docs/how-to/cluster.md");
    let block = page
        .split("```text\n")
        .find(|it| it.contains("max_payload"))
        .expect("a block");
    let block = block.split("```").next().expect("an end");
    block
        .lines()
        .map(str::trim_start)
        .collect::<Vec<_>>()
        .join("\n")
}

impl Secure {
    fn start() -> Self {
        Self::with(&["admin", "server1", "laptop"], |config| config)
    }

    /// Starts a server with these users, after a change of the documented configuration.
    fn with(users: &[&str], change: impl Fn(String) -> String) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        std::fs::write(path("server.pem"), made.cert.pem()).unwrap();
        std::fs::write(path("server-key.pem"), made.signing_key.serialize_pem()).unwrap();
        let mut config = documented().replace("/etc/nats/", &format!("{}/", dir.path().display()));
        config = change(config);
        for user in users {
            let pair = KeyPair::new_user();
            let placeholder = format!("U_{}", user.to_uppercase());
            assert!(config.contains(&placeholder), "{placeholder}");
            config = config.replace(&placeholder, &pair.public_key());
            let file = path(user);
            std::fs::write(&file, pair.seed().unwrap()).unwrap();
            std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        }
        // The test has its own port, directory and limits.
        let own = |line: &&str| {
            !["listen:", "max_payload", "jetstream {"]
                .iter()
                .any(|it| line.starts_with(it))
        };
        let extra: Vec<&str> = config.lines().filter(own).collect();
        let server = [Nats::start_secure(&extra.join("\n"))];
        Self { dir, server }
    }

    fn creds(&self, user: &str) -> PathBuf {
        self.dir.path().join(user)
    }

    fn key(&self, user: &str) -> KeyPair {
        let seed = std::fs::read_to_string(self.creds(user)).unwrap();
        KeyPair::from_seed(&seed).unwrap()
    }

    fn settings(&self, node: &str) -> Vec<String> {
        let mut all = settings(node, &self.server);
        all.push(format!("cluster.creds={}", self.creds(node).display()));
        all.push(known(
            &["server1", "laptop"].map(|node| (node, self.key(node))),
        ));
        all.push(format!(
            "cluster.ca={}",
            self.dir.path().join("server.pem").display()
        ));
        all.push(format!("cluster.lead={}", node != "laptop"));
        all
    }

    fn member(&self, node: &str) -> HubBuilder {
        let set = |hub: HubBuilder, setting: &String| hub.set(setting);
        let hub = self.settings(node).iter().fold(Hub::builder(), set);
        hub.state_dir(self.state(node))
    }

    fn state(&self, node: &str) -> PathBuf {
        self.dir.path().join("state").join(node)
    }

    /// Connects as the user of a machine, without a hub. Refusals go to the list.
    async fn connect(&self, user: &str) -> (Client, Arc<Mutex<Vec<String>>>) {
        let refused = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&refused);
        let seed = std::fs::read_to_string(self.creds(user)).unwrap();
        let options = ConnectOptions::with_nkey(seed)
            .add_root_certificates(self.dir.path().join("server.pem"))
            .custom_inbox_prefix(format!("_INBOX.hub.{user}"))
            .event_callback(move |event: Event| {
                noted.lock().unwrap().push(event.to_string());
                async {}
            });
        (
            options.connect(self.server[0].url()).await.unwrap(),
            refused,
        )
    }
}

/// Makes the log of the cluster, with the machine `server1`.
fn init(nats: &Secure) {
    let admin = nats.creds("admin");
    let init = ["cluster", "init", "--creds", admin.to_str().unwrap()];
    hubd(
        dir_of(&nats.state("server1")),
        &nats.settings("server1"),
        &init,
    )
    .unwrap();
}

fn dir_of(path: &Path) -> &Path {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    path
}

#[tokio::test]
async fn the_documented_configuration_carries_a_wake_across_and_is_verified() {
    let nats = Secure::start();
    init(&nats);
    let server1 = nats.member("server1").start();
    until_active(&server1).await;
    let laptop = nats.member("laptop").start();
    until_follows(&laptop, "server1").await;
    let wait = tokio::spawn(laptop.client().get("/wait?inbox=w&timeout=30").send());
    let id = publish(&server1, "wake", "w").await;
    assert_eq!(
        wait.await.unwrap().expect(200).json()["notifications"][0]["id"],
        id
    );
    publish(&laptop, "back", "x").await;
    let person = json!({ "from": "person", "type": "message", "to": "w", "msg": "hello" });
    laptop.unix().notify(person).await;
    until_same(&server1, &laptop).await;
    let (admin, _) = nats.connect("admin").await;
    let context = async_nats::jetstream::new(admin);
    let state = async || {
        let stream = context.get_stream("HUB_hub").await.unwrap();
        let state = &stream.cached_info().state;
        (state.first_sequence, state.messages)
    };
    let before = state().await;
    for node in ["server1", "laptop"] {
        let checked = hubd(
            &nats.state(node),
            &nats.settings(node),
            &["cluster", "check"],
        )
        .unwrap();
        let lines: Vec<&str> = checked.lines().collect();
        assert!(
            lines.iter().all(|it| it.starts_with("ok ")) && lines.len() >= 6,
            "{checked}"
        );
        assert!(
            checked.contains("cannot speak or read in the name of another one"),
            "{checked}"
        );
        assert!(checked.contains("is whole up to record"), "{checked}");
    }
    // What the check tries has no effect.
    assert_eq!(state().await, before);
}

#[tokio::test]
async fn a_machine_cannot_forge_records_calls_or_beats_of_another_one_nor_read_its_answers() {
    let nats = Secure::start();
    init(&nats);
    let server1 = nats.member("server1").start();
    until_active(&server1).await;
    let (laptop, refused) = nats.connect("laptop").await;
    for subject in [
        "hub.hub.log.server1",
        "hub.hub.log.laptop",
        "hub.hub.live.server1",
        "hub.hub.beat.server1",
        "hub.hub.call.1.server1",
        "$KV.hub_hub.secret",
        "$KV.hub_hub.active",
        "$KV.hub_hub.node.server1",
        "$JS.API.STREAM.DELETE.HUB_hub",
        "$JS.API.STREAM.PURGE.HUB_hub",
    ] {
        refused.lock().unwrap().clear();
        laptop.publish(subject, "forged".into()).await.unwrap();
        until_refused(&laptop, &refused, subject).await;
    }
    for subject in ["_INBOX.hub.server1.>", "_INBOX.>", "hub.>", "$KV.>"] {
        refused.lock().unwrap().clear();
        let mut spied = laptop.subscribe(subject).await.unwrap();
        until_refused(&laptop, &refused, subject).await;
        publish(&server1, &format!("secret {subject}"), "w").await;
        let heard = tokio::time::timeout(Duration::from_millis(50), spied.next()).await;
        assert!(!matches!(heard, Ok(Some(_))), "{subject}");
    }
    let info = server1.client().read("/hub").await;
    assert!(
        info["cluster"]["fault"].is_null() && info["cluster"]["nodes"] == serde_json::json!([])
    );
}

#[tokio::test]
async fn every_documented_machine_copies_a_log_whose_beginning_was_dropped() {
    let nats = Secure::start();
    init(&nats);
    let small = |node: &str| {
        nats.member(node)
            .set("retention.max_bytes=200000")
            .set("snapshot.every_records=20")
    };
    let mut server1 = small("server1").start();
    until_active(&server1).await;
    let (admin, _) = nats.connect("admin").await;
    let context = async_nats::jetstream::new(admin);
    let first = async || {
        let stream = context.get_stream("HUB_hub").await.unwrap();
        stream.cached_info().state.first_sequence
    };
    let text = "x".repeat(4000);
    let began = Instant::now();
    while first().await <= 1 {
        for _ in 0..20 {
            let post = json!({ "from": "tester", "type": "progress", "msg": text });
            server1
                .client()
                .post_json("/notify", post)
                .await
                .expect(201);
        }
        assert!(began.elapsed() < TAKEOVER, "nothing was dropped");
    }
    let laptop = small("laptop").start();
    until_follows(&laptop, "server1").await;
    until_same(&laptop, &server1).await;
    // The disk of the other machine is new.
    server1.stop();
    std::fs::remove_dir_all(nats.state("server1")).unwrap();
    server1.start_again();
    until_active(&server1).await;
    until_same(&laptop, &server1).await;
}

/// Returns the texts in quotes of a list in the configuration.
fn quoted(block: &str, list: &str) -> Vec<String> {
    let (_, rest) = block.split_once(list).expect("a list");
    let (list, _) = rest.split_once(']').expect("an end");
    let texts = list.split('"').skip(1).step_by(2);
    texts.map(str::to_owned).collect()
}

#[tokio::test]
async fn the_check_notices_each_permission_that_is_missing() {
    let page = documented();
    let block = |user: &str| {
        let begin = page.find(&format!("{{ nkey: \"{user}\"")).expect("a user");
        let length = page[begin..].find("] } }").expect("an end");
        page[begin..begin + length + "] } }".len()].to_owned()
    };
    // A user of its own for each permission, without that one.
    let mut users = vec![
        "admin".to_owned(),
        "server1".to_owned(),
        "laptop".to_owned(),
    ];
    let (mut lacking, mut blocks) = (Vec::new(), String::new());
    for node in ["server1", "laptop"] {
        let placeholder = format!("U_{}", node.to_uppercase());
        let own = block(&placeholder);
        let all = [quoted(&own, "publish: ["), quoted(&own, "subscribe: [")];
        for subject in all.concat() {
            let user = format!("lacking{}x", lacking.len());
            let without = own.replace(&format!("\"{subject}\""), "\"nothing\"");
            blocks += &without.replace(&placeholder, &format!("U_{}", user.to_uppercase()));
            blocks.push('\n');
            users.push(user.clone());
            lacking.push((node, user, subject));
        }
    }
    let users: Vec<&str> = users.iter().map(String::as_str).collect();
    let admin = block("U_ADMIN");
    let nats = Secure::with(&users, |config| {
        config.replace(&admin, &format!("{admin}\n{blocks}"))
    });
    init(&nats);
    for (node, user, subject) in lacking {
        let mut set = nats.settings(node);
        set.push(format!("cluster.creds={}", nats.creds(&user).display()));
        let checked = hubd(&nats.state(node), &set, &["cluster", "check"]);
        let found = checked.expect_err(&subject);
        let named = found.lines().any(|it| {
            let begin = subject.split(['*', '>']).next().unwrap();
            it.starts_with("PROBLEM") && it.contains("may not") && it.contains(begin)
        });
        assert!(named, "{node} without {subject}: {found}");
    }
}

async fn until_refused(client: &Client, refused: &Mutex<Vec<String>>, subject: &str) {
    client.flush().await.unwrap();
    let quoted = format!("\"{subject}\"");
    for _ in 0..200 {
        if refused
            .lock()
            .unwrap()
            .iter()
            .any(|it| it.contains(&quoted))
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{subject} is not refused");
}

#[tokio::test]
async fn permissions_that_are_too_wide_are_reported() {
    let server = [Nats::start()];
    let dir = tempfile::tempdir().unwrap();
    let checked = hubd(dir.path(), &settings("a", &server), &["cluster", "check"]).unwrap_err();
    for found in [
        "PROBLEM  this hub may use hub.hub.beat.another-machine",
        "PROBLEM  the cluster has no log yet",
        "ok       this hub signs its calls",
        "ok       this hub has every permission that it needs",
    ] {
        assert!(checked.contains(found), "{found}: {checked}");
    }
}
