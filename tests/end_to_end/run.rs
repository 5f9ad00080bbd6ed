//! `hubctl run`: a command as a session.

use std::process::Command;

use hub_protocol::{Kind, Notification};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::fake::{Fake, http, ok};
use crate::support::{Call, Place, first_line, until};

/// Returns a call of `hubctl run`: a shell with this script, as the session `w1`.
fn run(place: &Place, script: &str) -> Call {
    run_as(place, "w1", script)
}

fn run_as(place: &Place, session: &str, script: &str) -> Call {
    let call = place.hubctl(format!("run --session {session} -- sh -c"));
    call.args(&[script])
}

/// Returns the last notification of `session`.
fn last(place: &Place, session: &str) -> Notification {
    said(place, session).pop().expect("a notification")
}

/// Returns each notification of `session`, oldest first.
fn said(place: &Place, session: &str) -> Vec<Notification> {
    place.history(&format!("--from {session}"))
}

/// Returns a field of a notification's data.
fn data<'a>(of: &'a Notification, name: &str) -> &'a Value {
    &of.data.as_ref().expect("data")[name]
}

/// Returns what Claude Code reports when a session starts.
fn started(place: &Place, id: &str) -> String {
    let cwd = place.path("work");
    let report = json!({ "hook_event_name": "SessionStart", "session_id": id, "cwd": cwd });
    report.to_string()
}

#[test]
fn a_session_is_called_as_its_last_run_was() {
    let place = Place::with_hub();
    for name in ["first", "second"] {
        let call = place.hubctl(format!("run --session w1 --name {name} -- sh -c"));
        call.args(&["exit 3"]).fails(3);
        let table = place.ctl("sessions").stdout;
        let row = table.lines().nth(1).expect("a session");
        assert!(row.starts_with(name), "{table}");
    }
}

#[test]
fn a_named_job_has_a_session_of_its_own_whatever_its_command_is() {
    let place = Place::with_hub();
    for (name, code) in [("nightly build", 3), ("job4", 4), ("job5", 0)] {
        let call = place.hubctl(format!("run --name '{name}' -- sh -c"));
        call.args(&[&format!("exit {code}")]).fails(code);
    }
    let needs = place.ctl("needs").stdout;
    assert!(needs.contains("nightly build failed"), "{needs}");
    assert!(needs.contains("job4 failed"), "{needs}");
    assert_eq!(last(&place, "run-nightly-build").kind, Kind::Error);
    // The next night is the same job.
    place.ctl("run --name 'nightly build' -- true");
    let needs = place.ctl("needs").stdout;
    assert!(!needs.contains("nightly build"), "{needs}");
}

#[test]
fn a_job_or_an_agent_takes_no_session_that_is_or_was_called_by_its_id() {
    let place = Place::with_hub();
    let named = [
        ("w1", "build"),
        ("w2", "lead"),
        ("w3", "first"),
        ("w3", "then"),
    ];
    for (session, name) in named {
        let call = place.hubctl(format!("run --session {session} --name {name} -- false"));
        call.fails(1);
    }
    run_as(&place, "build", "true").ok();
    run_as(&place, "first", "true").ok();
    let agent = place.by("lead", "hook claude");
    agent.stdin(started(&place, "77aa")).ok();
    let needs = place.ctl("needs").stdout;
    for name in ["build", "lead", "then"] {
        assert!(needs.contains(&format!("{name} failed")), "{needs}");
    }
}

#[test]
fn an_agent_keeps_its_mail_and_its_state_beside_a_job_of_its_name() {
    let place = Place::with_hub();
    let hook = place.hubctl("hook claude");
    hook.stdin(started(&place, "77aa")).ok();
    let agent = || {
        let mut sessions = place.json("sessions --json")["sessions"].take();
        let mut all = sessions.as_array_mut().expect("sessions").iter_mut();
        let agent = all.find(|it| it["id"] == "77aa");
        agent.expect("the agent").take()
    };
    let before = agent();
    assert_eq!(before["name"], "work");
    place.hubctl("run --name work -- false").fails(1);
    assert_eq!(agent(), before);
    place.ctl("notify --to work hello");
    let got = place.ctl("wait --inbox 77aa --timeout 0");
    assert_eq!(got.messages(), ["hello"]);
}

#[test]
fn a_job_without_a_name_has_a_session_of_its_own_while_another_of_its_command_runs() {
    let place = Place::with_hub();
    let inner = "hubctl run -- sh -c \"echo inner $HUB_SESSION >&2; exit 3\"; echo $HUB_SESSION";
    let script = format!("exec hubctl run -- sh -c '{inner}'");
    assert_eq!(place.sh(&script).ok().stdout, "run-sh\n");
    let needs = place.ctl("needs").stdout;
    assert!(needs.contains("sh-2 failed"), "{needs}");
    assert_eq!(last(&place, "run-sh").kind, Kind::Complete);
    place.hubctl("run -- sh -c 'exit 4'").fails(4);
    assert_eq!(last(&place, "run-sh").kind, Kind::Error);
}

#[test]
fn jobs_of_two_projects_have_the_same_id_and_leave_nothing_beside_them() {
    let place = Place::new();
    place.write("repos/readme", "");
    let path = |name: &str| place.path(&format!("repos/{name}")).display().to_string();
    let (a, b) = (path("a"), path("b"));
    let inner = format!("hubctl run --project {b} -- sh -c \"echo \\$HUB_SESSION\"");
    let done = place.sh(&format!("hubctl run --project {a} -- sh -c '{inner}'"));
    assert_eq!(done.ok().stdout, "run-sh\n");
    assert_eq!(place.files("repos"), 1);
    assert_eq!(place.files("state/run"), 2);
}

#[test]
fn a_command_that_fails_is_reported_with_the_end_of_its_stderr() {
    let place = Place::with_hub();
    let script = "cat; for n in $(seq 25); do echo line $n >&2; done; exit 3";
    let call = place
        .hubctl("run --session w1 --name 'nightly build' -- sh -c")
        .args(&[script]);
    let done = call.env("HUB_PARENT", "lead").stdin("input").fails(3);
    assert_eq!(done.warns("line 1\nline 2\n").stdout, "input");
    let said = last(&place, "w1");
    let start = "nightly build failed with exit code 3 after ";
    assert!(said.msg.starts_with(start), "{said:?}");
    assert_eq!(said.kind, Kind::Error);
    assert_eq!(
        said.parent.as_ref().map(hub_protocol::InboxName::as_str),
        Some("lead")
    );
    assert_eq!(data(&said, "exit_code"), 3);
    assert!(data(&said, "seconds").is_f64(), "{said:?}");
    let lines: Vec<String> = (6..=25).map(|n| format!("line {n}")).collect();
    assert_eq!(*data(&said, "stderr"), json!(lines));
}

#[test]
fn a_command_that_succeeds_is_reported_under_its_own_name() {
    let place = Place::with_hub();
    place.ctl("run -- true");
    let said = last(&place, "run-true");
    assert_eq!(said.kind, Kind::Complete);
    assert!(said.msg.starts_with("true finished in "), "{said:?}");
    assert_eq!(data(&said, "exit_code"), 0);
    assert_eq!(*data(&said, "stderr"), json!([]));
}

#[test]
fn an_agent_under_hubctl_run_has_the_runs_session_also_inside_another_agent() {
    let place = Place::new();
    let script = "CLAUDE_PID=2 CLAUDE_CODE_SESSION_ID=inner hubctl notify --dry-run --json x";
    let outer = place.sh(&format!("hubctl run --session w1 -- sh -c '{script}'"));
    let outer = outer.env("HUB_SESSION", "outer");
    let outer = outer.env("HUB_SESSION_PID", "1");
    let shown = outer.env("CLAUDE_PID", "1").json();
    assert_eq!(shown["record"]["from"], "w1", "{shown}");
}

#[test]
fn a_hub_that_does_not_know_that_a_session_runs_still_registers_it() {
    let place = Place::new();
    let fake = Fake::new(&place, |asked| {
        if asked.line.contains("runs=true") {
            let problem = json!({ "status": 422, "code": "invalid", "title": "unknown field" });
            return http("422 Unprocessable Content", "", &problem.to_string());
        }
        ok(&json!({ "id": 1, "project": "default", "inboxes": [], "woken": 0 }).to_string())
    });
    run(&place, "true").ok().warns_of_nothing();
    let lines = fake.lines();
    let registers = |line: &&String| line.starts_with("PUT /sessions/w1") && !line.contains("runs");
    assert_eq!(lines.iter().filter(registers).count(), 1, "{lines:?}");
}

#[test]
fn a_state_in_the_commands_status_file_is_published() {
    let place = Place::with_hub();
    let script =
        "echo \"$HUB_SESSION $HUB_PROJECT\"; echo needs_input Which port? >\"$HUB_STATUS_FILE\"";
    let done = run(&place, script).env("HUB_PROJECT", "app").ok();
    assert_eq!(done.stdout, "w1 app\n");
    until("it is taken in", || {
        place.said().contains(&"Which port?".to_owned())
    });
}

#[test]
fn in_a_worktree_the_status_file_is_writable_in_a_sandbox_and_ignored_by_git() {
    let place = Place::new();
    let git = |args: &str| {
        let mut git = Command::new("git");
        git.args(args.split(' ')).current_dir(place.path("work"));
        let output = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output();
        let output = output.expect("git");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git("init -q");
    for _ in 0..2 {
        let done = run(
            &place,
            "echo working >\"$HUB_STATUS_FILE\"; echo \"$HUB_STATUS_FILE\"",
        )
        .ok();
        let expected = place.path("work/.hub/status/w1").display().to_string();
        assert_eq!(done.word(), expected);
    }
    assert_eq!(git("status --porcelain"), "");
    let exclude = place.read("work/.git/info/exclude");
    assert_eq!(exclude.matches(".hub/").count(), 1, "{exclude}");
}

#[test]
fn signals_reach_the_command_and_its_exit_code_is_passed_on() {
    let place = Place::with_hub();
    for (name, signal) in [
        ("TERM", Signal::TERM),
        ("HUP", Signal::HUP),
        ("INT", Signal::INT),
    ] {
        // There is no terminal, because a terminal would send the command a SIGINT of its own. Signals get their
        // default actions, because nohup and a shell's background jobs ignore some of them, and no trap undoes that.
        let script = format!(
            "exec setsid env --default-signal hubctl run --session w1 -- \
             sh -c 'trap \"exit 7\" {name}; echo ready; while :; do sleep 0.02; done'"
        );
        let mut running = place.sh(&script).spawn();
        first_line(running.stdout());
        kill_process(Pid::from_child(running.child()), signal).expect("it runs");
        running.end().exits(7);
        assert_eq!(data(&last(&place, "w1"), "exit_code"), 7, "{name}");
    }
}

#[test]
fn a_command_that_a_signal_ends_is_reported_as_such() {
    let place = Place::with_hub();
    place.hubctl("run -- sh -c 'kill -9 $$'").fails(137);
    let said = last(&place, "run-sh");
    let start = "sh was ended by signal 9 after";
    assert!(said.msg.starts_with(start), "{said:?}");
    assert_eq!((said.kind, data(&said, "signal")), (Kind::Error, &json!(9)));
}

#[test]
fn a_signal_that_was_ignored_before_stays_ignored() {
    let script = "trap '' HUP; exec hubctl run -- sh -c 'kill -HUP $$; echo alive'";
    assert_eq!(Place::new().sh(script).ok().stdout, "alive\n");
}

#[test]
fn a_process_that_is_left_behind_does_not_delay_the_end() {
    let place = Place::with_hub();
    // The process ends when its stdin closes: with the test.
    let script = "exec 3<&0; cat <&3 >/dev/null & echo last >&2";
    let mut running = run(&place, script).spawn();
    let stdin = running.child().stdin.take();
    let ended = |it: &Notification| it.kind == Kind::Complete;
    until("the end is told", || {
        said(&place, "w1").last().is_some_and(ended)
    });
    assert_eq!(*data(&last(&place, "w1"), "stderr"), json!(["last"]));
    drop(stdin);
}

#[test]
fn without_a_hub_the_command_runs_and_its_end_is_spooled() {
    let mut place = Place::new();
    let done = run(&place, "echo out; exit 4").fails(4);
    assert_eq!(done.warns("kept in the spool").stdout, "out\n");
    place.start();
    assert_eq!(data(&last(&place, "w1"), "exit_code"), 4);
}

#[test]
fn a_job_is_at_work_while_it_runs_and_needs_the_person_if_it_is_killed() {
    let place = Place::with_hub();
    let mut job = run(&place, "echo ready; cat").spawn();
    first_line(job.stdout());
    until("it is at work", || {
        place.json("sessions --json")["sessions"][0]["phase"]["name"] == "working"
    });
    job.kill();
    until("its death needs the person", || {
        let needs = place.json("needs --json");
        let need = &needs["needs"][0];
        (&need["session"], &need["kind"]) == (&json!("w1"), &json!("died"))
    });
}

#[test]
fn a_failure_while_the_hub_is_down_needs_the_person_until_it_is_done() {
    let mut place = Place::with_hub();
    let mut job = run(&place, "echo ready; cat; exit 3").spawn();
    first_line(job.stdout());
    until("it is registered", || is_alive(&place, "w1"));
    place.kill();
    drop(job.child().stdin.take());
    job.end().exits(3);
    place.start();
    until("its end is told", || {
        let said = said(&place, "w1");
        let kinds: Vec<Kind> = said.iter().map(|it| it.kind).collect();
        kinds == [Kind::Error, Kind::Ended]
    });
    let needs = place.json("needs --json")["needs"].take();
    assert_eq!(needs[0]["session"], "w1", "{needs}");
    place.ctl("done w1");
    let needs = place.json("needs --json")["needs"].take();
    assert_eq!(needs, json!([]));
}

#[test]
fn a_job_that_starts_without_a_hub_under_an_ended_jobs_name_is_a_new_one() {
    for is_killed in [false, true] {
        let mut place = Place::with_hub();
        run(&place, "true").ok();
        assert!(!is_alive(&place, "w1"));
        place.kill();
        let mut job = run(&place, "echo ready; cat").spawn();
        first_line(job.stdout());
        place.start();
        until("the new job runs", || is_alive(&place, "w1"));
        let kind = if is_killed {
            // Its hubctl can tell nothing any more.
            job.kill();
            Kind::Error
        } else {
            drop(job.child().stdin.take());
            job.end().ok();
            Kind::Complete
        };
        until("its end is told", || {
            let said = said(&place, "w1");
            let kinds: Vec<Kind> = said.iter().map(|it| it.kind).collect();
            kinds == [Kind::Complete, kind]
        });
        until("it is over", || !is_alive(&place, "w1"));
    }
}

#[test]
fn a_failure_is_spooled_if_the_hub_dies_after_it_has_read_the_last_line() {
    let mut place = Place::with_hub();
    let script = "echo completed All is well >\"$HUB_STATUS_FILE\"; cat; exit 3";
    let mut job = run(&place, script).spawn();
    until("the hub reads the line", || place.said() == ["All is well"]);
    place.kill();
    drop(job.child().stdin.take());
    job.end().exits(3);
    place.start();
    let mut said = said(&place, "w1");
    // The hub may have noticed already that its process is gone.
    said.retain(|it| it.kind != Kind::Ended);
    let told: Vec<_> = said.iter().map(|it| (it.kind, &*it.msg)).collect();
    let expected = [Kind::Complete, Kind::Error].map(|kind| (kind, "All is well"));
    assert_eq!(told, expected);
    assert_eq!(data(&said[1], "exit_code"), 3);
}

#[test]
fn a_command_that_cannot_be_run_is_reported_as_by_a_shell() {
    let place = Place::with_hub();
    place.hubctl("run -- ./nothing-there").fails(127);
    place.write("work/text", "x");
    place.hubctl("run -- ./text").fails(126);
    assert!(place.said().is_empty());
}

#[test]
fn on_a_terminal_the_command_gets_the_terminal() {
    let place = Place::with_hub();
    let command = "hubctl run --session w1 -- sh -c \"test -t 2 && exit 9\"";
    let call = place.sh(&format!("exec script -qec '{command}' /dev/null"));
    call.fails(9);
    let said = last(&place, "w1").data.expect("data");
    assert_eq!((&said["exit_code"], said.get("stderr")), (&json!(9), None));
}

/// Returns whether a session of this name is alive in the project `default`.
fn is_alive(place: &Place, session: &str) -> bool {
    let known = place.json("sessions --json");
    let mut known = known["sessions"].as_array().expect("sessions").iter();
    // One that ended with an error is listed as blocked until that is seen.
    known.any(|it| it["id"] == session && it["phase"]["name"] != "blocked")
}

#[test]
fn a_job_is_one_notification_and_its_session_ends_with_it() {
    let place = Place::with_hub();
    place.ctl("run -- true");
    assert!(!is_alive(&place, "run-true"));
    let listed = place.json("sessions --all --json");
    assert_eq!(listed["sessions"][0]["gone"], false, "{listed}");
    assert_eq!(listed["sessions"][0]["state"], "complete");
    // The hub ends another session two checks later; by then it would have published a second end of the first one.
    let socket = place.state().join("hub.sock");
    let mut process = hub_harness::session_process(&socket, "mark");
    process.kill().unwrap();
    process.wait().unwrap();
    until("the mark is gone", || !is_alive(&place, "mark"));
    let said = said(&place, "run-true");
    assert_eq!(said.len(), 1, "{said:?}");
}

#[test]
fn the_last_line_of_the_status_file_is_the_result_of_a_job() {
    let place = Place::with_hub();
    for (session, line, code, kind) in [
        ("done", "completed Built it", 0, Kind::Complete),
        ("asks", "needs_input Which port?", 0, Kind::Waiting),
        ("tests", "needs_testing Try it", 0, Kind::Testing),
        ("lies", "completed All is well", 3, Kind::Error),
    ] {
        let script = format!("echo '{line}' >\"$HUB_STATUS_FILE\"; exit {code}");
        run_as(&place, session, &script).fails(code);
        // If the hub reads the file first, it publishes the line itself, and a question with the type `question`.
        let said = said(&place, session);
        let last = said.last().unwrap();
        let expected = (kind, line.split_once(' ').unwrap().1);
        assert_eq!((last.kind, &*last.msg), expected);
        let again = said.iter().filter(|it| it.kind == kind).count();
        assert_eq!(again, 1, "{said:?}");
        assert!(!is_alive(&place, session));
    }
    assert!(place.questions().is_empty());
}

#[test]
fn a_line_that_the_hub_has_published_is_not_repeated_and_its_question_closes() {
    let place = Place::with_hub();
    for (session, line, expected) in [
        ("done", "completed Built it", &[Kind::Complete][..]),
        (
            "asks",
            "needs_input Which port?",
            &[Kind::Question, Kind::Waiting],
        ),
    ] {
        let script = format!("echo '{line}' >\"$HUB_STATUS_FILE\"; cat >/dev/null");
        let mut running = run_as(&place, session, &script).spawn();
        until("the hub has read it", || !said(&place, session).is_empty());
        drop(running.child().stdin.take());
        running.end().ok();
        let kinds: Vec<Kind> = said(&place, session).iter().map(|it| it.kind).collect();
        assert_eq!(kinds, expected, "{session}");
    }
    assert!(place.questions().is_empty());
}

#[test]
fn a_line_from_before_the_job_is_not_its_result() {
    let place = Place::with_hub();
    place.write("state/status/run-true", "error of the last job\n");
    until("it is told", || !said(&place, "run-true").is_empty());
    place.ctl("run -- true");
    let said = last(&place, "run-true");
    assert!(said.msg.starts_with("true finished in"), "{said:?}");
}
