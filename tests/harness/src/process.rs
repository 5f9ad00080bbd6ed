//! Processes as the hub knows them: it believes only what the kernel shows of the process that asks.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::until;

/// Returns a command line that sends JSON to the hub at `socket`. `@PID@` stands for the shell that runs it.
pub fn request(socket: &Path, method: &str, path: &str, body: &Value) -> String {
    let socket = socket.display();
    let with_pid = |it: &str| format!("\"$(echo '{it}' | sed s/@PID@/$$/)\"");
    let (url, body) = (
        with_pid(&format!("http://localhost{path}")),
        with_pid(&body.to_string()),
    );
    let curl = "curl -sS --fail-with-body -H content-type:application/json";
    format!("{curl} --unix-socket {socket} -X {method} -d {body} {url}")
}

/// Starts a process with these variables that makes requests, and then lives until it is killed.
pub fn requester(requests: &[String], env: &[(&str, &Path)]) -> Child {
    let requests = requests.join(" >&2 && ");
    let mut sh = Command::new("sh");
    sh.args([
        "-c",
        &format!("{requests} >&2 && echo done; exec sleep 600"),
    ]);
    sh.envs(env.iter().copied()).stdout(Stdio::piped());
    let mut child = sh.spawn().expect("a shell");
    let mut line = String::new();
    let output = child.stdout.take().expect("a pipe");
    BufReader::new(output).read_line(&mut line).expect("a line");
    assert_eq!(line, "done\n", "the hub refused {requests}");
    child
}

/// Starts a process that registers itself as the session `id`.
pub fn session_process(socket: &Path, id: &str) -> Child {
    let info = serde_json::json!({});
    requester(&[registration(socket, id, &info)], &[])
}

/// Returns a command line that registers the shell that runs it as the session `id`.
pub fn registration(socket: &Path, id: &str, info: &Value) -> String {
    let mut info = info.clone();
    info["process"] = serde_json::json!({ "pid": "@PID@" });
    let line = request(socket, "PUT", &format!("/sessions/{id}"), &info);
    // A number in JSON.
    line.replace("\"@PID@\"", "@PID@")
}

/// Stops a process, or lets it go on. It has stopped when each of its threads has, which the signal does not wait for.
pub fn pause(pid: u32, paused: bool) {
    let process = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let signal = if paused { Signal::STOP } else { Signal::CONT };
    kill_process(process.expect("a process id"), signal).expect("it runs");
    if paused {
        until("it has stopped", || has_stopped(pid).then_some(()));
    }
}

fn has_stopped(pid: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("Linux shows its threads");
    let mut states = threads
        .flatten()
        .map(|it| std::fs::read_to_string(it.path().join("status")));
    states.all(|it| it.is_ok_and(|it| it.contains("\nState:\tT")))
}
