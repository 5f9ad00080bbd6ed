//! Row: publishing beside ten dashboards, each of which reloads the list of sessions four times a second, against
//! publishing alone. Both sides use the same server, on which 2,000 sessions are registered.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::bench::Bench;
use crate::publish::publishing;
use crate::server::{Kind, Server};
use crate::slices::{Measure, Slice};
use crate::table::Row;

/// Number of dashboards, and the time between two reloads of one.
const DASHBOARDS: u32 = 10;
const INTERVAL: Duration = Duration::from_millis(250);

/// Number of projects, and of sessions in each: the hub allows a thousand inboxes per project.
const SESSIONS: (usize, usize) = (4, 500);

const PUBLISHERS: usize = 16;

/// A slice and the reloads during it.
struct Beside {
    publish: Slice,
    reloads_per_second: f64,
}

#[derive(Deserialize)]
struct Sessions {
    sessions: Vec<IgnoredAny>,
}

/// Measures the hub.
pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    if bench.subject != Kind::Hubd {
        bench.progress.show("dashboards: left out, it needs hubd");
        return Ok(Vec::new());
    }
    let server = bench.start(Kind::Hubd)?;
    register(&server)?;
    let sides = vec![
        publishing_beside(&server, DASHBOARDS),
        publishing_beside(&server, 0),
    ];
    let samples = bench.alternate("dashboards", sides)?;
    let name = format!("publish beside {DASHBOARDS} dashboards");
    let cpu = format!("{name}, CPU");
    let reloads = samples.of(0, |it| it.reloads_per_second);
    let wanted = f64::from(DASHBOARDS) / INTERVAL.as_secs_f64();
    Ok(vec![
        samples.row(&name, "op/s", |it| it.publish.rate, 0, ("alone", 1)),
        samples.row(&cpu, "µs", |it| it.publish.cpu, 0, ("alone", 1)),
        Row::compare("reloads", "op/s", &reloads, ("wanted", &[wanted])),
    ])
}

/// Registers the sessions, and checks that a reload lists all of them.
fn register(server: &Server) -> Result<()> {
    let mut connection = server.connect()?;
    for project in 0..SESSIONS.0 {
        for session in 0..SESSIONS.1 {
            let path = format!("/sessions/s{session}?project=p{project}");
            let body = format!(
                r#"{{"name":"worker-{session}","agent":"claude","cwd":"/home/me/src/p{project}"}}"#
            );
            connection.exchange(&server.request("PUT", &path, &body))?;
        }
    }
    let body = connection.exchange(&server.request("GET", "/sessions", ""))?;
    let listed = serde_json::from_slice::<Sessions>(&body)?.sessions.len();
    ensure!(
        listed == SESSIONS.0 * SESSIONS.1,
        "{listed} sessions are listed"
    );
    Ok(())
}

/// Publishes while `dashboards` reload.
fn publishing_beside(server: &Server, dashboards: u32) -> Measure<'_, Beside> {
    let mut publish = publishing(server, PUBLISHERS);
    Box::new(move |time| {
        thread::scope(|scope| {
            let readers: Vec<_> = (0..dashboards)
                .map(|number| scope.spawn(move || reload(server, number, time)))
                .collect();
            let publish = publish(time)?;
            let mut reloads = 0;
            for reader in readers {
                reloads += reader.join().expect("a dashboard's thread panicked")?;
            }
            Ok(Beside {
                publish,
                reloads_per_second: f64::from(reloads) / time.as_secs_f64(),
            })
        })
    })
}

/// Reloads the list of sessions for `time`; returns the number of reloads. The dashboards take turns within the interval.
/// One whose reload takes longer than the interval reloads again at once.
fn reload(server: &Server, number: u32, time: Duration) -> Result<u32> {
    let mut connection = server.connect()?;
    let request = server.request("GET", "/sessions", "");
    let start = Instant::now();
    let mut due = INTERVAL * number / DASHBOARDS;
    let mut reloads = 0;
    while due.max(start.elapsed()) < time {
        thread::sleep(due.saturating_sub(start.elapsed()));
        connection.exchange(&request)?;
        reloads += 1;
        due += INTERVAL;
    }
    Ok(reloads)
}
