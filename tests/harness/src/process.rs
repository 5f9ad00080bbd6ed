//! Processes as the hub knows them: it believes only what the kernel shows of the process that asks.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

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
