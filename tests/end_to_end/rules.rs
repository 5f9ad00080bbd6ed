//! `hubctl rules` and `hubctl rules test`.

use hub_protocol::QuestionState;
use serde_json::json;

use crate::support::{Place, hubctl, until};

/// A rule of each kind: one that notifies, one that runs a program, and one about a session.
const RULES: &str = r#"
[[on]]
name = "red build"
type = ["error"]
from = ["ci*"]
notify = { to = "person", msg = "{from}: {msg}" }

[[on]]
name = "note"
text = "deploy"
run = ["sh", "-c", "echo $HUB_ID >> FILE"]

[[on]]
name = "stuck"
phase = ["blocked"]
for = "1h"
notify = { to = "person", msg = "{from} is stuck" }
"#;

/// A place with a hub with [`RULES`], whose program appends to the file `ran`.
fn place_with_rules() -> Place {
    let mut place = Place::new();
    let ran = place.path("ran").display().to_string();
    place.write("config.toml", RULES.replace("FILE", &ran));
    place.start();
    place
}

#[test]
fn rules_lists_each_rule_with_its_firings_and_what_it_matches_and_does() {
    let place = place_with_rules();
    place.ctl("notify --from ci-7 --type error 'it is red'");
    let rules = place.json("rules --json")["rules"].clone();
    let last = rules[0]["last"].as_str().expect("a time");
    assert_eq!(last.len(), 24, "{last}");
    let never = format!("{:24}", "never");
    let ran = place.path("ran").display().to_string();
    let lines = [
        format!("red build      1 fired, last {last}  type error, from ci*: notify person"),
        format!(
            "note           0 fired, last {never}  text /deploy/: run sh -c echo $HUB_ID >> {ran}"
        ),
        format!("stuck          0 fired, last {never}  phase blocked, for 1h: notify person"),
    ];
    assert_eq!(place.ctl("rules").stdout, lines.join("\n") + "\n");
    let fired = rules.as_array().expect("a list").iter();
    let fired: Vec<_> = fired.map(|it| (&it["name"], &it["fired"])).collect();
    let expected = [("red build", 1), ("note", 0), ("stuck", 0)];
    let expected = expected.map(|(name, fired)| (json!(name), json!(fired)));
    assert!(
        { fired.into_iter() }.eq(expected.iter().map(|(name, fired)| (name, fired))),
        "{rules}"
    );
}

#[test]
fn without_rules_it_says_how_to_write_one() {
    let place = Place::with_hub();
    let done = place.ctl("rules");
    assert_eq!(
        done.stdout,
        "no rules: write an [[on]] table in the hub's config.toml (docs/how-to/rules.md)\n"
    );
    assert_eq!(place.json("rules --json")["rules"], json!([]));
    let done = place.ctl("rules test --since 1d");
    assert_eq!(done.stdout, "no rules to test\n");
    assert_eq!(place.json("rules test --json")["fired"], json!([]));
}

#[test]
fn a_test_lists_what_would_have_fired_and_fires_nothing() {
    let place = Place::with_hub();
    place.ctl("notify --from ci-7 --type error 'it is red'");
    place.ctl("notify --from w1 --type progress 'I deploy it'");
    place.ctl("notify --from w1 --type progress 'all well'");
    let ran = place.path("ran").display().to_string();
    place.write("new.toml", RULES.replace("FILE", &ran));
    let before = place.history("").len();
    let line = format!(
        "rules test --since 1d --config {}",
        place.path("new.toml").display()
    );
    let report = place.json(format!("{line} --json"));
    let fired = report["fired"].as_array().expect("a list").iter();
    let at: Vec<_> = fired.map(|it| it["at"].as_str().expect("a time")).collect();
    let id = |it: usize| report["fired"][it]["notification"].to_string();
    let lines = [
        format!("{}  {:>6}  red build  ci-7: it is red", at[0], id(0)),
        format!("{}  {:>6}  note  w1: I deploy it", at[1], id(1)),
        "note: 1".to_owned(),
        "red build: 1".to_owned(),
        "stuck: 0".to_owned(),
    ];
    assert_eq!(place.ctl(&line).stdout, lines.join("\n") + "\n");
    assert_eq!(
        report["counts"],
        json!({ "note": 1, "red build": 1, "stuck": 0 })
    );
    // Had a rule fired, the person would have a notification, and the program would have been started by then.
    place.ctl("notify --from w1 --type progress 'all well again'");
    assert_eq!(place.history("").len(), before + 1);
    assert!(!place.has("ran"));
    place.ctl("rules").prints("no rules");
}

#[test]
fn a_test_of_the_hubs_own_rules_equals_what_they_did() {
    let place = place_with_rules();
    place.ctl("notify --from ci-7 --type error 'it is red'");
    place.ctl("notify --from w1 'I deploy it'");
    let report = place.json("rules test --since 1d --json");
    let listed = place.json("rules --json");
    for rule in listed["rules"].as_array().expect("a list") {
        let name = rule["name"].as_str().expect("a name");
        assert_eq!(report["counts"][name], rule["fired"], "{report} {listed}");
    }
    let id = report["fired"][0]["notification"].to_string();
    place
        .ctl(format!("trace {id}"))
        .prints("rule 'red build': notify");
}

#[test]
fn a_wrong_file_or_time_is_refused_with_the_reason() {
    let place = Place::with_hub();
    place.write("bad.toml", "[[on]]\nname = 'n'\nfrom = ['x']\nmut = true\n");
    let bad = format!("rules test --config {}", place.path("bad.toml").display());
    let done = place.hubctl(bad).fails(1);
    done.warns("line 4: [[on]] 'n': mut: unknown key, expected one of `name`, `type`");
    let done = place.hubctl("rules test --config /nowhere.toml").fails(1);
    done.warns("cannot read /nowhere.toml");
    place
        .hubctl("rules test --since soon")
        .fails(64)
        .warns("soon");
}

#[test]
fn the_program_of_a_rule_is_no_person_nor_is_what_it_starts() {
    const ANSWERS: &str = r#"
[[on]]
name = "approve"
type = ["approval"]
run = ["sh", "-c", "HUBCTL answer $HUB_ID allow; echo $? >> TOLD; (env -i HUBCTL answer $HUB_ID allow; echo $? end >> TOLD)"]
"#;
    let mut place = Place::new();
    let told = place.path("told").display().to_string();
    let hubctl = format!(
        "{} --state-dir {}",
        hubctl().display(),
        place.state().display()
    );
    let rules = ANSWERS.replace("HUBCTL", &hubctl).replace("TOLD", &told);
    place.write("config.toml", rules);
    place.start();
    let id = place.ctl("ask --approval --from w1 'May I?'").word();
    until("the program has ended", || {
        place.has("told") && place.read("told").contains("end")
    });
    assert_eq!(place.read("told"), "1\n1 end\n");
    assert_eq!(place.questions()[0].state, QuestionState::Open);
    place.hubctl(format!("answer {id} allow")).ok();
}

#[test]
fn a_program_that_other_users_can_change_is_not_run_and_is_reported_with_what_to_do() {
    let mut place = Place::new();
    let program = place.write("note.sh", "#!/bin/sh\necho ran >> \"$0.ran\"\n");
    place.chmod("note.sh", 0o777);
    let rule = format!(
        "[[on]]\nname = 'note'\ntext = 'deploy'\nrun = ['{}']\n",
        program.display()
    );
    place.write("config.toml", rule);
    place.start();
    let fault = format!("run chmod go-w '{}'", program.display());
    place.ctl("rules").prints(&fault);
    place.hubctl("doctor").fails(1).prints(&fault);
    let id = place.json("notify --json deploy")["id"].clone();
    until("it was refused", || {
        let trace = place.hubctl(format!("trace {id}")).run().stdout;
        trace.contains(&fault)
    });
    assert!(!place.has("note.sh.ran"));
    place.chmod("note.sh", 0o755);
    place.ctl("notify --from another deploy");
    until("it ran", || place.has("note.sh.ran"));
    assert!(!place.ctl("rules").stdout.contains("does not run"));
}
