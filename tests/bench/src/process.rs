//! Rows: hubctl as a process. How long `notify` runs from its start to its exit, how long `wait` takes from a POST to
//! its exit, each over the Unix socket and over TCP, and how large the binary is.

mod notify;
mod wait;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::bench::Bench;
use crate::server::{Kind, Server};
use crate::system;
use crate::table::{Bound, Row};

const MIB: f64 = 1_048_576.0;

/// How a client reaches the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Unix,
    Tcp,
}

/// The client programs, and the hub that they connect to.
struct Programs {
    hub: Server,
    hubctl: PathBuf,
    curl: PathBuf,
    /// A working directory like an agent's: a git repository.
    cwd: PathBuf,
}

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    if bench.subject != Kind::Hubd {
        bench.progress.show("process: left out, it needs hubd");
        return Ok(Vec::new());
    }
    let programs = Programs::new(bench)?;
    let mut rows = Vec::new();
    for way in [Way::Unix, Way::Tcp] {
        rows.extend(notify::rows(bench, &programs, way)?);
    }
    for way in [Way::Unix, Way::Tcp] {
        rows.extend(wait::rows(bench, &programs, way)?);
    }
    rows.push(size(&programs.hubctl)?);
    Ok(rows)
}

#[allow(clippy::cast_precision_loss)] // a few million bytes
fn size(hubctl: &Path) -> Result<Row> {
    let size = std::fs::metadata(hubctl)?.len() as f64 / MIB;
    Ok(Row::fixed("hubctl binary", "MiB", size, "MiB", 2.0)
        .must(Bound::AtMost(1.0))
        .aim(Bound::AtMost(0.75)))
}

impl Programs {
    fn new(bench: &Bench) -> Result<Self> {
        let hubctl = bench.launcher.hubctl()?;
        let hub = bench.start(Kind::Hubd)?;
        let cwd = hub.file("work");
        let git = system::program("git")?;
        let done = Command::new(git)
            .args(["init", "-q"])
            .arg(&cwd)
            .stdout(Stdio::null())
            .status()?;
        anyhow::ensure!(done.success(), "git init failed");
        Ok(Self {
            hub,
            hubctl,
            curl: system::program("curl")?,
            cwd,
        })
    }

    /// Returns a call of hubctl without the person's configuration.
    fn hubctl(&self, way: Way) -> Command {
        let mut command = self.bare(&self.hubctl);
        command.env("HUB_STATE_DIR", self.hub.state());
        if way == Way::Tcp {
            command.env("HUB_URL", format!("http://{}", self.hub.address()));
            command.env("HUB_TOKEN_FILE", self.hub.file("token"));
        }
        command
    }

    /// Returns a call of curl with the socket or the token.
    fn curl(&self, way: Way) -> Command {
        let mut command = self.bare(&self.curl);
        command.args(["-sS", "--fail"]);
        match way {
            Way::Unix => command.arg("--unix-socket").arg(self.hub.file("hub.sock")),
            Way::Tcp => command
                .arg("-H")
                .arg(format!("@{}", self.hub.file("auth.header").display())),
        };
        command
    }

    fn bare(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.hub.state())
            .current_dir(&self.cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.hub.address())
    }
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Unix => "unix",
            Self::Tcp => "tcp",
        }
    }
}
