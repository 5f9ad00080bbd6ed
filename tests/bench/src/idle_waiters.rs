//! Row: what a publish costs the hub while ten thousand waiters are at other inboxes.

use std::io::Write;
use std::net::TcpStream;
use std::time::Instant;

use anyhow::{Result, ensure};

use crate::bench::Bench;
use crate::http::TIMEOUT;
use crate::long_poll;
use crate::publish::publishing;
use crate::server::{Kind, Server};
use crate::system;
use crate::table::{Bound, Row};

/// Number of projects, and of waiters in each: the hub allows a thousand inboxes per project.
const WAITERS: (usize, usize) = (10, 990);

const LOAD: usize = 16;

/// Measures processor time per publish, with and without waiters.
pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    if bench.subject != Kind::Hubd {
        bench.progress.show("waiters: left out, it needs hubd");
        return Ok(Vec::new());
    }
    let settings = ["limits.connections=12000", "limits.streams=11000"];
    let busy = bench.launcher.start_with(Kind::Hubd, &settings)?;
    let quiet = bench.launcher.start_with(Kind::Hubd, &settings)?;
    let waiters = wait(&busy)?;
    if system::processor_time(busy.pid()).is_none() {
        bench
            .progress
            .show("waiters: left out, processor times are not known here");
        return Ok(Vec::new());
    }
    let sides = vec![publishing(&busy, LOAD), publishing(&quiet, LOAD)];
    let samples = bench.alternate("waiters", sides)?;
    let name = format!("publish CPU, {} waiters", waiters.len());
    let row = samples.row(&name, "µs", |it| it.cpu, 0, ("none", 1));
    Ok(vec![row.must(Bound::AtMost(1.05))])
}

/// Opens all waiters; each one waits until its connection is dropped.
fn wait(server: &Server) -> Result<Vec<TcpStream>> {
    let mut streams = Vec::new();
    for number in 0..WAITERS.0 {
        let project = format!("p{number}");
        for inbox in 0..WAITERS.1 {
            let path = format!("/wait?project={project}&inbox=w{inbox}&timeout=600");
            let mut stream = TcpStream::connect(server.address())?;
            stream.write_all(&server.request("GET", &path, ""))?;
            streams.push(stream);
        }
        let mut watch = server.connect()?;
        let start = Instant::now();
        while long_poll::armed(&mut watch, server, &project)?.len() < WAITERS.1 {
            ensure!(start.elapsed() < TIMEOUT, "the waiters are not armed");
        }
    }
    Ok(streams)
}
