//! A writer in a process of its own, so that it can be traced, killed and lied to.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use hubd::journal::sled::{Fences, Options, SledJournal};
use hubd::journal::{Journal, JournalError};

use super::{expected, publish};

const DIR: &str = "HUB_TEST_JOURNAL";
const COUNT: &str = "HUB_TEST_COUNT";
const CHURN: &str = "HUB_TEST_CHURN";
const UNPACED: &str = "HUB_TEST_UNPACED";
const UNSYNCED: &str = "HUB_TEST_UNSYNCED";

/// A writer that is run under strace.
pub(super) struct Writer {
    /// Arguments of strace.
    pub(super) trace: Vec<String>,
    /// The state directory.
    pub(super) dir: PathBuf,
    /// How many records it publishes.
    pub(super) count: u64,
    /// What protects its journal.
    pub(super) fences: Fences,
    /// In large commits, and keeping only the newest.
    pub(super) churn: bool,
}

impl Writer {
    pub(super) fn new(dir: &Path, count: u64) -> Self {
        Self {
            trace: Vec::new(),
            dir: dir.to_owned(),
            count,
            fences: Fences::default(),
            churn: false,
        }
    }

    pub(super) fn churning(self, count: u64) -> Self {
        Self {
            churn: true,
            count,
            ..self
        }
    }

    pub(super) fn run(&self) -> Output {
        let mut command = Command::new("strace");
        command
            .arg("-f")
            .args(&self.trace)
            .arg(std::env::current_exe().unwrap());
        command.args([
            "--ignored",
            "--exact",
            "--nocapture",
            "--test-threads=1",
            "child::publishes",
        ]);
        command
            .env(DIR, &self.dir)
            .env(COUNT, self.count.to_string());
        if !self.fences.fdatasync {
            command.env(UNSYNCED, "1");
        }
        if !self.fences.paced {
            command.env(UNPACED, "1");
        }
        if self.churn {
            command.env(CHURN, "1");
        }
        let output = command.stdin(Stdio::null()).output();
        output.expect("these tests need strace: install it (apt-get install strace)")
    }
}

/// The numbers that a writer said were stored.
pub(super) fn stored(output: &Output) -> Vec<u64> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .filter_map(|line| line.strip_prefix("stored ")?.parse().ok())
        .collect()
}

#[test]
#[ignore = "the process that other tests start"]
fn publishes() {
    let Some(dir) = std::env::var_os(DIR) else {
        return;
    };
    let count: u64 = std::env::var(COUNT).unwrap().parse().unwrap();
    let fences = Fences {
        fdatasync: std::env::var_os(UNSYNCED).is_none(),
        paced: std::env::var_os(UNPACED).is_none(),
        ..Fences::default()
    };
    let options = Options {
        fences,
        ..Options::default()
    };
    // Standard output itself: the harness would collect lines.
    let mut out = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/stdout")
        .unwrap();
    out.write_all(b"\n").unwrap();
    let journal = match SledJournal::open(Path::new(&dir), options) {
        Ok(journal) => journal,
        Err(error) => return writeln!(out, "refused {error}").unwrap(),
    };
    let churn = std::env::var_os(CHURN).is_some();
    while journal.head() < count {
        let written = if churn {
            churned(&journal)
        } else {
            publish(&journal).map(drop)
        };
        match written {
            Ok(()) => out
                .write_all(format!("stored {}\n", journal.head()).as_bytes())
                .unwrap(),
            Err(error) => {
                let health = journal.health();
                out.write_all(format!("failed {error} {health:?}\n").as_bytes())
                    .unwrap();
                break;
            }
        }
    }
    // A kill, not an end: nothing is closed.
    std::process::exit(0);
}

/// One commit of 2000 records, some 4 MB, and only these are kept.
fn churned(journal: &SledJournal) -> Result<(), JournalError> {
    let head = journal.head();
    let entries: Vec<_> = expected(head + 2000).split_off(usize::try_from(head).unwrap());
    journal.append(&entries)?;
    for _ in 0..40 {
        journal.trim(head.saturating_sub(1))?;
    }
    Ok(())
}
