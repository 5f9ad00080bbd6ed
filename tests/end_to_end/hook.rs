//! `hubctl hook`: it never disturbs its agent, and loses no event that matters.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json as value};

use crate::fake::{Fake, http, ok};
use crate::support::{Done, Place, json};

const STOP: &str = r#"{"hook_event_name":"Stop","session_id":"s1","cwd":"/","n":1}"#;
const HEARTBEAT: &str = r#"{"hook_event_name":"PostToolUse","session_id":"s1","cwd":"/"}"#;

/// Below the 10 s timeout of a call: a hook that ends within this bound gave up by its own budget of 200 ms, however
/// slow the machine is.
const BOUND: Duration = Duration::from_secs(9);

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

/// Returns the spooled notifications, oldest first.
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
fn without_a_hub_it_is_silent_and_spools_what_matters() {
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
fn behind_a_dead_socket_it_is_silent_and_spools_what_matters() {
    let place = Place::new();
    std::fs::create_dir_all(place.state()).unwrap();
    drop(std::os::unix::net::UnixListener::bind(place.state().join("hub.sock")).unwrap());
    assert_silent(&hook(&place, STOP));
    assert_eq!(kept(&place).len(), 1);
}

#[test]
fn a_hub_that_never_responds_does_not_delay_the_agent() {
    let place = Place::new();
    let fake = Fake::silent(&place);
    assert_silent(&hook(&place, STOP));
    assert_eq!(kept(&place).len(), 1);
    // The hub may have stored the event all the same, so the spooled one has the same Idempotency-Key.
    let key = fake.first("POST /hooks/claude").head;
    assert!(
        key.contains(kept(&place)[0]["key"].as_str().unwrap()),
        "{key}"
    );
    // Nor does a permission request wait, which a hub could hold: this one never responds.
    assert_silent(&hook(
        &place,
        r#"{"hook_event_name":"PermissionRequest","session_id":"s1"}"#,
    ));
}

#[test]
fn a_failing_hub_is_handled_like_a_missing_one() {
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
fn a_malformed_reply_is_not_passed_on() {
    for body in ["<html>", "[]", "{", "null", "block"] {
        let place = Place::new();
        let _fake = Fake::new(&place, move |_| ok(body));
        assert_silent(&hook(&place, STOP));
        assert!(kept(&place).is_empty(), "{body}");
    }
}

#[test]
fn a_malformed_hook_is_dropped() {
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
fn wrong_usage_and_malformed_variables_do_not_disturb_the_agent() {
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
fn the_hubs_reply_is_printed_and_then_acknowledged() {
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
fn a_reply_that_could_not_be_printed_is_not_acknowledged() {
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
fn without_a_reply_it_prints_nothing() {
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
            // Longer than the budget of any other hook.
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
fn codex_passes_its_notification_as_an_argument() {
    let place = Place::new();
    let fake = Fake::new(&place, |_| ok("{}"));
    let turn = r#"{"type":"agent-turn-complete","thread-id":"t1","cwd":"/"}"#;
    place.hubctl(&["hook", "codex", turn]).run().ok();
    assert_eq!(json(&fake.first("POST /hooks/codex").body), json(turn));
}

#[test]
fn the_hub_receives_the_agents_process_and_directory() {
    let place = Place::new();
    let fake = Fake::new(&place, |_| ok("{}"));
    // Agents run hooks through a shell, which must not count as the agent.
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
fn a_starting_session_gets_its_variables_in_its_environment() {
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
fn variables_already_set_are_kept_and_outside_of_git_the_status_file_is_the_hubs() {
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
fn variables_of_the_agent_above_are_replaced() {
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
            "export HUB_PROJECT=app\nexport HUB_SESSION=inner\nexport HUB_SESSION_PID=2:inner\n\
             export HUB_STATUS_FILE={}\n",
            status.display()
        )
    );
    // Variables of this very agent are kept; those without a process are assigned to the first agent that runs.
    assert_eq!(exported("2:outer"), "");
    assert_eq!(exported(""), "export HUB_SESSION_PID=2:outer\n");
    // The variables come from the agent above, another session, so an agent below this one is not `outer` either.
    assert_eq!(exported("1:above"), "export HUB_SESSION_PID=2:outer\n");
}

#[test]
fn a_pipe_in_place_of_gits_files_blocks_no_hook() {
    for pipe in [".git", ".git/config", ".git/HEAD", ".git/commondir"] {
        let place = Place::with_hub();
        place.sh("git init -q .").run().ok();
        let remake = format!("rm -rf {pipe} && mkfifo {pipe}");
        place.sh(&remake).run().ok();
        let cwd = place.path("work").display().to_string();
        let event = value!({"hook_event_name": "Stop", "session_id": "s1", "cwd": cwd});
        hook(&place, event.to_string()).ok();
        // The same holds for a person's commands.
        place.hubctl(&["notify", "--from", "x", "y"]).run().ok();
    }
}
