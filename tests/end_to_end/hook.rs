//! A hook never harms its agent, and what it says is not lost.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json as value};

use crate::fake::{Fake, http, ok};
use crate::support::{Done, Place, json};

const STOP: &str = r#"{"hook_event_name":"Stop","session_id":"s1","cwd":"/","n":1}"#;
const HEARTBEAT: &str = r#"{"hook_event_name":"PostToolUse","session_id":"s1","cwd":"/"}"#;

/// Far more than 200 ms, for a machine that does much else; far less than any patience of the client's without the budget.
const BOUND: Duration = Duration::from_millis(1800);

fn hook(place: &Place, payload: impl Into<Vec<u8>>) -> Done {
    let began = Instant::now();
    let done = place.hubctl(&["hook", "claude"]).stdin(payload).run();
    let took = began.elapsed();
    assert!(took < BOUND, "{took:?}: {done:?}");
    done
}

fn assert_silent(done: &Done) {
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stdout.is_empty() && done.stderr.is_empty(), "{done:?}");
}

/// What is kept, oldest first.
fn kept(place: &Place) -> Vec<Value> {
    let Ok(entries) = std::fs::read_dir(place.state().join("spool")) else {
        return Vec::new();
    };
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let read = |file: &Path| json(&std::fs::read_to_string(file).unwrap());
    files.iter().map(|file| read(file)).collect()
}

#[test]
fn without_a_hub_it_is_silent_and_keeps_what_matters() {
    let place = Place::new();
    assert_silent(&hook(&place, STOP));
    assert_silent(&hook(&place, HEARTBEAT));
    let kept = kept(&place);
    assert_eq!(kept.len(), 1, "{kept:?}");
    let kept = &kept[0]["hook"];
    assert_eq!(kept["agent"], "claude");
    assert_eq!(kept["body"], json(STOP));
    let query = kept["query"].as_str().unwrap();
    assert!(
        query.contains("pid=") && !query.contains("lease"),
        "{query}"
    );
}

#[test]
fn behind_a_socket_that_nobody_serves_it_is_the_same() {
    let place = Place::new();
    std::fs::create_dir_all(place.state()).unwrap();
    drop(std::os::unix::net::UnixListener::bind(place.state().join("hub.sock")).unwrap());
    assert_silent(&hook(&place, STOP));
    assert_eq!(kept(&place).len(), 1);
}

#[test]
fn a_hub_that_never_answers_holds_nobody_up() {
    let place = Place::new();
    let fake = Fake::silent(&place);
    assert_silent(&hook(&place, STOP));
    assert_eq!(kept(&place).len(), 1);
    // The hub may have taken it all the same: the key tells.
    let key = fake.first("POST /hooks/claude").head;
    assert!(
        key.contains(kept(&place)[0]["key"].as_str().unwrap()),
        "{key}"
    );
    // Not even where a hub could wait for an answer: this one answers nothing.
    assert_silent(&hook(
        &place,
        r#"{"hook_event_name":"PermissionRequest","session_id":"s1"}"#,
    ));
}

#[test]
fn a_failing_hub_is_as_good_as_none() {
    for (answer, keeps) in [
        (
            http("500 Internal Server Error", "", "{\"decision\":\"block\"}"),
            true,
        ),
        (http("404 Not Found", "", "{}"), false),
        ("HTTP/1.1 999 What\r\n\r\n".to_owned(), true),
        ("nonsense\r\n\r\n".to_owned(), true),
    ] {
        let place = Place::new();
        let _fake = Fake::new(&place, {
            let answer = answer.clone();
            move |_| answer.clone()
        });
        assert_silent(&hook(&place, STOP));
        assert_eq!(kept(&place).len(), usize::from(keeps), "{answer}");
    }
}

#[test]
fn an_answer_that_is_no_reply_is_not_passed_on() {
    for body in ["<html>", "[]", "{", "null", "block"] {
        let place = Place::new();
        let _fake = Fake::new(&place, move |_| ok(body));
        assert_silent(&hook(&place, STOP));
        assert!(kept(&place).is_empty(), "{body}");
    }
}

#[test]
fn what_is_no_hook_is_dropped() {
    let place = Place::new();
    let fake = Fake::new(&place, |_| ok("{}"));
    let huge = format!(
        "{{\"hook_event_name\":\"Stop\",\"a\":\"{}\"}}",
        "x".repeat(8 << 20)
    );
    let payloads: [Vec<u8>; 5] = [
        Vec::new(),
        b"{".into(),
        b"\xff\xfe\x00".into(),
        "[".repeat(100_000).into(),
        huge.into(),
    ];
    for payload in payloads {
        assert_silent(&hook(&place, payload));
    }
    assert!(fake.asked().is_empty() && kept(&place).is_empty());
}

#[test]
fn even_wrong_usage_and_broken_variables_are_no_harm() {
    let place = Place::new();
    for args in [
        &["hook"][..],
        &["hook", "nobody"],
        &["hook", "claude", "--wrong"],
        &["--state-dir", "x", "hook", "claude", "{}", "more"],
    ] {
        let done = place.hubctl(args).stdin(STOP).run();
        assert_eq!((done.code, done.stdout.as_str()), (Some(0), ""), "{args:?}");
    }
    for (name, broken) in [
        ("HUB_URL", "nonsense"),
        ("HUB_SESSION", "a/b"),
        ("HUB_PROJECT", "\u{1b}"),
        ("HUB_STATE_DIR", "/dev/null/x"),
    ] {
        let call = place.hubctl(&["hook", "claude"]).env(name, broken);
        assert_silent(&call.stdin(STOP).run());
    }
}

#[test]
fn the_hubs_reply_is_printed_and_acknowledged_once_it_is() {
    let place = Place::new();
    let reply = r#"{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"x"}}"#;
    let fake = Fake::new(&place, move |asked| match asked.line.as_str() {
        line if line.starts_with("POST /hooks/claude?") => {
            http("200 OK", "Hub-Lease: l1\r\nHub-Inbox: s1\r\n", reply)
        }
        _ => ok("{\"acked\":[1]}"),
    });
    let done = hook(&place, STOP).ok();
    assert_eq!(done.stdout, format!("{reply}\n"));
    assert!(fake.asked()[0].line.ends_with("&lease=true"));
    let ack = fake.first("POST /inboxes/s1/ack");
    assert_eq!(json(&ack.body), value!({"lease": "l1"}));
}

#[test]
fn what_could_not_be_printed_is_not_acknowledged() {
    let place = Place::new();
    let headers = "Hub-Lease: l1\r\nHub-Inbox: s1\r\n";
    let fake = Fake::new(&place, move |_| http("200 OK", headers, "{}"));
    for stdout in [">/dev/full", ">&-"] {
        let done = place
            .sh(&format!("hubctl hook claude {stdout}"))
            .stdin(STOP)
            .run();
        assert_eq!(done.code, Some(0), "{done:?}");
    }
    let lines: Vec<String> = fake.asked().into_iter().map(|it| it.line).collect();
    assert!(
        lines.iter().all(|it| it.starts_with("POST /hooks")),
        "{lines:?}"
    );
}

#[test]
fn nothing_to_say_is_nothing_printed() {
    let place = Place::new();
    let _fake = Fake::new(&place, |_| "HTTP/1.1 204 No Content\r\n\r\n".to_owned());
    assert_silent(&hook(&place, STOP));
    assert!(kept(&place).is_empty());
}

#[test]
fn a_permission_request_may_be_held() {
    let place = Place::new();
    let _fake = Fake::new(&place, |asked| {
        if asked.line.starts_with("POST /hooks") {
            // Longer than any other hook may take.
            std::thread::sleep(Duration::from_millis(600));
        }
        ok(r#"{"held":true}"#)
    });
    let asks = r#"{"hook_event_name":"PermissionRequest","session_id":"s1","cwd":"/"}"#;
    let call = place.hubctl(&["hook", "claude"]).stdin(asks);
    assert_eq!(call.run().json(), value!({"held": true}));
    assert_silent(&hook(&place, STOP));
}

#[test]
fn codex_gives_its_notification_as_an_argument() {
    let place = Place::new();
    let fake = Fake::new(&place, |_| ok("{}"));
    let turn = r#"{"type":"agent-turn-complete","thread-id":"t1","cwd":"/"}"#;
    place.hubctl(&["hook", "codex", turn]).run().ok();
    assert_eq!(json(&fake.first("POST /hooks/codex").body), json(turn));
}

#[test]
fn the_hub_is_told_where_the_agent_is() {
    let place = Place::new();
    let fake = Fake::new(&place, |_| ok("{}"));
    // As agents do it: a shell in between, which is nobody.
    place
        .sh("hubctl hook codex; true")
        .env("HUB_ROLE", "primary")
        .env("CLAUDE_PID", "1")
        .stdin(STOP)
        .run()
        .ok();
    let line = fake.first("POST /hooks/codex").line;
    let pid = format!("&pid={}&started=", std::process::id());
    assert!(line.contains(&pid) && line.contains("&boot_id="), "{line}");
    assert!(line.contains("project=default&role=primary&"), "{line}");
    assert!(!line.contains("session="), "{line}");
}

#[test]
fn a_starting_session_finds_its_place_in_its_environment() {
    let place = Place::new();
    let repository = place.path("my repo's");
    std::fs::create_dir_all(&repository).unwrap();
    place
        .sh("git init -q \"$DIR\"")
        .env("DIR", repository.to_str().unwrap())
        .run()
        .ok();
    let file = place.path("env");
    std::fs::write(&file, "export A=1").unwrap();
    let start = value!({"hook_event_name": "SessionStart", "session_id": "s1", "cwd": repository});
    for _ in 0..2 {
        place
            .hubctl(&["hook", "claude"])
            .env("CLAUDE_ENV_FILE", file.to_str().unwrap())
            .env("HUB_PROJECT", "")
            .stdin(start.to_string())
            .run()
            .ok();
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 4);
    let read = format!(
        ". '{}'; printf '%s\\n' \"$A\" \"$HUB_PROJECT\" \"$HUB_SESSION\" \"$HUB_STATUS_FILE\"",
        file.display()
    );
    let dir = repository.display();
    assert_eq!(
        place.sh(&read).run().ok().stdout,
        format!("1\n{dir}\ns1\n{dir}/.hub/status/s1\n")
    );
}

#[test]
fn what_is_set_already_is_left_alone_and_outside_of_git_the_status_is_the_hubs() {
    let place = Place::new();
    let file = place.path("env");
    let start =
        value!({"hook_event_name": "SessionStart", "session_id": "s1", "cwd": place.path("work")});
    place
        .hubctl(&["hook", "claude"])
        .env("CLAUDE_ENV_FILE", file.to_str().unwrap())
        .env("HUB_SESSION", "mine")
        .stdin(start.to_string())
        .run()
        .ok();
    let status = place.state().join("status/mine");
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        format!(
            "export HUB_PROJECT=default\nexport HUB_STATUS_FILE={}\n",
            status.display()
        )
    );
}

#[test]
fn what_belongs_to_the_agent_above_is_set_anew() {
    let place = Place::new();
    let start = value!({"hook_event_name": "SessionStart", "session_id": "inner", "cwd": place.path("work")});
    let exported = |of: &str| {
        let file = place.path(&format!("env{of}"));
        place
            .hubctl(&["hook", "claude"])
            .env("CLAUDE_ENV_FILE", file.to_str().unwrap())
            .env("CLAUDE_PID", "2")
            .env("HUB_PROJECT", "app")
            .env("HUB_SESSION", "outer")
            .env("HUB_STATUS_FILE", "/outer")
            .env("HUB_SESSION_PID", of)
            .stdin(start.to_string())
            .run()
            .ok();
        std::fs::read_to_string(&file).unwrap_or_default()
    };
    let status = place.state().join("status/inner");
    assert_eq!(
        exported("1"),
        format!(
            "export HUB_PROJECT=app\nexport HUB_SESSION=inner\nexport HUB_SESSION_PID=2\n\
             export HUB_STATUS_FILE={}\n",
            status.display()
        )
    );
    // Of this very agent, and given to whichever agent comes first.
    assert_eq!(exported("2"), "");
    assert_eq!(exported(""), "export HUB_SESSION_PID=2\n");
}
