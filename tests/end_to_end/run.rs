//! `hubctl run`: a command as a session.

use std::io::BufRead;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Place, Running, until};

/// Returns the last notification of `session`.
fn last(place: &Place, session: &str) -> Value {
    let call = place.hubctl(&["history", "--json", "--limit", "1", "--from", session]);
    call.run().lines().pop().unwrap_or_default()
}

fn signal(running: &mut Running, signal: Signal) {
    kill_process(Pid::from_child(running.child()), signal).expect("it runs");
}

#[test]
fn a_command_that_fails_is_reported_with_the_end_of_its_stderr() {
    let place = Place::with_hub();
    let script = "cat; for n in $(seq 25); do echo line $n >&2; done; exit 3";
    let args = ["run", "--session", "w1", "--name", "nightly build", "--"];
    let call = place.hubctl(&args).args(&["sh", "-c", script]);
    let done = call.env("HUB_PARENT", "lead").stdin("input").run();
    assert_eq!((done.code, &*done.stdout), (Some(3), "input"));
    assert!(done.stderr.contains("line 1\nline 2\n"), "{}", done.stderr);
    let said = last(&place, "w1");
    let msg = said["msg"].as_str().unwrap();
    assert!(
        msg.starts_with("nightly build failed with exit code 3 after "),
        "{msg}"
    );
    assert_eq!(
        (&said["type"], &said["parent"]),
        (&json!("error"), &json!("lead"))
    );
    assert_eq!(said["data"]["exit_code"], 3);
    assert!(said["data"]["seconds"].is_f64(), "{said}");
    let lines: Vec<String> = (6..=25).map(|n| format!("line {n}")).collect();
    assert_eq!(said["data"]["stderr"], json!(lines));
}

#[test]
fn a_command_that_succeeds_is_reported_under_its_own_name() {
    let place = Place::with_hub();
    place.hubctl(&["run", "--", "true"]).run().ok();
    let said = last(&place, "true");
    assert_eq!(said["type"], "complete");
    assert!(
        said["msg"]
            .as_str()
            .unwrap()
            .starts_with("true finished in ")
    );
    assert_eq!(said["data"]["exit_code"], 0);
    assert_eq!(said["data"]["stderr"], json!([]));
}

#[test]
fn an_agent_under_hubctl_run_has_the_runs_session_also_inside_another_agent() {
    let place = Place::new();
    let script = "CLAUDE_PID=2 CLAUDE_CODE_SESSION_ID=inner hubctl notify --dry-run --json x";
    let run = format!("hubctl run --session w1 -- sh -c '{script}'");
    let outer = place
        .sh(&run)
        .env("HUB_SESSION", "outer")
        .env("HUB_SESSION_PID", "1")
        .env("CLAUDE_PID", "1");
    let shown = outer.run().ok().json();
    assert_eq!(shown["record"]["from"], "w1", "{shown}");
}

#[test]
fn a_state_in_the_commands_status_file_is_published() {
    let place = Place::with_hub();
    let script =
        "echo \"$HUB_SESSION $HUB_PROJECT\"; echo needs_input Which port? >\"$HUB_STATUS_FILE\"";
    let args = ["run", "--session", "w1", "--project", "app", "--"];
    let done = place.hubctl(&args).args(&["sh", "-c", script]).run().ok();
    assert_eq!(done.stdout, "w1 app\n");
    until("it is taken in", || {
        place.said().contains(&"Which port?".to_owned())
    });
}

#[test]
fn in_a_worktree_the_status_file_is_writable_in_a_sandbox_and_ignored_by_git() {
    let place = Place::new();
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(args).current_dir(place.path("work"));
        let output = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output();
        let output = output.expect("git");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q"]);
    let script = "echo working >\"$HUB_STATUS_FILE\"; echo \"$HUB_STATUS_FILE\"";
    for _ in 0..2 {
        let call = place.hubctl(&["run", "--session", "w1", "--", "sh", "-c", script]);
        let expected = place.path("work/.hub/status/w1");
        assert_eq!(call.run().ok().stdout, format!("{}\n", expected.display()));
    }
    assert_eq!(git(&["status", "--porcelain"]), "");
    let exclude = std::fs::read_to_string(place.path("work/.git/info/exclude")).unwrap();
    assert_eq!(exclude.matches(".hub/").count(), 1, "{exclude}");
}

#[test]
fn signals_reach_the_command_and_its_exit_code_is_passed_on() {
    let place = Place::with_hub();
    for (name, number) in [
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
        let mut line = String::new();
        running.stdout().read_line(&mut line).unwrap();
        signal(&mut running, number);
        assert_eq!(running.end().code, Some(7), "{name}");
        assert_eq!(last(&place, "w1")["data"]["exit_code"], 7, "{name}");
    }
}

#[test]
fn a_command_that_a_signal_ends_is_reported_as_such() {
    let place = Place::with_hub();
    let done = place.hubctl(&["run", "--", "sh", "-c", "kill -9 $$"]).run();
    assert_eq!(done.code, Some(137), "{done:?}");
    let said = last(&place, "sh");
    assert!(
        said["msg"]
            .as_str()
            .unwrap()
            .starts_with("sh was ended by signal 9 after")
    );
    assert_eq!(
        (&said["type"], &said["data"]["signal"]),
        (&json!("error"), &json!(9))
    );
}

#[test]
fn a_signal_that_was_ignored_before_stays_ignored() {
    let place = Place::new();
    let script = "trap '' HUP; exec hubctl run -- sh -c 'kill -HUP $$; echo alive'";
    assert_eq!(place.sh(script).run().ok().stdout, "alive\n");
}

#[test]
fn a_process_that_is_left_behind_does_not_delay_the_end() {
    let place = Place::with_hub();
    // The process ends when its stdin closes: with the test.
    let script = "exec 3<&0; cat <&3 >/dev/null & echo last >&2";
    let mut running = place.hubctl(&["run", "--", "sh", "-c", script]).spawn();
    let stdin = running.child().stdin.take();
    until("the end is told", || {
        last(&place, "sh")["type"] == "complete"
    });
    assert_eq!(last(&place, "sh")["data"]["stderr"], json!(["last"]));
    drop(stdin);
}

#[test]
fn without_a_hub_the_command_runs_and_its_end_is_spooled() {
    let mut place = Place::new();
    let done = place
        .hubctl(&["run", "--", "sh", "-c", "echo out; exit 4"])
        .run();
    assert_eq!((done.code, &*done.stdout), (Some(4), "out\n"));
    assert!(done.stderr.contains("kept in the spool"), "{}", done.stderr);
    place.start();
    assert_eq!(last(&place, "sh")["data"]["exit_code"], 4);
}

#[test]
fn a_failure_is_spooled_if_the_hub_dies_after_it_has_read_the_last_line() {
    let mut place = Place::with_hub();
    let script = "echo completed All is well >\"$HUB_STATUS_FILE\"; cat; exit 3";
    let call = place.hubctl(&["run", "--session", "w1", "--", "sh", "-c", script]);
    let mut job = call.spawn();
    until("the hub reads the line", || place.said() == ["All is well"]);
    place.kill();
    drop(job.child().stdin.take());
    assert_eq!(job.end().code, Some(3));
    place.start();
    let said = words(&place, "w1");
    let ended = ["complete", "error"].map(|kind| (kind.to_owned(), "All is well".to_owned()));
    assert_eq!(said, ended);
    assert_eq!(last(&place, "w1")["data"]["exit_code"], 3);
}

#[test]
fn a_command_that_cannot_be_run_is_reported_as_by_a_shell() {
    let place = Place::with_hub();
    let done = place.hubctl(&["run", "--", "./nothing-there"]).run();
    assert_eq!(done.code, Some(127), "{done:?}");
    std::fs::write(place.path("work/text"), "x").unwrap();
    let done = place.hubctl(&["run", "--", "./text"]).run();
    assert_eq!(done.code, Some(126), "{done:?}");
    assert!(place.said().is_empty());
}

#[test]
fn on_a_terminal_the_command_gets_the_terminal() {
    let place = Place::with_hub();
    let command = "hubctl run --session w1 -- sh -c \"test -t 2 && exit 9\"";
    let call = place.sh(&format!("exec script -qec '{command}' /dev/null"));
    assert_eq!(call.run().code, Some(9));
    let said = last(&place, "w1");
    assert_eq!(said["data"]["exit_code"], 9);
    assert_eq!(said["data"].get("stderr"), None, "{said}");
}

/// Returns type and text of each notification of `session`, oldest first.
fn words(place: &Place, session: &str) -> Vec<(String, String)> {
    let call = place.hubctl(&["history", "--json", "--after", "0", "--from", session]);
    let text = |it: &Value, name: &str| it[name].as_str().unwrap_or_default().to_owned();
    let said = call.run().lines();
    said.iter()
        .map(|it| (text(it, "type"), text(it, "msg")))
        .collect()
}

/// Returns whether a session of this name is alive in the project `default`.
fn is_alive(place: &Place, session: &str) -> bool {
    let known = place.hubctl(&["sessions", "--json"]).run().json();
    let known = known["sessions"].as_array().expect("sessions").clone();
    known.iter().any(|it| it["id"] == session)
}

#[test]
fn a_job_is_one_notification_and_its_session_ends_with_it() {
    let place = Place::with_hub();
    place.hubctl(&["run", "--", "true"]).run().ok();
    assert!(!is_alive(&place, "true"));
    let listed = place.hubctl(&["sessions", "--all", "--json"]).run().json();
    assert_eq!(listed["sessions"][0]["gone"], false, "{listed}");
    assert_eq!(listed["sessions"][0]["state"], "complete");
    // The hub ends another session two checks later; by then it would have published a second end of the first one.
    let mut process = std::process::Command::new("true").spawn().unwrap();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let gone = json!({"process": {"pid": process.id(), "started": 1, "boot_id": boot.trim()}});
    process.wait().unwrap();
    place.register("mark", &gone);
    until("the mark is gone", || !is_alive(&place, "mark"));
    assert_eq!(
        words(&place, "true").len(),
        1,
        "{:?}",
        words(&place, "true")
    );
}

#[test]
fn the_last_line_of_the_status_file_is_the_result_of_a_job() {
    let place = Place::with_hub();
    for (session, line, code, kind) in [
        ("done", "completed Built it", 0, "complete"),
        ("asks", "needs_input Which port?", 0, "waiting"),
        ("tests", "needs_testing Try it", 0, "testing"),
        ("lies", "completed All is well", 3, "error"),
    ] {
        let script = format!("echo '{line}' >\"$HUB_STATUS_FILE\"; exit {code}");
        let call = place.hubctl(&["run", "--session", session, "--", "sh", "-c", &script]);
        assert_eq!(call.run().code, Some(code), "{session}");
        let msg = line.split_once(' ').unwrap().1;
        // If the hub reads the file first, it publishes the line itself, and a question with the type `question`.
        let said = words(&place, session);
        assert_eq!(said.last(), Some(&(kind.to_owned(), msg.to_owned())));
        let again = said.iter().filter(|(other, _)| other == kind).count();
        assert_eq!(again, 1, "{said:?}");
        assert!(!is_alive(&place, session));
    }
    let open = place.hubctl(&["questions", "--json"]).run().json();
    assert_eq!(open["questions"], json!([]));
}

#[test]
fn a_line_that_the_hub_has_published_is_not_repeated_and_its_question_closes() {
    let place = Place::with_hub();
    let script = |line: &str| format!("echo '{line}' >\"$HUB_STATUS_FILE\"; cat >/dev/null");
    for (session, line, expected) in [
        ("done", "completed Built it", vec!["complete"]),
        (
            "asks",
            "needs_input Which port?",
            vec!["question", "waiting"],
        ),
    ] {
        let call = place.hubctl(&["run", "--session", session, "--", "sh", "-c", &script(line)]);
        let mut running = call.spawn();
        until("the hub has read it", || !words(&place, session).is_empty());
        drop(running.child().stdin.take());
        running.end().ok();
        let kinds: Vec<String> = words(&place, session).into_iter().map(|it| it.0).collect();
        assert_eq!(kinds, expected, "{session}");
    }
    let open = place.hubctl(&["questions", "--json"]).run().json();
    assert_eq!(open["questions"], json!([]));
}

#[test]
fn a_line_from_before_the_job_is_not_its_result() {
    let place = Place::with_hub();
    let status = place.state().join("status");
    std::fs::create_dir_all(&status).unwrap();
    std::fs::write(status.join("true"), "error of the last job\n").unwrap();
    until("it is told", || !words(&place, "true").is_empty());
    place.hubctl(&["run", "--", "true"]).run().ok();
    let said = words(&place, "true");
    assert!(
        said.last().unwrap().1.starts_with("true finished in"),
        "{said:?}"
    );
}
