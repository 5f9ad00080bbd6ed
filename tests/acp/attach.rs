//! Sessions without a terminal: attached to, answered there, and loaded after their death.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use hub_harness::{Program, until};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::scene::Scene;
use crate::turns::is_prompt;

/// Starts the session `fig` in the background; returns its id.
fn detached(scene: &Scene, more: &[&str]) -> String {
    named("fig", scene, more)
}

/// Starts a session in the background; returns its id.
fn named(name: &str, scene: &Scene, more: &[&str]) -> String {
    let agent = Scene::agent(&[]);
    let mut command = scene.hubctl();
    command
        .args(["acp", "run", "--detach", "--name", name])
        .args(more)
        .arg("--")
        .args(agent);
    command.arg("say The first prompt.");
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The file by which `attach` finds a session.
fn file(scene: &Scene, session: &str) -> PathBuf {
    let dir = scene.hub.state_dir().join("acp");
    dir.join(format!("{session}.json"))
}

fn read(file: &PathBuf) -> Value {
    let text = std::fs::read_to_string(file).expect("a file");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_session_without_a_terminal_is_attached_to_by_its_name() {
    let scene = Scene::new();
    let id = detached(&scene, &[]);
    scene.says("completed: The first prompt.");
    assert_eq!(scene.session()["id"], id.as_str());
    let look = scene.hubctl_prints(&["look", "fig"]);
    assert!(look.contains("The first prompt."), "{look}");
    let mut terminal = scene.acp(&["attach", "fig"], &[]);
    terminal.until("The first prompt.");
    terminal.types("say The second.");
    terminal.until("The second.");
    assert_eq!(
        terminal.ends(),
        0,
        "the end of its input leaves the session"
    );
    scene.waiter("module");
    scene.signal(Signal::TERM);
    scene.state("ended");
}

#[test]
fn an_attached_terminal_answers_through_the_hub_which_refuses_an_agent() {
    let scene = Scene::new();
    detached(&scene, &[]);
    scene.says("completed");
    let mut agents = scene.hubctl();
    // A variable that only an agent sets for its commands.
    agents.env("CLAUDECODE", "1").args(["acp", "attach", "fig"]);
    let mut of_agent = Program::start(agents);
    of_agent.types("edit /tmp/fig");
    let need = scene.need();
    of_agent.until("+ new");
    of_agent.types("allow");
    of_agent.complains("person");
    assert_eq!(scene.need()["id"], need["id"], "it is still open");
    let mut of_person = scene.acp(&["attach", "fig"], &[]);
    of_person.until("+ new");
    of_person.types("allow");
    of_person.until("outcome x2");
    scene.signal(Signal::TERM);
    scene.state("ended");
}

#[test]
fn a_session_that_was_killed_is_loaded_again_in_its_mode() {
    let scene = Scene::new();
    let id = detached(&scene, &["--mode", "default"]);
    scene.says("completed");
    scene.signal(Signal::KILL);
    scene.state("ended");
    let mut terminal = scene.acp(&["attach", "fig"], &[]);
    terminal.until(&format!("> once in {id}"));
    until("it lives", || {
        (scene.session()["state"] != "ended").then_some(())
    });
    terminal.types("say On.");
    scene.says("completed: On.");
    assert_eq!(scene.session()["id"], id.as_str(), "the same session");
    let log = scene.log();
    let modes = log.iter().filter(|it| it["method"] == "session/set_mode");
    let chosen: Vec<_> = modes.map(|it| &it["params"]["modeId"]).collect();
    assert_eq!(chosen, ["default", "default"]);
    terminal.ends();
}

#[test]
fn a_waiter_of_the_agents_hooks_leaves_when_the_session_gets_its_client() {
    let scene = Scene::new();
    scene.hook(
        "claude",
        &json!({"hook_event_name": "SessionStart", "session_id": "s-1", "cwd": scene.path("")}),
    );
    let socket = scene.hub.state_dir().join("hub.sock");
    let waiter = Command::new("curl")
        .args(["-s", "-o", "/dev/null", "-w", "%{http_code}"])
        .arg("--unix-socket")
        .arg(socket)
        .arg("http://hub/wait?project=acp&session=s-1&way=rewake&timeout=600")
        .stdout(Stdio::piped())
        .spawn()
        .expect("curl starts");
    scene.waiter("rewake");
    let program = scene.acp(&["run", "--load", "s-1", "--"], &Scene::agent(&[]));
    program.until("is session");
    let ended = waiter.wait_with_output().expect("it ends").stdout;
    assert_eq!(ended, b"204");
    scene.waiter("module");
}

#[test]
fn a_session_that_the_agent_does_not_load_has_ended() {
    let scene = Scene::new();
    let agent = Scene::agent(&["--forgetful"]);
    let mut program = scene.acp(&["run", "--load", "s-1", "--"], &agent);
    assert_eq!(until("it has ended", || program.exit_code()), 1);
    program.complains("unknown");
    scene.state("ended");
}

#[test]
fn a_program_of_the_agent_is_not_detached_itself() {
    let scene = Scene::new();
    detached(&scene, &[]);
    let mut terminal = scene.acp(&["attach", "fig"], &[]);
    terminal.until("The first prompt.");
    terminal.types("env HUB_ACP_DETACHED");
    terminal.until("HUB_ACP_DETACHED is undefined");
}

#[test]
fn a_session_is_not_reached_by_the_number_of_a_process_that_is_now_another_ones() {
    let scene = Scene::new();
    let dead = detached(&scene, &[]);
    scene.says("completed");
    scene.signal(Signal::KILL);
    scene.state("ended");
    let living = named("plum", &scene, &[]);
    let file_of_dead = file(&scene, &dead);
    let mut saved = read(&file_of_dead);
    saved["pid"] = read(&file(&scene, &living))["pid"].clone();
    std::fs::write(file_of_dead, saved.to_string()).expect("a file");
    let terminal = scene.acp(&["attach", &dead], &[]);
    terminal.until(&format!("> once in {dead}"));
}

/// Sends lines to the only session as a terminal that attached, and waits until it shows a text.
fn sends(scene: &Scene, lines: &[&str], shown: &str) {
    let files = std::fs::read_dir(scene.hub.state_dir().join("acp")).expect("a directory");
    let mut paths = files.map(|it| it.expect("a file").path());
    let socket = paths.find(|it| it.extension().is_some_and(|it| it == "sock"));
    let mut stream = UnixStream::connect(socket.expect("a socket")).expect("it listens");
    for line in lines {
        writeln!(stream, "{line}").expect("it reads");
    }
    let mut said = BufReader::new(stream).lines().map_while(Result::ok);
    assert!(said.any(|it| it.contains(shown)), "it shows {shown}");
}

#[test]
fn an_attached_terminal_ends_no_session() {
    let scene = Scene::new();
    detached(&scene, &[]);
    scene.says("completed");
    for ignored in [r#"{"interrupt":true}"#, "no JSON", "{}"] {
        sends(&scene, &[ignored, r#"{"line":"say Go on."}"#], "Go on.");
    }
    let mut terminal = scene.acp(&["attach", "fig"], &[]);
    terminal.until("Go on.");
    terminal.types("hang");
    scene.got("the prompt", |it| is_prompt(it, "hang"));
    terminal.interrupt();
    scene.says("was interrupted");
    terminal.types("say Still here.");
    terminal.until("Still here.");
}

#[test]
fn an_attached_terminal_answers_the_dialog_that_is_shown_and_no_other_question() {
    let scene = Scene::new();
    let id = detached(&scene, &[]);
    scene.says("completed");
    let mut terminal = scene.acp(&["attach", "fig"], &[]);
    terminal.types("plan");
    scene.need();
    scene.asks(&id, "Which fruit?");
    terminal.until("[1] All edits");
    terminal.types("1");
    terminal.until("outcome x1");
    let listed = scene.get("/questions?project=acp")["questions"].clone();
    let mut questions = listed.as_array().expect("a list").iter();
    // The dialog stays in the list until the answer has reached its asker.
    let fruit = questions.find(|it| it["msg"] == "Which fruit?");
    assert_eq!(fruit.expect("the question")["state"], "open", "{listed}");
}

#[test]
fn words_mean_the_same_in_an_attached_terminal() {
    let scene = Scene::new();
    detached(&scene, &[]);
    scene.says("completed");
    let mut terminal = scene.acp(&["attach", "fig"], &[]);
    for (prompt, words, outcome) in [
        ("edit /tmp/fig", "1", "outcome x1"),
        ("edit /tmp/fig", "deny: not now", "outcome x3"),
        ("plan", "2", "outcome x2"),
        (
            "form",
            "1",
            r#"form {"action":"accept","content":{"db":"pg"}}"#,
        ),
        ("form", "decline", r#"form {"action":"decline"}"#),
        ("question", "1", r#"answers {"0":"Red"}"#),
        ("question", "Blue", r#"answers {"0":"Blue"}"#),
    ] {
        terminal.types(prompt);
        scene.need();
        terminal.types(words);
        terminal.until(outcome);
        scene.until_nothing_asks();
    }
}
