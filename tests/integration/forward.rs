//! Forwards to a server of ntfy's documented protocol and to webhooks: the shapes, the filter, and delivery at least once.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hub_harness::ntfy::Planned;
use hub_harness::{Client, Hub, HubBuilder, Ntfy, each, until};
use serde_json::{Value, json};
use tempfile::TempDir;

mod buttons;
mod by_rule;
mod settings;
mod tls;

/// A hub with forwards to a server.
struct Forwarding {
    hub: Hub,
    client: Client,
    ntfy: Ntfy,
    _dir: TempDir,
}

/// Writes a configuration file that only this user can read.
fn config(dir: &Path, text: &str) -> PathBuf {
    let path = dir.join("config.toml");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    path
}

/// The settings of a forward to the topic `phone`; further `lines` may be anything.
fn phone(url: &str, lines: &str) -> String {
    format!("[[forward]]\nname='phone'\nkind='ntfy'\nurl='{url}'\ntopic='phone'\n{lines}\n")
}

fn builder(dir: &Path, text: &str) -> HubBuilder {
    let path = config(dir, text);
    Hub::builder().arg("--config").arg(path).env("TZ", "UTC")
}

impl Forwarding {
    /// Starts a hub with a forward to the topic `phone`.
    fn start(lines: &str) -> Self {
        let ntfy = Ntfy::start();
        let text = phone(&ntfy.url(), lines);
        Self::with(ntfy, &text)
    }

    fn with(ntfy: Ntfy, text: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let hub = builder(dir.path(), text).start();
        let client = hub.client();
        Self {
            hub,
            client,
            ntfy,
            _dir: dir,
        }
    }

    /// Publishes an error with this text.
    async fn fails(&self, text: &str) -> u64 {
        let post = json!({ "msg": text, "from": "ci", "type": "error" });
        self.client.notify(post).await
    }

    /// Waits until the topic has exactly these texts.
    #[track_caller]
    fn expect(&self, texts: &[&str]) {
        let all = self.ntfy.until_messages("phone", texts.len());
        assert_eq!(each(&json!(all), "message"), json!(texts));
    }

    /// Returns what `GET /hub` shows of the forward.
    async fn info(&self) -> Value {
        self.client.read("/hub").await["forwards"][0].clone()
    }

    /// Waits until the hub knows that the target has accepted so many, and returns what it shows then.
    async fn until_sent(&self, count: u64) -> Value {
        loop {
            let info = self.info().await;
            if info["sent"] == count {
                return info;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test]
async fn each_kind_of_target_gets_its_shape() {
    let ntfy = Ntfy::start();
    let url = ntfy.url();
    let hook =
        |kind: &str| format!("[[forward]]\nname='{kind}'\nkind='{kind}'\nurl='{url}/a/{kind}'\n");
    let all = ["webhook", "slack", "discord"].map(hook).join("");
    let it = Forwarding::with(ntfy, &format!("{}{all}", phone(&url, "")));
    let post = json!({
        "msg": "Which <db>?\n@everyone \u{202e}& \u{1b}[2J", "title": "Setup", "from": "w1", "type": "question",
        "priority": "high", "options": ["postgres", "sqlite"],
    });
    let id = it.client.notify(post).await;
    let hidden = "[U+202E]& [U+001B][2J\nNot all of it fits here: open it on the dashboard.";
    let message = it.ntfy.until_messages("phone", 1).remove(0);
    crate::assert_fields(
        &message,
        json!({
            "title": "w1",
            "message": format!("Setup\nWhich <db>?\n@everyone {hidden}\n- postgres\n- sqlite"),
            "priority": 4,
            "tags": ["question"],
            "actions": null,
        }),
    );
    let escaped = hidden.replace('&', "&amp;");
    let slack = format!(
        "*w1* (question)\nSetup\nWhich &lt;db&gt;?\n@everyone {escaped}\n- postgres\n- sqlite"
    );
    assert_eq!(
        it.ntfy.until_posts("/a/slack", 1),
        [json!({ "text": slack })]
    );
    let discord =
        format!("**w1** (question)\nSetup\nWhich <db>?\n@everyone {hidden}\n- postgres\n- sqlite");
    let expected = json!({ "content": discord, "allowed_mentions": { "parse": [] } });
    assert_eq!(it.ntfy.until_posts("/a/discord", 1), [expected]);
    let link = "[your bank](https://evil.example)";
    it.client
        .notify(json!({ "msg": link, "from": "w1", "type": "question", "options": [link] }))
        .await;
    let shown = it.ntfy.until_posts("/a/discord", 2).remove(1);
    let bare = r"[your bank]\(https://evil.example)";
    let expected = format!("**w1** (question)\n{bare}\n- {bare}");
    assert_eq!(shown["content"], expected);
    let stored = it.client.notification(id).await;
    let webhook = it.ntfy.until_posts("/a/webhook", 1).remove(0);
    for (name, value) in webhook.as_object().unwrap() {
        assert_eq!(stored[name], *value, "{name}");
    }
    assert_eq!(webhook["id"], id);
}

#[tokio::test]
async fn only_what_the_filter_includes_is_forwarded() {
    let filter = "types=['error', 'complete']\nprojects=['a']\nfrom=['ci*']\nmin_priority='high'";
    let it = Forwarding::start(filter);
    let post = |text: &str, change: Value| {
        let mut post = json!({ "msg": text, "from": "ci", "type": "error", "project": "a", "priority": "high" });
        let all = post.as_object_mut().unwrap();
        all.extend(change.as_object().unwrap().clone());
        it.client.notify(post)
    };
    post("other type", json!({ "type": "message" })).await;
    post("other project", json!({ "project": "b" })).await;
    post("other sender", json!({ "from": "w1" })).await;
    post("too low", json!({ "priority": "normal" })).await;
    post("first", json!({})).await;
    post(
        "second",
        json!({ "type": "complete", "priority": "urgent", "from": "ci-7", "project": "/src/a" }),
    )
    .await;
    it.expect(&["first", "second"]);
}

#[tokio::test]
async fn without_types_a_session_that_needs_the_person_is_forwarded() {
    let it = Forwarding::start("");
    for kind in [
        "complete", "progress", "approval", "message", "question", "error",
    ] {
        it.client
            .notify(json!({ "msg": kind, "from": kind, "type": kind }))
            .await;
    }
    it.expect(&["approval", "question", "error"]);
}

#[tokio::test]
async fn in_quiet_hours_and_of_a_muted_session_only_what_is_urgent_is_forwarded() {
    let hour = hub_protocol::Timestamp::now().as_millis() / 3_600_000;
    let quiet = format!(
        "quiet_hours='{:02}:00-{:02}:00'",
        hour % 24,
        (hour + 2) % 24
    );
    let it = Forwarding::start(&quiet);
    it.fails("quiet").await;
    let urgent = json!({ "msg": "urgent", "from": "ci", "type": "error", "priority": "urgent" });
    it.client.notify(urgent.clone()).await;
    it.expect(&["urgent"]);

    let it = Forwarding::start("");
    let muted = json!({ "mutes": [{ "project": "default", "session": "ci" }] });
    it.client.put_json("/preferences", muted).await.expect(200);
    it.fails("muted").await;
    it.client.notify(urgent).await;
    it.expect(&["urgent"]);
}

#[tokio::test]
async fn a_forward_starts_at_the_head() {
    let ntfy = Ntfy::start();
    let mut hub = Hub::start();
    hub.client()
        .publish(json!({ "msg": "old", "type": "error" }))
        .await;
    hub.stop();
    let dir = tempfile::tempdir().unwrap();
    let own = builder(dir.path(), &phone(&ntfy.url(), ""))
        .state_dir(hub.state_dir())
        .start();
    own.client()
        .publish(json!({ "msg": "new", "type": "error" }))
        .await;
    assert_eq!(ntfy.until_messages("phone", 1)[0]["message"], "new");
}

#[tokio::test]
async fn after_a_time_only_what_nobody_has_dealt_with_is_forwarded() {
    let it = Forwarding::start("after='10s'\ntypes=['question', 'error']");
    let answered = it.client.asks("w1").await;
    let seen = it.fails("seen").await;
    let read = it.fails("read").await;
    it.fails("open").await;
    let asked = json!({ "msg": "unanswered", "from": "w1", "type": "question" });
    it.client.notify(asked).await;
    it.client.answer(answered, "yes").await.expect(201);
    it.client
        .put(&format!("/notifications/{seen}/seen"))
        .await
        .expect(200);
    it.client.ack("primary", json!({ "ids": [read] })).await;
    assert_eq!(it.ntfy.messages("phone"), [Value::Null; 0]);
    it.expect(&["open", "unanswered"]);
}

#[tokio::test]
async fn a_question_that_is_answered_while_the_target_is_down_is_not_forwarded() {
    let it = Forwarding::start("");
    it.ntfy.plan(&[Planned::Refuses(503, false)]);
    let id = it.client.asks("w1").await;
    until("the first attempt fails", || {
        it.ntfy.is_plan_done().then_some(())
    });
    it.client.answer(id, "yes").await.expect(201);
    it.fails("next").await;
    it.expect(&["next"]);
}

#[tokio::test]
async fn a_crash_between_acceptance_and_position_repeats_one_and_loses_none() {
    let mut it = Forwarding::start("");
    it.fails("first").await;
    it.expect(&["first"]);
    it.ntfy.plan(&[Planned::Accepts]);
    it.fails("second").await;
    it.fails("third").await;
    it.expect(&["first", "second"]);
    it.hub.crash();
    it.client = it.hub.client();
    it.fails("fourth").await;
    let last = until("the last message", || {
        let all = it.ntfy.messages("phone");
        (all.last()?["message"] == "fourth").then_some(all)
    });
    let texts = each(&json!(last), "message");
    // Only the note of the first one may have been lost too.
    let both = ["second", "third", "fourth"];
    let repeated = json!(["first", "second", "first", "second", "third", "fourth"]);
    let exact: Vec<&str> = ["first", "second"].into_iter().chain(both).collect();
    assert!(texts == json!(exact) || texts == repeated, "{texts}");
}

#[tokio::test]
async fn after_a_clean_stop_nothing_is_repeated() {
    let mut it = Forwarding::start("");
    for text in ["first", "second"] {
        it.fails(text).await;
    }
    it.expect(&["first", "second"]);
    it.hub.restart();
    it.client = it.hub.client();
    it.fails("third").await;
    it.expect(&["first", "second", "third"]);
}

#[tokio::test]
async fn a_failing_target_gets_each_one_once_and_in_order() {
    let it = Forwarding::start("");
    it.ntfy.plan(&[
        Planned::Refuses(500, false),
        Planned::Refuses(429, true),
        Planned::Refuses(401, false),
    ]);
    it.fails("first").await;
    it.fails("second").await;
    until("an attempt fails", || {
        it.hub.log().contains("a forward fails").then_some(())
    });
    let info = it.info().await;
    assert!(
        info["error"].as_str().unwrap().contains("planned"),
        "{info}"
    );
    assert!(info["behind"].as_u64().unwrap() > 0, "{info}");
    it.expect(&["first", "second"]);
    let info = it.until_sent(2).await;
    let expected = json!({ "name": "phone", "kind": "ntfy", "refused": 0, "error": null });
    crate::assert_fields(&info, expected);
    assert_eq!(it.hub.log().matches("a forward fails").count(), 1);
}

#[tokio::test]
async fn a_refused_notification_is_skipped() {
    let it = Forwarding::start("");
    it.ntfy.plan(&[Planned::Refuses(400, false)]);
    it.fails("bad").await;
    it.fails("good").await;
    it.expect(&["good"]);
    assert_eq!(it.until_sent(1).await["refused"], 1);
    assert!(it.hub.log().contains("was not forwarded"));
}

#[tokio::test]
async fn a_target_that_is_down_gets_everything_once_it_is_up() {
    let it = Forwarding::start("");
    let port = it.ntfy.port();
    let Forwarding {
        hub,
        client,
        ntfy,
        _dir: dir,
    } = it;
    drop(ntfy);
    for text in ["first", "second"] {
        client
            .publish(json!({ "msg": text, "from": "ci", "type": "error" }))
            .await;
    }
    until("an attempt fails", || {
        hub.log().contains("a forward fails").then_some(())
    });
    let it = Forwarding {
        hub,
        client,
        ntfy: Ntfy::start_at(port),
        _dir: dir,
    };
    it.expect(&["first", "second"]);
}

#[tokio::test]
async fn a_target_that_never_answers_delays_no_publisher_and_no_other_forward() {
    let ntfy = Ntfy::start();
    let slow = Ntfy::start();
    slow.plan(&[Planned::Hangs]);
    let hook = format!(
        "[[forward]]\nname='slow'\nkind='webhook'\nurl='{}/a/b'\n",
        slow.url()
    );
    let text = format!("{hook}{}", phone(&ntfy.url(), ""));
    let it = Forwarding::with(ntfy, &text);
    it.fails("first").await;
    until("the target hangs", || slow.is_plan_done().then_some(()));
    let texts: Vec<String> = (0..50).map(|n| format!("error {n}")).collect();
    for text in &texts {
        it.fails(text).await;
    }
    let all = it.ntfy.until_messages("phone", 51);
    assert_eq!(all[50]["message"], texts[49]);
    assert_eq!(it.info().await["sent"], 0);
}
