//! The proxy between a scripted editor and the agent.

use hub_harness::{Program, until};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::scene::Scene;
use crate::turns::is_prompt;

/// The test as an editor.
struct Editor {
    proxy: Program,
    session: String,
}

impl Editor {
    /// Starts the proxy, and a session of the agent that the hub knows.
    fn open(scene: &Scene, more: &[&str]) -> Self {
        Self::before(scene, more, &[])
    }

    /// Does the same before an agent with these arguments.
    fn before(scene: &Scene, more: &[&str], agent: &[&str]) -> Self {
        let args = [&["proxy"][..], more, &["--"]].concat();
        let editor = Self::of(scene, scene.acp(&args, &Scene::agent(agent)), 1);
        scene.session();
        editor
    }

    /// Starts a session of the agent by a version of the protocol.
    fn of(scene: &Scene, mut proxy: Program, version: u64) -> Self {
        proxy.types(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": version}}).to_string());
        let cwd = scene.path("");
        proxy.types(&json!({"jsonrpc": "2.0", "id": "n", "method": "session/new", "params": {"cwd": cwd, "mcpServers": []}}).to_string());
        let mut editor = Self {
            proxy,
            session: String::new(),
        };
        let new = editor.got("a session", |it| it["id"] == "n");
        editor.session = new["result"]["sessionId"].as_str().expect("an id").into();
        editor
    }

    fn messages(&self) -> Vec<Value> {
        let text = self.proxy.printed();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole
            .lines()
            .map(|it| serde_json::from_str(it).expect("JSON"))
            .collect()
    }

    fn got(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        until(&format!("the editor gets {what}"), || {
            self.messages().into_iter().find(&is_it)
        })
    }

    fn prompts(&mut self, id: u64, text: &str) -> String {
        let prompt = json!([{"type": "text", "text": text}]);
        let params = json!({"sessionId": self.session, "prompt": prompt});
        let line =
            json!({"jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": params});
        self.proxy.types(&line.to_string());
        line.to_string()
    }

    fn answered(&self, id: u64) -> Value {
        let answer = self.got("an answer", |it| {
            it["id"] == id && !it["result"]["stopReason"].is_null()
        });
        answer["result"]["stopReason"].clone()
    }

    fn cancels(&mut self) {
        let params = json!({"sessionId": self.session});
        let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params});
        self.proxy.types(&cancel.to_string());
    }
}

#[test]
fn lines_pass_unchanged_and_the_session_is_known() {
    let scene = Scene::new();
    let mut editor = Editor::open(&scene, &[]);
    let sent = editor.prompts(1, "say A fig.");
    editor.answered(1);
    scene.says("prompt: say A fig.");
    scene.says("completed: A fig.");
    let log = std::fs::read_to_string(scene.path("log")).expect("a log");
    assert!(log.lines().any(|it| it == sent), "{log}");
    let other = r#"{"jsonrpc":"2.0","method":"_mine/x",  "params":{"b":1,"a":2}}"#;
    editor.proxy.types(other);
    until("it passes", || {
        std::fs::read_to_string(scene.path("log"))
            .ok()?
            .contains(other)
            .then_some(())
    });
    assert_eq!(editor.proxy.ends(), 0);
    scene.state("ended");
}

#[test]
fn a_notification_rides_along_with_the_editors_prompt() {
    let scene = Scene::new();
    let mut editor = Editor::open(&scene, &[]);
    let id = scene.notify("news");
    editor.prompts(1, "say A fig.");
    editor.answered(1);
    let prompt = scene.got("the prompt", |it| it["method"] == "session/prompt");
    let blocks = prompt["params"]["prompt"].as_array().expect("blocks");
    assert_eq!(blocks[0]["text"], "say A fig.");
    assert!(
        blocks[1]["text"]
            .as_str()
            .expect("a text")
            .contains("\"msg\":\"news\""),
        "{prompt}"
    );
    scene.acked(id);
}

#[test]
fn the_hub_answers_a_permission_and_the_editors_late_answer_is_dropped() {
    let scene = Scene::new();
    let mut editor = Editor::open(&scene, &[]);
    editor.prompts(1, "edit /tmp/fig");
    let asked = editor.got("the permission", |it| {
        it["method"] == "session/request_permission"
    });
    let need = scene.need();
    assert_eq!(need["request"]["change"]["path"], "/tmp/fig");
    scene.answer(&need, &json!({"verdict": "allow"}));
    let cancel = editor.got("the end of its dialog", |it| {
        it["method"] == "$/cancel_request"
    });
    assert_eq!(cancel["params"]["requestId"], asked["id"]);
    let late = json!({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32800, "message": "cancelled"}});
    editor.proxy.types(&late.to_string());
    editor.answered(1);
    editor.prompts(2, "say on");
    editor.answered(2);
    assert!(
        !scene.log().iter().any(|it| it["error"]["code"] == -32800),
        "it was dropped"
    );
}

#[test]
fn the_editor_answers_a_permission_and_the_need_is_closed() {
    let scene = Scene::new();
    let mut editor = Editor::open(&scene, &[]);
    editor.prompts(1, "edit /tmp/fig");
    let asked = editor.got("the permission", |it| {
        it["method"] == "session/request_permission"
    });
    scene.need();
    let result = json!({"outcome": {"outcome": "selected", "optionId": "x3"}});
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
    editor.proxy.types(&answer.to_string());
    editor.answered(1);
    scene.until_nothing_asks();
}

#[test]
fn only_with_wake_a_notification_begins_a_turn_and_the_editors_prompt_waits_for_its_end() {
    let scene = Scene::new();
    let mut editor = Editor::open(&scene, &["--wake"]);
    scene.waiter("module");
    let id = scene.notify("news");
    let own = scene.got("the hub's prompt", |it| it["id"] == "hub-1");
    assert!(own.to_string().contains("news"), "{own}");
    editor.prompts(1, "say mine");
    editor.answered(1);
    scene.acked(id);
    assert!(
        !editor.messages().iter().any(|it| it["id"] == "hub-1"),
        "its answer is not the editor's"
    );
    assert!(
        !editor
            .messages()
            .iter()
            .any(|it| it["error"]["message"] == "busy"),
        "it waited"
    );
}

#[test]
fn the_person_is_told_once_that_the_proxy_does_not_know_the_version_of_both() {
    let scene = Scene::new();
    let told = "speak version 2 of the Agent Client Protocol";
    let mut seen = Vec::new();
    for _ in 0..2 {
        let proxy = scene.acp(&["proxy", "--"], &Scene::agent(&["--next-version"]));
        let mut editor = Editor::of(&scene, proxy, 2);
        editor.prompts(1, "say A fig.");
        editor.answered(1);
        editor.proxy.complains(told);
        seen.push(until("a need says it", || {
            let needs = scene.get("/needs")["needs"].as_array()?.clone();
            let it = needs.iter().find(|it| !seen.contains(&it["id"]))?;
            assert_eq!((it["kind"].as_str(), needs.len()), (Some("urgent"), 1));
            assert!(it["brief"].as_str()?.contains(told), "{it}");
            Some(it["id"].clone())
        }));
        assert_eq!(editor.proxy.ends(), 0);
    }
    let sessions = scene.get("/sessions?project=acp&all=true");
    assert_eq!(sessions["sessions"], json!([]));
}

#[test]
fn a_turn_that_the_editor_cancels_was_interrupted_whatever_the_agent_says() {
    let scene = Scene::new();
    let mut editor = Editor::open(&scene, &[]);
    editor.prompts(1, "ignore");
    scene.got("the prompt", |it| is_prompt(it, "ignore"));
    editor.cancels();
    editor.answered(1);
    scene.says("was interrupted");
}

#[test]
fn a_permission_stays_open_while_another_call_ends() {
    let scene = Scene::new();
    let mut editor = Editor::open(&scene, &[]);
    let go = scene.path("go");
    editor.prompts(1, &format!("parallel {}", go.display()));
    let need = scene.need();
    std::fs::write(&go, "").expect("a file");
    editor.got("the end of the other call", |it| {
        it.to_string().contains("The other call ended.")
    });
    scene.answer(&need, &json!({"verdict": "allow"}));
    editor.answered(1);
    scene.says("completed");
}

#[test]
fn the_answer_to_a_second_prompt_does_not_end_the_turn_of_the_first() {
    let scene = Scene::new();
    let mut editor = Editor::open(&scene, &[]);
    let go = scene.path("go");
    editor.prompts(1, &format!("tool {}", go.display()));
    scene.got("the prompt", |it| is_prompt(it, "tool "));
    editor.prompts(2, "say second");
    editor.got("a refusal", |it| it["error"]["message"] == "busy");
    std::fs::write(&go, "").expect("a file");
    editor.answered(1);
    scene.says("completed");
    let published = scene.published();
    assert!(
        !published.iter().any(|it| it.contains("failed")),
        "{published:?}"
    );
}

#[test]
fn a_prompt_that_waits_behind_a_turn_of_the_hub_is_cancelled_with_it() {
    let scene = Scene::new();
    let mut editor = Editor::before(&scene, &["--wake"], &["--sleepy"]);
    scene.waiter("module");
    scene.notify("news");
    scene.got("the hub's prompt", |it| it["id"] == "hub-1");
    editor.prompts(1, "say mine");
    editor.cancels();
    assert_eq!(editor.answered(1), "cancelled");
    editor.prompts(2, "say on");
    editor.answered(2);
    let log = scene.log();
    assert!(!log.iter().any(|it| is_prompt(it, "say mine")), "{log:?}");
}

#[test]
fn a_session_that_the_editor_closes_has_ended() {
    let scene = Scene::new();
    let mut editor = Editor::open(&scene, &["--wake"]);
    scene.waiter("module");
    editor.prompts(1, "edit /tmp/fig");
    scene.need();
    let params = json!({"sessionId": editor.session});
    let close = json!({"jsonrpc": "2.0", "id": "c", "method": "session/close", "params": params});
    editor.proxy.types(&close.to_string());
    editor.got("an answer", |it| {
        it["id"] == "c" && it["result"].is_object()
    });
    scene.state("ended");
    scene.until_nothing_asks();
    until("nothing waits", || {
        scene.session()["waiter"].is_null().then_some(())
    });
    assert_eq!(editor.proxy.exit_code(), None, "the proxy goes on");
}

#[test]
fn a_signal_ends_the_proxy_as_the_end_of_its_input_does() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let scene = Scene::new();
        let mut editor = Editor::open(&scene, &[]);
        scene.signal(signal);
        let code = until("it has ended", || editor.proxy.exit_code());
        assert_eq!(code, 0, "{signal:?}");
        assert!(!scene.runs("agent.mjs"), "{signal:?}");
        scene.state("ended");
    }
}

#[test]
fn a_page_that_the_agent_asks_to_open_is_left_to_the_editor() {
    let scene = Scene::new();
    let mut editor = Editor::open(&scene, &[]);
    editor.prompts(1, "url");
    editor.got("the page", |it| it["params"]["mode"] == "url");
    let need = scene.need();
    assert_eq!(need["text"], "Which db?");
    scene.answer(&need, &json!({"form": {"db": "pg"}}));
    editor.answered(1);
}
