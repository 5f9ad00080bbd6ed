//! The first commands in a clone, in a worktree and outside of git.

use std::path::{Path, PathBuf};

use serde_json::json as value;

use crate::support::{Place, json};

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

/// Returns the project that a command in `dir` concerns, and what it says on stderr.
fn project(place: &Place, dir: &Path, env: &[(&str, &str)]) -> (String, String) {
    let call = env.iter().fold(
        place.hubctl("config --json").within(dir),
        |call, (name, value)| call.env(name, value),
    );
    let done = call.ok();
    let config = json(&done.stdout);
    let project = config["project"]["value"].as_str().expect("a project");
    (project.to_owned(), done.stderr)
}

/// Reports an event of the session `s1` in `dir`; returns the text for its model.
fn event(place: &Place, name: &str, dir: &Path) -> String {
    let event = value!({"hook_event_name": name, "session_id": "s1", "cwd": dir, "prompt": "x"});
    let hook = place.hubctl("hook gemini").stdin(event.to_string());
    hook.ok().stdout
}

#[test]
fn a_session_and_its_commands_share_the_project_that_an_included_file_configures() {
    for hub in [true, false] {
        let mut place = Place::new();
        let (clone, side) = repository(&place);
        let home = place.path(".");
        place.write("included", "[hub]\n\tproject = shop\n");
        let text = format!(
            "[includeIf \"gitdir:{}/\"]\n\tpath = included\n",
            home.display()
        );
        place.write(".gitconfig", text.replace("/./", "/").replace("/.\"", "\""));
        if hub {
            place.start();
        }
        for dir in [&clone, &side] {
            assert_eq!(project(&place, dir, &[]).0, "shop", "with a hub: {hub}");
        }
        if hub {
            event(&place, "SessionStart", &side);
            place
                .hubctl("notify --from ci --to s1 'for you'")
                .within(&clone)
                .ok();
            let text = event(&place, "BeforeAgent", &side);
            assert!(text.contains("for you"), "{text}");
        }
    }
}

#[test]
fn a_given_project_takes_precedence_over_the_variable_and_an_invalid_one_is_named() {
    let place = Place::with_hub();
    let (clone, _) = repository(&place);
    place.sh("git -C clone config hub.project configured").ok();
    for (rest, variable, expected) in [
        ("--project given", "named", "given"),
        ("", "named", "named"),
        ("", "", "configured"),
    ] {
        let call = place.hubctl(format!("notify --from ci --json {rest} x"));
        let said = call.within(&clone).env("HUB_PROJECT", variable).json();
        assert_eq!(said["project"], expected);
    }
    let bad = place.hubctl("notify x").env("HUB_PROJECT", "a\u{1b}b");
    bad.fails(64).warns("HUB_PROJECT: invalid project");
    place
        .sh("git -C clone config hub.project \"$(printf 'a\\tb')\"")
        .ok();
    let bad = place.hubctl("notify x").within(&clone);
    bad.fails(64)
        .warns("git config hub.project: invalid project");
}

#[test]
fn variables_with_which_git_starts_its_hooks_change_no_project() {
    let mut place = Place::with_hub();
    let (clone, side) = repository(&place);
    place.sh("git init -q other").ok();
    let other = place.path("work/other/.git");
    let set = [
        ("GIT_DIR", other.to_str().unwrap()),
        ("GIT_WORK_TREE", "/"),
        ("GIT_CONFIG", "/x"),
    ];
    for dir in [&clone, &side] {
        assert_eq!(project(&place, dir, &set).0, clone.to_str().unwrap());
    }
    // What git is told about its configuration counts, as it does for git.
    let configured = [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "hub.project"),
        ("GIT_CONFIG_VALUE_0", "mine"),
    ];
    assert_eq!(project(&place, &side, &configured).0, "mine");
    place.kill();
    assert_eq!(project(&place, &side, &set).0, clone.to_str().unwrap());
    assert_eq!(project(&place, &side, &configured).0, "mine");
}

#[test]
fn what_a_session_says_after_its_worktree_is_removed_belongs_to_its_project() {
    let mut place = Place::with_hub();
    let (clone, side) = repository(&place);
    event(&place, "SessionStart", &side);
    for script in [
        "cd side && git -C ../clone worktree remove --force ../side && HUB_SESSION=s1 hubctl notify one",
        "mkdir side && cd side && rmdir ../side && hubctl notify --from ci two",
        "mkdir side && cd side && rmdir ../side && unset PWD && HUB_SESSION=s1 hubctl notify three",
    ] {
        place.sh(script).ok();
    }
    place.restart();
    event(&place, "AfterAgent", &side);
    let projects: Vec<_> = place.history("").into_iter().map(|it| it.project).collect();
    assert!(projects.len() >= 3, "{projects:?}");
    assert!(
        projects
            .iter()
            .all(|it| it.as_str() == clone.to_str().unwrap()),
        "{projects:?}"
    );
    let lost = "mkdir lost && cd lost && rmdir ../lost && hubctl notify --from ci lost";
    place.sh(lost).ok().warns("this directory is gone");
}

#[test]
fn a_home_directory_that_is_a_repository_is_a_project_with_all_that_is_no_repository_of_its_own() {
    let place = Place::with_hub();
    let (clone, _) = repository(&place);
    place.sh("git init -q ..").ok();
    let home = place.path("work").parent().unwrap().to_owned();
    for dir in [&home, &place.dir("work/plain")] {
        assert_eq!(project(&place, dir, &[]).0, home.to_str().unwrap());
    }
    assert_eq!(project(&place, &clone, &[]).0, clone.to_str().unwrap());
}

#[test]
fn without_git_a_project_is_default_and_that_is_said_once_where_a_repository_is() {
    let place = Place::new();
    let (clone, _) = repository(&place);
    let empty = place.dir("empty");
    let without = [("PATH", empty.to_str().unwrap())];
    let (found, said) = project(&place, &clone, &without);
    assert_eq!(found, "default");
    assert_eq!(said.matches("git is not installed").count(), 1, "{said}");
    let (found, said) = project(&place, &empty, &without);
    assert_eq!((found.as_str(), said.as_str()), ("default", ""));
}

#[test]
fn a_repository_that_git_cannot_read_is_named_with_gits_words() {
    let place = Place::with_hub();
    let (clone, _) = repository(&place);
    place.write("work/clone/.git/config", "[core\n");
    let (found, said) = project(&place, &clone, &[]);
    assert_eq!(found, "default");
    assert!(said.contains("git: bad config line 1"), "{said}");
    assert!(said.contains("HUB_PROJECT"), "{said}");
    assert_eq!(
        project(&place, &clone, &[("HUB_PROJECT", "mine")]),
        ("mine".into(), String::new())
    );
}

#[test]
fn a_path_with_line_feeds_or_other_bytes_has_a_project_of_its_own() {
    let place = Place::with_hub();
    for (number, script) in ["d=$(printf 'a\\nb')", "d=$(printf 'a\\351')"]
        .iter()
        .enumerate()
    {
        let script =
            format!("{script}; git init -q \"$d\"; cd \"$d\" && hubctl notify --from ci {number}");
        place.sh(&script).ok();
    }
    let projects: Vec<_> = place
        .history("")
        .into_iter()
        .map(|it| it.project.to_string())
        .collect();
    let work = place.path("work");
    let expected = ["a%0Ab", "a%E9"].map(|name| format!("/{}/{name}", work.display()));
    assert_eq!(projects, expected);
}

#[test]
fn the_readmes_first_commands_work_in_a_clone_in_a_worktree_and_outside_of_git() {
    let blocks = crate::docs::blocks("README.md");
    let first = blocks.iter().find(|it| it.text.contains("hubctl up"));
    let first = &first.expect("a block").text;
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
