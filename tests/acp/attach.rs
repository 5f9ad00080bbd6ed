//! Sessions without a terminal: attached to, answered there, and loaded after their death.

use std::process::{Command, Stdio};

use hub_harness::{Program, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::scene::Scene;

/// Starts a session in the background; returns its id.
fn detached(scene: &Scene, more: &[&str]) -> String {
    let agent = Scene::agent(&[]);
    let mut command = scene.hubctl();
    command
        .args(["acp", "run", "--detach", "--name", "fig"])
        .args(more)
        .arg("--")
        .args(agent);
    command.arg("say The first prompt.");
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn pid(scene: &Scene) -> Pid {
    let pid = scene.session()["process"]["pid"]
        .as_i64()
        .expect("a number");
    Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid")
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
    kill_process(pid(&scene), Signal::TERM).expect("it runs");
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
    kill_process(pid(&scene), Signal::TERM).expect("it runs");
    scene.state("ended");
}

#[test]
fn a_session_that_was_killed_is_loaded_again_in_its_mode() {
    let scene = Scene::new();
    let id = detached(&scene, &["--mode", "default"]);
    scene.says("completed");
    kill_process(pid(&scene), Signal::KILL).expect("it runs");
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
