//! The first commands in a clone, in a worktree and outside of git.

use std::path::{Path, PathBuf};

use crate::support::Place;

/// Creates a repository `clone` with a linked worktree `side`; returns both paths.
fn repository(place: &Place) -> (PathBuf, PathBuf) {
    let script = "git init -q clone && cd clone && git config user.name t && git config user.email t@localhost \
                  && git commit -q --allow-empty -m one && git worktree add -q ../side";
    place.sh(script).run().ok();
    (place.path("work/clone"), place.path("work/side"))
}

#[test]
fn outside_of_git_a_notification_wakes_the_waiter() {
    let place = Place::with_hub();
    let waiter = place.waiter(place.hubctl(&["wait"]));
    let said = place.hubctl(&["notify", "backup done"]).run().ok().stdout;
    assert!(said.contains("1 waiter woken"), "{said}");
    assert_eq!(waiter.end().ok().messages(), ["backup done"]);
}

#[test]
fn in_a_clone_both_sides_find_the_same_project() {
    let place = Place::with_hub();
    let (clone, _) = repository(&place);
    let deep = clone.join("src");
    std::fs::create_dir(&deep).unwrap();
    let waiter = place.waiter(place.hubctl(&["wait"]).within(&clone));
    place
        .hubctl(&["notify", "backup done"])
        .within(&deep)
        .run()
        .ok();
    let woken = waiter.end().ok();
    assert_eq!(woken.lines()[0]["project"], clone.to_str().unwrap());
}

#[test]
fn from_a_worktree_the_main_worktrees_waiter_is_woken() {
    let place = Place::with_hub();
    let (clone, side) = repository(&place);
    let waiter = place.waiter(place.hubctl(&["wait"]).within(&clone));
    place
        .hubctl(&["notify", "backup done"])
        .within(&side)
        .run()
        .ok();
    let woken = waiter.end().ok().lines();
    assert_eq!(woken[0]["project"], clone.to_str().unwrap());
}

#[test]
fn git_config_names_the_project() {
    let place = Place::new();
    let (clone, side) = repository(&place);
    place.sh("git -C clone config hub.project app").run().ok();
    for dir in [clone, side] {
        let config = place
            .hubctl(&["config", "--json"])
            .within(&dir)
            .run()
            .json();
        assert_eq!(config["project"]["value"], "app");
    }
}

/// Returns the README's shell blocks under `heading`.
fn readme(heading: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let text = std::fs::read_to_string(path).unwrap();
    let section = text
        .split("\n## ")
        .find(|section| section.starts_with(heading))
        .expect(heading);
    let blocks = section.split("```sh\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap().to_owned())
        .collect()
}

#[test]
fn the_readmes_first_commands_work_in_a_clone_in_a_worktree_and_outside_of_git() {
    let first = &readme("The first notification")[0];
    let elsewhere = Place::new();
    let (clone, side) = repository(&elsewhere);
    for dir in [clone, side, elsewhere.path("work")] {
        let place = Place::new();
        let demo = place
            .sh(&format!("{first}\nwait"))
            .env("HUB_LISTEN", "127.0.0.1:0");
        let shown = demo.within(&dir).run();
        place.hubctl(&["down"]).run().ok();
        let shown = shown.ok().stdout;
        let woken = shown
            .lines()
            .find(|line| line.starts_with('{'))
            .expect(&shown);
        assert_eq!(
            crate::support::json(woken)["msg"],
            "tests pass",
            "{}",
            dir.display()
        );
    }
}

#[test]
fn the_readmes_curls_work() {
    let place = Place::with_hub();
    let (_, port) = place.url().rsplit_once(':').unwrap();
    let block = readme("From curl")[0]
        .replace("S=~/.local/state/hub", "S=$HUB_STATE_DIR")
        .replace("4782", port)
        .replace("curl ", "curl -sSf ");
    // The stream never ends.
    let lines = block.lines().filter(|line| !line.contains(" -N "));
    let script: Vec<&str> = lines.collect();
    place
        .sh(&format!("set -e\n{}", script.join("\n")))
        .run()
        .ok();
    assert_eq!(place.said(), ["backup done", "main is red"]);
}
