//! Prompts, answers, `/clear` and `/exit`.

use hub_harness::model::{Reply, rules, turns};

use crate::support::Sandbox;

#[test]
fn a_prompt_gets_its_scripted_answer() {
    let sandbox = Sandbox::new();
    let script = [("Which fruit?", Reply::text("A scripted pomegranate."))];
    let claude = sandbox.claude(rules(script)).start();
    claude.submit("Which fruit?");
    claude.until_shown("A scripted pomegranate.");
    assert_eq!(claude.model.received("Which fruit?"), [0]);
}

#[test]
fn two_sessions_in_one_home_each_have_their_own_model() {
    let sandbox = Sandbox::new();
    let beside = sandbox.path("beside");
    std::fs::create_dir(&beside).expect("a directory");
    sandbox.trust(&[&sandbox.project(), &beside]);
    let one = sandbox.claude(turns([])).start();
    let two = sandbox
        .claude(turns([]))
        .named("two")
        .within(beside)
        .start();
    two.submit("To the second");
    one.submit("To the first");
    let to_one = one.model.until_received("To the first");
    let to_two = two.model.until_received("To the second");
    assert_ne!(to_one.session, to_two.session);
    assert_eq!(to_one.contains("To the second"), 0);
    assert_eq!(to_two.contains("To the first"), 0);
}

#[test]
fn a_headless_run_prints_its_scripted_answer() {
    let sandbox = Sandbox::new();
    let script = turns([Reply::text("A scripted quince.")]);
    let (output, model) = sandbox.claude(script).headless("Which fruit?");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(printed.trim(), "A scripted quince.", "{output:?}");
    assert_eq!(model.received("Which fruit?"), [0]);
}

#[test]
fn the_output_of_a_tool_is_in_the_next_request() {
    let sandbox = Sandbox::new();
    let _hooks = sandbox.hooks(&[]);
    let script = [("Do it", Reply::bash("echo $((6 * 7)) apples"))];
    let claude = sandbox.claude(rules(script)).start();
    claude.submit("Do it");
    let next = claude.model.until_received("42 apples");
    assert_eq!((next.number, claude.model.received("Do it")), (1, vec![0]));
}

#[test]
fn clear_ends_the_session_and_starts_one_with_another_id() {
    let sandbox = Sandbox::new();
    let hooks = sandbox.hooks(&["SessionStart", "SessionEnd", "Stop"]);
    let claude = sandbox.claude(turns([])).start();
    claude.submit("The pomegranate is ripe");
    let before = hooks.first("Stop");
    claude.submit("/clear");
    let started = hooks.nth("SessionStart", 2);
    assert_eq!(started["source"], "clear");
    assert_ne!(started["session_id"], before["session_id"]);
    let ended = hooks.first("SessionEnd");
    assert_eq!(ended["session_id"], before["session_id"]);
    claude.submit("Afterwards");
    let asked = claude.model.until_received("Afterwards");
    assert_eq!(started["session_id"], asked.session.as_str());
    assert_eq!(asked.contains("pomegranate"), 0);
}

#[test]
fn exit_leaves_no_process_behind() {
    let sandbox = Sandbox::new();
    let hooks = sandbox.hooks(&["Stop"]);
    let waiter = serde_json::json!({
        "type": "command", "command": "sleep 600", "asyncRewake": true, "timeout": 86_400,
    });
    sandbox.settings(&hooks.settings_with("Stop", &waiter));
    let script = [("Go", Reply::bash_in_background("echo started; sleep 601"))];
    let claude = sandbox.claude(rules(script)).start();
    claude.submit("Go");
    hooks.first("Stop");
    let runs = |what: &str| {
        let all = sandbox.marker().processes();
        all.iter().any(|it| it.command.trim() == what).then_some(())
    };
    hub_harness::until("both wait", || runs("sleep 600").and(runs("sleep 601")));
    claude.exit();
    sandbox.until_only_tmux();
}
