//! Prompts in a running turn, and turns that an agent begins by itself. No hooks are installed, which would bring the
//! notifications too.

use std::path::Path;

use hub_harness::model::{Reply, rules};
use hub_harness::{Program, until};
use serde_json::json;

use super::start::{Shown, Started, claude_without_hooks, codex_without_hooks, run};
use crate::support::{InstalledHub, no_limits};

/// A command that makes the file `name`, and runs until the test makes `name-ends`.
fn command(name: &str) -> String {
    format!("touch {name}; until [ -e {name}-ends ]; do sleep 0.05; done; echo {name} is over")
}

fn bash(name: &str) -> Reply {
    Reply::bash(&command(name))
}

/// Codex waits for the command for this time, in ms.
fn exec(name: &str, waits: u64) -> Reply {
    Reply::tool(
        "exec_command",
        json!({
            "cmd": command(name), "yield_time_ms": waits, "sandbox_permissions": "require_escalated",
            "justification": "May I?",
        }),
    )
}

/// A model that runs two commands in a turn, one after the other.
fn digs(run: fn(&str) -> Reply) -> impl Fn(&hub_harness::model::Request) -> Reply + Send + Sync {
    rules([
        ("second is over", Reply::text("It is dug.")),
        ("first is over", run("second")),
        ("Dig a tunnel", run("first")),
    ])
}

/// Allows the command that makes this file, and waits until it runs.
fn allows(hub: &InstalledHub, name: &str) {
    let asked = hub.question();
    hub.hubctl(&["answer", &asked["id"].to_string(), "allow"]);
    let file = hub.project().join(name);
    until(&format!("{name} runs"), || file.exists().then_some(()));
}

fn ends(project: &Path, name: &str) {
    std::fs::write(project.join(format!("{name}-ends")), "").expect("a file");
}

/// Sends a notification while the first of two commands of a turn runs: the model gets it in the same turn.
fn is_told_in_its_turn(start: fn(&InstalledHub) -> Started) {
    let hub = InstalledHub::without_hooks(no_limits());
    let (model, command, env) = start(&hub);
    let model = Shown(model);
    let mut program = run(&hub, &[], &command, env);
    program.types("Dig a tunnel");
    allows(&hub, "first");
    let id = hub.session("fig")["id"].as_str().expect("an id").to_owned();
    let news = hub.send(&id, "tester", "news in between");
    ends(&hub.project(), "first");
    hub.step(news, "acked");
    allows(&hub, "second");
    ends(&hub.project(), "second");
    hub.published("Agent fig completed: It is dug.");
    model.0.received_once("news in between");
    assert_eq!(hub.find_published("Agent fig completed").len(), 1);
    assert_eq!(program.ends(), 0);
}

#[test]
fn claude_is_told_in_its_turn() {
    is_told_in_its_turn(|_| claude_without_hooks(digs(bash)));
}

#[test]
fn codex_is_told_in_its_turn() {
    is_told_in_its_turn(|hub| codex_without_hooks(hub, digs(|name| exec(name, 30_000))));
}

/// Lets an agent end its turn while its command runs on, and then ends the command. Returns the running session.
fn ends_a_command_later(hub: &InstalledHub, started: Started) -> (Shown, Program) {
    let (model, command, env) = started;
    let mut program = run(hub, &[], &command, env);
    program.types("Plant a tree");
    allows(hub, "tree");
    hub.published("Agent fig completed: Planted.");
    ends(&hub.project(), "tree");
    until("the command has ended", || {
        let mut all = hub.marker().processes().into_iter();
        let runs = |command: &str| command.contains("tree-ends") && !command.contains("hub");
        all.all(|it| !runs(&it.command)).then_some(())
    });
    (Shown(model), program)
}

#[test]
fn a_command_of_claude_that_ends_after_its_turn_begins_another_one() {
    let hub = InstalledHub::without_hooks(no_limits());
    let claude = claude_without_hooks(rules([
        ("<task-notification>", Reply::text("It bears figs.")),
        ("Plant a tree", Reply::bash_in_background(&command("tree"))),
        ("", Reply::text("Planted.")),
    ]));
    let (model, mut program) = ends_a_command_later(&hub, claude);
    program.until("It bears figs.");
    hub.published("a background task ended");
    hub.published("Agent fig completed: It bears figs.");
    model.0.received_once("<task-notification>");
    assert_eq!(program.ends(), 0);
}

#[test]
fn a_command_of_codex_that_ends_after_its_turn_begins_none() {
    let hub = InstalledHub::without_hooks(no_limits());
    let script = rules([
        ("And then?", Reply::text("Then a plum.")),
        ("Plant a tree", exec("tree", 500)),
        ("", Reply::text("Planted.")),
    ]);
    let codex = codex_without_hooks(&hub, script);
    let (model, mut program) = ends_a_command_later(&hub, codex);
    let before = model.0.requests().len();
    program.types("And then?");
    program.until("Then a plum.");
    let later = &model.0.requests()[before..];
    assert!(
        later.iter().all(|it| it.count_new("And then?") > 0),
        "{later:?}"
    );
    assert!(hub.find_published("a background task ended").is_empty());
    assert_eq!(program.ends(), 0);
}
