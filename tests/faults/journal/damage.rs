//! Files that changed after they were written.

use std::fs;
use std::path::{Path, PathBuf};

use hub_core::record::kinds;
use hub_harness::repetitions;
use hub_log::journal::sled::OpenError;
use hub_log::journal::snapshot::Snapshots;
use hub_log::journal::{Entry, Journal};
use hubd::maintain::Maintenance;

use super::adopt::adopted;
use super::{all, copy, expected, filled, made, open, refused, reopened};

/// Returns all entries of a journal that must open, and checks that they are read twice, and that it accepts a write.
fn read_all(dir: &Path, place: &str) -> Vec<Entry> {
    let journal = open(dir).unwrap_or_else(|error| panic!("{place}: {error}"));
    let found = all(&journal).unwrap_or_else(|error| panic!("{place}: {error}"));
    journal.scrub(drop).unwrap();
    assert_eq!(all(&journal).unwrap(), found, "{place}: after the repair");
    drop(journal);
    assert_eq!(reopened(dir), found, "{place}: at the next start");
    found
}

#[test]
fn an_older_backup_of_both_copies_is_refused_until_it_is_adopted() {
    let dir = tempfile::tempdir().unwrap();
    let (state, backup) = (dir.path().join("state"), dir.path().join("backup"));
    filled(&state, 40);
    copy(&state, &backup);
    filled(&state, 20);
    fs::copy(state.join("epoch"), backup.join("epoch")).unwrap();
    let error = refused(&backup, "ends at record 40, but record 60 was stored");
    assert!(matches!(error, OpenError::Behind { .. }), "{error}");
    Maintenance::Adopt.run(&backup).unwrap();
    assert_eq!(adopted(&backup), expected(40));
}

#[test]
fn a_missing_epoch_file_is_refused_and_costs_an_adopt_nothing() {
    let dir = made(40);
    fs::remove_file(dir.path().join("epoch")).unwrap();
    let error = open(dir.path()).unwrap_err();
    assert!(matches!(error, OpenError::NoEpoch), "{error}");
    Maintenance::Adopt.run(dir.path()).unwrap();
    assert_eq!(adopted(dir.path()), expected(40));
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let dir = made(3);
    let path = dir.path().join("epoch");
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace("\"format\":3", "\"format\":9");
    let slots = text.lines().filter_map(|line| {
        let (json, _) = line.trim().rsplit_once(' ')?;
        let slot = format!("{json} {:08x}", crc32c::crc32c(json.as_bytes()));
        Some(format!("{slot:4096}"))
    });
    fs::write(path, slots.collect::<String>()).unwrap();
    refused(dir.path(), "format 9");
}

#[test]
fn stray_files_do_not_matter() {
    let dir = made(40);
    fs::create_dir(dir.path().join("snapshots")).unwrap();
    // Unfinished files do not occupy space for ever.
    let stray = [
        ("journal/snap.00000000000FF000.generating", false),
        ("epoch.tmp", false),
        ("segments/00000000000000000030.tmp", false),
        ("snapshots/00000000000000000030.tmp", false),
        ("notes.txt", true),
    ];
    for (name, _) in stray {
        fs::write(dir.path().join(name), b"half of some").unwrap();
    }
    assert_eq!(reopened(dir.path()), expected(40));
    for (name, stays) in stray {
        assert_eq!(dir.path().join(name).exists(), stays, "{name}");
    }
}

#[test]
fn damage_while_open_loses_nothing() {
    let dir = made(2000);
    let journal = open(dir.path()).unwrap();
    let file = dir.path().join("journal/db");
    let mut bytes = fs::read(&file).unwrap();
    for page in bytes.chunks_mut(4096) {
        page[100] ^= 1;
    }
    fs::write(&file, bytes).unwrap();
    assert_eq!(all(&journal).unwrap(), expected(2000));
    journal.scrub(drop).unwrap();
    assert_eq!(all(&journal).unwrap(), expected(2000));
    drop(journal);
    // Until then, pages in sled's cache may have been right.
    assert_eq!(reopened(dir.path()), expected(2000));
}

/// A source of numbers that a seed decides.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % bound as u64).unwrap()
    }
}

/// Returns the files of a closed journal, except those that hold nothing.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if !["reserve", "journal.lock", "next"]
            .iter()
            .any(|it| path.ends_with(it))
        {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Damages one bit, sector or file in the directory. Returns what.
fn damage(dir: &Path, dice: &mut Dice) -> String {
    let mut files = files(dir);
    // Half of the damage is in the largest file.
    let path = match dice.below(2) {
        0 => dir.join("journal/db"),
        _ => files.swap_remove(dice.below(files.len())),
    };
    let (mut bytes, kind) = (fs::read(&path).unwrap(), dice.below(6));
    let at = dice.below(bytes.len().max(1));
    let sector = at / 512 * 512..bytes.len().min(at / 512 * 512 + 512);
    let is_epoch = path.ends_with("epoch");
    match kind {
        0 | 1 if !bytes.is_empty() => bytes[at] ^= 1 << dice.below(8),
        2 => bytes[sector].fill(0),
        3 => bytes[sector]
            .iter_mut()
            .for_each(|it| *it = u8::try_from(dice.below(256)).unwrap()),
        // The epoch file as a whole is refused by name, see above.
        4 if !is_epoch => bytes.truncate(at),
        _ if !is_epoch => {
            fs::remove_file(&path).unwrap();
            return format!("{} removed", path.display());
        }
        _ => {}
    }
    fs::write(&path, bytes).unwrap();
    format!("kind {kind} at {at} of {}", path.display())
}

#[test]
fn one_damaged_bit_sector_or_file_anywhere_loses_nothing() {
    const RECORDS: u64 = 2000;
    let dir = tempfile::tempdir().unwrap();
    let (sound, broken) = (dir.path().join("sound"), dir.path().join("broken"));
    let small = |seq: u64| 40 + usize::try_from(seq % 9).expect("a digit") * 30;
    // Some take several blocks of the store.
    let size = |seq| if seq % 50 == 0 { 9000 } else { small(seq) };
    let one = |seq| super::entry(seq, kinds::NOTIFIED, size(seq));
    let expected: Vec<Entry> = (1..=RECORDS).map(one).collect();
    let journal = open(&sound).unwrap();
    for commit in expected.chunks(5) {
        journal.append(commit).unwrap();
    }
    let snapshots = Snapshots::new(&sound.join("snapshots"), journal.epoch());
    for seq in [RECORDS / 2, RECORDS - 100] {
        snapshots.save(seq, b"{}").unwrap();
    }
    drop(journal);
    for seed in 0..u64::from(repetitions(200, 2000)) {
        copy(&sound, &broken);
        let what = damage(&broken, &mut Dice(seed));
        assert_eq!(read_all(&broken, &format!("seed {seed}: {what}")), expected);
        fs::remove_dir_all(&broken).unwrap();
    }
}
