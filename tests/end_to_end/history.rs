//! `hubctl history`, `trace` and `ack`.

use crate::fake::{Fake, ok};
use crate::support::Place;

#[test]
fn terminal_controls_in_a_message_are_printed_escaped() {
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
fn an_escaped_line_still_parses_as_the_message() {
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
fn history_is_filtered_and_reads_as_many_pages_as_requested() {
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
fn a_trace_names_the_reader() {
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
fn a_trace_of_several_pages_is_followed_to_its_end() {
    let place = Place::new();
    let _hub = Fake::new(&place, |asked| {
        let (state, more) = match asked.line.as_str() {
            "GET /notifications/1/trace" => ("stored", ",\"partial\":true,\"next\":7"),
            "GET /notifications/1/trace?after=7" => ("acked", ""),
            other => panic!("{other}"),
        };
        let notification = "{\"id\":1,\"msg\":\"x\"}";
        ok(&format!(
            "{{\"id\":1,\"notification\":{notification},\"steps\":[{{\"state\":\"{state}\"}}]{more}}}"
        ))
    });
    let shown = place.hubctl(&["trace", "1"]).run().ok().stdout;
    let words: Vec<&str> = shown.split_whitespace().collect();
    assert_eq!(
        words,
        ["{\"id\":1,\"msg\":\"x\"}", "now", "stored", "now", "acked"]
    );
    let json = place.hubctl(&["trace", "1", "--json"]).run().ok().stdout;
    assert_eq!(json.lines().count(), 2);
}

#[test]
fn an_ack_by_id_acknowledges_exactly_that_id() {
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
