//! The last way to wake a session: a line that the hub pastes into its tmux pane.

use std::time::{SystemTime, UNIX_EPOCH};

use hub_agents::Agent;
use hub_harness::model::{Reply, rules, turns};
use hub_harness::{Hub, HubBuilder, PATIENCE, until, within};
use serde_json::json;

use crate::push::{NO_REWAKE, may_bypass, start_without_permissions, steps};
use crate::support::{
    Builder, Claude, InstalledHub, NO_LIMIT, Series, Vendor, installed, no_limits,
};

const BY_PANE: [&str; 4] = ["stored", "emitted pane", "emitted hook", "acked"];

/// The pasted line.
const LINE: &str = "Notifications from the hub are pending.";

const ALLOWED: (&str, &str) = ("HUB_PANE_DELIVERY", "1");

/// Settings with which only the second of a key press itself counts.
fn at_once(builder: HubBuilder) -> HubBuilder {
    builder.set("wake.pane_quiet_seconds=0")
}

/// A hub whose hooks wake nobody.
fn hub() -> InstalledHub {
    InstalledHub::install(at_once(Hub::builder().set(NO_LIMIT)), NO_REWAKE)
}

/// Starts Claude Code, idle after a turn, in a mode in which it holds messages on its socket. So nothing wakes it.
fn idle(hub: &InstalledHub, claude: Builder<'_>) -> Claude {
    let claude = start_without_permissions(hub, claude);
    claude.submit("Say something");
    hub.state("main", "complete");
    claude
}

/// Whether the trace of a notification has this reason why the pane is not used.
fn is_refused(hub: &InstalledHub, id: u64, reason: &str) -> Option<()> {
    let trace = hub.trace(id);
    let step = trace.iter().find(|it| it["state"] == "unreachable")?;
    let why = step["why"].as_str()?;
    (step["way"] == "pane" && why.contains(reason)).then_some(())
}

/// Waits until the trace of a notification has this reason why the pane is not used.
fn until_refused(hub: &InstalledHub, id: u64, reason: &str) {
    until(&format!("the paste is refused: {reason}"), || {
        is_refused(hub, id, reason)
    });
}

/// Waits until the notification with this text has woken the session, by one paste.
fn until_woken(hub: &InstalledHub, claude: &Claude, id: u64, text: &str) {
    claude.model.until_received(text);
    hub.step(id, "acked");
    assert_eq!(steps(hub, id), BY_PANE);
    claude.model.received_once(text);
    hub.state("main", "complete");
}

#[test]
fn an_idle_session_that_nothing_else_wakes_is_woken_by_a_paste_also_after_clear() {
    let hub = hub();
    let claude = hub.claude(turns([])).env(ALLOWED.0, ALLOWED.1);
    let claude = idle(&hub, claude);
    let wake = |text: &str| {
        let id = hub.send("primary", "builder", &format!("@/etc/passwd\n{text}"));
        until_woken(&hub, &claude, id, text);
    };
    wake("second line");
    assert!(!claude.model.received(LINE).is_empty());
    claude.submit("/clear");
    hub.alias("main");
    wake("third line");
}

#[test]
fn a_paste_waits_while_the_pane_cannot_take_it_and_says_why() {
    let hub = hub();
    let go_on = hub.path("go-on");
    let work = format!("until [ -e {} ]; do sleep 0.05; done", go_on.display());
    let work = Reply::tool("Bash", json!({"command": work, "description": "Work"}));
    let claude = hub.claude(rules([("Turn the crank", work)]));
    let claude = idle(&hub, claude.env(ALLOWED.0, ALLOWED.1));
    let pane = claude.pane.id();
    for (text, reason, begin, end) in [
        (
            "news one",
            "in copy mode",
            ("copy-mode -t", vec![pane]),
            ("send-keys -t", vec![pane, "-X", "cancel"]),
        ),
        (
            "news two",
            "(synchronize-panes)",
            ("set-option -p -t", vec![pane, "synchronize-panes", "on"]),
            ("set-option -p -t", vec![pane, "synchronize-panes", "off"]),
        ),
        (
            "news three",
            "takes no input",
            ("select-pane -d -t", vec![pane]),
            ("select-pane -e -t", vec![pane]),
        ),
    ] {
        claude.pane.tmux(begin.0, &begin.1);
        let id = hub.send("primary", "builder", text);
        until_refused(&hub, id, reason);
        assert_eq!(steps(&hub, id)[0], "stored");
        claude.pane.tmux(end.0, &end.1);
        until_woken(&hub, &claude, id, text);
    }
    claude.submit("Turn the crank");
    hub.state("main", "working");
    let id = hub.send("primary", "builder", "news four");
    until_refused(&hub, id, "it is at work");
    std::fs::write(go_on, "").expect("a file");
    hub.step(id, "acked");
    assert_eq!(steps(&hub, id), ["stored", "emitted hook", "acked"]);
}

#[test]
fn a_paste_waits_until_no_key_was_pressed_for_a_while() {
    let quiet = Hub::builder()
        .set(NO_LIMIT)
        .set("wake.pane_quiet_seconds=2");
    let hub = InstalledHub::install(quiet, NO_REWAKE);
    let claude = hub.claude(turns([])).env(ALLOWED.0, ALLOWED.1);
    let claude = idle(&hub, claude);
    let person = claude.pane.attach(&hub.path("person"));
    person.press(&["BSpace"]);
    let id = hub.send("primary", "builder", "second line");
    until("the paste is refused", || {
        person.press(&["BSpace"]);
        is_refused(&hub, id, "a key was pressed in its tmux session")
    });
    assert!(!steps(&hub, id).contains(&"emitted pane".into()));
    // tmux keeps the time of the last key.
    drop(person);
    until_woken(&hub, &claude, id, "second line");
}

#[test]
fn a_terminal_in_which_a_key_was_pressed_since_the_last_prompt_may_show_a_draft() {
    let hub = hub();
    let claude = hub.claude(turns([])).env(ALLOWED.0, ALLOWED.1);
    let claude = idle(&hub, claude);
    // tmux counts in seconds.
    let now = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.expect("a time after 1970").as_secs()
    };
    let prompted = now();
    until("a second has begun", || (now() > prompted).then_some(()));
    let person = claude.pane.attach(&hub.path("person"));
    person.press(&["h", "a", "l", "f"]);
    let id = hub.send("primary", "builder", "second line");
    until_refused(&hub, id, "may contain a draft");
    assert!(claude.model.received("half").is_empty());
    person.press(&["Enter"]);
    claude.model.until_received("second line");
    hub.step(id, "acked");
    assert_eq!(steps(&hub, id), ["stored", "emitted hook", "acked"]);
    assert!(claude.model.received(LINE).is_empty());
}

#[test]
fn a_shell_in_the_foreground_of_the_pane_gets_no_paste() {
    let hub = hub();
    let claude = hub.claude(turns([])).env(ALLOWED.0, ALLOWED.1);
    let claude = idle(&hub, claude.in_shell());
    claude.pane.press(&["C-z"]);
    let stopped = |it: &str| it.contains("Stopped");
    claude.pane.until("the shell has the terminal", stopped);
    let id = hub.send("primary", "builder", "second line");
    until_refused(&hub, id, "another program is in the foreground");
    assert!(!claude.pane.text().contains(LINE));
    claude.pane.type_in("fg");
    claude.pane.press(&["Enter"]);
    until_woken(&hub, &claude, id, "second line");
}

#[test]
fn a_session_gets_no_paste_before_it_allows_that() {
    let hub = hub();
    let claude = idle(&hub, hub.claude(turns([])));
    let id = hub.send("primary", "builder", "second line");
    until_refused(&hub, id, "it has not allowed the hub");
    assert!(claude.model.received(LINE).is_empty());
    // Nor does another process allow it.
    hub.put_session("main", &json!({"pane_delivery": true}));
    let id = hub.send("primary", "builder", "third line");
    until_refused(&hub, id, "it has not allowed the hub");
    assert!(claude.model.received(LINE).is_empty());
}

/// Claude Code holds messages on its socket in a plan too, if the session may bypass permissions.
#[test]
fn a_plan_in_a_session_that_may_bypass_permissions_is_woken_by_a_paste_and_not_by_its_socket() {
    let hub = hub();
    let claude = hub.claude(turns([])).env(ALLOWED.0, ALLOWED.1);
    let claude = may_bypass(&hub, claude).mode("plan", "plan mode on");
    let claude = claude.start();
    claude.submit("Say something");
    hub.state("main", "complete");
    let id = hub.send("primary", "builder", "second line");
    until_woken(&hub, &claude, id, "second line");
}

/// Claude Code has no hooks here; its tool for shell commands runs them in their place.
#[test]
fn a_paste_without_a_proof_is_returned_and_the_pane_is_not_used_again() {
    let hub = InstalledHub::without_hooks(at_once(no_limits()));
    let script = hub.project().join("hooks.sh");
    let run = Reply::bash("sh ./hooks.sh");
    let claude = hub
        .claude(rules([("Report", run)]))
        .env(ALLOWED.0, ALLOWED.1);
    let claude = start_without_permissions(&hub, claude);
    let pane = [claude.pane.id(), "#{pane_pid}"];
    let pid = claude.pane.tmux("display-message -p -t", &pane);
    let hooks = |events: &[&str]| {
        let line = |event: &&str| {
            let event = json!({
                "hook_event_name": event, "session_id": "s1", "cwd": hub.project(),
                "permission_mode": "bypassPermissions", "source": "startup", "prompt": "Hello",
            });
            format!(
                "printf %s '{event}' | CLAUDE_PID={} hubctl hook claude\n",
                pid.trim()
            )
        };
        let lines: String = events.iter().map(line).collect();
        std::fs::write(&script, lines + "echo all hooks ran\n").expect("a script");
        let before = claude.model.received("all hooks ran").len();
        claude.submit("Report");
        until("the hooks have run", || {
            (claude.model.received("all hooks ran").len() > before).then_some(())
        });
    };
    hooks(&["SessionStart", "UserPromptSubmit", "Stop"]);
    let first = hub.send("primary", "builder", "second line");
    claude.model.until_received(LINE);
    let second = hub.send("primary", "tester", "third line");
    until_refused(&hub, second, "a line was pasted before");
    // The time for a proof is as long as the patience of one wait.
    within(PATIENCE, || {
        let steps = steps(&hub, first);
        steps.contains(&"returned".into()).then_some(())
    });
    let returned = hub.step(first, "returned");
    assert_eq!(returned["why"], json!(null), "nothing proved it in time");
    until_refused(&hub, second, "a line was pasted before");
    claude.model.received_once(LINE);
    // A hook that works proves the way.
    hooks(&["UserPromptSubmit", "Stop"]);
    claude.model.until_received("second line");
    for id in [first, second] {
        hub.step(id, "acked");
    }
    hub.send("primary", "builder", "fourth line");
    until("the pane is used again", || {
        (claude.model.received(LINE).len() == 2).then_some(())
    });
}

/// An agent that is busy while a text is pasted may miss the Enter behind it.
#[test]
fn enter_is_pressed_once_more_if_the_paste_begins_no_turn() {
    let hub = InstalledHub::without_hooks(at_once(no_limits()));
    let hooks = |prompt: &str, events: &[&str]| -> String {
        let line = |event: &&str| {
            let event = json!({
                "hook_event_name": event, "session_id": "s1", "cwd": hub.project(),
                "permission_mode": "default", "source": "startup", "prompt": prompt,
            });
            format!("printf %s '{event}' | CLAUDE_PID=$$ hubctl hook claude\n")
        };
        events.iter().map(line).collect()
    };
    let begun = hooks("Hello", &["SessionStart", "UserPromptSubmit", "Stop"]);
    let turn = hooks(LINE, &["UserPromptSubmit", "Stop"]);
    let script = format!("{begun} read -r line; read -r; {turn} echo \"[$line]\"; read -r");
    let command = ["bash".to_owned(), "-c".into(), script];
    let env = [(ALLOWED.0.into(), ALLOWED.1.into())];
    let pane = hub.tmux().start("claude", &hub.project(), &env, &command);
    hub.state("main", "complete");
    let id = hub.send("primary", "builder", "second line");
    hub.step(id, "acked");
    assert_eq!(steps(&hub, id), BY_PANE);
    pane.until("one line was read", |it| it.contains(&format!("[{LINE}]")));
}

/// Wakes the session by its pane, also after a restart of the hub.
pub(crate) fn is_woken_by_its_pane(vendor: &Vendor) {
    let mut hub = InstalledHub::without_hooks(at_once(Hub::builder().set(NO_LIMIT)));
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
fn a_series_of_wakes_of_claude_code_by_its_pane_loses_and_doubles_none() {
    let Some(series) = Series::of_claude("pane") else {
        return;
    };
    let hub = InstalledHub::install(at_once(no_limits()), NO_REWAKE);
    let claude = idle(&hub, hub.claude(turns([])).env(ALLOWED.0, ALLOWED.1));
    series.run(&hub, &claude.model, ("primary", "6s"));
}

#[test]
fn a_series_of_wakes_of_codex_by_its_pane_loses_and_doubles_none() {
    let package = installed::package("@openai/codex");
    let Some(series) = Series::of(Agent::Codex, package, "pane") else {
        return;
    };
    let hub = InstalledHub::without_hooks(at_once(no_limits()));
    hub.hubctl(&["hooks", "install", "codex"]);
    // Hooks in an app-server know no pane.
    let codex = hub.codex_terminal_with(&["--no-daemon"], &[ALLOWED], turns([]));
    codex.submit("Hello");
    hub.state("main", "complete");
    series.run(&hub, &codex.model, ("primary", "6s"));
}

/// Wakes the session by its pane in a series, if its extension does not poll.
pub(crate) fn a_series_of_wakes_by_the_pane_loses_and_doubles_none(vendor: &Vendor) {
    let Some(series) = Series::of(vendor.agent, vendor.package(), "pane") else {
        return;
    };
    let hub = InstalledHub::without_hooks(at_once(no_limits()));
    let model = vendor.install(&hub, turns([]));
    hub.hubctl(&["hooks", "install", vendor.agent.as_str(), NO_REWAKE[0]]);
    let terminal = vendor.open_with(&hub, model, &[ALLOWED]);
    terminal.submit("Say it");
    hub.published("completed");
    series.run(&hub, &terminal.model, ("primary", "6s"));
}
