//! `hubctl stream`.

use std::io::BufRead;

use crate::support::Place;

#[test]
fn a_stream_begins_at_its_cursor_continues_live_and_resumes_after_an_outage() {
    let mut place = Place::with_hub();
    place.ctl("notify before");
    let mut stream = place.hubctl("stream --json --since 0").spawn();
    let mut said = stream.printed().map(|it| it["msg"].clone());
    assert_eq!(said.next().unwrap(), "before");
    place.ctl("notify one");
    assert_eq!(said.next().unwrap(), "one");
    place.kill();
    place.ctl("notify two");
    place.start();
    place.ctl("notify three");
    for text in ["two", "three"] {
        assert_eq!(said.next().unwrap(), text);
    }
}

#[test]
fn a_stream_is_filtered() {
    let place = Place::with_hub();
    place.ctl("notify --project app --type error bad");
    place.ctl("notify --type error elsewhere");
    place.ctl("notify --project app fine");
    place.ctl("notify --project app --type error worse");
    let mut stream = place
        .hubctl("stream --since 0 --project app --types error")
        .spawn();
    let seen = stream.printed().take(2).map(|it| it["msg"].clone());
    let seen: Vec<_> = seen.collect();
    assert_eq!(seen, ["bad", "worse"]);
}

#[test]
fn a_command_gets_the_fields_in_its_environment_and_never_as_words() {
    let place = Place::with_hub();
    let text = "it's $(touch oops) `touch oops`; \"x\"\nsecond";
    let call = place.hubctl("notify --from w1 --type question --title T --session s");
    call.args(&[text]).ok();
    let command = concat!(
        r#"printf '%s|' "$HUB_FROM" "$HUB_TYPE" "$HUB_TITLE" "$HUB_KEY" "$HUB_SESSION" "$HUB_MSG"; "#,
        "echo end"
    );
    let call = place.by("me", "stream --since 0 --exec").args(&[command]);
    let mut stream = call.env("HUB_KEY", "stale").spawn();
    let mut lines = stream.stdout().lines().map(Result::unwrap);
    let first = "w1|question|T||me|it's $(touch oops) `touch oops`; \"x\"";
    assert_eq!(lines.next().unwrap(), first);
    assert_eq!(lines.next().unwrap(), "second|end");
    assert!(!place.has("work/oops"));
}

#[test]
fn events_of_other_kinds_have_their_name_and_cursor() {
    let place = Place::with_hub();
    place.ctl("notify x");
    place.ctl("wait --timeout 0");
    let mut stream = place
        .hubctl("stream --since 0 --kinds notification,delivery")
        .spawn();
    let mut events = stream.printed();
    let (said, settled) = (events.next().unwrap(), events.next().unwrap());
    assert_eq!(said["event"], "notification");
    assert_eq!(said["data"]["msg"], "x");
    assert_eq!(settled["event"], "delivery");
    assert_eq!(settled["data"]["state"], "acked");
    assert!(settled["id"].as_str().unwrap().contains('-'));
}

#[test]
fn a_malformed_cursor_is_refused() {
    let place = Place::with_hub();
    let call = place.hubctl("stream --since yesterday");
    call.fails(1).warns("cursor");
}
