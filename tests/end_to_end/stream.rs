//! `hubctl stream`.

use std::io::BufRead;

use crate::support::{Place, json};

#[test]
fn a_stream_begins_at_its_cursor_and_continues_live() {
    let place = Place::with_hub();
    place.hubctl(&["notify", "before"]).run().ok();
    let mut stream = place.hubctl(&["stream", "--since", "0"]).spawn();
    let mut lines = stream
        .stdout()
        .lines()
        .map(|line| json(&line.unwrap())["msg"].clone());
    assert_eq!(lines.next().unwrap(), "before");
    place.hubctl(&["notify", "after"]).run().ok();
    assert_eq!(lines.next().unwrap(), "after");
}

#[test]
fn a_stream_is_filtered() {
    let place = Place::with_hub();
    place
        .hubctl(&["notify", "--project", "app", "--type", "error", "bad"])
        .run()
        .ok();
    place
        .hubctl(&["notify", "--type", "error", "elsewhere"])
        .run()
        .ok();
    place
        .hubctl(&["notify", "--project", "app", "fine"])
        .run()
        .ok();
    place
        .hubctl(&["notify", "--project", "app", "--type", "error", "worse"])
        .run()
        .ok();
    let mut stream = place
        .hubctl(&[
            "stream",
            "--since",
            "0",
            "--project",
            "app",
            "--types",
            "error",
        ])
        .spawn();
    let lines = stream.stdout().lines().take(2);
    let seen: Vec<_> = lines
        .map(|line| json(&line.unwrap())["msg"].clone())
        .collect();
    assert_eq!(seen, ["bad", "worse"]);
}

#[test]
fn a_stream_resumes_at_its_cursor_after_an_outage() {
    let mut place = Place::with_hub();
    place.hubctl(&["notify", "one"]).run().ok();
    let mut stream = place.hubctl(&["stream", "--since", "0"]).spawn();
    let mut lines = stream
        .stdout()
        .lines()
        .map(|line| json(&line.unwrap())["msg"].clone());
    assert_eq!(lines.next().unwrap(), "one");
    place.kill();
    place.hubctl(&["notify", "two"]).run().ok();
    place.start();
    place.hubctl(&["notify", "three"]).run().ok();
    assert_eq!(
        [lines.next().unwrap(), lines.next().unwrap()],
        ["two", "three"]
    );
}

#[test]
fn a_command_gets_the_fields_in_its_environment_and_never_as_words() {
    let place = Place::with_hub();
    let text = "it's $(touch oops) `touch oops`; \"x\"\nsecond";
    place
        .hubctl(&[
            "notify",
            "--from",
            "w1",
            "--type",
            "question",
            "--title",
            "T",
            "--session",
            "s",
            text,
        ])
        .run()
        .ok();
    let command = r#"printf '%s|' "$HUB_FROM" "$HUB_TYPE" "$HUB_TITLE" "$HUB_KEY" "$HUB_SESSION" "$HUB_MSG"; echo end"#;
    let call = place
        .hubctl(&["stream", "--since", "0", "--exec", command])
        .env("HUB_KEY", "stale");
    let mut stream = call.env("HUB_SESSION", "me").spawn();
    let mut lines = stream.stdout().lines().map(Result::unwrap);
    assert_eq!(
        lines.next().unwrap(),
        "w1|question|T||me|it's $(touch oops) `touch oops`; \"x\""
    );
    assert_eq!(lines.next().unwrap(), "second|end");
    assert!(!place.path("work/oops").exists());
}

#[test]
fn events_of_other_kinds_have_their_name_and_cursor() {
    let place = Place::with_hub();
    place.hubctl(&["notify", "x"]).run().ok();
    place.hubctl(&["wait", "--timeout", "0"]).run().ok();
    let mut stream = place
        .hubctl(&["stream", "--since", "0", "--kinds", "notification,delivery"])
        .spawn();
    let mut lines = stream.stdout().lines().map(|line| json(&line.unwrap()));
    let (said, settled) = (lines.next().unwrap(), lines.next().unwrap());
    assert_eq!(
        (&said["event"], &said["data"]["msg"]),
        (&"notification".into(), &"x".into())
    );
    assert_eq!(
        (&settled["event"], &settled["data"]["state"]),
        (&"delivery".into(), &"acked".into())
    );
    assert!(settled["id"].as_str().unwrap().contains('-'));
}

#[test]
fn a_malformed_cursor_is_refused() {
    let place = Place::with_hub();
    let done = place.hubctl(&["stream", "--since", "yesterday"]).run();
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("cursor"), "{}", done.stderr);
}
