//! The names of sessions, and the sessions that a name resolves to.

use hub_harness::Model;
use hub_harness::model::turns;

use crate::support::{Central, Desk};

/// Returns the stderr of `hubctl notify --to NAME TEXT`, which must exit 0.
fn notify(central: &Central<'_>, to: &str, text: &str) -> String {
    let output = central.try_hubctl(&["notify", "--from", "tester", "--to", to, text]);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_live_session_of_several_in_one_worktree_owns_the_name() {
    let desk = Desk::new();
    let central = Central::new(&desk);
    central.install(&[]);
    let [dir] = central.worktrees(["builder"]);
    let mut before = Vec::new();
    for (run, name) in (1..).zip(["first", "second", "third"]) {
        let claude = desk.claude(Model::start(turns([]))).named(name);
        let claude = claude.within(&dir).start();
        let id = central.waiting_at("builder");
        assert!(!before.contains(&id), "{id}: {before:?}");
        before.push(id);
        let text = format!("for the {name}");
        assert_eq!(notify(&central, "builder", &text), "");
        claude.model.until_told(&text);
        assert_eq!(claude.model.told("for the").len(), 1);
        claude.exit();
        central.all_said("Agent builder ended", run);
        let over = notify(&central, "builder", "too late");
        assert!(over.contains("session 'builder' is over"), "{over}");
    }
}

#[test]
fn a_notification_to_an_unknown_name_is_stored_and_says_so() {
    let desk = Desk::new();
    let central = Central::new(&desk);
    central.install(&[]);
    let [dir] = central.worktrees(["builder"]);
    let claude = desk.claude(Model::start(turns([]))).within(dir).start();
    central.waiting_at("builder");
    let new = notify(&central, "bilder", "is anybody there?");
    assert!(new.contains("'bilder' is a new inbox"), "{new}");
    assert!(new.contains("'builder'"), "{new}");
    assert_eq!(claude.model.requests().len(), 0);
}

#[test]
fn a_title_that_the_person_gives_becomes_the_sessions_name() {
    let desk = Desk::new();
    let central = Central::new(&desk);
    central.install(&[]);
    let [dir] = central.worktrees(["builder"]);
    let claude = desk.claude(Model::start(turns([]))).within(dir).start();
    let id = central.waiting_at("builder");
    claude.say("/rename reviewer");
    claude.say("Hello");
    assert_eq!(central.session("reviewer")["id"], id);
    central.said("Agent reviewer completed");
    central.waiter("reviewer", "rewake");
    assert_eq!(notify(&central, "reviewer", "by its title"), "");
    let told = claude.model.until_told("by its title");
    assert!(told.tells("<task-notification>") > 0, "{:?}", told.news);
    assert_eq!(claude.model.told("by its title").len(), 1);
}
