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
fn records_before_an_unreadable_place_are_saved() {
    let dir = tempfile::tempdir().unwrap();
    let (sound, broken) = (dir.path().join("sound"), dir.path().join("broken"));
    filled(&sound, 600);
    let file = broken.join("journal/db");
    let mut saved = Vec::new();
    for when in [1, 40, 60, 80, 100, 120, 140, 160, 200, 240] {
        copy(&sound, &broken);
        let trace = inject(&file, &format!("pread64:error=EIO:when={when}+"));
        assert!(adopt_under(&broken, &trace), "call {when}");
        let found = adopted(&broken);
        assert_eq!(found, expected(found.len() as u64), "call {when}");
        saved.push(found.len());
        fs::remove_dir_all(&broken).unwrap();
    }
    let is_part = |saved: &usize| (1..600).contains(saved);
    assert!(saved.iter().any(is_part), "{saved:?}");
}

#[test]
fn after_any_flipped_bit_an_adopted_journal_opens_and_accepts_writes() {
    let (sound, mut lost) = (made(60), 0);
    flipped(sound.path(), "journal/db", 60, |dir, at| {
        Maintenance::Adopt.run(dir).unwrap();
        let found = adopted(dir);
        let mut all = expected(60).into_iter();
        let are_known = found.iter().all(|it| all.any(|known| known == *it));
        assert!(are_known, "byte {at}");
        // Only records in the same block are lost.
        assert!(found.len() > 50, "byte {at}: {}", found.len());
        lost += u32::from(found.len() < 60);
    });
    assert!(lost > 2, "{lost} of 60 flips were seen");
}

#[test]
fn a_suspect_journal_that_is_damaged_is_not_replaced_by_a_part_of_it() {
    let (sound, mut refused) = (made(60), 0);
    flipped(sound.path(), "journal/db", 60, |dir, at| {
        fs::write(dir.join("suspect"), b"sync failed").unwrap();
        match open(dir) {
            Ok(journal) => assert_eq!(all(&journal).unwrap(), expected(60), "byte {at}"),
            Err(error) => {
                refused += 1;
                assert!(error.to_string().contains("hubd adopt"), "{error}");
                let is_replaced = dir.join("journal.replaced").exists();
                assert!(!is_replaced && dir.join("suspect").exists(), "byte {at}");
            }
        }
    });
    assert!(refused > 5, "{refused} of 60 flips were seen");
}
