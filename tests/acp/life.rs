//! The processes: agents that die, agents that do not, and files written through the client.

use std::time::Duration;

use hub_harness::until;
use rustix::process::Signal;
use serde_json::json;

use crate::scene::{Scene, exists};

#[test]
fn an_agent_that_dies_fails_its_session() {
    let scene = Scene::new();
    let mut program = scene.run(&[]);
    program.types("die");
    assert_eq!(until("it has ended", || program.exit_code()), 1);
    scene.says("Agent fig failed: the agent has ended");
    scene.state("ended");
}

#[test]
fn a_hub_that_is_slow_hears_of_the_death_of_an_agent() {
    let scene = Scene::new();
    let mut program = scene.run(&[]);
    program.types("say Here.");
    program.until("Here.");
    scene.says("completed");
    scene.signal_hub(Signal::STOP);
    program.types("die");
    program.until("the agent has ended");
    // Longer than a person who ends a session waits for the hub.
    std::thread::sleep(Duration::from_millis(1_500));
    scene.signal_hub(Signal::CONT);
    scene.says("Agent fig failed: the agent has ended");
    assert_eq!(until("it has ended", || program.exit_code()), 1);
}

#[test]
fn an_agent_that_speaks_another_version_is_not_run() {
    let scene = Scene::new();
    let mut program = scene.acp(&["run", "--"], &Scene::agent(&["--next-version"]));
    assert_eq!(until("it has ended", || program.exit_code()), 1);
    program.complains("the agent speaks version 2 of the Agent Client Protocol");
    let sessions = scene.get("/sessions?project=acp&all=true");
    assert_eq!(sessions["sessions"], json!([]));
}

#[test]
fn an_agent_that_outlives_its_input_is_ended_with_its_group() {
    let scene = Scene::new();
    let mut program = scene.run(&["--stubborn"]);
    until("it runs", || exists(&scene.path("pid")));
    assert!(scene.runs("--stubborn"));
    assert_eq!(program.ends(), 0);
    assert!(!scene.runs("agent.mjs"), "it was ended");
}

#[test]
fn a_file_is_written_though_that_was_not_declared() {
    let scene = Scene::new();
    let mut program = scene.run(&[]);
    let file = scene.path("written");
    program.types(&format!("write {}", file.display()));
    program.until("wrote {}");
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "written");
    let can = &scene.got("its client", |it| it["method"] == "initialize")["params"];
    assert_ne!(
        can["clientCapabilities"]["fs"]["writeTextFile"],
        json!(true)
    );
}

#[test]
fn the_list_names_every_agent_with_its_version() {
    let scene = Scene::new();
    let list = scene.hubctl_prints(&["acp", "list"]);
    for agent in hub_agents::acp::known() {
        let line = list
            .lines()
            .find(|it| it.starts_with(agent.name))
            .expect("a line");
        assert!(line.contains(&agent.acp.command.join(" ")), "{line}");
        assert!(
            line.contains(&agent.verified.unwrap_or("not run by a test".into())),
            "{line}"
        );
    }
}
