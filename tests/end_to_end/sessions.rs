//! Sessions, and the sender and caller of commands.

use serde_json::json as value;

use crate::fake::{Fake, ok};
use crate::support::{Place, json};

fn say(place: &Place, from: &str, kind: &str, text: &str) {
    place
        .hubctl(&["notify", "--from", from, "--type", kind, text])
        .run()
        .ok();
}

#[test]
fn the_table_shows_state_with_evidence_waiter_pending_and_the_primary() {
    let place = Place::with_hub();
    place.register("lead", &value!({"title": "Plan"}));
    place.register("w1", &value!({"parent": "lead", "cwd": "/src/w1"}));
    say(&place, "w1", "done", "tests pass");
    place.hubctl(&["primary", "--take", "lead"]).run().ok();
    let _waiter = place.waiter(place.hubctl(&["wait", "--inbox", "w1"]));
    let table = place.hubctl(&["sessions"]).run().ok().stdout;
    let row = |name: &str| {
        let row = table
            .lines()
            .find(|row| row.split(' ').next() == Some(name));
        row.unwrap_or_else(|| panic!("{table}")).to_owned()
    };
    assert!(row("lead").starts_with("lead *"), "{table}");
    let lead = row("lead");
    assert!(lead.contains("  none    1  "), "{table}");
    for part in ["complete (", " s ago)", "live", "lead", "/src/w1"] {
        assert!(row("w1").contains(part), "{part}: {table}");
    }
}

#[test]
fn ended_sessions_are_listed_on_demand() {
    let place = Place::with_hub();
    place.register("w1", &value!({}));
    say(&place, "w1", "ended", "bye");
    let listed = |args: &[&str]| {
        let all = place.hubctl(args).run().json();
        all["sessions"].as_array().unwrap().len()
    };
    assert_eq!(listed(&["sessions", "--json"]), 0);
    assert_eq!(listed(&["sessions", "--json", "--all"]), 1);
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
    let ask = ["ask", "--from", "w1", "Which?", "--option", "a"];
    let id = place.hubctl(&ask).run().ok().stdout;
    let before = place.hubctl(&["sessions", "--json"]).run().json();
    let shown = place.hubctl(&["look", "w"]).run().ok().stdout;
    for part in [
        "blocked (",
        "/src/w1",
        "tmux select-window -t '%7'",
        "[1] a",
        &format!("hubctl answer {}", id.trim()),
        "step 6",
        "step 3",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("step 2"), "only the last five: {shown}");
    let after = place.hubctl(&["sessions", "--json"]).run().json();
    assert_eq!(before, after, "nobody listens since");
}

#[test]
fn an_unknown_session_is_refused_with_the_nearest_name() {
    let place = Place::with_hub();
    place.register("worker", &value!({}));
    let done = place.hubctl(&["look", "wroker"]).run();
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("did you mean 'worker'?"), "{done:?}");
}

#[test]
fn a_session_takes_the_primary_role() {
    let place = Place::with_hub();
    let nobody = place.hubctl(&["primary"]).run().ok().stdout;
    assert!(nobody.contains("no session"), "{nobody}");
    place.register("lead", &value!({}));
    let take = place.hubctl(&["primary", "--take"]);
    take.env("HUB_SESSION", "lead").run().ok();
    let found = place.hubctl(&["primary", "--json"]).run().json();
    assert_eq!(found["primary"]["id"], "lead");
    assert_eq!(place.hubctl(&["primary", "--take"]).run().code, Some(64));
}

#[test]
fn a_caller_without_a_name_acts_as_the_session_that_started_it() {
    let place = Place::with_hub();
    let start = r#"{"hook_event_name":"SessionStart","session_id":"s1","cwd":"/"}"#;
    place.hubctl(&["hook", "claude"]).stdin(start).run().ok();
    let shown = place.hubctl(&["notify", "--dry-run", "--json", "x"]).run();
    let rule = &shown.json()["rules"]["from"];
    assert_eq!(rule["value"], "s1");
    assert_eq!(rule["source"], "session of an ancestor process");
}

/// Returns a place with an agent that has no variable of its own: its hooks have registered a session whose process is
/// this test's.
fn with_a_session() -> Place {
    let place = Place::with_hub();
    let start = r#"{"hook_event_name":"SessionStart","session_id":"s1","cwd":"/"}"#;
    place.hubctl(&["hook", "claude"]).stdin(start).run().ok();
    place
}

#[test]
fn a_session_without_a_variable_waits_asks_answers_and_listens_as_itself() {
    let place = with_a_session();
    let config = place.hubctl(&["config", "--json"]).run().json();
    assert_eq!(config["from"]["value"], "s1");
    assert_eq!(config["inboxes"]["value"], "s1");
    say(&place, "ci", "info", "for the primary");
    let to_itself = ["notify", "--from", "ci", "--to", "s1", "for itself"];
    place.hubctl(&to_itself).run().ok();
    let waited = place.hubctl(&["wait", "--timeout", "5"]).run().ok();
    assert_eq!(waited.messages(), ["for itself"]);

    let asked = place.hubctl(&["ask", "Which?"]).run().ok();
    assert_eq!(asked.stderr, "", "the answer comes to its own inbox");
    let own = place.hubctl(&["answer", asked.stdout.trim(), "me"]).run();
    assert_eq!(own.code, Some(1), "{own:?}");
    assert!(own.stderr.contains("their own question"), "{own:?}");

    place.register("w1", &value!({}));
    place.hubctl(&["listen", "w1", "--fresh"]).run().ok();
    place.hubctl(&["expect", "w2", "--within", "1h"]).run().ok();
    for (name, listeners) in [("w1", "s1"), ("w2", "s1")] {
        let listened = place.hubctl(&["unlisten", name]).run().ok();
        assert_eq!(
            listened.stdout,
            format!("{listeners} no longer listens to {name}\n")
        );
    }
    let woken = place.hubctl(&["status", "--json"]).run();
    assert_eq!(json(&woken.stdout)["inboxes"][0]["name"], "s1");
}

fn sender(call: crate::support::Call) -> (String, String) {
    let shown = call
        .args(&["notify", "--dry-run", "--json", "x"])
        .run()
        .json();
    let rule = &shown["rules"]["from"];
    let text = |name: &str| rule[name].as_str().unwrap().to_owned();
    (text("value"), text("source"))
}

#[test]
fn a_shell_in_a_worktree_does_not_get_the_name_of_the_worktrees_session() {
    let place = Place::with_hub();
    place
        .sh("git init -q ../app && mkdir ../app/src && cd ../app && \
             git -c user.name=t -c user.email=t commit -q --allow-empty -m x && git worktree add -q ../side")
        .run()
        .ok();
    place.register("s1", &value!({"cwd": place.path("app"), "name": "app"}));
    place.register("s2", &value!({"cwd": place.path("side"), "name": "side"}));
    for dir in ["app/src", "side", "work"] {
        let call = place.hubctl(&[]).env("LOGNAME", "ada");
        let (name, source) = sender(call.within(&place.path(dir)));
        assert!(name.starts_with("ada@"), "{dir}: {name}");
        assert_eq!(source, "login name, outside any agent");
    }
    let reserved = place.hubctl(&["notify", "x"]).env("HUB_SESSION", "person");
    let refused = reserved.run();
    assert_eq!(refused.code, Some(64), "{refused:?}");
}

#[test]
fn a_notification_from_a_persons_shell_creates_no_session() {
    let place = Place::with_hub();
    let error = place.hubctl(&["notify", "--type", "error", "oh"]);
    error.env("LOGNAME", "ada").run().ok();
    let all = place.hubctl(&["sessions", "--all", "--json"]).run().json();
    assert_eq!(all["sessions"], value!([]));
    let said = place.hubctl(&["history", "--json", "--after", "0"]).run();
    let from = said.ok().lines()[0]["from"].as_str().unwrap().to_owned();
    assert!(from.starts_with("ada@"), "{from}");
}

#[test]
fn in_an_agents_directory_its_id_is_the_sender_and_not_the_worktrees_name() {
    let place = Place::with_hub();
    place
        .sh("git init -q ../app && cd ../app && \
             git -c user.name=t -c user.email=t commit -q --allow-empty -m x && \
             git worktree add -q .ittybitty/agents/agent-7/repo && \
             echo '{\"id\": \"agent-7\"}' > .ittybitty/agents/agent-7/meta.json")
        .run()
        .ok();
    let repo = place.path("app/.ittybitty/agents/agent-7/repo");
    let (name, _) = sender(place.hubctl(&[]).within(&repo));
    assert_eq!(name, "agent-7");
    let to = ["notify", "--from", "ci", "--to", "agent-7", "for it"];
    place.hubctl(&to).within(&repo).run().ok();
    let wait = place.hubctl(&["wait", "--timeout", "5"]).within(&repo);
    assert_eq!(wait.run().ok().messages(), ["for it"]);
}

#[test]
fn if_the_hub_is_too_slow_to_name_the_session_no_command_acts_as_the_person() {
    let place = Place::new();
    let busy = "HTTP/1.1 503 x\r\ncontent-length: 2\r\n\r\n{}";
    let _hub = Fake::new(&place, move |_| busy.into());
    let call = || place.hubctl(&[]).env("LOGNAME", "ada");
    let (name, _) = sender(call());
    assert_eq!(name, "unknown");
    for args in [
        &["wait", "--timeout", "1"][..],
        &["listen", "w1"],
        &["answer", "1", "yes"],
    ] {
        let done = call().args(args).run();
        assert!(![0, 4].contains(&done.code.unwrap()), "{args:?}: {done:?}");
    }
    place.hubctl(&["config"]).run().ok();
}

#[test]
fn an_agents_process_cannot_approve_under_any_name() {
    let place = with_a_session();
    let ask = place.hubctl(&["ask", "--approval", "--from", "w1", "May I?"]);
    let id = ask.run().ok().stdout.trim().to_owned();
    let answer = || place.hubctl(&["answer", &id, "allow"]);
    for call in [
        answer(),
        answer().env("HUB_SESSION", "someone"),
        place.hubctl(&["--url", place.url(), "answer", &id, "allow"]),
        place.sh(&format!(
            "curl -sf --unix-socket ../state/hub.sock -d '{{\"answer\":\"allow\"}}' http://localhost/questions/{id}/answer"
        )),
    ] {
        let done = call.run();
        assert_ne!(done.code, Some(0), "{done:?}");
        if !done.stderr.is_empty() {
            assert!(done.stderr.contains("hubctl answer"), "{done:?}");
        }
    }
    let all = place.hubctl(&["questions", "--json"]).run().json();
    assert_eq!(all["questions"][0]["state"], "open");
}

#[test]
fn an_approval_is_accepted_only_from_a_terminal_that_no_agent_started() {
    let place = Place::with_hub();
    let ask = place.hubctl(&["ask", "--approval", "--from", "w1", "May I?"]);
    let id = ask.run().ok().stdout.trim().to_owned();
    let answer = || place.hubctl(&["answer", &id, "allow"]);
    let agents = answer().env("CLAUDECODE", "1").run();
    assert_eq!(agents.code, Some(1), "{agents:?}");
    // A claimed session is not evidence.
    answer().env("HUB_SESSION", "someone").run().ok();
}

#[test]
fn a_message_to_an_ended_or_unknown_session_says_so() {
    let place = Place::with_hub();
    place.register("0b1c-7d", &value!({"name": "f8-w"}));
    let send = || place.hubctl(&["notify", "--from", "ci", "--to", "f8-w", "--json", "hi"]);
    assert_eq!(send().run().ok().stderr, "");
    say(&place, "0b1c-7d", "ended", "bye");
    let dead = send().run().ok();
    assert_eq!(
        dead.stderr,
        "hubctl: session 'f8-w' is over: nobody reads its inbox unless it is resumed\n"
    );
    assert_eq!(json(&dead.stdout)["inboxes"][0]["over"], true);
    let plain = place.hubctl(&["notify", "--from", "ci", "--to", "f8-w", "hi"]);
    let plain = plain.run().ok().stdout;
    assert!(
        plain.contains("stored for f8-w") && !plain.contains("0b1c"),
        "{plain}"
    );

    place.register("99aa-1f", &value!({"name": "f8-w"}));
    let live = send().run().ok();
    assert_eq!(live.stderr, "");
    assert_eq!(json(&live.stdout)["inboxes"][0]["name"], "99aa-1f");

    let unknown = place.hubctl(&["notify", "--from", "ci", "--to", "f8-x", "--json", "hi"]);
    let unknown = unknown.run().ok();
    assert!(
        unknown.stderr.contains("'f8-x' is a new inbox"),
        "{unknown:?}"
    );
    assert_eq!(json(&unknown.stdout)["inboxes"][0]["created"], true);
}

#[test]
fn a_caller_with_a_name_does_not_ask_the_hub_for_one() {
    let place = Place::new();
    let fake = Fake::new(&place, |_| {
        ok(r#"{"id":1,"project":"default","inboxes":[],"woken":0}"#)
    });
    place.hubctl(&["notify", "--from", "ci", "x"]).run().ok();
    let named = place.hubctl(&["notify", "x"]).env("HUB_SESSION", "s1");
    named.run().ok();
    let lines: Vec<String> = fake.asked().into_iter().map(|it| it.line).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(json(&fake.asked()[1].body)["from"], "s1");
}
