//! Status files: lines that count, lines that count again, and ignored ones.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use hub_harness::{DEADLINE, Hub};
use serde_json::{Value, json};

use crate::{assert_fields, memory_hub};

fn path(hub: &Hub, session: &str) -> PathBuf {
    hub.state_dir().join("status").join(session)
}

fn write(hub: &Hub, session: &str, text: impl AsRef<[u8]>) {
    fs::write(path(hub, session), text).expect("a status file");
}

/// Returns all notifications, oldest first.
async fn said(hub: &Hub) -> Vec<Value> {
    let page = hub.client().read("/notifications?after=0&limit=500").await;
    page["notifications"].as_array().expect("a list").clone()
}

/// Returns the messages of `session`, once the notification `last` of `by` is stored.
async fn messages(hub: &Hub, session: &str, (by, last): (&str, &str)) -> Vec<String> {
    let give_up = Instant::now() + DEADLINE;
    loop {
        let said = said(hub).await;
        if said.iter().any(|it| it["from"] == by && it["msg"] == last) {
            let own = said.iter().filter(|it| it["from"] == session);
            return own.map(|it| it["msg"].as_str().unwrap().into()).collect();
        }
        let late = Instant::now() >= give_up;
        assert!(!late, "{by} never said '{last}': {said:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Returns the messages of `session` after the bridge has read everything written before.
async fn settled(hub: &Hub, session: &str, mark: &str) -> Vec<String> {
    // The bridge reads files in the order of their names.
    write(hub, "zz", format!("completed {mark}\n"));
    messages(hub, session, ("zz", mark)).await
}

async fn works(hub: &Hub, session: &str) {
    let post = json!({ "from": session, "type": "working", "msg": "next" });
    hub.client().notify(post).await;
}

#[tokio::test]
async fn every_state_becomes_its_type_also_when_all_are_written_at_once() {
    let (hub, _client) = memory_hub();
    let lines = [
        ("a", "completed Implemented the login feature", "complete"),
        ("b", "needs_input Which port?", "question"),
        ("c", "needs_testing", "testing"),
        ("d", "error Build failed", "error"),
        ("e", "working", "progress"),
    ];
    for (session, line, _) in lines {
        write(&hub, session, format!("{line}\nand more\n"));
    }
    messages(&hub, "e", ("e", "working")).await;
    let said = said(&hub).await;
    assert_eq!(said.len(), lines.len());
    for ((session, line, kind), it) in lines.iter().zip(said) {
        let msg = line.split_once(' ').map(|(_, msg)| msg.to_owned());
        let msg = msg.unwrap_or_else(|| line.replace('_', " "));
        let via = json!({ "via": "status_file" });
        let expected =
            json!({ "from": session, "type": kind, "msg": msg, "data": via, "project": "default" });
        assert_fields(&it, expected);
    }
}

#[tokio::test]
async fn a_known_sessions_file_is_published_in_its_project() {
    let (hub, _client) = memory_hub();
    let post = json!({ "from": "w1", "project": "app", "type": "working", "msg": "x" });
    hub.client().notify(post).await;
    write(&hub, "w1", "completed done\n");
    messages(&hub, "w1", ("w1", "done")).await;
    assert_eq!(said(&hub).await[1]["project"], "app");
}

#[tokio::test]
async fn only_a_change_counts_and_the_same_line_again_once_the_session_has_worked() {
    let (hub, _client) = memory_hub();
    write(&hub, "w1", "completed one\n");
    assert_eq!(settled(&hub, "w1", "1").await, ["one"]);
    write(&hub, "w1", "completed one\nwith more below\n");
    assert_eq!(settled(&hub, "w1", "2").await, ["one"]);
    works(&hub, "w1").await;
    assert_eq!(settled(&hub, "w1", "3").await, ["one", "next"], "no write");
    let idle = json!({ "from": "w1", "type": "waiting", "msg": "idle" });
    hub.client().notify(idle).await;
    write(&hub, "w1", "completed one\n");
    assert_eq!(settled(&hub, "w1", "4").await[2..], ["idle", "one"]);
    write(&hub, "w1", "error two\n");
    assert_eq!(settled(&hub, "w1", "5").await[4..], ["two"]);
    write(&hub, "w1", "completed one\n");
    assert_eq!(settled(&hub, "w1", "6").await[4..], ["two", "one"]);
}

#[tokio::test]
async fn a_restart_repeats_nothing_and_reads_lines_written_meanwhile() {
    let mut hub = Hub::start();
    for session in ["same", "again", "other", "later"] {
        write(&hub, session, "completed one\n");
    }
    settled(&hub, "same", "1").await;
    works(&hub, "later").await;
    hub.kill_9();
    write(&hub, "again", "completed one\n");
    write(&hub, "other", "error two\n");
    write(&hub, "new", "needs_input three\n");
    hub.start_again();
    for (session, messages) in [
        ("same", &["one"][..]),
        ("again", &["one"]),
        ("other", &["one", "two"]),
        ("new", &["three"]),
        ("later", &["one", "next"]),
    ] {
        assert_eq!(settled(&hub, session, "2").await, messages);
    }
    write(&hub, "later", "completed one\n");
    assert_eq!(settled(&hub, "later", "3").await, ["one", "next", "one"]);
}

#[tokio::test]
async fn a_line_counts_when_it_is_written_to_its_end() {
    let (hub, _client) = memory_hub();
    let line = "needs_input Should I?";
    for end in 0..=line.len() {
        write(&hub, "w1", &line[..end]);
        // Simulates a slow writer, during which the bridge reads several times.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let own = messages(&hub, "w1", ("w1", "Should I?")).await;
    assert_eq!(own, ["Should I?"], "also without a line feed");
}

#[tokio::test]
async fn of_two_quick_writes_the_last_counts() {
    let (hub, _client) = memory_hub();
    // Without a line end, the first state cannot be read before the second is written, however slow the machine is.
    write(&hub, "w1", "working");
    write(&hub, "w1", "completed both\n");
    write(&hub, "w2", "completed too\n");
    assert_eq!(messages(&hub, "w1", ("w1", "both")).await, ["both"]);
    assert_eq!(messages(&hub, "w2", ("w2", "too")).await, ["too"]);
}

#[tokio::test]
async fn a_line_without_a_state_is_ignored_with_one_line_in_the_log() {
    let (hub, _client) = memory_hub();
    let long = format!("error {}\n", "x".repeat(8192));
    let bad = [
        ("empty", Vec::new(), "is empty"),
        ("large", vec![b'\n'; 65_537], "more than 65536 bytes"),
        ("long", long.into(), "more than 8192 bytes"),
        ("binary", b"error \xff\xfe\n".to_vec(), "UTF-8"),
        ("garbage", b"all is well\n".to_vec(), "no state"),
        ("no name", b"completed\n".to_vec(), "invalid name"),
        ("all", b"completed\n".to_vec(), "not a sender"),
    ];
    for round in ["1", "2"] {
        for (name, content, _) in &bad {
            write(&hub, name, content);
        }
        // A line without a line end is published as late as a line that is still being written.
        write(&hub, "zzz", format!("completed {round}"));
        messages(&hub, "zzz", ("zzz", round)).await;
    }
    assert_eq!(said(&hub).await.len(), 2);
    for (name, _, why) in bad {
        assert_ignored(&hub, name, why);
    }
}

#[tokio::test]
async fn a_foreign_file_is_ignored_with_one_line_in_the_log() {
    let (hub, _client) = memory_hub();
    let real = hub.scratch().join("real");
    fs::write(&real, "completed elsewhere\n").unwrap();
    symlink(&real, path(&hub, "link")).unwrap();
    fs::create_dir(path(&hub, "directory")).unwrap();
    let mut fifo = std::process::Command::new("mkfifo");
    let fifo = fifo.arg(path(&hub, "pipe")).status();
    assert!(fifo.unwrap().success());
    let mut bad = vec![
        ("link", "symbolic link"),
        ("directory", "no regular file"),
        ("pipe", "no regular file"),
    ];
    if rustix::process::geteuid().is_root() {
        // Renamed into place, because the file must belong to the other user at any time.
        let draft = path(&hub, ".foreign");
        fs::write(&draft, "completed by another\n").unwrap();
        chown(&draft, Some(65_534), None).unwrap();
        fs::rename(&draft, path(&hub, "foreign")).unwrap();
        bad.push(("foreign", "belongs to user 65534"));
    }
    settled(&hub, "zz", "1").await;
    settled(&hub, "zz", "2").await;
    assert_eq!(said(&hub).await.len(), 2);
    for (name, why) in bad {
        assert_ignored(&hub, name, why);
    }
}

#[track_caller]
fn assert_ignored(hub: &Hub, name: &str, why: &str) {
    let (log, file) = (hub.log(), format!("status/{name} "));
    let lines: Vec<&str> = log.lines().filter(|line| line.contains(&file)).collect();
    assert_eq!(lines.len(), 1, "{name}: {log}");
    assert!(lines[0].contains(why), "{name}: {}", lines[0]);
}

#[tokio::test]
async fn a_line_that_is_written_just_after_its_session_began_is_published_before_the_next_sessions_check()
 {
    let (hub, _client) = memory_hub();
    let tree = hub.scratch().join("tree");
    let git = Command::new("git")
        .arg("init")
        .arg("-q")
        .arg(&tree)
        .status();
    assert!(git.unwrap().success());
    fs::create_dir_all(tree.join(".hub/status")).unwrap();
    // A busy machine may be late, so one round in time is enough: sessions are checked every two seconds only.
    for round in 0..5 {
        all_sessions_are_looked_at(&hub, &format!("over{round}")).await;
        let session = format!("w{round}");
        let info = json!({ "cwd": tree });
        hub.client().register(&session, info).await;
        let began = Instant::now();
        let file = tree.join(".hub/status").join(&session);
        fs::write(file, "needs_input Port?\n").unwrap();
        messages(&hub, &session, (&session, "Port?")).await;
        if began.elapsed() < Duration::from_secs(1) {
            return;
        }
    }
    panic!("a line is told by the look every two seconds only");
}

/// Returns just after a check of all sessions, which ends `name` because its process is gone.
async fn all_sessions_are_looked_at(hub: &Hub, name: &str) {
    let mut process = hub_harness::session_process(&hub.socket(), name);
    process.kill().expect("it runs");
    process.wait().expect("its end");
    let give_up = Instant::now() + DEADLINE;
    while hub.client().session(name).await["gone"] != true {
        assert!(Instant::now() < give_up, "{name} never ended");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_line_that_was_written_before_a_question_does_not_withdraw_it() {
    let (hub, client) = memory_hub();
    let id = client.asks("w1").await;
    let aside = hub.scratch().join("line");
    let file = fs::File::create(&aside).expect("a file");
    fs::write(&aside, "working on it\n").expect("a line");
    let before = std::time::SystemTime::now() - Duration::from_secs(5);
    file.set_modified(before).expect("a time");
    fs::rename(&aside, path(&hub, "w1")).expect("a status file");
    messages(&hub, "w1", ("w1", "on it")).await;
    assert_eq!(client.question(id).await["state"], "open");
    write(&hub, "w1", "working I chose one\n");
    messages(&hub, "w1", ("w1", "I chose one")).await;
    assert_eq!(client.question(id).await["state"], "withdrawn");
}
