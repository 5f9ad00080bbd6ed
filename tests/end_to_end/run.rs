//! A command as a session.

use std::io::BufRead;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Place, Running, until};

/// What `session` said last.
fn last(place: &Place, session: &str) -> Value {
    let call = place.hubctl(&["history", "--json", "--limit", "1", "--from", session]);
    call.run().lines().pop().unwrap_or_default()
}

fn signal(running: &mut Running, signal: Signal) {
    kill_process(Pid::from_child(running.child()), signal).expect("it runs");
}

#[test]
fn a_command_that_fails_is_told_with_its_last_words() {
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
fn a_command_that_succeeds_is_told_under_its_own_name() {
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
fn an_agent_is_the_session_that_it_runs_as_also_where_another_agent_runs_it() {
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
fn what_the_command_writes_into_its_status_file_is_said() {
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
fn in_a_worktree_the_status_file_is_where_a_sandbox_lets_agents_write_and_git_does_not_see_it() {
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
fn signals_reach_the_command_and_its_end_is_ours() {
    let place = Place::with_hub();
    for (name, number) in [
        ("TERM", Signal::TERM),
        ("HUP", Signal::HUP),
        ("INT", Signal::INT),
    ] {
        // Without a terminal, from which the command would have its SIGINT already; and heeding what nohup, or a shell's
        // background, lets its programs ignore: no trap undoes that.
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
fn a_command_that_a_signal_ends_is_told_so() {
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
fn a_process_that_is_left_behind_does_not_hold_the_end_up() {
    let place = Place::with_hub();
    // It ends when its stdin does: with the test.
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
fn without_a_hub_the_command_runs_and_its_end_is_kept() {
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
fn what_cannot_be_run_is_said_as_a_shell_does() {
    let place = Place::with_hub();
    let done = place.hubctl(&["run", "--", "./nothing-there"]).run();
    assert_eq!(done.code, Some(127), "{done:?}");
    std::fs::write(place.path("work/text"), "x").unwrap();
    let done = place.hubctl(&["run", "--", "./text"]).run();
    assert_eq!(done.code, Some(126), "{done:?}");
    assert!(place.said().is_empty());
}

#[test]
fn on_a_terminal_the_command_sees_one() {
    let place = Place::with_hub();
    let command = "hubctl run --session w1 -- sh -c \"test -t 2 && exit 9\"";
    let call = place.sh(&format!("exec script -qec '{command}' /dev/null"));
    assert_eq!(call.run().code, Some(9));
    let said = last(&place, "w1");
    assert_eq!(said["data"]["exit_code"], 9);
    assert_eq!(said["data"].get("stderr"), None, "{said}");
}
