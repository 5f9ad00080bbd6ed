//! The first commands in a clone, in a worktree and outside of git.

use std::path::{Path, PathBuf};

use crate::support::Place;

/// Creates a repository `clone` with a linked worktree `side`; returns both paths.
fn repository(place: &Place) -> (PathBuf, PathBuf) {
    let commit = "git -c user.name=t -c user.email=t@localhost commit -q --allow-empty -m one";
    let script = format!("git init -q clone; cd clone; {commit} && git worktree add -q ../side");
    place.sh(&script).ok();
    (place.path("work/clone"), place.path("work/side"))
}

#[test]
fn a_notification_from_anywhere_in_a_clone_or_its_worktrees_wakes_the_clones_waiter() {
    let place = Place::with_hub();
    let (clone, side) = repository(&place);
    for from in [place.dir("work/clone/src"), side] {
        let waiter = place.registered(place.hubctl("wait").within(&clone));
        place.hubctl("notify 'backup done'").within(&from).ok();
        let woken = waiter.end().ok();
        assert_eq!(woken.lines()[0]["project"], clone.to_str().unwrap());
    }
}

#[test]
fn git_config_names_the_project() {
    let place = Place::new();
    let (clone, side) = repository(&place);
    place.sh("git -C clone config hub.project app").ok();
    for dir in [clone, side] {
        let config = place.hubctl("config --json").within(&dir).json();
        assert_eq!(config["project"]["value"], "app");
    }
}

/// Returns the README's first shell block under `heading`.
fn readme(heading: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut sections = text.split("\n## ");
    let section = sections.find(|section| section.starts_with(heading));
    let section = section.expect(heading);
    let (_, block) = section.split_once("```sh\n").expect("a block");
    block.split("```").next().unwrap().to_owned()
}

#[test]
fn the_readmes_first_commands_work_in_a_clone_in_a_worktree_and_outside_of_git() {
    let first = readme("The first notification");
    let elsewhere = Place::new();
    let (clone, side) = repository(&elsewhere);
    for dir in [clone, side, elsewhere.path("work")] {
        let place = Place::new();
        let demo = place.sh(&format!("{first}\nwait"));
        let demo = demo.env("HUB_LISTEN", "127.0.0.1:0");
        let shown = demo.within(&dir).run();
        place.ctl("down");
        assert_eq!(shown.ok().messages()[0], "tests pass", "{}", dir.display());
    }
}

#[test]
fn the_readmes_curls_work() {
    let place = Place::with_hub();
    let (_, port) = place.url().rsplit_once(':').unwrap();
    let block = readme("From curl").replace("S=~/.local/state/hub", "S=$HUB_STATE_DIR");
    let block = block.replace("4782", port).replace("curl ", "curl -sSf ");
    // The stream never ends.
    let lines = block.lines().filter(|line| !line.contains(" -N "));
    let script: Vec<&str> = ["set -e"].into_iter().chain(lines).collect();
    place.sh(&script.join("\n")).ok();
    assert_eq!(place.said(), ["backup done", "main is red"]);
}
