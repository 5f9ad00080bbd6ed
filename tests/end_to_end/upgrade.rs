//! What an earlier version left behind: its hooks, its configuration, its state directory, its signed-in browsers.
//!
//! The files in `fixtures/earlier` are what hubctl of 22 November 2026 installed, and what hubd of 25 November wrote.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Place, hubctl, until};

/// The hooks of an agent: its name, the file in the fixtures, and where it was installed.
const HOOKS: [(&str, &str, &str); 6] = [
    ("claude", "claude.json", ".claude/settings.json"),
    ("codex", "codex.json", ".codex/hooks.json"),
    ("gemini", "gemini.json", ".gemini/settings.json"),
    ("cursor", "cursor.json", ".cursor/hooks.json"),
    ("copilot", "copilot.json", ".copilot/hooks/hub.json"),
    ("opencode", "opencode.js", ".config/opencode/plugin/hub.js"),
];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/earlier")
}

/// Installs the hooks that an earlier hubctl installed.
fn install(place: &Place, file: &str, path: &str) {
    let text = fs::read_to_string(fixtures().join("hooks").join(file)).unwrap();
    place.write(path, text.replace("HUBCTL", hubctl().to_str().unwrap()));
}

/// The commands of hooks in a file, each with its event.
fn commands(hooks: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (event, entries) in hooks["hooks"].as_object().unwrap() {
        for entry in entries.as_array().unwrap() {
            let inner = entry["hooks"].as_array().cloned();
            for hook in inner.unwrap_or_else(|| vec![entry.clone()]) {
                let command = ["command", "bash"].map(|name| hook[name].as_str());
                let command = command.into_iter().flatten().next().unwrap();
                found.push((event.clone(), command.to_owned()));
            }
        }
    }
    found
}

fn payload(event: &str, session: &str, cwd: &Path) -> String {
    json!({
        "hook_event_name": event, "session_id": session, "sessionId": session, "conversation_id": session,
        "cwd": cwd, "workspace_roots": [cwd], "source": "startup", "prompt": "go on",
    })
    .to_string()
}

#[test]
fn the_hooks_of_an_earlier_version_still_report_their_sessions() {
    let place = Place::with_hub();
    let cwd = place.path("work");
    for (agent, file, path) in HOOKS.into_iter().filter(|it| it.0 != "opencode") {
        install(&place, file, path);
        let hooks: Value = serde_json::from_str(&place.read(path)).unwrap();
        let session = format!("old-{agent}");
        // A held permission would wait for its answer, and a waiter for its wake.
        let reports = |(event, command): &(String, String)| {
            !event.contains("Permission") && !event.contains("End") && !command.contains("wait")
        };
        for (event, command) in commands(&hooks).into_iter().filter(reports) {
            let call = place.sh(&command);
            call.stdin(payload(&event, &session, &cwd))
                .ok()
                .warns_of_nothing();
        }
        assert_eq!(place.session(&session).info.agent.unwrap(), agent);
    }
}

#[test]
fn the_waiter_of_an_earlier_version_still_wakes_its_session() {
    let place = Place::with_hub();
    install(&place, "claude.json", ".claude/settings.json");
    let hooks: Value = serde_json::from_str(&place.read(".claude/settings.json")).unwrap();
    let all = commands(&hooks);
    let find = |part: &str| {
        let mut found = all
            .iter()
            .filter(|(event, it)| event == "Stop" && it.contains(part));
        found.next().unwrap().1.clone()
    };
    let stop = payload("Stop", "old", &place.path("work"));
    place.sh(&find("hook claude")).stdin(stop.clone()).ok();
    let waiter = place.sh(&find("wait --rewake")).stdin(stop).spawn();
    until("it waits", || !place.waiters().is_empty());
    place.ctl("notify --from ci --to old 'the build is red'");
    waiter.end().exits(2).warns("the build is red");
}

#[test]
fn status_says_how_to_renew_earlier_hooks_and_an_install_does() {
    let place = Place::new();
    for (agent, file, path) in HOOKS {
        install(&place, file, path);
        let status = place.ctl(format!("hooks status {agent}"));
        if !status.stdout.contains("user     installed") {
            let advice = format!("run: hubctl hooks install {agent} --user");
            status.prints("outdated").prints(&advice);
        }
        place.ctl(format!("hooks install {agent} --user"));
        let found = place.json(format!("hooks status {agent} --json"));
        let user = &found["hooks"][0];
        let after = [&user["state"], &user["duplicate"]];
        assert_eq!(after, [&json!("installed"), &json!(false)], "{agent}");
    }
}

/// Copies a directory as its hub left it, readable by its user only.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, PermissionsExt::from_mode(0o700)).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
            fs::set_permissions(target, PermissionsExt::from_mode(0o600)).unwrap();
        }
    }
}

fn get(place: &Place, path: &str) -> Value {
    let curl = format!("curl -s --unix-socket ../state/hub.sock 'http://localhost{path}'");
    place.sh(&curl).json()
}

/// Copies the state directory that an earlier hub left. The fixture is without the zeros at the end of its write-ahead log.
fn copy_state(place: &Place) {
    copy(&fixtures().join("state"), &place.state());
    let wal = fs::File::options()
        .write(true)
        .open(place.path("state/wal"))
        .unwrap();
    wal.set_len(4 << 20).unwrap();
}

/// Whether `found` has all that `expected` has; it may have more.
fn includes(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => expected
            .iter()
            .all(|(name, value)| found.get(name).is_some_and(|it| includes(it, value))),
        (Value::Array(found), Value::Array(expected)) => expected
            .iter()
            .all(|value| found.iter().any(|it| includes(it, value))),
        _ => found == expected,
    }
}

#[test]
fn a_state_directory_of_an_earlier_version_is_read_with_or_without_its_snapshots() {
    let expected = fs::read_to_string(fixtures().join("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&expected).unwrap();
    for with_snapshots in [true, false] {
        let mut place = Place::with_settings(&["retention.days=36500"]);
        place.kill();
        fs::remove_dir_all(place.state()).unwrap();
        copy_state(&place);
        if !with_snapshots {
            fs::remove_dir_all(place.path("state/snapshots")).unwrap();
        }
        place.start();
        for (path, name) in [
            ("/sessions?all=true", "sessions"),
            ("/notifications?limit=100", "notifications"),
            ("/preferences", "preferences"),
        ] {
            let found = get(&place, path);
            let found = if name == "preferences" {
                &found
            } else {
                &found[name]
            };
            assert!(includes(found, &expected[name]), "{name}: {found}");
        }
        place.ctl("notify 'and it goes on'");
    }
}

#[test]
fn a_browser_of_an_earlier_version_is_asked_to_sign_in() {
    let mut place = Place::new();
    copy_state(&place);
    place.start();
    let token = "d2bc5fae53a0b6e0.68eb5ff10146cf6b31b587f2ab431fc75fd5f59bd5e7a22d91a81715af06d206";
    let url = place.url();
    let refused = place
        .sh(&format!(
            "curl -s -H 'Authorization: Bearer {token}' {url}/sessions"
        ))
        .ok();
    assert_eq!(refused.json()["code"], "unauthorized");
    assert_eq!(get(&place, "/login/devices"), json!({ "devices": [] }));
    place.ctl("dashboard --print").prints("#code=");
}

#[test]
fn every_setting_of_an_earlier_version_is_known() {
    let text = fs::read_to_string(fixtures().join("config.toml")).unwrap();
    let place = Place::with_config(&text);
    place.ctl("notify 'it has started'");
}
