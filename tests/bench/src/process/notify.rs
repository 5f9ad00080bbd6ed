//! `hubctl notify` against curl posting the same, and against a process that does nothing.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::{Programs, Way};
use crate::bench::Bench;
use crate::slices::{Measure, median, micros};
use crate::table::{Bound, Row};
use crate::{body, system};

/// From start to exit, each way of posting.
pub(super) fn rows(bench: &Bench, programs: &Programs, way: Way) -> Result<Vec<Row>> {
    let name = format!("hubctl notify, {}", way.name());
    let nothing = programs.bare(&system::program("true")?);
    let sides = vec![
        running(hubctl(programs, way)),
        running(curl(programs, way)?),
        running(nothing),
    ];
    let samples = bench.alternate(&name, sides)?;
    let row = |reference| samples.row(&name, "µs", |time| *time, 0, reference);
    Ok(vec![
        row(("curl", 1))
            .must(Bound::AtMost(0.30))
            .aim(Bound::AtMost(0.22)),
        row(("true", 2)).aim(Bound::AtMost(3.0)),
    ])
}

/// Runs a command repeatedly; returns its median time in µs.
fn running(mut command: Command) -> Measure<'static, f64> {
    Box::new(move |time| {
        let begin = Instant::now();
        let mut times = Vec::new();
        while begin.elapsed() < time {
            times.push(micros(once(&mut command)?));
        }
        Ok(median(&times))
    })
}

fn once(command: &mut Command) -> Result<Duration> {
    let start = Instant::now();
    let status = command.status()?;
    let elapsed = start.elapsed();
    ensure!(
        status.success(),
        "{} ended with {status}",
        command.get_program().display()
    );
    Ok(elapsed)
}

fn hubctl(programs: &Programs, way: Way) -> Command {
    let mut command = programs.hubctl(way);
    command.args(["notify", "--from", "worker-1", "--to", "bench"]);
    command.args(["--type", "message"]);
    command.args(["--data", r#"{"branch":"orders-2","tests":214}"#]);
    command
        .arg("the migration of the orders table is done, all tests pass and the branch is pushed");
    command
}

fn curl(programs: &Programs, way: Way) -> Result<Command> {
    let file = programs.hub.file("body.json");
    std::fs::write(&file, body::body("bench", 0))?;
    let mut command = programs.curl(way);
    command.args(["-H", "content-type: application/json", "--data"]);
    command.arg(format!("@{}", file.display()));
    command.arg(programs.url("/notify"));
    Ok(command)
}
