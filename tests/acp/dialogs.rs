//! Permissions and forms of the agent, answered in the hub or in the terminal.

use hub_harness::until;
use serde_json::{Value, json};

use crate::scene::{Scene, session_path};

fn is_answer(message: &Value) -> bool {
    message["method"].is_null() && message["result"].is_object()
}

#[test]
fn a_permission_is_a_need_with_its_diff_and_the_hubs_answer_is_an_option_by_kind() {
    let scene = Scene::new();
    let mut program = scene.run(&[]);
    program.types("edit /tmp/fig");
    let need = scene.need();
    assert_eq!(
        (&need["kind"], &need["title"]),
        (&json!("permission"), &json!("wants to change a file"))
    );
    let change = &need["request"]["change"];
    assert_eq!(change["path"], "/tmp/fig");
    assert_eq!(
        change["edits"][0],
        json!({"before": "old", "after": "new", "all": false})
    );
    assert_eq!(
        need["controls"][0]["always"],
        "“All edits” (the agent's words)"
    );
    program.until("- old");
    scene.answer(&need, &json!({"verdict": "allow"}));
    program.until("outcome x2");
    scene.until_nothing_asks();
    scene.says("completed: outcome x2");
}

#[test]
fn the_terminal_answers_first_and_the_need_is_closed() {
    let scene = Scene::new();
    let mut program = scene.run(&[]);
    for (words, option) in [("always", "x1"), ("2", "x2"), ("deny", "x3")] {
        program.types("edit /tmp/fig");
        scene.need();
        program.types(words);
        program.until(&format!("outcome {option}"));
        scene.until_nothing_asks();
    }
}

#[test]
fn the_reason_of_a_denial_reaches_the_model() {
    let scene = Scene::new();
    let mut program = scene.run(&[]);
    program.types("edit /tmp/fig");
    scene.answer(
        &scene.need(),
        &json!({"verdict": "deny", "reason": "use a branch"}),
    );
    program.until("outcome x3");
    let told = scene.got("the reason", |it| it.to_string().contains("use a branch"));
    assert!(told.to_string().contains("[hub] Denied."), "{told}");
}

#[test]
fn a_plan_and_a_question_are_needs_of_their_kinds() {
    let scene = Scene::new();
    let mut program = scene.run(&[]);
    program.types("plan");
    let plan = scene.need();
    assert_eq!(
        (&plan["kind"], &plan["text"]),
        (&json!("plan"), &json!("1. Plant a fig tree."))
    );
    scene.answer(&plan, &json!({"verdict": "accept_edits"}));
    program.until("outcome x1");
    scene.until_nothing_asks();
    program.types("question");
    let question = scene.need();
    assert_eq!(
        (&question["kind"], &question["text"]),
        (&json!("question"), &json!("Which?"))
    );
    scene.answer(&question, &json!({"choices": [{"labels": ["Red"]}]}));
    program.until(r#"answers {"0":"Red"}"#);
}

#[test]
fn the_thread_that_codex_asks_for_a_title_is_no_session() {
    let scene = Scene::new();
    let hook = |event: &str, mark: &str| {
        let mut command = scene.hubctl();
        let payload = json!({
            "hook_event_name": event, "session_id": "title-1", "cwd": scene.path(""), "transcript_path": null,
        });
        command
            .env(mark, "1")
            .args(["hook", "codex", &payload.to_string()]);
        assert!(command.status().expect("it starts").success());
    };
    hook("SessionStart", "HUB_ACP_PID");
    hook("Stop", "HUB_ACP_PID");
    assert_eq!(
        scene.get("/sessions?project=acp&all=true")["sessions"],
        json!([])
    );
    hook("SessionStart", "OTHER");
    scene.session();
}

#[test]
fn a_form_is_answered_in_the_hub_and_in_the_terminal() {
    let scene = Scene::new();
    let mut program = scene.run(&[]);
    program.types("form");
    let need = scene.need();
    assert_eq!(need["kind"], "form");
    scene.answer(&need, &json!({"form": {"db": "sqlite"}}));
    program.until(r#"form {"action":"accept","content":{"db":"sqlite"}}"#);
    scene.until_nothing_asks();
    program.types("form");
    scene.need();
    program.types("1");
    program.until(r#"form {"action":"accept","content":{"db":"pg"}}"#);
    scene.until_nothing_asks();
}

#[test]
fn an_open_permission_is_answered_before_its_turn_is_cancelled() {
    let scene = Scene::new();
    let mut program = scene.run(&[]);
    program.types("edit /tmp/fig");
    scene.need();
    program.interrupt();
    scene.got("the cancel", |it| it["method"] == "session/cancel");
    let log = scene.log();
    let place = |is_it: &dyn Fn(&Value) -> bool| log.iter().position(is_it).expect("it came");
    let answer = place(&|it| is_answer(it) && it["result"]["outcome"]["outcome"] == "cancelled");
    assert!(
        answer < place(&|it| it["method"] == "session/cancel"),
        "{log:?}"
    );
    scene.until_nothing_asks();
    program.types("say Onward.");
    program.until("Onward.");
}

#[test]
fn a_permission_outlives_the_hub() {
    let mut scene = Scene::new();
    let mut program = scene.run(&[]);
    program.types("edit /tmp/fig");
    let before = scene.need();
    scene.hub.restart();
    let need = until("it is held again", || {
        let need = scene.need();
        (need["reconnecting"] != true).then_some(need)
    });
    assert_eq!(need["id"], before["id"], "the same question");
    scene.answer(&need, &json!({"verdict": "allow"}));
    program.until("outcome x2");
    scene.says("completed");
}

#[test]
fn the_agents_own_hooks_report_nothing_twice() {
    let scene = Scene::new();
    let mut program = scene.run(&[]);
    let session = scene.session();
    let id = session["id"].as_str().expect("an id");
    let hook = |event: &str, more: Value| {
        let mut payload = more;
        payload["hook_event_name"] = event.into();
        payload["session_id"] = id.into();
        scene.hook("claude", &payload)
    };
    hook("SessionStart", json!({}));
    program.types("edit /tmp/fig");
    let need = scene.need();
    hook("UserPromptSubmit", json!({"prompt": "edit /tmp/fig"}));
    let asks = hook(
        "PermissionRequest",
        json!({"tool_name": "Edit", "tool_input": {"file_path": "/tmp/fig"}}),
    );
    assert_eq!(asks, Value::Null, "the hook is not held");
    assert_eq!(scene.need()["id"], need["id"], "one need");
    scene.answer(&need, &json!({"verdict": "allow"}));
    program.until("with 1 more");
    hook("Stop", json!({"last_assistant_message": "outcome x2"}));
    hook("SessionEnd", json!({"reason": "other"}));
    scene.says("completed");
    let said = |text: &str| {
        scene
            .published()
            .iter()
            .filter(|it| it.contains(text))
            .count()
    };
    assert_eq!(
        (said("completed"), said("prompt: "), said("ended")),
        (1, 1, 0)
    );
    assert_eq!(scene.get(&session_path(id))["agent"], "node");
    // Without its client, the hooks report the session again.
    program.ends();
    scene.state("ended");
    hook("SessionStart", json!({"source": "resume"}));
    hook("UserPromptSubmit", json!({"prompt": "on my own"}));
    scene.says("prompt: on my own");
}

#[test]
fn a_permission_stays_open_while_another_call_ends() {
    let scene = Scene::new();
    let mut program = scene.run(&[]);
    let go = scene.path("go");
    program.types(&format!("parallel {}", go.display()));
    let need = scene.need();
    std::fs::write(&go, "").expect("a file");
    program.until("The other call ended.");
    scene.answer(&need, &json!({"verdict": "allow"}));
    program.until("outcome x2");
    scene.says("completed");
}
