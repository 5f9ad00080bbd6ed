//! Prompts, answers, `/clear` and `/exit`.

use hub_harness::Model;
use hub_harness::model::{Reply, rules, turns};

use crate::support::Desk;

#[test]
fn a_prompt_gets_its_scripted_answer() {
    let desk = Desk::new();
    let model = Model::start(rules([(
        "Which fruit?",
        Reply::text("A scripted pomegranate."),
    )]));
    let claude = desk.claude(model).start();
    claude.say("Which fruit?");
    claude.pane.until("the answer is shown", |it| {
        it.contains("A scripted pomegranate.")
    });
    assert_eq!(claude.model.told("Which fruit?"), [0]);
}

#[test]
fn two_sessions_in_one_home_each_have_their_own_model() {
    let desk = Desk::new();
    let beside = desk.path("beside");
    std::fs::create_dir(&beside).expect("a directory");
    desk.trust(&[&desk.project(), &beside]);
    let model = || Model::start(turns([]));
    let one = desk.claude(model()).start();
    let two = desk.claude(model()).named("two").within(beside).start();
    two.say("To the second");
    one.say("To the first");
    let to_one = one.model.until_told("To the first");
    let to_two = two.model.until_told("To the second");
    assert_ne!(to_one.session, to_two.session);
    assert_eq!(to_one.contains("To the second"), 0);
    assert_eq!(to_two.contains("To the first"), 0);
}

#[test]
fn a_headless_run_prints_its_scripted_answer() {
    let desk = Desk::new();
    let model = Model::start(turns([Reply::text("A scripted quince.")]));
    let (output, model) = desk.claude(model).headless("Which fruit?");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(printed.trim(), "A scripted quince.", "{output:?}");
    assert_eq!(model.told("Which fruit?"), [0]);
}

#[test]
fn the_output_of_a_tool_is_in_the_next_request() {
    let desk = Desk::new();
    let _hooks = desk.hooks(&[]);
    let script = [("Do it", Reply::bash("echo $((6 * 7)) apples"))];
    let claude = desk.claude(Model::start(rules(script))).start();
    claude.say("Do it");
    let next = claude.model.until_told("42 apples");
    assert_eq!((next.number, claude.model.told("Do it")), (1, vec![0]));
}

#[test]
fn clear_ends_the_session_and_starts_one_with_another_id() {
    let desk = Desk::new();
    let hooks = desk.hooks(&["SessionStart", "SessionEnd", "Stop"]);
    let claude = desk.claude(Model::start(turns([]))).start();
    claude.say("The pomegranate is ripe");
    let before = hooks.first("Stop");
    claude.say("/clear");
    let started = hooks.nth("SessionStart", 2);
    assert_eq!(started["source"], "clear");
    assert_ne!(started["session_id"], before["session_id"]);
    let ended = hooks.first("SessionEnd");
    assert_eq!(ended["session_id"], before["session_id"]);
    claude.say("Afterwards");
    let asked = claude.model.until_told("Afterwards");
    assert_eq!(started["session_id"], asked.session.as_str());
    assert_eq!(asked.contains("pomegranate"), 0);
}

#[test]
fn exit_leaves_no_process_behind() {
    let desk = Desk::new();
    let hooks = desk.hooks(&["Stop"]);
    let waiter = serde_json::json!({
        "type": "command", "command": "sleep 600", "asyncRewake": true, "timeout": 86_400,
    });
    desk.settings(&hooks.settings_with("Stop", &waiter));
    let script = [("Go", Reply::bash_in_background("echo started; sleep 601"))];
    let claude = desk.claude(Model::start(rules(script))).start();
    claude.say("Go");
    hooks.first("Stop");
    let runs = |what: &str| {
        let all = desk.marker().processes();
        all.iter().any(|it| it.command.trim() == what).then_some(())
    };
    hub_harness::until("both wait", || runs("sleep 600").and(runs("sleep 601")));
    claude.exit();
    desk.until_only_tmux();
}
