//! `hubctl notify` and `hubctl clear`.

use crate::support::{Place, json};

#[test]
fn a_notification_has_every_field_of_its_options() {
    let place = Place::with_hub();
    place.ctl("notify first");
    let published = place.json(concat!(
        r#"notify --json --from w1 --to ops --type done --priority high --project app --title T "#,
        r#"--data {"n":1} --key k --ttl 1h --reply-to 1 --parent p1 --session s1 two words"#
    ));
    assert_eq!(published["project"], "app");
    assert_eq!(published["woken"], 0);
    let stored = place.json("history --json --limit 1");
    let expected = json(
        r#"{"from":"w1","to":"ops","type":"complete","priority":"high","project":"app","title":"T",
            "data":{"n":1},"key":"k","reply_to":1,"parent":"p1","session":"s1","msg":"two words"}"#,
    );
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&stored[name], value, "{name}");
    }
}

#[test]
fn a_dry_run_prints_the_record_and_its_rules_and_stores_nothing() {
    let place = Place::with_hub();
    let run = |line| {
        let call = place.hubctl(line).env("CLAUDE_CODE_SESSION_ID", "0b1c");
        call.ok()
    };
    let shown = run("notify --dry-run --json --to ops x").json();
    assert_eq!(shown["record"]["from"], "0b1c");
    assert_eq!(shown["rules"]["from"]["source"], "CLAUDE_CODE_SESSION_ID");
    assert_eq!(shown["rules"]["to"]["source"], "--to");
    assert_eq!(shown["rules"]["project"]["value"], "default");
    run("notify --dry-run x").prints("0b1c  (CLAUDE_CODE_SESSION_ID)");
    assert!(place.said().is_empty());
}

#[test]
fn a_new_inbox_is_reported_with_the_nearest_known_one() {
    let place = Place::with_hub();
    place.ctl("notify --to reviewer x");
    let done = place.ctl("notify --to reviwer x");
    done.warns("new inbox").warns("'reviewer'");
}

#[test]
fn a_message_to_the_wrong_project_prints_a_warning() {
    let place = Place::with_hub();
    let _waiter = place.waiter("wait --project app");
    place.ctl("notify x").warns("app");
}

#[test]
fn an_inbox_says_for_how_long_its_oldest_notification_waits() {
    let place = Place::with_hub();
    place.ctl("notify x");
    let shown = place.ctl("inboxes").stdout;
    let (_, waited) = shown
        .split_once("1 pending, the oldest for ")
        .expect(&shown);
    assert!(
        waited
            .split(' ')
            .nth(1)
            .is_some_and(|unit| unit.starts_with("s;")),
        "{shown}"
    );
}

#[test]
fn a_cleared_notification_is_no_longer_pending() {
    let place = Place::with_hub();
    place.ctl("notify --key build red");
    place.ctl("notify --from other --key build green");
    place.ctl("clear --key build");
    assert_eq!(place.inbox("primary").pending, 1, "only the own one");
    place.ctl("clear --key build --from-anyone");
    assert_eq!(place.inbox("primary").pending, 0);
    let id = place.json("notify --json x")["id"].to_string();
    let done = place.ctl(format!("clear {id}"));
    assert_eq!(done.stdout, format!("withdrawn: {id}\n"));
    assert_eq!(place.inbox("primary").pending, 0);
}
