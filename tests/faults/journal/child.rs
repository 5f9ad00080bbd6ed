//! A writer in a separate process, which can be traced, killed and given failing system calls.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use hub_core::disk::OsDisk;
use hub_log::journal::disk::DiskJournal;
use hub_log::journal::epoch::EpochFile;
use hub_log::journal::sled::{DurabilityChecks, OpenError, Options};
use hub_log::journal::{Journal, JournalError};
use hub_log::testing::StoreAlone;
use hub_protocol::Seq;

use super::{expected, options, publish, trace};

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

/// A writer that runs under strace, and publishes records in a state directory.
pub(super) struct Writer {
    trace: Vec<String>,
    dir: PathBuf,
    count: u64,
    checks: DurabilityChecks,
    churn: bool,
    store_only: bool,
    end: End,
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

    /// Returns a writer whose journal and traces are in `dir`.
    pub(super) fn traced(dir: &Path, count: u64) -> Self {
        Self::new(&dir.join("state"), count).under(trace::arguments(dir))
    }

    /// Sets the arguments of strace.
    pub(super) fn under(mut self, trace: Vec<String>) -> Self {
        self.trace = trace;
        self
    }

    pub(super) fn ending(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    /// Lets it write large commits and keep only the newest.
    pub(super) fn churning(mut self, count: u64) -> Self {
        (self.churn, self.count) = (true, count);
        self
    }

    /// Leaves the segments in front of the store out.
    pub(super) fn store_only(mut self) -> Self {
        self.store_only = true;
        self
    }

    /// Removes one of the protections of the journal.
    pub(super) fn without(mut self, check: fn(&mut DurabilityChecks) -> &mut bool) -> Self {
        *check(&mut self.checks) = false;
        self
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
        let options = "--ignored --exact --nocapture --test-threads=1 child::publishes";
        let mut command = Command::new("strace");
        let command = command.arg("-f").args(&self.trace);
        let command = command
            .arg(std::env::current_exe().unwrap())
            .args(options.split(' '));
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
    let number = |line: &str| line.strip_prefix("stored ")?.parse().ok();
    text.lines().filter_map(number).collect()
}

#[test]
#[ignore = "the process that other tests start"]
fn publishes() {
    let Some(dir) = std::env::var_os(DIR) else {
        return;
    };
    let count: u64 = std::env::var(COUNT).unwrap().parse().unwrap();
    let mut options = options();
    options.checks.fdatasync = !is_on("unsynced");
    options.checks.paced = !is_on("unpaced");
    options.checks.log_sync = !is_on("unsynced-log");
    // Writes to stdout directly, because the test harness would capture `println!`, and each line by one call.
    let out = std::fs::OpenOptions::new().write(true).open("/dev/stdout");
    let mut out = out.unwrap();
    let mut say = |line: String| out.write_all((line + "\n").as_bytes()).unwrap();
    say(String::new());
    let journal = match open(Path::new(&dir), options) {
        Ok(journal) => journal,
        Err(error) => return say(format!("refused {error}")),
    };
    let churn = is_on("churn");
    while journal.head() < count {
        let written = if churn {
            churned(&*journal)
        } else {
            publish(&*journal).map(drop)
        };
        match written {
            Ok(()) => say(format!("stored {}", journal.head())),
            Err(error) => {
                say(format!("failed {error} {:?}", journal.health()));
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
        "Closed" => say(format!("closed {:?}", journal.close())),
        _ => {}
    }
    // Ends like a kill: no destructor closes anything.
    std::process::exit(0);
}

/// Returns the number of the store's last record.
fn in_store(dir: &Path) -> Seq {
    let anchor = EpochFile::read(&OsDisk, &dir.join("epoch")).unwrap();
    anchor.expect("a journal was opened").synced
}

fn open(dir: &Path, options: Options) -> Result<Box<dyn Journal>, OpenError> {
    Ok(if is_on("store-only") {
        Box::new(StoreAlone::open(dir, options)?)
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
