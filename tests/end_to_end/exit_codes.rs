//! Exit codes: each has one meaning, and none is 2.

use std::io::Read;

use crate::support::Place;

#[test]
fn wrong_usage_is_64() {
    let place = Place::new();
    let wrong: [&[&str]; 8] = [
        &[],
        &["notify"],
        &["nonsense"],
        &["notify", "--type", "finished", "x"],
        &["notify", "--to", "a/b", "x"],
        &["notify", "--data", "{", "x"],
        &["notify", " \n"],
        &["wait", "--timeout", "soon"],
    ];
    for args in wrong {
        assert_eq!(place.hubctl(args).run().code, Some(64), "{args:?}");
    }
}

#[test]
fn an_unknown_type_is_refused_with_the_list_of_types() {
    let said = Place::new()
        .hubctl(&["notify", "--type", "finished", "x"])
        .run()
        .stderr;
    assert!(said.contains("complete, waiting, question"), "{said}");
}

#[test]
fn a_malformed_variable_is_64_and_named() {
    let call = Place::new()
        .hubctl(&["notify", "x"])
        .env("HUB_SESSION", "a/b")
        .run();
    assert_eq!(call.code, Some(64));
    assert!(call.stderr.contains("HUB_SESSION"), "{}", call.stderr);
}

#[test]
fn an_unreachable_hub_is_3() {
    let place = Place::new();
    let calls: [&[&str]; 8] = [
        &["wait"],
        &["dashboard"],
        &["stream"],
        &["history"],
        &["status"],
        &["inboxes"],
        &["clear", "1"],
        &["--url", "http://127.0.0.1:9", "status"],
    ];
    for args in calls {
        let done = place.hubctl(args).run();
        assert_eq!(done.code, Some(3), "{args:?}: {done:?}");
        assert!(done.stderr.contains("`hubctl up`"), "{args:?}: {done:?}");
    }
}

#[test]
fn a_refusal_is_1_and_says_why() {
    let place = Place::with_hub();
    let done = place.hubctl(&["notify", "--reply-to", "999", "x"]).run();
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("999"), "{}", done.stderr);
}

#[test]
fn an_inbox_held_by_another_is_4_and_names_the_holder() {
    let place = Place::with_hub();
    let mut holder = place.waiter(place.hubctl(&["wait"]));
    let done = place.hubctl(&["wait"]).run();
    assert_eq!(done.code, Some(4));
    let name = format!("hubctl:{}-", holder.child().id());
    assert!(
        done.stderr.contains(&name) && done.stderr.contains("--takeover"),
        "{}",
        done.stderr
    );
}

#[test]
fn an_inbox_held_by_this_sessions_own_waiter_is_0_and_says_so() {
    let place = Place::with_hub();
    let wait = || place.hubctl(&["wait"]).env("HUB_SESSION", "me");
    let _holder = place.waiter(wait());
    let done = wait().run();
    assert_eq!(done.code, Some(0));
    assert!(
        done.stdout.is_empty() && done.stderr.contains("already waits"),
        "{done:?}"
    );
}

#[test]
fn status_without_a_waiter_is_5_and_with_one_is_0() {
    let place = Place::with_hub();
    assert_eq!(place.hubctl(&["status"]).run().code, Some(5));
    let _waiter = place.waiter(place.hubctl(&["wait"]));
    place.hubctl(&["status"]).run().ok();
}

#[test]
fn a_listing_whose_reader_has_left_ends_silently_as_by_sigpipe() {
    let place = Place::with_hub();
    // More than fits into a pipe.
    for _ in 0..3 {
        let said = place.hubctl(&["notify", "-"]).stdin("x".repeat(60_000));
        said.run().ok();
    }
    let mut history = place.hubctl(&["history", "--json", "--after", "0"]).spawn();
    history.stdout().read_exact(&mut [0]).unwrap();
    let done = history.end();
    assert_eq!((done.code, &*done.stderr), (Some(141), ""));
}

#[test]
fn every_command_has_help_with_examples() {
    let place = Place::new();
    let commands = [
        "notify",
        "clear",
        "wait",
        "stream",
        "history",
        "ack",
        "trace",
        "inboxes",
        "status",
        "up",
        "down",
        "hook",
        "hooks",
        "instructions",
        "config",
        "dashboard",
        "seen",
        "completions",
    ];
    for command in commands {
        let help = place.hubctl(&[command, "--help"]).run().ok().stdout;
        assert!(
            help.contains(&format!("  hubctl {command}")),
            "{command}: {help}"
        );
    }
}

#[test]
fn completions_are_printed_for_each_shell() {
    let script = Place::new()
        .hubctl(&["completions", "bash"])
        .run()
        .ok()
        .stdout;
    assert!(script.contains("_hubctl"), "{script}");
}
