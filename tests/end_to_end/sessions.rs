//! Sessions, and the sender and caller of commands.

use serde_json::{Value, json as value};

use crate::fake::{Fake, http, ok};
use crate::support::{Call, Place, json, until};

const COMMIT: &str = "git -c user.name=t -c user.email=t commit -q --allow-empty -m x";

fn say(place: &Place, from: &str, kind: &str, text: &str) {
    place.ctl(format!("notify --from {from} --type {kind} '{text}'"));
}

#[test]
fn the_table_shows_state_with_evidence_waiter_pending_and_the_primary() {
    let place = Place::with_hub();
    place.register("lead", &value!({"title": "Plan"}));
    place.register("w1", &value!({"parent": "lead", "cwd": "/src/w1"}));
    say(&place, "w1", "done", "tests pass");
    place.ctl("primary --take lead");
    let _waiter = place.waiter("wait --inbox w1");
    let table = place.ctl("sessions").stdout;
    let row = |name: &str| {
        table
            .lines()
            .find(|row| row.split(' ').next() == Some(name))
            .unwrap()
    };
    assert!(row("lead").starts_with("lead *"), "{table}");
    assert!(row("lead").contains("  none    1  "), "{table}");
    for part in ["done (", " s)", "tests pass", "live", "lead", "/src/w1"] {
        assert!(row("w1").contains(part), "{part}: {table}");
    }
}

/// Registers the session `name` in `project`.
fn register_in(place: &Place, project: &str, name: &str) {
    let script = format!(
        "curl -sf --unix-socket '{}' -X PUT -d '{{}}' 'http://localhost/sessions/{name}?project={project}'",
        place.state().join("hub.sock").display()
    );
    place.sh(&script).ok();
}

#[test]
fn outside_of_a_repository_the_sessions_of_all_projects_are_listed_by_project() {
    let place = Place::with_hub();
    for (project, name) in [("b", "two"), ("a", "three"), ("b", "one"), ("a", "four")] {
        register_in(&place, project, name);
    }
    let table = place.ctl("sessions").stdout;
    let names = table
        .lines()
        .skip(1)
        .filter_map(|row| row.split(' ').next());
    assert_eq!(names.collect::<Vec<_>>(), ["four", "three", "one", "two"]);
    assert!(
        table.contains("in a\n") && table.contains("in b\n"),
        "{table}"
    );
    let none = place.hubctl("sessions --project c").ok();
    none.warns("no sessions in this project, 4 in others: `hubctl sessions --all-projects`");
    place.ctl("notify --to one --project b hello");
    let none = place.hubctl("inboxes --project c").ok();
    none.warns("no inboxes in this project, 1 in others: `hubctl inboxes --all-projects`");
    let of = |call: Call| {
        let done = call.ok();
        json(&done.stdout)["sessions"]
            .as_array()
            .expect("a list")
            .len()
    };
    assert_eq!(of(place.hubctl("sessions --json --project a")), 2);
    assert_eq!(
        of(place.hubctl("sessions --json").env("HUB_PROJECT", "c")),
        0
    );
    place.sh("git init -q").ok();
    assert_eq!(
        of(place.hubctl("sessions --json")),
        0,
        "a repository is a project"
    );
}

#[test]
fn a_name_of_another_project_is_found_there() {
    let place = Place::with_hub();
    register_in(&place, "other", "w1");
    let where_ = "'w1' is in project 'other'";
    for line in ["go w1", "wake-test w1", "look w1", "listen w1"] {
        place.hubctl(line).fails(1).warns(where_);
    }
    let sent = place.hubctl("notify --to w1 hello").ok();
    sent.warns("no session 'w1' in project 'default', but one in project 'other'");
    let known = place.hubctl("notify --project other --to w1 hello").ok();
    assert!(!known.stderr.contains("no session"), "{}", known.stderr);
}

#[test]
fn a_name_that_only_a_sender_gave_itself_is_listed_until_it_has_completed() {
    let place = Place::with_hub();
    let listed = || {
        place.json("sessions --json")["sessions"]
            .as_array()
            .expect("a list")
            .len()
    };
    say(&place, "ci", "progress", "it builds");
    assert_eq!(listed(), 1);
    say(&place, "ci", "complete", "built");
    assert_eq!(listed(), 0);
    place.ctl("sessions --all").prints("ci ");
}

#[test]
fn look_shows_everything_and_changes_nothing() {
    let place = Place::with_hub();
    place.register(
        "w1",
        &value!({"host": "box", "cwd": "/src/w1", "pane": "%7"}),
    );
    for n in 1..=6 {
        say(&place, "w1", "progress", &format!("step {n}"));
    }
    let id = place.ctl("ask --from w1 Which? --option a").word();
    let before = place.json("sessions --json");
    let shown = place.ctl("look w");
    let shown = shown.prints("blocked (").prints("/src/w1");
    let shown = shown.prints("%7; to show it: hubctl go w1");
    let shown = shown.prints("[1] a").prints(&format!("hubctl answer {id}"));
    let shown = shown.prints("step 6").prints("step 3").stdout;
    assert!(!shown.contains("step 2"), "only the last five: {shown}");
    let expected = place.json("sessions --json");
    assert_eq!(before, expected, "nobody listens since");
}

#[test]
fn go_shows_the_pane_of_a_session_or_says_what_to_do() {
    let place = Place::with_hub();
    let inner = r#"tmux -S "$PWD/inner.sock" -f /dev/null"#;
    let outer = r#"tmux -S "$PWD/outer.sock" -f /dev/null"#;
    let run = format!(
        "{} run --session w1 -- sleep 600",
        env!("CARGO_BIN_EXE_hubctl")
    );
    let start = format!("{inner} new-session -d sleep 600 \\; new-window -d '{run}'");
    place.sh(&start).ok();
    until("the session is registered", || {
        place.ctl("sessions").stdout.contains("w1")
    });
    let shown = place.ctl("go w1");
    shown
        .prints("no terminal shows tmux")
        .prints("inner.sock' attach -t '%1'");
    place
        .sh(&format!(
            "{outer} new-session -d 'env -u TMUX {inner} attach'"
        ))
        .ok();
    until("a terminal shows it", || {
        place.json("go w1 --json")["attached"] == true
    });
    place.ctl("go w1").prints("pane %1 of w1 is active");
    place
        .sh(&format!("{outer} kill-server; {inner} kill-server"))
        .ok();
    place.register("w2", &value!({"cwd": "/src/w2"}));
    let refused = place.hubctl("go w2").fails(1);
    let why = "it reported no tmux pane";
    assert!(
        refused.stderr.contains(why) && refused.stderr.contains("hubctl look"),
        "{refused:?}"
    );
    assert!(place.hubctl("go nobody").fails(1).stderr.contains("nobody"));
}

#[test]
fn a_session_takes_the_primary_role() {
    let place = Place::with_hub();
    place.ctl("primary").prints("no session");
    place.sessions(&["lead"]);
    place.by("lead", "primary --take").ok();
    let found = place.json("primary --json");
    assert_eq!(found["primary"]["id"], "lead");
    place.hubctl("primary --take").fails(64);
}

/// Returns a place with an agent that has no variable of its own: its hooks have registered a session whose process is
/// this test's.
fn with_a_session() -> Place {
    let place = Place::with_hub();
    let start = r#"{"hook_event_name":"SessionStart","session_id":"s1","cwd":"/"}"#;
    place.hubctl("hook claude").stdin(start).ok();
    place
}

/// Returns the sender of a call's notification, and where the name comes from.
fn sender(call: Call) -> [String; 2] {
    let shown = call.args(&["notify", "--dry-run", "--json", "x"]).json();
    ["value", "source"].map(|part| shown["rules"]["from"][part].as_str().unwrap().to_owned())
}

#[test]
fn a_session_without_a_variable_waits_asks_answers_and_listens_as_itself() {
    let place = with_a_session();
    let expected = ["s1", "session of an ancestor process"];
    assert_eq!(sender(place.hubctl("")), expected);
    let config = place.json("config --json");
    assert_eq!(config["from"]["value"], "s1");
    assert_eq!(config["inboxes"]["value"], "s1");
    say(&place, "ci", "info", "for the primary");
    place.ctl("notify --from ci --to s1 'for itself'");
    let waited = place.ctl("wait --timeout 5");
    assert_eq!(waited.messages(), ["for itself"]);

    // The answer comes to its own inbox.
    let id = place.ctl("ask Which?").warns_of_nothing().word();
    let own = place.hubctl(format!("answer {id} me")).fails(1);
    own.warns("its own question");

    place.sessions(&["w1"]);
    place.ctl("listen w1 --fresh");
    place.ctl("expect w2 --within 1h");
    for name in ["w1", "w2"] {
        let listened = place.ctl(format!("unlisten {name}"));
        assert_eq!(listened.stdout, format!("s1 no longer listens to {name}\n"));
    }
    let woken = place.hubctl("status --json").run();
    assert_eq!(json(&woken.stdout)["inboxes"][0]["name"], "s1");
}

#[test]
fn a_shell_in_a_worktree_does_not_get_the_name_of_the_worktrees_session() {
    let place = Place::with_hub();
    let repository = "git init -q ../app && mkdir ../app/src && cd ../app";
    place
        .sh(&format!(
            "{repository} && {COMMIT} && git worktree add -q ../side"
        ))
        .ok();
    place.register("s1", &value!({"cwd": place.path("app"), "name": "app"}));
    place.register("s2", &value!({"cwd": place.path("side"), "name": "side"}));
    for dir in ["app/src", "side", "work"] {
        let call = place.hubctl("").env("LOGNAME", "ada");
        let [name, source] = sender(call.within(&place.path(dir)));
        assert!(name.starts_with("ada@"), "{dir}: {name}");
        assert_eq!(source, "login name, outside any agent");
    }
    place.by("person", "notify x").fails(64);
}

#[test]
fn a_notification_from_a_persons_shell_creates_no_session() {
    let place = Place::with_hub();
    let call = place.hubctl("notify --type error oh").env("LOGNAME", "ada");
    call.ok();
    let all = place.json("sessions --all --json");
    assert_eq!(all["sessions"], value!([]));
    let from = &place.history("")[0].from;
    assert!(from.as_str().starts_with("ada@"), "{from}");
}

#[test]
fn in_an_agents_directory_its_id_is_the_sender_and_not_the_worktrees_name() {
    let place = Place::with_hub();
    let agent = "app/.ittybitty/agents/agent-7";
    let worktree = format!("git worktree add -q ../{agent}/repo");
    place
        .sh(&format!(
            "git init -q ../app && cd ../app && {COMMIT} && {worktree}"
        ))
        .ok();
    place.write(&format!("{agent}/meta.json"), r#"{"id": "agent-7"}"#);
    let repo = place.path(&format!("{agent}/repo"));
    assert_eq!(sender(place.hubctl("").within(&repo))[0], "agent-7");
    let call = place.hubctl("notify --from ci --to agent-7 'for it'");
    call.within(&repo).ok();
    let wait = place.hubctl("wait --timeout 5").within(&repo);
    assert_eq!(wait.ok().messages(), ["for it"]);
}

#[test]
fn if_the_hub_is_too_slow_to_name_the_session_no_command_acts_as_the_person() {
    let place = Place::new();
    let _hub = Fake::new(&place, |_| http("503 x", "", "{}"));
    let call = |line| place.hubctl(line).env("LOGNAME", "ada");
    assert_eq!(sender(call(""))[0], "unknown");
    for line in ["wait --timeout 1", "listen w1", "answer 1 yes"] {
        let done = call(line).run();
        assert!(![0, 4].contains(&done.code.unwrap()), "{line}: {done:?}");
    }
    place.ctl("config");
}

#[test]
fn an_agents_process_cannot_approve_under_any_name() {
    let place = with_a_session();
    let id = place.ctl("ask --approval --from w1 'May I?'").word();
    let answer = format!("answer {id} allow");
    let curl = "curl -sf --unix-socket ../state/hub.sock";
    let url = format!("http://localhost/needs/{id}/answer");
    for call in [
        place.hubctl(&answer),
        place.by("someone", &answer),
        place.hubctl(format!("--url {} {answer}", place.url())),
        place.sh(&format!("{curl} -d '{{\"verdict\":\"allow\"}}' {url}")),
    ] {
        let done = call.run();
        assert_ne!(done.code, Some(0), "{done:?}");
        // curl says nothing.
        let told = done.stderr.is_empty() || done.stderr.contains("hubctl answer");
        assert!(told, "{done:?}");
    }
    let all = place.json("questions --json");
    assert_eq!(all["questions"][0]["state"], "open");
}

#[test]
fn a_message_to_an_ended_or_unknown_session_says_so() {
    let place = Place::with_hub();
    place.register("0b1c-7d", &value!({"name": "f8-w"}));
    let send = |to: &str| place.ctl(format!("notify --from ci --to {to} --json hi"));
    let inbox = |json: Value| json["inboxes"][0].clone();
    send("f8-w").warns_of_nothing();
    say(&place, "0b1c-7d", "ended", "bye");
    let dead = send("f8-w");
    let over = "hubctl: session 'f8-w' is over: nobody reads its inbox unless it is resumed\n";
    assert_eq!(dead.stderr, over);
    assert_eq!(inbox(dead.json())["over"], true);
    let plain = place.ctl("notify --from ci --to f8-w hi");
    let plain = plain.prints("stored for f8-w");
    assert!(!plain.stdout.contains("0b1c"), "{plain:?}");

    place.register("99aa-1f", &value!({"name": "f8-w"}));
    let live = send("f8-w").warns_of_nothing();
    assert_eq!(inbox(live.json())["name"], "99aa-1f");

    let unknown = send("f8-x").warns("'f8-x' is a new inbox");
    assert_eq!(inbox(unknown.json())["created"], true);
}

#[test]
fn a_caller_with_a_name_does_not_ask_the_hub_for_one() {
    let place = Place::new();
    let published = r#"{"id":1,"project":"default","inboxes":[],"woken":0}"#;
    let fake = Fake::new(&place, move |_| ok(published));
    place.ctl("notify --from ci x");
    place.by("s1", "notify x").ok();
    assert_eq!(fake.lines().len(), 2, "{:?}", fake.lines());
    assert_eq!(json(&fake.asked()[1].body)["from"], "s1");
}
