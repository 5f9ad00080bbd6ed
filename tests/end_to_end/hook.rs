//! `hubctl hook`: it never disturbs its agent, and loses no event that matters.

use std::io::Write as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use hub_protocol::WAKE_MARK;
use serde_json::{Value, json as value};

use crate::fake::{Fake, http, ok};
use crate::support::{Call, Done, Place, json};

const STOP: &str = r#"{"hook_event_name":"Stop","session_id":"s1","cwd":"/","n":1}"#;
const HEARTBEAT: &str = r#"{"hook_event_name":"PostToolUse","session_id":"s1","cwd":"/"}"#;
const PERMISSION: &str = r#"{"hook_event_name":"PermissionRequest","session_id":"s1","cwd":"/"}"#;

fn hook(place: &Place, payload: impl Into<Vec<u8>>) -> Done {
    place.hubctl("hook claude").stdin(payload).ok()
}

fn assert_silent(done: Done) {
    done.prints_nothing().warns_of_nothing();
}

/// Returns the spooled notifications, oldest first.
fn kept(place: &Place) -> Vec<Value> {
    let entries = std::fs::read_dir(place.path("state/spool")).into_iter();
    let entries = entries.flatten();
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let read = |file: &Path| json(&std::fs::read_to_string(file).unwrap());
    files.iter().map(|file| read(file)).collect()
}

#[test]
fn without_a_hub_or_behind_a_dead_socket_it_is_silent_and_spools_what_matters() {
    for dead in [false, true] {
        let place = Place::new();
        if dead {
            drop(UnixListener::bind(place.path("state/hub.sock")).unwrap());
        }
        assert_silent(hook(&place, STOP));
        assert_silent(hook(&place, HEARTBEAT));
        let [kept] = kept(&place).try_into().unwrap();
        let kept = &kept["hook"];
        assert_eq!(kept["agent"], "claude");
        assert_eq!(kept["body"], json(STOP));
        let query = kept["query"].as_str().unwrap();
        let is_bare = query.contains("pid=") && !query.contains("lease");
        assert!(is_bare, "{query}");
    }
}

#[test]
fn a_program_that_only_reads_claude_codes_settings_reports_nothing() {
    let place = Place::new();
    let fake = Fake::new(&place, |_| ok("{}"));
    let cursors = STOP.replace('{', r#"{"cursor_version":"3.1.0","conversation_id":"s1","#);
    // Without a variable of Claude Code, and below a session of Claude Code.
    let call = place.hubctl("hook claude").unset("CLAUDECODE");
    assert_silent(call.stdin(STOP).ok());
    assert_silent(hook(&place, cursors));
    let waiter = place.hubctl("wait --rewake").unset("CLAUDECODE");
    assert_silent(waiter.stdin(STOP).ok());
    assert!(fake.asked().is_empty() && kept(&place).is_empty());
    let by_pid = place.hubctl("hook claude").unset("CLAUDECODE");
    by_pid.env("CLAUDE_PID", "1").stdin(STOP).ok();
    fake.first("POST /hooks/claude");
}

#[test]
fn a_hub_that_never_responds_does_not_delay_the_agent() {
    let place = Place::new();
    let fake = Fake::silent(&place);
    // It gives up after 10 s, and a hook after a second.
    let mut command = place.hubctl("notify x").spawn();
    assert_silent(hook(&place, STOP));
    // The hub may have stored the event all the same, so the spooled one has the same Idempotency-Key.
    let head = fake.first("POST /hooks/claude").head;
    let [kept] = kept(&place).try_into().unwrap();
    assert!(head.contains(kept["key"].as_str().unwrap()), "{head}");
    // Nor does a permission request wait, which a hub could hold: this one never responds.
    assert_silent(hook(&place, PERMISSION));
    assert!(command.is_running());
}

#[test]
fn a_failing_hub_is_handled_like_a_missing_one_and_no_malformed_reply_is_passed_on() {
    for (answer, keeps) in [
        (
            http("500 Internal Server Error", "", r#"{"decision":"block"}"#),
            1,
        ),
        ("HTTP/1.1 999 What\r\n\r\n".to_owned(), 1),
        ("nonsense\r\n\r\n".to_owned(), 1),
        (http("404 Not Found", "", "{}"), 0),
        ("HTTP/1.1 204 No Content\r\n\r\n".to_owned(), 0),
        (ok("<html>"), 0),
        (ok("[]"), 0),
        (ok("{"), 0),
        (ok("null"), 0),
        (ok("block"), 0),
    ] {
        let place = Place::new();
        let said = answer.clone();
        let _fake = Fake::new(&place, move |_| answer.clone());
        assert_silent(hook(&place, STOP));
        assert_eq!(kept(&place).len(), keeps, "{said}");
    }
}

#[test]
fn a_malformed_hook_is_dropped() {
    let place = Place::new();
    let fake = Fake::new(&place, |_| ok("{}"));
    let deep = "[".repeat(100_000);
    let payloads = ["".into(), b"{".into(), b"\xff\xfe\x00".into(), deep.into()];
    for payload in payloads as [Vec<u8>; 4] {
        assert_silent(hook(&place, payload));
    }
    assert!(fake.asked().is_empty() && kept(&place).is_empty());
}

#[test]
fn a_hook_with_large_texts_is_sent_without_most_of_them() {
    let place = Place::new();
    let fake = Fake::new(&place, |_| ok("{}"));
    let large = "x".repeat(3 << 20);
    let lines = vec!["a line"; 1 << 18];
    for response in [value!({"file": {"base64": large}}), value!(lines)] {
        let used = value!({"hook_event_name": "PostToolUse", "session_id": "s1", "cwd": "/",
            "tool_input": {"content": large}, "tool_response": response, "tool_use_id": "t1"});
        hook(&place, used.to_string());
    }
    for asked in fake.asked() {
        let sent = json(&asked.body);
        let content = sent["tool_input"]["content"].as_str().unwrap();
        assert_eq!(
            (content.len(), &sent["tool_use_id"]),
            (64 * 1024 + 1, &value!("t1"))
        );
    }
    assert_eq!(fake.asked().len(), 2);
}

#[test]
fn a_hook_with_too_many_parts_is_sent_with_the_first_of_them_and_says_so() {
    let place = Place::new();
    let fake = Fake::new(&place, |_| ok("{}"));
    let edit = value!({"old_string": "a line", "new_string": "another"});
    let edits = vec![edit.clone(); 1 << 17];
    let asks = value!({"tool_input": {"edits": edits}, "tool_name": "MultiEdit", "session_id": "s1",
        "cwd": "/", "hook_event_name": "PermissionRequest"});
    hook(&place, asks.to_string());
    let asked = fake.asked();
    let sent = asked.iter().find(|it| !it.body.is_empty()).unwrap();
    let sent = json(&sent.body);
    assert_eq!(sent["hub_cut"], format!("{} bytes", asks.to_string().len()));
    assert_eq!(sent["tool_name"], "MultiEdit");
    let kept = sent["tool_input"]["edits"].as_array().unwrap();
    // The last one may be left out in the middle.
    let (_, whole) = kept.split_last().unwrap();
    assert!(whole.len() > 1000 && whole.iter().all(|it| *it == edit));
}

#[test]
fn an_agent_may_leave_the_pipe_open() {
    let place = Place::new();
    let _fake = Fake::new(&place, |_| ok(r#"{"decision":"block"}"#));
    let mut call = place.hubctl("hook claude").spawn();
    let mut stdin = call.child().stdin.take().unwrap();
    stdin.write_all(STOP.as_bytes()).unwrap();
    call.end().prints("block");
}

#[test]
fn wrong_usage_and_malformed_variables_do_not_disturb_the_agent() {
    let place = Place::new();
    let wrong = [
        "hook",
        "hook nobody",
        "hook claude --wrong",
        "--state-dir x hook claude {} more",
    ];
    for line in wrong {
        place.hubctl(line).stdin(STOP).ok().prints_nothing();
    }
    for (name, broken) in [
        ("HUB_URL", "nonsense"),
        ("HUB_SESSION", "a/b"),
        ("HUB_PROJECT", "\u{1b}"),
        ("HUB_STATE_DIR", "/dev/null/x"),
    ] {
        let call = place.hubctl("hook claude").env(name, broken);
        assert_silent(call.stdin(STOP).ok());
    }
}

const LEASED: &str = "Hub-Lease: l1\r\nHub-Inbox: s1\r\n";

#[test]
fn the_hubs_reply_is_printed_and_then_acknowledged() {
    let place = Place::new();
    let reply = r#"{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"x"}}"#;
    let fake = Fake::new(&place, move |asked| match asked.line.as_str() {
        line if line.starts_with("POST /hooks/claude?") => http("200 OK", LEASED, reply),
        _ => ok(r#"{"acked":[1]}"#),
    });
    assert_eq!(hook(&place, STOP).stdout, format!("{reply}\n"));
    assert!(fake.asked()[0].line.ends_with("&lease=true"));
    let ack = fake.first("POST /inboxes/s1/ack");
    assert_eq!(json(&ack.body), value!({"lease": "l1"}));
}

#[test]
fn a_reply_that_could_not_be_printed_is_not_acknowledged() {
    let place = Place::new();
    let fake = Fake::new(&place, move |_| http("200 OK", LEASED, "{}"));
    for stdout in [">/dev/full", ">&-"] {
        let call = place.sh(&format!("hubctl hook claude {stdout}"));
        call.stdin(STOP).ok();
    }
    let lines = fake.lines();
    let is_hook = |it: &String| it.starts_with("POST /hooks");
    assert!(lines.iter().all(is_hook), "{lines:?}");
}

#[test]
fn a_permission_request_may_be_held() {
    let place = Place::new();
    let _fake = Fake::new(&place, |asked| {
        if asked.line.starts_with("POST /hooks") {
            // Longer than the budget of any other hook.
            std::thread::sleep(Duration::from_millis(1500));
        }
        ok(r#"{"held":true}"#)
    });
    let call = place.hubctl("hook claude").stdin(PERMISSION);
    assert_eq!(call.json(), value!({"held": true}));
    assert_silent(hook(&place, STOP));
}

#[test]
fn the_prompt_of_a_wake_waits_for_a_slow_hub_and_that_of_a_person_does_not() {
    let place = Place::new();
    let _fake = Fake::new(&place, |asked| {
        if asked.line.starts_with("POST /hooks") {
            std::thread::sleep(Duration::from_millis(1500));
        }
        ok(r#"{"additionalContext":"news"}"#)
    });
    let wake = format!("{WAKE_MARK} are pending");
    let texts = value!([{"type": "text", "text": wake}]);
    let prompts = [
        (
            "claude",
            value!({"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": wake}),
        ),
        (
            "kimi",
            value!({"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": texts}),
        ),
        (
            "opencode",
            value!({"hook_event_name": "chat.message", "session_id": "s1", "properties": {"text": wake}}),
        ),
    ];
    for (agent, prompt) in prompts {
        let asked = place
            .hubctl(format!("hook {agent}"))
            .stdin(prompt.to_string());
        assert!(asked.ok().stdout.contains("news"), "{agent}");
    }
    let prompt = value!({"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "Are you there?"});
    assert_silent(hook(&place, prompt.to_string()));
}

#[test]
fn a_stop_that_waits_for_its_transcript_gets_the_hubs_answer_nevertheless() {
    let place = Place::new();
    let _fake = Fake::new(&place, |_| ok(r#"{"decision":"block","reason":"news"}"#));
    let transcript = place.path("transcript");
    std::fs::write(&transcript, "").expect("a file");
    let stop = value!({"hook_event_name": "Stop", "session_id": "s1", "prompt_id": "p1",
        "transcript_path": transcript});
    assert!(hook(&place, stop.to_string()).stdout.contains("news"));
}

#[test]
fn codex_passes_its_notification_as_an_argument() {
    let place = Place::new();
    let fake = Fake::new(&place, |_| ok("{}"));
    let turn = r#"{"type":"agent-turn-complete","thread-id":"t1","cwd":"/"}"#;
    place.ctl(format!("hook codex {turn}"));
    assert_eq!(json(&fake.first("POST /hooks/codex").body), json(turn));
}

#[test]
fn the_hub_receives_the_agents_process_and_directory() {
    let place = Place::new();
    let fake = Fake::new(&place, |_| ok("{}"));
    // Agents run hooks through a shell, which must not count as the agent.
    let call = place.sh("hubctl hook codex; true");
    let call = call.env("HUB_ROLE", "primary");
    call.env("CLAUDE_PID", "1").stdin(STOP).ok();
    let line = fake.first("POST /hooks/codex").line;
    let pid = format!("&pid={}&started=", std::process::id());
    assert!(line.contains(&pid) && line.contains("&boot_id="), "{line}");
    assert!(line.contains("project=default&role=primary&"), "{line}");
    assert!(!line.contains("session="), "{line}");
}

/// Returns a call of the hook of a starting session, which writes the file `env`.
fn starts(place: &Place, session: &str, cwd: &Path) -> Call {
    let start = value!({"hook_event_name": "SessionStart", "session_id": session, "cwd": cwd});
    let call = place.hubctl("hook claude").stdin(start.to_string());
    call.env("CLAUDE_ENV_FILE", place.path("env"))
}

#[test]
fn a_starting_session_gets_its_variables_in_its_environment() {
    let place = Place::new();
    let repository = place.dir("my repo's");
    let call = place.sh("git init -q \"$DIR\"").env("DIR", &repository);
    call.ok();
    place.write("env", "export A=1");
    for _ in 0..2 {
        let call = starts(&place, "s1", &repository).env("HUB_PROJECT", "");
        call.ok();
    }
    assert_eq!(place.read("env").lines().count(), 4);
    let read =
        ". ../env; printf '%s\\n' \"$A\" \"$HUB_PROJECT\" \"$HUB_SESSION\" \"$HUB_STATUS_FILE\"";
    let dir = repository.display();
    let expected = format!("1\n{dir}\ns1\n{dir}/.hub/status/s1\n");
    assert_eq!(place.sh(read).ok().stdout, expected);
}

#[test]
fn variables_already_set_are_kept_and_outside_of_git_the_status_file_is_the_hubs() {
    let place = Place::new();
    let call = starts(&place, "s1", &place.path("work"));
    call.env("HUB_SESSION", "mine").ok();
    let status = place.path("state/status/mine");
    let expected = format!(
        "export HUB_PROJECT=default\nexport HUB_STATUS_FILE={}\n",
        status.display()
    );
    assert_eq!(place.read("env"), expected);
}

#[test]
fn variables_of_the_agent_above_are_replaced() {
    let place = Place::new();
    let exported = |of: &str| {
        let _ = std::fs::remove_file(place.path("env"));
        let call = starts(&place, "inner", &place.path("work")).env("CLAUDE_PID", "2");
        let call = call.env("HUB_PROJECT", "app").env("HUB_SESSION", "outer");
        let call = call.env("HUB_STATUS_FILE", "/outer");
        call.env("HUB_SESSION_PID", of).ok();
        place.read("env")
    };
    let status = place.path("state/status/inner");
    let expected = format!(
        "export HUB_PROJECT=app\nexport HUB_SESSION=inner\nexport HUB_SESSION_PID=2:inner\n\
         export HUB_STATUS_FILE={}\n",
        status.display()
    );
    assert_eq!(exported("1"), expected);
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
        place
            .sh(&format!("git init -q . && rm -rf {pipe} && mkfifo {pipe}"))
            .ok();
        let cwd = place.path("work");
        let event = value!({"hook_event_name": "Stop", "session_id": "s1", "cwd": cwd});
        hook(&place, event.to_string());
        // The same holds for a person's commands.
        place.ctl("notify --from x y");
    }
}
