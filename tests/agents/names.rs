//! The names of sessions, and the sessions that a name resolves to.

use hub_harness::Hub;
use hub_harness::model::{Reply, rules, turns};

use crate::support::{Claude, InstalledHub, NO_LIMIT};

/// Returns the stderr of `hubctl notify --to NAME TEXT`, which must exit 0.
fn notify(hub: &InstalledHub, to: &str, text: &str) -> String {
    let output = hub.try_hubctl(&["notify", "--from", "tester", "--to", to, text]);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_live_session_of_several_in_one_worktree_owns_the_name() {
    let hub = InstalledHub::new();
    let [dir] = hub.worktrees(["builder"]);
    let mut before = Vec::new();
    for (run, name) in (1..).zip(["first", "second", "third"]) {
        let claude = hub.claude(turns([])).named(name).within(&dir).start();
        let id = hub.waiting_at("builder");
        assert!(!before.contains(&id), "{id}: {before:?}");
        before.push(id);
        let text = format!("for the {name}");
        assert_eq!(notify(&hub, "builder", &text), "");
        claude.model.until_received(&text);
        claude.model.received_once("for the");
        claude.exit();
        hub.all_published("Agent builder ended", run);
        let over = notify(&hub, "builder", "too late");
        assert!(over.contains("session 'builder' is over"), "{over}");
    }
}

#[test]
fn a_title_that_the_person_gives_becomes_the_sessions_name() {
    let hub = InstalledHub::new();
    let [dir] = hub.worktrees(["builder"]);
    let claude = hub.claude(turns([])).within(dir).start();
    let id = hub.waiting_at("builder");
    claude.submit("/rename reviewer");
    claude.submit("Hello");
    assert_eq!(hub.session("reviewer")["id"], id);
    hub.published("Agent reviewer completed");
    hub.waiter("reviewer", "rewake");
    assert_eq!(notify(&hub, "reviewer", "by its title"), "");
    claude.woken_by("by its title");
    claude.model.received_once("by its title");
}

/// Sends a notification to the session by its name, and waits until its model has received it.
fn finds(hub: &InstalledHub, claude: &Claude, text: &str) {
    hub.waiting_at("builder");
    assert_eq!(notify(hub, "builder", text), "");
    claude.model.until_received(text);
}

#[test]
fn a_session_that_moves_or_is_compacted_resumed_or_forked_keeps_its_name() {
    let hub = InstalledHub::with(Hub::builder().set(NO_LIMIT));
    let [dir] = hub.worktrees(["builder"]);
    let below = dir.join("below");
    std::fs::create_dir(&below).expect("a directory");
    let moves = || rules([("Move", Reply::bash("cd below && pwd"))]);
    let claude = hub.claude(moves()).within(&dir).start();
    let id = hub.waiting_at("builder");
    claude.submit("Move");
    hub.published("Agent builder completed");
    let below = below.display().to_string();
    claude.model.until_received(&below);
    finds(&hub, &claude, "after a move");
    claude.submit("/compact");
    claude.until_shown("Compacted");
    finds(&hub, &claude, "after a compaction");
    assert_eq!(hub.waiting_at("builder"), id);
    claude.exit();
    hub.published("Agent builder ended");

    let resumed = hub.claude(moves()).named("resumed").within(&dir);
    let resumed = resumed.args(&["--continue"]).start();
    assert_eq!(hub.waiting_at("builder"), id);
    finds(&hub, &resumed, "after a resumption");
    resumed.exit();
    hub.all_published("Agent builder ended", 2);

    let forked = hub.claude(moves()).named("forked").within(&dir);
    let forked = forked.args(&["--continue", "--fork-session"]).start();
    assert_ne!(hub.waiting_at("builder"), id);
    finds(&hub, &forked, "after a fork");
}
