//! `hubd adopt` on damaged journals, and killed halfway.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use hub_log::journal::{Entry, Journal};
use hubd::maintain::Maintenance;

use super::child::inject;
use super::fixture::fixture;
use super::{all, copy, expected, filled, flipped, made, open, publish, reopened};

const DIR: &str = "HUB_TEST_ADOPT";

#[test]
#[ignore = "the process that other tests start"]
fn adopts() {
    if let Some(dir) = env::var_os(DIR) {
        Maintenance::Adopt.run(Path::new(&dir)).unwrap();
    }
}

/// Runs adopt in a child process under strace with the option `inject`; returns whether it finished.
pub(super) fn adopt_under(dir: &Path, inject: &[String]) -> bool {
    let mut command = Command::new("strace");
    command.args(["-f", "-o", "/dev/null"]).args(inject);
    command.arg(env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "adopt::adopts"]);
    let output = command.env(DIR, dir).stdin(Stdio::null()).output();
    let output = output.expect("these tests need strace: install it (apt-get install strace)");
    output.status.success()
}

/// Returns the entries of an adopted journal before the record that continues it, and checks that it accepts a write.
pub(super) fn adopted(dir: &Path) -> Vec<Entry> {
    let journal = open(dir).unwrap();
    journal.scrub(drop).unwrap();
    let mut found = all(&journal).unwrap();
    found.retain(|entry| entry.seq < 1_000_000);
    publish(&journal).unwrap();
    assert!(journal.head() > 1_000_000);
    found
}

#[test]
fn an_adopt_killed_at_any_rename_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (sound, killed) = (dir.path().join("sound"), dir.path().join("killed"));
    copy(&fixture(2), &sound);
    let stored = reopened(&sound);
    assert_eq!(stored.len(), 100);
    let mut renames = 0;
    loop {
        renames += 1;
        copy(&fixture(2), &killed);
        let kill = format!("inject=/^rename:signal=KILL:when={renames}");
        let trace = ["-e", "trace=/^rename", "-e", &kill].map(String::from);
        if adopt_under(&killed, &trace) {
            break;
        }
        let left = dir.path().join("left");
        copy(&killed, &left);
        assert_eq!(
            reopened(&left)[..100],
            stored,
            "started after rename {renames}"
        );
        fs::remove_dir_all(left).unwrap();
        Maintenance::Adopt.run(&killed).unwrap();
        assert_eq!(adopted(&killed), stored, "adopted after rename {renames}");
        fs::remove_dir_all(&killed).unwrap();
    }
    // One rename each of the directory and of the log, and two of every other part.
    assert!(renames > 8, "{renames}");
}

#[test]
fn an_unreadable_place_of_the_store_costs_an_adopt_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (sound, broken) = (dir.path().join("sound"), dir.path().join("broken"));
    filled(&sound, 600);
    let file = broken.join("journal/db");
    for when in [1, 40, 60, 100] {
        copy(&sound, &broken);
        let trace = inject(&file, &format!("pread64:error=EIO:when={when}+"));
        assert!(adopt_under(&broken, &trace), "call {when}");
        assert_eq!(adopted(&broken), expected(600), "call {when}");
        fs::remove_dir_all(&broken).unwrap();
    }
}

#[test]
fn after_any_flipped_bit_an_adopted_journal_has_all_records() {
    let sound = made(60);
    for file in ["journal/db", "segments/00000000000000000001"] {
        flipped(sound.path(), file, 30, |dir, at| {
            Maintenance::Adopt.run(dir).unwrap();
            assert_eq!(adopted(dir), expected(60), "byte {at} of {file}");
        });
    }
}
