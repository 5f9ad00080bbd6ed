//! Rows: what a person at the dashboard waits for, in a real Chromium. `tests/bench/browser` measures, with the tools that
//! `tests/run browser` installs. There is no reference, so the rows have no ratio.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::bench::Bench;
use crate::table::Row;

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/browser");

/// A line of `row.js`.
#[derive(Deserialize)]
struct Measured {
    name: String,
    values: Vec<f64>,
}

/// Runs each file, and returns its rows.
pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let hubd = bench.launcher.hubd()?;
    let bin = hubd.parent().context("hubd has no directory")?;
    let file = tempfile::NamedTempFile::new()?;
    for name in ["feed.js", "latency.js", "longtask.js"] {
        bench.progress.show(&format!("browser: {name}"));
        let run = Command::new("node")
            .arg(Path::new(DIRECTORY).join(name))
            .env("HUB_BIN_DIR", bin)
            .env("HUB_BENCH_ROWS", file.path())
            .output()
            .context("node")?;
        let said = String::from_utf8_lossy(&run.stdout);
        ensure!(run.status.success(), "{name} failed:\n{said}");
    }
    let lines = std::fs::read_to_string(file.path())?;
    let rows = lines.lines().map(|line| {
        let Measured { name, values } = serde_json::from_str(line)?;
        Ok(Row::compare(&name, "ms", &values, ("", &[1.0])))
    });
    rows.collect()
}
