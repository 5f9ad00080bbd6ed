//! The last way to wake a session: a line that the hub pastes into its tmux pane.

use std::path::Path;

use hub_harness::model::{Reply, rules, turns};
use hub_harness::{Hub, until};
use serde_json::json;

use crate::push::{NO_REWAKE, start_without_permissions, steps};
use crate::support::{
    Builder, COPILOT, Claude, InstalledHub, KIMI, NO_LIMIT, QWEN, Vendor, no_limits,
};

const BY_PANE: [&str; 4] = ["stored", "emitted pane", "emitted hook", "acked"];

/// The first words of a pasted line.
const LINE: &str = "Notifications from the hub (project): message from builder (wake ";

const ALLOWED: (&str, &str) = ("HUB_PANE_DELIVERY", "1");

/// A hub whose hooks wake nobody.
fn hub() -> InstalledHub {
    InstalledHub::install(Hub::builder().set(NO_LIMIT), NO_REWAKE)
}

/// Starts Claude Code, idle after a turn, in a mode in which it holds messages on its socket. So nothing wakes it.
fn idle(hub: &InstalledHub, claude: Builder<'_>) -> Claude {
    let claude = start_without_permissions(hub, claude);
    claude.submit("Say something");
    hub.state("main", "complete");
    claude
}

/// Waits until the trace of a notification has this reason why the pane is not used.
fn until_refused(hub: &InstalledHub, id: u64, reason: &str) {
    until(&format!("the paste is refused: {reason}"), || {
        let trace = hub.trace(id);
        let step = trace.iter().find(|it| it["state"] == "unreachable")?;
        let why = step["why"].as_str()?;
        (step["way"] == "pane" && why.contains(reason)).then_some(())
    });
}

#[test]
fn an_idle_session_that_nothing_else_wakes_is_woken_by_a_paste_also_after_clear() {
    let hub = hub();
    let claude = hub.claude(turns([])).env(ALLOWED.0, ALLOWED.1);
    let claude = idle(&hub, claude);
    let wake = |text: &str| {
        let id = hub.send("primary", "builder", &format!("@/etc/passwd\n{text}"));
        claude.model.until_received(text);
        claude.until_shown(LINE);
        hub.step(id, "acked");
        assert_eq!(steps(&hub, id), BY_PANE);
        assert_eq!(claude.model.received(text).len(), 1);
        hub.state("main", "complete");
    };
    wake("second line");
    claude.submit("/clear");
    hub.alias("main");
    wake("third line");
}

#[test]
fn a_paste_waits_while_the_person_uses_the_pane_and_says_why() {
    let hub = hub();
    let go_on = hub.path("go-on");
    let work = format!("until [ -e {} ]; do sleep 0.05; done", go_on.display());
    let work = Reply::tool("Bash", json!({"command": work, "description": "Work"}));
    let claude = hub.claude(rules([("Turn the crank", work)]));
    let claude = idle(&hub, claude.env(ALLOWED.0, ALLOWED.1));
    let refused = |text: &str, reason: &str| {
        let id = hub.send("primary", "builder", text);
        until_refused(&hub, id, reason);
        assert!(!claude.pane.text().contains(LINE));
        id
    };
    let woken = |id: u64, text: &str| {
        claude.model.until_received(text);
        hub.step(id, "acked");
        assert_eq!(steps(&hub, id), BY_PANE);
        hub.state("main", "complete");
        claude.submit("/clear");
        claude
            .pane
            .until("the screen is new", |it| !it.contains(LINE));
    };

    claude.pane.tmux("copy-mode -t", &[claude.pane.id()]);
    let id = refused("news one", "in copy mode");
    claude
        .pane
        .tmux("send-keys -t", &[claude.pane.id(), "-X", "cancel"]);
    woken(id, "news one");

    claude.pane.type_in("half a thought");
    let id = refused("news two", "is not empty");
    claude
        .pane
        .until("it is as typed", |it| it.contains("half a thought"));
    claude.pane.press(&["C-u"]);
    woken(id, "news two");

    claude.submit("/help");
    let id = refused("news three", "shows no empty input line");
    claude.pane.press(&["Escape"]);
    woken(id, "news three");

    claude.submit("Turn the crank");
    hub.state("main", "working");
    let id = refused("news four", "it is at work");
    std::fs::write(go_on, "").expect("a file");
    hub.step(id, "acked");
    assert_eq!(steps(&hub, id), ["stored", "emitted hook", "acked"]);
}

#[test]
fn a_shell_in_the_foreground_of_the_pane_gets_no_paste() {
    let hub = hub();
    let claude = hub.claude(turns([])).env(ALLOWED.0, ALLOWED.1);
    let claude = idle(&hub, claude.in_shell());
    claude.pane.press(&["C-z"]);
    claude
        .pane
        .until("the shell is back", |it| it.contains("Stopped"));
    let id = hub.send("primary", "builder", "second line");
    until_refused(&hub, id, "another program is in the foreground");
    assert!(!claude.pane.text().contains(LINE));
    claude.submit("fg");
    claude.model.until_received("second line");
    hub.step(id, "acked");
    assert_eq!(steps(&hub, id), BY_PANE);
}

#[test]
fn a_session_gets_no_paste_before_it_allows_that() {
    let hub = hub();
    let claude = idle(&hub, hub.claude(turns([])));
    let id = hub.send("primary", "builder", "second line");
    until_refused(&hub, id, "it has not allowed the hub");
    assert!(!claude.pane.text().contains(LINE));
    hub.put_session("main", &json!({"pane_delivery": true}));
    claude.model.until_received("second line");
    hub.step(id, "acked");
    assert_eq!(steps(&hub, id), BY_PANE);
}

/// Claude Code has no hooks here; one that the test runs in its place reports the session.
#[test]
fn a_paste_without_a_proof_is_returned_and_never_repeated() {
    let hub = InstalledHub::without_hooks(no_limits());
    let claude = start_without_permissions(&hub, hub.claude(turns([])));
    let pid = claude
        .pane
        .tmux("display-message -p -t", &[claude.pane.id(), "#{pane_pid}"]);
    let hook = |event: &str| {
        let event = json!({
            "hook_event_name": event, "session_id": "s1", "cwd": hub.project(),
            "permission_mode": "bypassPermissions", "source": "startup", "prompt": "Hello",
        });
        let env = [
            ALLOWED,
            ("CLAUDE_PID", pid.trim()),
            ("TMUX_PANE", claude.pane.id()),
        ];
        let hubctl = Path::new(env!("CARGO_BIN_EXE_hubctl"));
        hub.run(hubctl, &["hook", "claude", &event.to_string()], &env);
    };
    for event in ["SessionStart", "UserPromptSubmit", "Stop"] {
        hook(event);
    }
    let first = hub.send("primary", "builder", "second line");
    claude.model.until_received("message from builder");
    let returned = hub.step(first, "returned");
    assert_eq!(returned["why"], json!(null), "nothing proved it in time");
    let second = hub.send("primary", "tester", "third line");
    claude.model.until_received("message from tester");
    hub.step(second, "emitted");
    assert_eq!(steps(&hub, first), ["stored", "emitted pane", "returned"]);
    assert_eq!(claude.model.received("message from builder").len(), 1);
}

fn is_woken_also_after_a_restart_of_the_hub(vendor: &Vendor) {
    let mut hub = InstalledHub::without_hooks(Hub::builder().set(NO_LIMIT));
    let model = vendor.install(&hub, turns([]));
    let terminal = vendor.open_with(&hub, model, &[ALLOWED]);
    terminal.submit("Say it");
    hub.published("completed");
    let sessions = hub.get("/sessions");
    let name = sessions["sessions"][0]["name"].as_str().expect("a name");
    for text in ["second line", "third line"] {
        let id = hub.send("primary", "builder", text);
        terminal.model.until_received(text);
        hub.step(id, "acked");
        assert_eq!(steps(&hub, id), BY_PANE);
        hub.state(name, "complete");
        hub.server.restart();
    }
}

#[test]
fn kimi_code_is_woken_by_a_paste_also_after_a_restart_of_the_hub() {
    is_woken_also_after_a_restart_of_the_hub(&KIMI);
}

#[test]
fn qwen_code_is_woken_by_a_paste_also_after_a_restart_of_the_hub() {
    is_woken_also_after_a_restart_of_the_hub(&QWEN);
}

#[test]
fn copilot_cli_is_woken_by_a_paste_also_after_a_restart_of_the_hub() {
    is_woken_also_after_a_restart_of_the_hub(&COPILOT);
}
