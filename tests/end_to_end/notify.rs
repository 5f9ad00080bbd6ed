//! `hubctl notify` and `hubctl clear`.

use crate::support::{Place, json};

#[test]
fn a_notification_has_every_field_of_its_options() {
    let place = Place::with_hub();
    place.hubctl(&["notify", "first"]).run().ok();
    let args = [
        "notify",
        "--from",
        "w1",
        "--to",
        "ops",
        "--type",
        "done",
        "--priority",
        "high",
        "--project",
        "app",
        "--title",
        "T",
        "--data",
        r#"{"n":1}"#,
        "--key",
        "k",
        "--ttl",
        "1h",
        "--reply-to",
        "1",
        "--parent",
        "p1",
        "--session",
        "s1",
        "two",
        "words",
    ];
    let published = place.hubctl(&args).args(&["--json"]).run().json();
    assert_eq!(
        (&published["project"], &published["woken"]),
        (&"app".into(), &0.into())
    );
    let stored = json(
        place
            .hubctl(&["history", "--json", "--limit", "1"])
            .run()
            .ok()
            .stdout
            .trim(),
    );
    let expected = json(
        r#"{"from":"w1","to":"ops","type":"complete","priority":"high","project":"app","title":"T","data":{"n":1},
            "key":"k","reply_to":1,"parent":"p1","session":"s1","msg":"two words"}"#,
    );
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&stored[name], value, "{name}");
    }
}

#[test]
fn a_dash_reads_the_message_from_stdin() {
    let place = Place::with_hub();
    place
        .hubctl(&["notify", "-"])
        .stdin("line one\nline two\n")
        .run()
        .ok();
    assert_eq!(place.said(), ["line one\nline two"]);
}

#[test]
fn a_dry_run_prints_the_record_and_its_rules_and_stores_nothing() {
    let place = Place::with_hub();
    let run = |args: &[&str]| {
        place
            .hubctl(args)
            .env("CLAUDE_CODE_SESSION_ID", "0b1c")
            .run()
            .ok()
            .stdout
    };
    let shown = json(&run(&["notify", "--dry-run", "--json", "--to", "ops", "x"]));
    assert_eq!(shown["record"]["from"], "0b1c");
    assert_eq!(shown["rules"]["from"]["source"], "CLAUDE_CODE_SESSION_ID");
    assert_eq!(shown["rules"]["to"]["source"], "--to");
    assert_eq!(shown["rules"]["project"]["value"], "default");
    let for_people = run(&["notify", "--dry-run", "x"]);
    assert!(
        for_people.contains("0b1c  (CLAUDE_CODE_SESSION_ID)"),
        "{for_people}"
    );
    assert!(place.said().is_empty());
}

#[test]
fn a_new_inbox_is_reported_with_the_nearest_known_one() {
    let place = Place::with_hub();
    place
        .hubctl(&["notify", "--to", "reviewer", "x"])
        .run()
        .ok();
    let said = place
        .hubctl(&["notify", "--to", "reviwer", "x"])
        .run()
        .ok()
        .stderr;
    assert!(
        said.contains("new inbox") && said.contains("'reviewer'"),
        "{said}"
    );
}

#[test]
fn a_message_to_the_wrong_project_prints_a_warning() {
    let place = Place::with_hub();
    let _waiter = place.waiter(place.hubctl(&["wait", "--project", "app"]));
    let said = place.hubctl(&["notify", "x"]).run().ok().stderr;
    assert!(said.contains("app"), "{said}");
}

#[test]
fn a_cleared_notification_is_no_longer_pending() {
    let place = Place::with_hub();
    place
        .hubctl(&["notify", "--key", "build", "red"])
        .run()
        .ok();
    place
        .hubctl(&["notify", "--from", "other", "--key", "build", "green"])
        .run()
        .ok();
    place.hubctl(&["clear", "--key", "build"]).run().ok();
    assert_eq!(place.inbox("primary").pending, 1, "only the own one");
    place
        .hubctl(&["clear", "--key", "build", "--from-anyone"])
        .run()
        .ok();
    assert_eq!(place.inbox("primary").pending, 0);
}

#[test]
fn one_notification_can_be_cleared_by_its_id() {
    let place = Place::with_hub();
    let id = place.hubctl(&["notify", "--json", "x"]).run().json()["id"].to_string();
    let done = place.hubctl(&["clear", &id]).run().ok();
    assert_eq!(done.stdout, format!("withdrawn: {id}\n"));
    assert_eq!(place.inbox("primary").pending, 0);
}
