//! Rules: what they match, what they do, and that each firing happens once.

use std::fs;
use std::path::Path;
use std::time::Duration;

use hub_harness::{Client, Hub, PATIENCE, each, until};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A hub with a disk and these rules, in the syntax of `[[on]]` tables.
fn hub_with_rules(rules: &str) -> (Hub, Client, TempDir) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("config.toml");
    fs::write(
        &path,
        rules.replace("DIR", &dir.path().display().to_string()),
    )
    .expect("a file");
    let hub = Hub::builder().arg("--config").arg(&path).start();
    let client = hub.client();
    (hub, client, dir)
}

async fn send(client: &Client, from: &str, kind: &str, msg: &str) -> u64 {
    client
        .notify(json!({ "from": from, "type": kind, "msg": msg }))
        .await
}

#[test]
fn a_configuration_that_others_can_write_starts_no_hub() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("config.toml");
    fs::write(&path, "approvals = true").expect("a file");
    let start = |mode| {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(&path, permissions).expect("its mode");
        Hub::builder().arg("--config").arg(&path).try_start()
    };
    let refused = start(0o666).expect_err("refused");
    let fix = format!("chmod go-w '{}'", path.display());
    assert!(refused.stderr.contains(&fix), "{}", refused.stderr);
    assert!(start(0o644).is_ok());
}

/// How often each rule fired.
async fn fired(client: &Client) -> Value {
    each(&client.read("/rules").await["rules"], "fired")
}

/// The texts that are pending for the person.
async fn to_person(client: &Client) -> Value {
    let batch = client.get("/wait?timeout=0&inbox=person").await;
    match batch.status {
        204 => json!([]),
        _ => each(&batch.json()["notifications"], "msg"),
    }
}

/// Returns the first notifications of the hub itself, once it has sent that many.
async fn from_hub(client: &Client, count: usize) -> Value {
    let mut events = client.events("?since=0&kinds=notification").await;
    let mut found = Vec::new();
    while found.len() < count {
        let notification = events.next_of("notification").await.data;
        if notification["from"] == "hub" {
            found.push(notification);
        }
    }
    found.into()
}

/// Whether a process runs. A killed one stays as a zombie until init has reaped it.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|it| !it.contains(") Z "))
}

fn file(dir: &TempDir, name: &str) -> String {
    fs::read_to_string(dir.path().join(name)).unwrap_or_default()
}

#[tokio::test]
async fn each_key_matches_and_all_keys_of_a_rule_must() {
    let (_hub, client, _dir) = hub_with_rules(
        r#"
        [[on]]
        name = "type"
        type = ["error", "needs_testing"]
        mute = true
        [[on]]
        name = "from"
        from = ["ci*", "*-bot"]
        mute = true
        [[on]]
        name = "project"
        project = ["shop", "/src/*/api"]
        mute = true
        [[on]]
        name = "text"
        text = '(?i)^deploy\b'
        mute = true
        [[on]]
        name = "all"
        type = ["error"]
        from = ["ci-*"]
        min_priority = "high"
        text = "red"
        mute = true
        "#,
    );
    #[rustfmt::skip]
    let rows = [
        (json!({ "from": "w1", "type": "error", "msg": "x" }), [1, 0, 0, 0, 0]),
        (json!({ "from": "w1", "type": "testing", "msg": "x" }), [2, 0, 0, 0, 0]),
        (json!({ "from": "ci-7", "type": "message", "msg": "x" }), [2, 1, 0, 0, 0]),
        (json!({ "from": "a-bot", "type": "message", "msg": "x" }), [2, 2, 0, 0, 0]),
        (json!({ "from": "a-bots", "type": "message", "msg": "x" }), [2, 2, 0, 0, 0]),
        (json!({ "from": "w1", "project": "/home/shop", "msg": "x" }), [2, 2, 1, 0, 0]),
        (json!({ "from": "w1", "project": "/src/a/b/api", "msg": "x" }), [2, 2, 2, 0, 0]),
        (json!({ "from": "w1", "project": "/src/shops", "msg": "x" }), [2, 2, 2, 0, 0]),
        (json!({ "from": "w1", "msg": "Deploy it" }), [2, 2, 2, 1, 0]),
        (json!({ "from": "w1", "msg": "to deploy" }), [2, 2, 2, 1, 0]),
        (json!({ "from": "ci-7", "type": "error", "priority": "high", "msg": "red" }), [3, 3, 2, 1, 1]),
        (json!({ "from": "ci-7", "type": "error", "priority": "normal", "msg": "red" }), [4, 4, 2, 1, 1]),
        (json!({ "from": "ci-7", "type": "error", "priority": "urgent", "msg": "green" }), [5, 5, 2, 1, 1]),
    ];
    for (post, expected) in rows {
        client.notify(post.clone()).await;
        assert_eq!(fired(&client).await, json!(expected), "{post}");
    }
}

#[tokio::test]
async fn a_name_of_a_session_matches_like_its_id() {
    let rule = "[[on]]\nname = 'n'\nfrom = ['fix-*']\nmute = true\n";
    let (_hub, client, _dir) = hub_with_rules(rule);
    client
        .register("0a1b", json!({ "name": "fix-login" }))
        .await;
    send(&client, "0a1b", "message", "x").await;
    assert_eq!(fired(&client).await, json!([1]));
}

#[tokio::test]
async fn notify_fills_its_text_and_no_rule_fires_on_it() {
    let (_hub, client, _dir) = hub_with_rules(
        r#"
        [[on]]
        name = "one"
        from = ["*"]
        notify = { to = "person", type = "error", priority = "high", msg = "{from}/{session} said {msg} ({id}) in {project}" }
        [[on]]
        name = "two"
        from = ["*"]
        notify = { to = "person", msg = "again {msg}" }
        "#,
    );
    let id = send(&client, "ci", "message", "{from} is <red>").await;
    let batch = client.take("&inbox=person").await;
    let all = &batch["notifications"];
    let text = format!("ci/ci said {{from}} is <red> ({id}) in default");
    assert_eq!(each(all, "msg"), json!([text, "again {from} is <red>"]));
    assert_eq!(each(all, "from"), json!(["hub", "hub"]));
    assert_eq!(each(all, "type"), json!(["error", "message"]));
    assert_eq!(each(all, "priority"), json!(["high", "normal"]));
    assert_eq!(all[0]["data"], json!({ "rule": "one", "notification": id }));
    assert_eq!(fired(&client).await, json!([1, 1]));
    let steps = client.read(&format!("/notifications/{id}/trace")).await["steps"].to_string();
    assert!(
        steps.contains("rule 'one': notify") && steps.contains("rule 'two': notify"),
        "{steps}"
    );
}

#[tokio::test]
async fn after_a_firing_a_rule_is_quiet_about_that_sender_for_its_cooldown() {
    let rule = |cooldown: &str| {
        format!(
            "[[on]]\nname = 'n'\ntype = ['error']\n{cooldown}notify = {{ to = 'person', msg = '{{from}} {{id}}' }}\n"
        )
    };
    for (cooldown, expected) in [("", 2), ("cooldown = '0s'\n", 4), ("cooldown = '1h'\n", 2)] {
        let (_hub, client, _dir) = hub_with_rules(&rule(cooldown));
        for from in ["ci", "ci", "w1", "ci"] {
            send(&client, from, "error", "red").await;
        }
        assert_eq!(fired(&client).await, json!([expected]), "{cooldown}");
        assert_eq!(
            to_person(&client).await.as_array().map(Vec::len),
            Some(expected),
            "{cooldown}"
        );
    }
}

#[tokio::test]
async fn a_muted_notification_wakes_nobody_and_rides_along_with_its_reason() {
    let rule = "[[on]]\nname = 'noise'\nfrom = ['lint*']\nmute = true\n";
    let (_hub, client, _dir) = hub_with_rules(rule);
    let wait = client.waiter("timeout=20", "primary").await;
    let post = json!({ "from": "lint", "type": "error", "priority": "urgent", "msg": "a" });
    let first = client.publish(post.clone()).await;
    let second = client.publish(post).await;
    assert_eq!((&first["woken"], &second["woken"]), (&json!(0), &json!(0)));
    assert!(!wait.is_finished());
    send(&client, "w1", "error", "b").await;
    let batch = wait.await.expect("a batch").expect(200).json();
    assert_eq!(each(&batch["notifications"], "msg"), json!(["a", "a", "b"]));
    let trace = client.read("/notifications/1/trace").await;
    assert_eq!(trace["steps"][0]["rides_along"], "rule 'noise' muted it");
    assert_eq!(trace["steps"][1]["by"], "rule 'noise': mute");
}

#[tokio::test]
async fn a_program_gets_hostile_text_as_data_and_never_through_a_shell() {
    let rule = "[[on]]\nname = 'r'\ntype = ['error']\nrun = ['sh', '-c', 'cat > DIR/json; printf %s \"$HUB_MSG|$HUB_FROM|$HUB_TYPE|$HUB_RULE\" > DIR/part; mv DIR/part DIR/text', '$(touch DIR/pwned)']\n";
    let (_hub, client, dir) = hub_with_rules(rule);
    let msg = "$(touch pwned); `id` \"; rm -rf / #\n\u{1b}[2J'\u{202e}";
    let id = send(&client, "ci", "error", msg).await;
    let text = until("the program has run", || {
        Some(file(&dir, "text")).filter(|it| !it.is_empty())
    });
    assert_eq!(text, format!("{msg}|ci|error|r"));
    let given: Value = serde_json::from_str(&file(&dir, "json")).expect("JSON");
    assert_eq!((&given["id"], &given["msg"]), (&json!(id), &json!(msg)));
    assert!(!dir.path().join("pwned").exists() && !Path::new("pwned").exists());
    let steps = client.trace(id).await;
    assert_eq!(steps, json!(["stored", "fired", "started"]));
}

#[tokio::test]
async fn a_failed_program_is_logged_with_its_last_line_and_its_children_end_with_it() {
    let rule = "[[on]]\nname = 'r'\ntype = ['error']\nrun = ['sh', '-c', 'sleep 1000 & echo $! > DIR/part; mv DIR/part DIR/child; echo one; echo the reason >&2; exit 3']\n[[on]]\nname = 'none'\ntype = ['error']\nrun = ['/nowhere/program']\n";
    let (hub, client, dir) = hub_with_rules(rule);
    send(&client, "ci", "error", "x").await;
    let is_logged = || {
        let log = hub.log();
        (log.contains("the reason")
            && log.contains("exit status: 3")
            && log.contains("cannot be started"))
        .then_some(())
    };
    until("the failures are logged", is_logged);
    assert!(!hub.log().contains("said=\"one"), "{}", hub.log());
    let child = file(&dir, "child");
    until("the child has ended", || {
        (!runs(child.trim())).then_some(())
    });
}

#[tokio::test]
async fn a_program_is_killed_with_its_children_after_its_timeout_and_the_trace_says_so() {
    let rule = "[[on]]\nname = 'r'\ntype = ['error']\ntimeout = '2s'\nrun = ['sh', '-c', 'sleep 1000 & echo $$ $! > DIR/part; mv DIR/part DIR/group; echo it waits; wait']\n[[on]]\nname = 'quick'\ntype = ['error']\ntimeout = '2s'\nrun = ['true']\n";
    let (hub, client, dir) = hub_with_rules(rule);
    let id = send(&client, "ci", "error", "x").await;
    let group = until("the program runs", || {
        Some(file(&dir, "group")).filter(|it| !it.is_empty())
    });
    let group: Vec<&str> = group.split_whitespace().collect();
    assert!(group.iter().all(|pid| runs(pid)), "{group:?}");
    let failures = async {
        loop {
            let trace = client.read(&format!("/notifications/{id}/trace")).await;
            let steps = trace["steps"].as_array().expect("a list").iter();
            let failed = steps.filter(|it| it["state"] == "failed");
            let failed: Vec<Value> = failed.cloned().collect();
            if !failed.is_empty() {
                return json!(failed);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let failed = tokio::time::timeout(PATIENCE, failures);
    let failed = failed.await.expect("the failure is recorded");
    assert_eq!(each(&failed, "by"), json!(["rule 'r'"]));
    assert_eq!(each(&failed, "why"), json!(["killed after 2 s"]));
    assert!(hub.log().contains("it waits"), "{}", hub.log());
    until("the group has ended", || {
        (!group.iter().any(|pid| runs(pid))).then_some(())
    });
}

#[test]
fn a_bad_rule_is_refused_with_its_file_line_name_key_and_what_is_allowed() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("bad.toml");
    let rows = [
        (
            "[[on]]\nname = 'a'\nfrom = ['x']\nmute = true\n\n[[on]]\n# of the linter\nname = 'b'\nfrom = 'lint'\n",
            "line 9: [[on]] 'b': from: invalid type: string \"lint\", expected a list, such as [\"a\", \"b\"]",
        ),
        (
            "workers = 2\n[[on]]\nfrom = ['x']\n",
            "line 2: [[on]] number 1: name: this key is missing",
        ),
        (
            "[[on]]\nname = 'a'\nfrom = ['x']\n[on.notify]\nto = 'a'\n",
            "line 4: [[on]] 'a': notify.msg: this key is missing",
        ),
        (
            "[[on]]\nname = 'a'\nstate = ['bored']\nfor = '1m'\nrun = ['x']\n",
            "line 3: [[on]] 'a': phase: unknown phase 'bored' (expected one of: needs_you, blocked, your_turn, working, done, gone)",
        ),
        (
            "[on]\nname = 'a'\n",
            "on: begin each rule with a line [[on]], in two brackets",
        ),
        (
            "on = 3\n",
            "on: begin each rule with a line [[on]], in two brackets",
        ),
    ];
    for (text, expected) in rows {
        fs::write(&path, text).expect("a file");
        let hub = Hub::builder().memory().arg("--config").arg(&path);
        let error = hub.try_start().expect_err(text).stderr;
        let expected = format!("{}: {expected}\n", path.display());
        assert!(error.ends_with(&expected), "{error} instead of {expected}");
    }
}

/// A rule whose programs note their start and run until the file `go` exists.
const BLOCKING: &str = "[[on]]\nname = 'r'\ntype = ['error']\ncooldown = '0s'\nrun = ['sh', '-c', 'echo $HUB_ID >> DIR/started; while [ ! -e DIR/go ]; do sleep 0.05; done']\n";

fn started(dir: &TempDir) -> Vec<String> {
    file(dir, "started").lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn four_programs_run_at_a_time_and_a_firing_survives_kill_9_and_starts_once() {
    let (mut hub, client, dir) = hub_with_rules(BLOCKING);
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(send(&client, "ci", "error", "x").await.to_string());
    }
    until("four run", || (started(&dir).len() == 4).then_some(()));
    assert_eq!(
        client.trace(ids[4].parse().expect("an id")).await,
        json!(["stored", "fired"])
    );
    // Two firings have no program yet; the hub is killed between their records and their programs.
    hub.crash();
    fs::write(dir.path().join("go"), "").expect("a file");
    until("all have run", || (started(&dir).len() == 6).then_some(()));
    hub.restart();
    send(&hub.client(), "ci", "error", "last").await;
    until("one more has run", || {
        (started(&dir).len() == 7).then_some(())
    });
    let mut all = started(&dir);
    all.pop();
    all.sort_by_key(|id| id.parse::<u64>().ok());
    assert_eq!(all, ids);
}

#[tokio::test]
async fn an_escalation_calls_the_person_unless_it_is_settled_in_time() {
    let rule = "[[on]]\nname = 'e'\nfrom = ['*']\ncooldown = '0s'\nescalate = '2s'\n";
    let (mut hub, client, _dir) = hub_with_rules(rule);
    let (read, answered) = (
        send(&client, "w1", "error", "a").await,
        client.asks("w2").await,
    );
    let (unread, open) = (
        send(&client, "w3", "error", "b").await,
        client.asks("w4").await,
    );
    client.ack("primary", json!({ "ids": [read] })).await;
    client.answer(answered, "yes").await.expect(201);
    hub.crash();
    let all = &from_hub(&client, 2).await;
    let texts = [
        format!("nobody has read {unread} of w3: b"),
        format!("w4 still waits for an answer to {open}: ?"),
    ];
    assert_eq!(each(all, "msg"), json!(texts));
    assert_eq!(each(all, "priority"), json!(["urgent", "urgent"]));
    let escalated = |trace: &Value| {
        trace
            .as_array()
            .is_some_and(|it| it.contains(&json!("escalated")))
    };
    assert!(escalated(&client.trace(unread).await));
    assert!(!escalated(&client.trace(read).await));
}

#[tokio::test]
async fn a_stay_in_a_phase_fires_once_over_restarts_and_again_when_it_is_new() {
    let rule = "[[on]]\nname = 's'\nphase = ['blocked', 'your turn']\nfor = '1s'\nfrom = ['w*']\nnotify = { to = 'person', msg = '{from} is {msg}' }\n";
    let (mut hub, client, _dir) = hub_with_rules(rule);
    send(&client, "w1", "error", "broken").await;
    send(&client, "other", "error", "broken").await;
    hub.crash();
    let all = from_hub(&client, 1).await;
    assert_eq!(each(&all, "msg"), json!(["w1 is blocked for 0 min"]));
    hub.crash();
    send(&client, "w1", "progress", "goes on").await;
    send(&client, "w1", "error", "broken again").await;
    from_hub(&client, 2).await;
    assert_eq!(fired(&client).await, json!([2]));
}

#[tokio::test]
async fn a_rule_does_not_fire_on_what_was_there_before_it() {
    let (mut hub, client, dir) = hub_with_rules("");
    send(&client, "old", "error", "x").await;
    let rules = "[[on]]\nname = 's'\nphase = ['blocked']\nfor = '1s'\nnotify = { to = 'person', msg = '{from}' }\n[[on]]\nname = 'e'\ntype = ['error']\nnotify = { to = 'person', msg = 'e {from}' }\n";
    fs::write(dir.path().join("config.toml"), rules).expect("a file");
    hub.restart();
    send(&client, "new", "error", "x").await;
    let all = from_hub(&client, 2).await;
    assert_eq!(each(&all, "msg"), json!(["e new", "new"]));
}

#[tokio::test]
async fn a_dry_run_equals_what_fired_and_changes_nothing() {
    let rules = "[[on]]\nname = 'a'\ntype = ['error']\nnotify = { to = 'person', msg = 'red' }\n[[on]]\nname = 'b'\nfrom = ['ci*']\nmute = true\n[[on]]\nname = 'c'\nphase = ['blocked']\nfor = '1s'\nnotify = { to = 'person', msg = 'stuck' }\n";
    let (_hub, client, _dir) = hub_with_rules(rules);
    for (from, kind) in [
        ("ci", "error"),
        ("ci", "error"),
        ("w1", "error"),
        ("ci2", "progress"),
    ] {
        send(&client, from, kind, "text").await;
    }
    from_hub(&client, 4).await;
    let head = client.head().await;
    let run = client
        .post_json("/rules/test", json!({}))
        .await
        .expect(200)
        .json();
    let counts = run["counts"].as_object().expect("an object").values();
    assert_eq!(
        fired(&client).await,
        counts.cloned().collect::<Value>(),
        "{run}"
    );
    assert_eq!(run["counts"], json!({ "a": 2, "b": 3, "c": 2 }));
    for it in run["fired"].as_array().expect("a list") {
        if let Some(id) = it["notification"].as_u64() {
            let steps =
                client.read(&format!("/notifications/{id}/trace")).await["steps"].to_string();
            let rule = it["rule"].as_str().expect("a name");
            assert!(steps.contains(&format!("rule '{rule}':")), "{steps}");
        }
    }
    let other = json!({ "config": "[[on]]\nname = 'new'\ntext = '^te.t$'\nrun = ['reboot']\ncooldown = '0s'\n" });
    let run = client
        .post_json("/rules/test?seconds=60", other)
        .await
        .expect(200)
        .json();
    assert_eq!(run["counts"], json!({ "new": 4 }));
    assert_eq!(client.head().await, head);
}

#[tokio::test]
async fn a_bad_rule_is_refused_at_the_start_and_in_a_dry_run_with_its_key_and_the_fix() {
    let (_hub, client, dir) = hub_with_rules("");
    let path = dir.path().join("bad.toml");
    let valid = "name = 'n'\nfrom = ['x']\nmute = true\n";
    #[rustfmt::skip]
    let rows = [
        ("from = ['x']\nmute = true\n".to_owned(), "number 1", "name: this key is missing"),
        ("name = \"a\\nb\"\nfrom = ['x']\nmute = true\n".to_owned(), "'a b'", "name: use 1 to 64 letters"),
        (format!("{valid}[[on]]\n{valid}"), "'n'", "name: two rules have it"),
        (format!("{valid}typ = ['error']\n"), "'n'", "typ: unknown key, expected one of `name`, `type`"),
        (format!("{valid}type = ['eror']\n"), "'n'", "type: unknown type 'eror' (expected one of: complete"),
        (format!("{valid}type = 'error'\n"), "'n'", "type: invalid type: string \"error\", expected a list, such as ["),
        (format!("{valid}text = '(a'\n"), "'n'", "text: not a regular expression: unclosed group"),
        (format!("{valid}text = '(x{{1000}}){{1000}}'\n"), "'n'", "text: the expression is too large"),
        (format!("{valid}cooldown = '5 parsecs'\n"), "'n'", "cooldown: invalid duration '5 parsecs': use 90s"),
        (format!("{valid}escalate = '400d'\n"), "'n'", "escalate: invalid duration '400d'"),
        (format!("{valid}run = []\n"), "'n'", "run: name a program"),
        (format!("{valid}run = 'ls'\n"), "'n'", "run: invalid type: string \"ls\", expected a list"),
        (format!("{valid}timeout = '5s'\n"), "'n'", "timeout: it limits the program of run"),
        (format!("{valid}run = ['ls']\ntimeout = '2h'\n"), "'n'", "timeout: use 1s to 1h"),
        (format!("{valid}run = ['ls']\ntimeout = '0s'\n"), "'n'", "timeout: use 1s to 1h"),
        (format!("{valid}notify = {{ msg = 'x' }}\n"), "'n'", "notify.to: this key is missing"),
        (format!("{valid}notify = {{ to = 'a', msg = 'x', text = 'y' }}\n"), "'n'", "notify.text: unknown key, expected one of `to`, `type`"),
        (format!("{valid}forward = 'phone'\n"), "'n'", "forward: there is no [[forward]] with the name 'phone'"),
        (format!("{valid}notify = {{ to = 'a b', msg = 'x' }}\n"), "'n'", "notify.to: invalid name"),
        (format!("{valid}notify = {{ to = 'a', msg = '{{sender}}' }}\n"), "'n'", "notify.msg: unknown placeholder '{sender}' (use {from}"),
        (format!("{valid}notify = {{ to = 'a', msg = ' ' }}\n"), "'n'", "notify.msg: use 1 to 4000"),
        (format!("{valid}notify = {{ to = 'a', msg = 'x', type = 'approval' }}\n"), "'n'", "notify.type: a rule can send"),
        (format!("{valid}notify = {{ to = 'a', msg = 'x', priority = 'max' }}\n"), "'n'", "notify.priority: unknown priority 'max'"),
        (format!("{valid}phase = ['blocked']\n"), "'n'", "phase and for belong together"),
        (format!("{valid}phase = ['blocked']\nfor = '1m'\n"), "'n'", "mute, forward and escalate need a notification"),
        ("name = 'n'\nmute = true\n".to_owned(), "'n'", "add a condition"),
        ("name = 'n'\nmin_priority = 'top'\nmute = true\n".to_owned(), "'n'", "min_priority: unknown priority 'top'"),
        ("name = 'n'\nphase = ['done']\nfor = '1m'\nmin_priority = 'high'\nrun = ['x']\n".to_owned(), "'n'", "type, min_priority and text match"),
        ("name = 'n'\nfrom = ['x']\n".to_owned(), "'n'", "add an action"),
        ("name = 'n'\nphase = ['bored']\nfor = '1m'\nrun = ['x']\n".to_owned(), "'n'", "phase: unknown phase 'bored' (expected one of: needs_you"),
        ("name = 'n'\nphase = ['done']\nfor = '0s'\nrun = ['x']\n".to_owned(), "'n'", "for: use at least 1s"),
        ("name = 'n'\nphase = ['done']\nfor = '1m'\ncooldown = '1m'\nrun = ['x']\n".to_owned(), "'n'", "cooldown: leave it out"),
        ("name = 'n'\nphase = ['done']\nfor = '1m'\nnotify = { to = 'a', msg = '{id}' }\n".to_owned(), "'n'", "{id} needs a notification"),
    ];
    for (rule, label, reason) in rows {
        let text = format!("[[on]]\n{rule}");
        fs::write(&path, &text).expect("a file");
        let error = Hub::builder()
            .memory()
            .arg("--config")
            .arg(&path)
            .try_start()
            .expect_err(&text);
        let named = error.stderr.contains(&format!(": [[on]] {label}: "))
            && error.stderr.contains("bad.toml: line ")
            && !error.stderr.contains("in `");
        assert!(
            named && error.stderr.contains(reason),
            "{text}{}",
            error.stderr
        );
        // A dry run does not know the forwards.
        if !rule.contains("forward") {
            let answer = client
                .post_json("/rules/test", json!({ "config": text }))
                .await;
            let problem = answer.expect(422).json();
            let detail = problem["detail"].as_str().unwrap_or_default();
            assert!(detail.contains(reason), "{problem}");
        }
    }
    for (query, body) in [
        ("?seconds=0", json!({})),
        ("", json!({ "config": "on = 3" })),
        ("", json!({ "config": "[[on" })),
    ] {
        client
            .post_json(&format!("/rules/test{query}"), body)
            .await
            .expect(422);
    }
}
