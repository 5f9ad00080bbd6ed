//! The first minute, wherever one is: in a clone, in a worktree, outside of git.

use std::path::PathBuf;

use crate::support::Place;

/// A repository with a linked worktree, `clone` and `side`.
fn repository(place: &Place) -> (PathBuf, PathBuf) {
    let script = "git init -q clone && cd clone && git config user.name t && git config user.email t@localhost \
                  && git commit -q --allow-empty -m one && git worktree add -q ../side";
    place.sh(script).run().ok();
    (place.path("work/clone"), place.path("work/side"))
}

#[test]
fn outside_of_git_a_notification_wakes_whoever_waits() {
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
fn from_a_worktree_the_main_worktrees_waiter_is_woken_by_the_worktrees_name() {
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
    assert_eq!(woken[0]["from"], "side");
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
