//! A writer in a separate process, which can be traced, killed and given failing system calls.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use hub_protocol::Seq;
use hubd::log::journal::disk::DiskJournal;
use hubd::log::journal::epoch::EpochFile;
use hubd::log::journal::sled::{DurabilityChecks, OpenError, Options, SledJournal};
use hubd::log::journal::{Journal, JournalError};

use super::{expected, options, publish};

const DIR: &str = "HUB_TEST_JOURNAL";
const COUNT: &str = "HUB_TEST_COUNT";
/// The names of the switches that are on.
const SWITCHES: &str = "HUB_TEST_SWITCHES";
const END: &str = "HUB_TEST_END";

/// How a writer's process ends.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    Killed,
    /// Killed when the store has all records.
    KilledAtRest,
    Closed,
}

/// A writer that runs under strace.
pub(super) struct Writer {
    /// Arguments of strace.
    pub(super) trace: Vec<String>,
    /// The state directory.
    pub(super) dir: PathBuf,
    /// The number of records to publish.
    pub(super) count: u64,
    /// The protections of its journal.
    pub(super) checks: DurabilityChecks,
    /// Whether to write large commits and keep only the newest.
    pub(super) churn: bool,
    /// Whether to leave the write-ahead log in front of the store out.
    pub(super) store_only: bool,
    /// How the process ends.
    pub(super) end: End,
}

impl Writer {
    pub(super) fn new(dir: &Path, count: u64) -> Self {
        Self {
            trace: Vec::new(),
            dir: dir.to_owned(),
            count,
            checks: DurabilityChecks::default(),
            churn: false,
            store_only: false,
            end: End::Killed,
        }
    }

    pub(super) fn churning(self, count: u64) -> Self {
        Self {
            churn: true,
            count,
            ..self
        }
    }

    fn switches(&self) -> String {
        let all = [
            ("unsynced", !self.checks.fdatasync),
            ("unpaced", !self.checks.paced),
            ("unsynced-log", !self.checks.log_sync),
            ("store-only", self.store_only),
            ("churn", self.churn),
        ];
        all.map(|(name, on)| if on { name } else { "" }).join(" ")
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
            .env(COUNT, self.count.to_string())
            .env(SWITCHES, self.switches())
            .env(END, format!("{:?}", self.end));
        let output = command.stdin(Stdio::null()).output();
        output.expect("these tests need strace: install it (apt-get install strace)")
    }
}

/// Arguments of strace that let system calls on `file` fail, for example with `fsync:error=EIO`.
pub(super) fn inject(file: &Path, failure: &str) -> Vec<String> {
    let (calls, _) = failure.split_once(':').unwrap();
    let file = file.display();
    let arguments = format!("-o /dev/null -P {file} -e trace={calls} -e inject={failure}");
    arguments.split(' ').map(String::from).collect()
}

fn is_on(switch: &str) -> bool {
    let switches = std::env::var(SWITCHES).unwrap();
    switches.split(' ').any(|it| it == switch)
}

/// Returns the numbers that a writer reported as stored.
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
    let checks = DurabilityChecks {
        fdatasync: !is_on("unsynced"),
        paced: !is_on("unpaced"),
        log_sync: !is_on("unsynced-log"),
        ..DurabilityChecks::default()
    };
    let options = Options {
        checks,
        ..options()
    };
    // Writes to stdout directly, because the test harness would capture `println!`.
    let mut out = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/stdout")
        .unwrap();
    out.write_all(b"\n").unwrap();
    let journal = match open(Path::new(&dir), options) {
        Ok(journal) => journal,
        Err(error) => return writeln!(out, "refused {error}").unwrap(),
    };
    let churn = is_on("churn");
    while journal.head() < count {
        let written = if churn {
            churned(&*journal)
        } else {
            publish(&*journal).map(drop)
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
    match std::env::var(END).unwrap().as_str() {
        "KilledAtRest" => {
            while in_store(Path::new(&dir)) < count {
                std::thread::yield_now();
            }
        }
        "Closed" => writeln!(out, "closed {:?}", journal.close()).unwrap(),
        _ => {}
    }
    // Ends like a kill: no destructor closes anything.
    std::process::exit(0);
}

/// Returns the number of the store's last record.
fn in_store(dir: &Path) -> Seq {
    let anchor = EpochFile::read(&dir.join("epoch")).unwrap();
    anchor.expect("a journal was opened").synced
}

fn open(dir: &Path, options: Options) -> Result<Box<dyn Journal>, OpenError> {
    Ok(if is_on("store-only") {
        Box::new(SledJournal::open(dir, options)?)
    } else {
        Box::new(DiskJournal::open(dir, options)?)
    })
}

/// Writes one commit of 2000 records, about 4 MB, and trims all older ones.
fn churned(journal: &dyn Journal) -> Result<(), JournalError> {
    let head = journal.head();
    let entries: Vec<_> = expected(head + 2000).split_off(usize::try_from(head).unwrap());
    journal.append(&entries)?;
    for _ in 0..40 {
        journal.trim(head.saturating_sub(1))?;
    }
    Ok(())
}
