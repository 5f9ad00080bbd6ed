//! `hubctl wait` against curl's long-poll and against the least that a process can do: from the POST to the exit.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::{Programs, Way};
use crate::bench::Bench;
use crate::http::Connection;
use crate::long_poll;
use crate::server::{Kind, Server};
use crate::slices::{Measure, median, micros};
use crate::table::{Bound, Row};

/// Each way of waiting, at an inbox of its own.
pub(super) fn rows(bench: &Bench, programs: &Programs, way: Way) -> Result<Vec<Row>> {
    let name = format!("hubctl wait, {}", way.name());
    let memory = bench.start(Kind::AxumMemory)?;
    let at_memory = format!("http://{}{}", memory.address(), long_poll::path("m", ""));
    let mut curl_at_memory = programs.bare(&programs.curl);
    curl_at_memory.args(["-sS", "--fail", &at_memory]);
    let hub = &programs.hub;
    let sides = vec![
        waking(hub, "wait-hubctl", hubctl(programs, way, "wait-hubctl")),
        waking(hub, "wait-curl", curl(programs, way, "wait-curl")),
        waking(hub, "wait-raw", raw(programs, way, "wait-raw")?),
        waking(&memory, "m", curl_at_memory),
    ];
    let samples = bench.alternate(&name, sides)?;
    let row = |reference| samples.row(&name, "µs", |time| *time, 0, reference);
    Ok(vec![
        row(("curl", 1)),
        row(("curl in memory", 3)).must(Bound::AtMost(0.8)),
        row(("raw", 2)).aim(Bound::AtMost(1.7)),
    ])
}

/// Wakes a process repeatedly; returns the median time to its exit in µs.
fn waking<'a>(server: &'a Server, inbox: &'a str, mut command: Command) -> Measure<'a, f64> {
    command.stdout(Stdio::piped());
    Box::new(move |time| {
        let mut publisher = server.connect()?;
        let mut watch = server.connect()?;
        let begin = Instant::now();
        let mut times = Vec::new();
        while begin.elapsed() < time {
            let mut child = command.spawn()?;
            long_poll::until_armed(&mut watch, server, inbox)?;
            let request = server.notify(inbox, 0);
            let start = Instant::now();
            publisher.send(&request)?;
            let status = child.wait()?;
            times.push(micros(start.elapsed()));
            publisher.expect_success()?;
            ensure!(status.success(), "{command:?} ended with {status}");
            acknowledge(&mut publisher, server, inbox, child)?;
        }
        Ok(median(&times))
    })
}

/// Acknowledges the batch that curl or the raw waiter printed. hubctl acknowledges by itself, and prints no lease.
fn acknowledge(
    connection: &mut Connection,
    server: &Server,
    inbox: &str,
    child: Child,
) -> Result<()> {
    let mut said = Vec::new();
    let mut stdout = child.stdout.context("no stdout")?;
    stdout.read_to_end(&mut said)?;
    if let Ok(lease) = long_poll::lease(&said)
        && server.kind() == Kind::Hubd
    {
        let path = format!("/inboxes/{inbox}/ack?project=default");
        let body = format!(r#"{{"lease":"{lease}"}}"#);
        connection.exchange(&server.request("POST", &path, &body))?;
    }
    Ok(())
}

fn hubctl(programs: &Programs, way: Way, inbox: &str) -> Command {
    let mut command = programs.hubctl(way);
    command.args(["wait", "--project", "default", "--timeout", "60"]);
    command.args(["--inbox", inbox]);
    command
}

fn curl(programs: &Programs, way: Way, inbox: &str) -> Command {
    let mut command = programs.curl(way);
    command.arg(programs.url(&long_poll::path(inbox, "")));
    command
}

fn raw(programs: &Programs, way: Way, inbox: &str) -> Result<Command> {
    let hub = &programs.hub;
    let file = hub.file("wait.request");
    std::fs::write(&file, hub.request("GET", &long_poll::path(inbox, ""), ""))?;
    let mut command = programs.bare(&std::env::current_exe()?);
    command.arg("raw-wait");
    match way {
        Way::Unix => command.arg(hub.file("hub.sock")),
        Way::Tcp => command.arg(hub.address().to_string()),
    };
    command.arg(file);
    Ok(command)
}
