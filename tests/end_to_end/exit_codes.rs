//! Exit codes: each has one meaning, and none is 2.

use std::io::Read;

use crate::support::Place;

#[test]
fn wrong_usage_is_64() {
    let place = Place::new();
    for line in [
        "",
        "notify",
        "nonsense",
        "notify --to a/b x",
        "notify --data { x",
        "notify ' \n'",
        "wait --timeout soon",
    ] {
        place.hubctl(line).fails(64);
    }
    let unknown = place.hubctl("notify --type finished x").fails(64);
    unknown.warns("complete, waiting, question");
    let malformed = place.by("a/b", "notify x").fails(64);
    malformed.warns("HUB_SESSION");
}

#[test]
fn an_unreachable_hub_is_3() {
    let place = Place::new();
    let commands = [
        "wait",
        "dashboard",
        "stream",
        "history",
        "status",
        "inboxes",
        "clear 1",
    ];
    for line in commands
        .into_iter()
        .chain(["--url http://127.0.0.1:9 status"])
    {
        place.hubctl(line).fails(3).warns("`hubctl up`");
    }
}

#[test]
fn an_inbox_held_by_another_is_4_and_names_the_holder() {
    let place = Place::with_hub();
    let mut holder = place.waiter("wait");
    let name = format!("hubctl:{}-", holder.child().id());
    let done = place.hubctl("wait").fails(4).warns(&name);
    done.warns("--takeover");
}

#[test]
fn an_inbox_held_by_this_sessions_own_waiter_is_0_and_says_so() {
    let place = Place::with_hub();
    let _holder = place.registered(place.by("me", "wait"));
    let done = place.by("me", "wait").ok().prints_nothing();
    done.warns("already waits");
}

#[test]
fn status_without_a_waiter_is_5_and_with_one_is_0() {
    let place = Place::with_hub();
    place.hubctl("status").fails(5);
    let _waiter = place.waiter("wait");
    place.ctl("status");
}

#[test]
fn a_listing_whose_reader_has_left_ends_silently_as_by_sigpipe() {
    let place = Place::with_hub();
    // More than fits into a pipe.
    for _ in 0..3 {
        place.hubctl("notify -").stdin("x".repeat(60_000)).ok();
    }
    let mut history = place.hubctl("history --json --after 0").spawn();
    history.stdout().read_exact(&mut [0]).unwrap();
    history.end().exits(141).warns_of_nothing();
}

#[test]
fn every_command_has_help_with_examples() {
    let place = Place::new();
    let commands = "notify clear wait stream history ack trace inboxes status up down hook hooks \
        instructions config dashboard seen completions service";
    for command in commands.split_whitespace() {
        let help = place.ctl(format!("{command} --help"));
        help.prints(&format!("  hubctl {command}"));
    }
}
