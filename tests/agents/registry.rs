//! Claude Code's session files: what they say in each state, and what the hub takes from them.

use std::path::PathBuf;

use hub_harness::model::{Reply, Request, rules};
use hub_harness::{PATIENCE, until, within};
use serde_json::Value;

use crate::support::{InstalledHub, Sandbox, colours, signal};

const PERMISSION: &str = "Do you want to proceed";
const QUESTION: &str = "Enter to select";

/// A model that needs a permission, asks a question, and works, each when it is told so.
fn model() -> impl Fn(&Request) -> Reply + Send + Sync + 'static {
    rules([
        ("Touch", Reply::bash("touch there; sleep 600")),
        ("Ask", colours()),
        ("Background", Reply::bash_in_background("sleep 601")),
    ])
}

/// The session files in a home directory, each with its process.
fn files(sandbox: &Sandbox) -> Vec<(i32, Value)> {
    let dir = sandbox.home().join(".claude/sessions");
    let paths = std::fs::read_dir(dir).expect("session files").flatten();
    let parsed = |path: PathBuf| {
        let process = path.file_name()?.to_str()?.strip_suffix(".json")?;
        let text = std::fs::read_to_string(&path).ok()?;
        Some((process.parse().ok()?, serde_json::from_str(&text).ok()?))
    };
    paths.filter_map(|it| parsed(it.path())).collect()
}

/// Waits until the only session file says this; returns its process and content.
fn says(sandbox: &Sandbox, status: &str, waiting_for: Option<&str>) -> (i32, Value) {
    let said = within(PATIENCE, || {
        let mut all = files(sandbox);
        assert!(all.len() < 2, "{all:?}");
        let (process, content) = all.pop()?;
        let says = content["status"] == status && content["waitingFor"].as_str() == waiting_for;
        says.then_some((process, content))
    });
    said.unwrap_or_else(|| panic!("no {status} {waiting_for:?} in {:?}", files(sandbox)))
}

#[test]
fn a_session_file_says_what_the_terminal_shows() {
    let sandbox = Sandbox::new();
    let _hooks = sandbox.hooks_allowing(&[], "Bash(sleep:*)");
    let claude = sandbox.claude(model()).start();
    let (process, ready) = says(&sandbox, "idle", None);
    assert_eq!(ready["pid"], process);
    assert!(ready["procStart"].is_string(), "{ready}");
    assert!(ready["statusUpdatedAt"].is_u64(), "{ready}");
    for (prompt, dialog, waiting_for) in [
        ("Touch", PERMISSION, "permission prompt"),
        ("Ask", QUESTION, "input needed"),
    ] {
        claude.submit(prompt);
        says(&sandbox, "waiting", Some(waiting_for));
        claude.press_away("Escape", dialog);
        says(&sandbox, "idle", None);
    }
    claude.submit("Touch");
    claude.press_away("4", PERMISSION);
    says(&sandbox, "idle", None);
    claude.submit("Touch");
    claude.press_away("Enter", PERMISSION);
    says(&sandbox, "busy", None);
    claude.press_away("Escape", "esc to interrupt");
    let (_, before) = says(&sandbox, "idle", None);
    claude.submit("/clear");
    until("it has another id", || {
        let (_, now) = files(&sandbox).pop()?;
        (now["sessionId"] != before["sessionId"] && now["status"] == "idle").then_some(())
    });
    claude.submit("/config");
    says(&sandbox, "waiting", Some("dialog open"));
    claude.press_away("Escape", "Usage   Stats");
    says(&sandbox, "idle", None);
    claude.submit("Background");
    says(&sandbox, "shell", None);
    let left = says(&sandbox, "shell", None);
    signal(process, "KILL");
    claude.pane.until_ended();
    assert_eq!(files(&sandbox), [left], "it stays as it was");
}

#[test]
fn a_session_that_ends_removes_its_file() {
    let sandbox = Sandbox::new();
    let claude = sandbox.claude(model()).start();
    says(&sandbox, "idle", None);
    claude.exit();
    assert_eq!(files(&sandbox), []);
}

#[test]
fn an_answer_in_the_terminal_closes_the_question_before_any_hook() {
    let hub = InstalledHub::new();
    let claude = hub.claude(model()).start();
    hub.waiter("primary", "rewake");
    // No hook runs when the person denies, and none until the tool has run when the person allows.
    for (key, state) in [
        ("4", "waiting"),
        ("Escape", "waiting"),
        ("Enter", "working"),
    ] {
        claude.submit("Touch");
        let id = hub.question()["id"].as_u64().expect("an id");
        hub.state("main", "blocked");
        claude.press_away(key, PERMISSION);
        hub.state("main", state);
        assert_eq!(hub.open_questions(), Vec::<Value>::new(), "{key}");
        assert_eq!(hub.step(id, "settled")["by"], "resumed", "{key}");
    }
}

#[test]
fn escape_counts_while_a_shell_runs_in_the_background() {
    let hub = InstalledHub::new();
    hub.hooks_allowing(&[], "Bash");
    let claude = hub.claude(model()).start();
    hub.waiter("primary", "rewake");
    claude.submit("Background");
    says(&hub, "shell", None);
    claude.submit("Touch");
    hub.state("main", "working");
    until("it runs", || {
        hub.project().join("there").exists().then_some(())
    });
    claude.press_away("Escape", "esc to interrupt");
    hub.state("main", "waiting");
    hub.published("Agent main was interrupted");
}

#[test]
fn a_dialog_whose_hooks_are_missing_needs_the_person_until_it_is_answered() {
    let hub = InstalledHub::new();
    let path = hub.home().join(".claude/settings.json");
    let text = std::fs::read_to_string(&path).expect("the settings");
    let mut settings: Value = serde_json::from_str(&text).expect("JSON");
    let hooks = settings["hooks"].as_object_mut().expect("hooks");
    for event in ["PermissionRequest", "Notification"] {
        assert!(hooks.remove(event).is_some(), "{event}: {text}");
    }
    std::fs::write(&path, settings.to_string()).expect("the settings");
    let claude = hub.claude(model()).start();
    hub.waiter("primary", "rewake");
    for (prompt, key, dialog, state) in [
        ("Touch", "Escape", PERMISSION, "waiting"),
        ("Ask", "Escape", QUESTION, "waiting"),
        ("Touch", "Enter", PERMISSION, "working"),
    ] {
        claude.submit(prompt);
        hub.state("main", "blocked");
        hub.question();
        claude.press_away(key, dialog);
        hub.state("main", state);
        assert_eq!(hub.open_questions(), Vec::<Value>::new());
    }
}

#[test]
fn a_killed_session_ends_with_its_question_although_its_file_stays() {
    let hub = InstalledHub::new();
    let claude = hub.claude(model()).start();
    hub.waiter("primary", "rewake");
    claude.submit("Touch");
    hub.question();
    let (process, _) = says(&hub, "waiting", Some("permission prompt"));
    signal(process, "KILL");
    until("the session is listed as dead", || {
        let session = hub.get("/sessions")["sessions"][0].take();
        (session["gone"] == true && session["phase"]["name"] == "blocked").then_some(())
    });
    assert_eq!(hub.open_questions(), Vec::<Value>::new());
    says(&hub, "waiting", Some("permission prompt"));
}
