//! Who asks: what the kernel shows of a caller decides, and no claim of a request.

use std::path::Path;

use hub_harness::{registration, request};
use hub_protocol::QuestionState;
use serde_json::{Value, json};

use crate::support::{Place, until};

mod victim;

/// A place with an open approval that no agent may give; returns its number.
fn asked() -> (Place, u64) {
    let place = Place::with_hub();
    let ask = json!({ "type": "approval", "from": "worker", "msg": "rm -rf build", "project": "default" });
    place
        .sh(&request(&socket(&place), "POST", "/notify", &ask))
        .ok();
    let id = place.questions()[0].id;
    (place, id)
}

fn socket(place: &Place) -> std::path::PathBuf {
    place.state().join("hub.sock")
}

/// Runs a script as the agent `me`, whose process is the shell that runs it, to the end of what it started.
fn as_agent(place: &Place, script: &str) -> String {
    let register = registration(&socket(place), "me", &json!({}));
    let _ = std::fs::remove_file(place.path("work/done"));
    place
        .sh(&format!("{register} >/dev/null && {script}"))
        .run();
    until("the command has ended", || place.has("work/done"));
    place.read("work/out")
}

/// The hub's answer to a command that the agent `me` runs.
fn said_to_agent(place: &Place, command: &str) -> String {
    let quoted = command.replace('\'', "'\\''");
    as_agent(
        place,
        &format!("sh -c '{quoted}; true' >out 2>&1; touch done"),
    )
}

/// Whether an agent that runs `way` with the answer as `$A` gives the approval.
fn approves(place: &Place, id: u64, way: &str) -> bool {
    let answer = format!("hubctl answer {id} allow >out 2>&1; touch done");
    place.write("work/answer.sh", &answer);
    as_agent(place, &way.replace("ANSWER", "sh ./answer.sh"));
    let open = place.questions();
    !open
        .iter()
        .any(|it| it.id == id && it.state == QuestionState::Open)
}

#[test]
fn in_no_way_does_an_agent_approve() {
    let (place, id) = asked();
    let socket = socket(&place);
    let put = |body: Value| request(&socket, "PUT", "/sessions/me", &body);
    let mut other = place.hubctl("wait --inbox other --timeout 600").spawn();
    let others = other.child().id();
    for (way, command) in [
        ("a shell", "ANSWER".to_owned()),
        ("exec", "sh -c 'exec sh ./answer.sh'".to_owned()),
        (
            "another process",
            format!("{}; ANSWER", put(json!({ "process": { "pid": 1 } }))),
        ),
        (
            "a foreign process",
            format!("{}; ANSWER", put(json!({ "process": { "pid": others } }))),
        ),
        (
            "an end",
            format!(
                "{}; ANSWER",
                request(&socket, "DELETE", "/sessions/me", &json!({}))
            ),
        ),
        ("setsid", "setsid -f ANSWER".to_owned()),
        (
            "setsid twice",
            "setsid -f sh -c 'setsid -w sh ./answer.sh; true'".to_owned(),
        ),
        ("a double fork", "(ANSWER &) & wait".to_owned()),
        (
            "a terminal of its own",
            "setsid -f script -qec 'sh ./answer.sh' /dev/null".to_owned(),
        ),
        (
            "tmux",
            "env -u TMUX tmux -S ./tmux -f /dev/null new-session -d 'sh ./answer.sh'".to_owned(),
        ),
        (
            "a PID namespace",
            "unshare -rpf --mount-proc sh -c 'sh ./answer.sh; true'".to_owned(),
        ),
    ] {
        // Detached ones outlive the agent's shell, unless it waits.
        let waits =
            format!("{command}; for i in $(seq 200); do [ -e done ] && break; sleep 0.05; done");
        assert!(
            !approves(&place, id, &waits),
            "{way}: {}",
            place.read("work/out")
        );
    }
    place.ctl(format!("answer {id} allow"));
}

#[test]
fn every_process_that_runs_a_session_is_an_agents() {
    let (place, id) = asked();
    let mut first = hub_harness::session_process(&socket(&place), "me");
    assert!(!approves(&place, id, "ANSWER"), "the second one is none");
    first.kill().unwrap();
    first.wait().unwrap();
}

#[test]
fn a_job_that_no_terminal_shows_is_nobody() {
    let (place, id) = asked();
    let job = |shell: &str| format!("setsid -w {shell} -c 'hubctl answer {id} allow; true'");
    for starter in ["cron", "atd"] {
        place.install(Path::new("/bin/sh"), starter);
        let refused = place.sh(&job(&format!("../{starter}"))).run();
        refused.warns("only a person speaks as 'person'");
    }
    assert_eq!(place.questions()[0].id, id);
    place.sh(&job("sh")).ok().warns_of_nothing();
}

#[test]
fn an_orphan_of_an_agent_is_nobody_with_and_without_a_terminal_of_its_own() {
    let (place, id) = asked();
    let wait = "while [ ! -e go ]; do sleep 0.02; done";
    let left = format!("{wait}; hubctl answer {id} allow >out 2>&1; touch done");
    place.write("work/left.sh", left);
    let register = registration(&socket(&place), "me", &json!({}));
    for way in [
        "sh ./left.sh",
        "script -qec 'sh ./left.sh' /dev/null",
        "sh -c 'script -qec \"sh ./left.sh\" /dev/null; true'",
    ] {
        for made in ["work/go", "work/done"] {
            let _ = std::fs::remove_file(place.path(made));
        }
        let script = format!("{register} >/dev/null && setsid -f {way} </dev/null >/dev/null 2>&1");
        place.sh(&script).ok();
        place.write("work/go", "");
        until("it has tried", || place.has("work/done"));
        let said = place.read("work/out");
        assert!(
            said.contains("only a person speaks as 'person'"),
            "{way}: {said}"
        );
        assert_eq!(place.questions()[0].id, id);
    }
}

#[test]
fn a_command_that_tmux_runs_by_itself_is_nobody() {
    let (place, id) = asked();
    let command = format!("hubctl answer {id} allow >out 2>&1; touch done");
    place.write("work/key.sh", command);
    let tmux = "env -u TMUX tmux -S ./tmux -f /dev/null";
    let run = format!("{tmux} new-session -d 'sleep 60' \\; run-shell 'sh ./key.sh'");
    place.sh(&run).ok();
    until("it has tried", || place.has("work/done"));
    place.sh(&format!("{tmux} kill-server")).ok();
    let said = place.read("work/out");
    assert!(said.contains("only a person speaks as 'person'"), "{said}");
}

#[test]
fn in_a_pid_namespace_an_agent_is_known_by_its_number_there() {
    let (place, id) = asked();
    let register = registration(&socket(&place), "inner", &json!({}));
    let script = format!("{register} >/dev/null; hubctl answer {id} allow; true");
    place.write("work/inner.sh", &script);
    let refused = place.sh("unshare -rpf --mount-proc sh ./inner.sh").run();
    refused.warns("only a person speaks as 'person'");
    assert_eq!(place.questions()[0].id, id);
    let inner = place.json("sessions --all --json")["sessions"][0]["process"]["pid"].clone();
    assert!(inner.as_u64().is_some_and(|pid| pid > 1), "{inner}");
}

#[test]
fn a_process_counts_only_for_what_runs_below_it() {
    let place = Place::with_hub();
    let socket = socket(&place);
    let process = |id: &str| {
        let listed = place.json("sessions --all --json");
        let all = listed["sessions"].as_array().expect("a list").clone();
        let found = all.into_iter().find(|it| it["id"] == id);
        found.expect("a session")["process"]["pid"].clone()
    };
    let mut victim = hub_harness::session_process(&socket, "victim");
    assert_eq!(process("victim"), victim.id());
    let claim = |id: &str, pid: u32| {
        let info = json!({ "process": { "pid": pid }, "pane": "%0", "pane_delivery": true });
        place
            .sh(&request(&socket, "PUT", &format!("/sessions/{id}"), &info))
            .ok();
        let hook = json!({ "hook_event_name": "SessionStart", "session_id": id });
        let path = format!("/hooks/claude?pid={pid}&pane=%250&pane_delivery=true");
        place.sh(&request(&socket, "POST", &path, &hook)).ok();
    };
    claim("thief", victim.id());
    assert_eq!(process("thief"), Value::Null, "another's process");
    claim("victim", std::process::id());
    assert_eq!(process("victim"), victim.id(), "another names this one's");
    let info = json!({ "process": { "pid": std::process::id() } });
    said_to_agent(&place, &request(&socket, "PUT", "/sessions/above", &info));
    assert_eq!(process("above"), Value::Null, "what the agent runs in");
    let shown = place.json("sessions --all --json")["sessions"].to_string();
    assert!(!shown.contains("pane_delivery\":true"), "{shown}");
    victim.kill().unwrap();
    victim.wait().unwrap();
}

#[test]
fn an_agent_gets_no_sign_in_code_and_changes_nothing_of_the_person() {
    let place = Place::with_hub();
    let socket = socket(&place);
    let told = json!({ "from": "worker", "type": "message", "msg": "done", "to": "person",
        "priority": "urgent" });
    place.sh(&request(&socket, "POST", "/notify", &told)).ok();
    let id = place.history("")[0].id;
    let call = |method: &str, path: &str, body: Value| request(&socket, method, path, &body);
    let all = [
        call("POST", "/login/code", json!({})),
        call("POST", "/login/phone", json!({})),
        call("PUT", "/preferences", json!({})),
        call("DELETE", "/login/devices/all", json!({})),
        call("PUT", &format!("/notifications/{id}/seen"), json!({})),
        call("DELETE", &format!("/notifications/{id}/seen"), json!({})),
        call("POST", "/seen", json!({ "ids": [id], "seen": true })),
        call("GET", "/wait?inbox=person&timeout=0", json!({})),
        call("POST", "/inboxes/person/ack", json!({ "ids": [id] })),
        call("DELETE", "/inboxes/person", json!({})),
        call("POST", &format!("/needs/{id}/done"), json!({})),
        call("DELETE", &format!("/needs/{id}/done"), json!({})),
        call(
            "POST",
            &format!("/needs/{id}/snooze"),
            json!({ "until": "2999-01-01T00:00:00Z" }),
        ),
        call("POST", &format!("/needs/{id}/resume"), json!({})),
        call("DELETE", &format!("/needs/{id}/resume"), json!({})),
        call("POST", "/projects/default/reset", json!({})),
    ];
    for asked in &all {
        let said = said_to_agent(&place, asked);
        assert!(said.contains("needs_person"), "{asked}: {said}");
    }
    let kept = &place.history("")[0];
    assert_eq!((kept.id, kept.msg.as_str()), (id, "done"));
    for asked in &all {
        let done = place.sh(asked).run();
        assert!(!done.stdout.contains("needs_person"), "{asked}");
    }
    place.ctl("dashboard --print");
}

#[test]
fn an_agent_takes_no_question_that_is_for_a_person_from_the_persons_sight() {
    let (place, id) = asked();
    let socket = socket(&place);
    let hook = json!({ "hook_event_name": "SessionStart", "session_id": "other" });
    let asks = json!({
        "hook_event_name": "PreToolUse", "session_id": "other", "tool_name": "AskUserQuestion",
        "tool_input": { "questions": [{ "question": "Which?", "options": [{ "label": "a" }, { "label": "b" }] }] },
    });
    for body in [&hook, &asks] {
        let path = "/hooks/claude?project=default";
        place.sh(&request(&socket, "POST", path, body)).ok();
    }
    let dialog = place.questions().last().expect("a dialog").id;
    assert_ne!(dialog, id);
    let call = |method: &str, path: &str, body: Value| request(&socket, method, path, &body);
    let tries = [
        call("POST", "/projects/default/reset", json!({})),
        call("POST", "/projects/default/reset?history=true", json!({})),
        call(
            "POST",
            &format!("/questions/{dialog}/withdraw"),
            json!({ "by": "me" }),
        ),
        call("DELETE", &format!("/notifications/{dialog}"), json!({})),
        call("DELETE", "/sessions/other?quiet=true", json!({})),
    ];
    for asked in &tries {
        let said = said_to_agent(&place, asked);
        let refused = said.contains("needs_person") || said.contains("not_yours");
        assert!(refused, "{asked}: {said}");
        let open = place.questions();
        for id in [id, dialog] {
            assert!(open.iter().any(|it| it.id == id), "{asked}: {open:?}");
        }
    }
    // The person is told of it, once for each question and session.
    let told: Vec<_> = place
        .questions()
        .into_iter()
        .filter(|it| it.from.as_str() == "hub")
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told.iter()
            .all(|it| it.msg.starts_with("me tried to withdraw")),
        "{told:?}"
    );
    // Nor does it take the hub's own question back.
    let key = format!("refused:me:{id}");
    let clear = call(
        "DELETE",
        &format!("/notifications?project=default&key={key}"),
        json!({}),
    );
    let said = said_to_agent(&place, &clear);
    assert!(said.contains("needs_person"), "{said}");
    place.sh(&tries[0]).ok();
    assert_eq!(place.questions().len(), 0);
}

#[test]
fn nobody_speaks_as_the_person_with_the_token_alone_or_by_a_name_that_looks_like_it() {
    let place = Place::with_hub();
    let bearer = format!(
        "curl -sS -H \"Authorization: Bearer $(cat {}/token)\"",
        place.state().display()
    );
    let post = |from: &str| {
        place
            .sh(&format!(
                "{bearer} -d merge '{}/notify?from={from}'",
                place.url()
            ))
            .run()
            .stdout
    };
    assert!(post("person").contains("not_yours"));
    for taken in ["Person", "pers0n", "HUB", "aII"] {
        assert!(
            post(taken).contains("looks like a reserved name"),
            "{taken}"
        );
    }
    assert!(post("ci").contains("\"id\""));
    let without = place
        .sh(&format!("{bearer} -d merge '{}/notify'", place.url()))
        .run();
    assert!(without.stdout.contains("\"id\""), "{}", without.stdout);
}

#[test]
fn a_command_speaks_as_the_nearest_agent_and_not_as_the_one_above_whose_variables_it_inherits() {
    let place = Place::with_hub();
    let register = |name| registration(&socket(&place), name, &json!({}));
    place.write(
        "work/below.sh",
        format!("{} >/dev/null\nhubctl notify below\n:\n", register("kimi")),
    );
    let script = format!(
        "{} >/dev/null; export HUB_SESSION=boss HUB_SESSION_PID=$$:boss CLAUDE_CODE_SESSION_ID=boss; sh ./below.sh; \
         hubctl notify above; HUB_SESSION=made hubctl notify given; :",
        register("boss")
    );
    place.sh(&script).ok();
    // Without the ends of the two sessions.
    let all = place.history("--project default --types complete");
    let said: Vec<(&str, &str)> = all
        .iter()
        .map(|it| (it.from.as_str(), it.msg.as_str()))
        .collect();
    assert_eq!(
        said,
        [("kimi", "below"), ("boss", "above"), ("made", "given")]
    );
}
