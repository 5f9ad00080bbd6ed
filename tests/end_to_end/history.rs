//! Looking back.

use crate::support::Place;

#[test]
fn nothing_in_a_message_reaches_the_terminal_as_a_command() {
    let place = Place::with_hub();
    let bad = "\u{1b}]52;c;aGk=\u{7} \u{9b}31m \u{202e}abc\u{200b}\r";
    place.hubctl(&["notify", "--title", bad, bad]).run().ok();
    let calls: [&[&str]; 5] = [
        &["history"],
        &["history", "--json"],
        &["trace", "1"],
        &["trace", "1", "--json"],
        &["wait", "--timeout", "0"],
    ];
    for args in calls {
        let shown = place.hubctl(args).run().ok().stdout;
        assert!(
            shown.contains("\\u001b]52;c;aGk=\\u0007 \\u009b31m \\u202eabc\\u200b"),
            "{args:?}: {shown}"
        );
        let raw = shown
            .chars()
            .find(|&c| c != '\n' && hub_protocol::is_unprintable(c));
        assert_eq!(raw, None, "{args:?}");
    }
}

#[test]
fn an_escaped_line_is_still_the_message() {
    let place = Place::with_hub();
    let bad = "\u{9b}31m \u{202e}abc\u{e0041}";
    place.hubctl(&["notify", bad]).run().ok();
    assert_eq!(
        place
            .hubctl(&["wait", "--timeout", "0"])
            .run()
            .ok()
            .messages(),
        [bad]
    );
}

#[test]
fn history_is_filtered_and_reads_as_many_pages_as_asked() {
    let place = Place::with_hub();
    place.sh("for i in $(seq 5); do hubctl notify --from w$i m$i; done; hubctl notify --type error bad").run().ok();
    assert_eq!(place.said(), ["m1", "m2", "m3", "m4", "m5", "bad"]);
    let errors = place
        .hubctl(&["history", "--types", "error", "--json"])
        .run()
        .ok();
    assert_eq!(errors.messages(), ["bad"]);
    let newest = place
        .hubctl(&["history", "--limit", "2", "--json"])
        .run()
        .ok();
    assert_eq!(newest.messages(), ["bad", "m5"]);
    let found = place.hubctl(&["history", "--search", "M3"]).run().ok();
    assert_eq!(found.stdout.lines().count(), 1);
}

#[test]
fn a_trace_tells_who_read_it() {
    let place = Place::with_hub();
    place.hubctl(&["notify", "x"]).run().ok();
    place
        .hubctl(&["wait", "--timeout", "0"])
        .env("HUB_SESSION", "me")
        .args(&["--inbox", "primary"])
        .run()
        .ok();
    let trace = place.hubctl(&["trace", "1"]).run().ok().stdout;
    assert!(
        trace.contains("stored") && trace.contains("acked") && trace.contains("by me:"),
        "{trace}"
    );
}

#[test]
fn an_ack_by_number_takes_exactly_that() {
    let place = Place::with_hub();
    let id = |text: &str| place.hubctl(&["notify", "--json", text]).run().json()["id"].to_string();
    let (first, _second) = (id("a"), id("b"));
    place.hubctl(&["ack", &first]).run().ok();
    assert_eq!(
        place
            .hubctl(&["wait", "--timeout", "0"])
            .run()
            .ok()
            .messages(),
        ["b"]
    );
}
