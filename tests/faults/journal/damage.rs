//! Files that changed after they were written.

use std::fs;
use std::path::Path;

use hub_log::journal::sled::{OpenError, SledJournal};
use hub_log::journal::{Entry, Journal, JournalError};

use super::{all, copy, expected, filled, flipped, made, open, publish, refused, reopened};

/// Opens the journal without the checks of the epoch file.
fn open_unfenced(dir: &Path) -> Result<SledJournal, OpenError> {
    let mut options = super::options();
    options.checks.epoch = false;
    SledJournal::open(dir, options)
}

/// Returns all entries that a reader would get, or the first error.
fn read_all(dir: &Path) -> Result<Vec<Entry>, String> {
    let journal = open(dir).map_err(|error| error.to_string())?;
    journal.scrub(drop).map_err(|error| error.to_string())?;
    all(&journal).map_err(|error| error.to_string())
}

#[test]
fn a_flipped_bit_is_never_read_as_a_record() {
    const RECORDS: u64 = 60;
    let sound = made(RECORDS);
    let mut complaints = 0;
    flipped(sound.path(), "journal/db", 300, |dir, at| {
        match read_all(dir) {
            Ok(found) => assert_eq!(found, expected(RECORDS), "byte {at}"),
            Err(_) => complaints += 1,
        }
    });
    // Most blocks have another copy in the file, or the flipped place is unused.
    assert!(complaints > 10, "{complaints} of 300 flips were seen");
}

#[test]
fn an_emptied_store_is_refused() {
    let dir = made(40);
    fs::write(dir.path().join("journal/db"), b"").unwrap();
    for file in fs::read_dir(dir.path().join("journal")).unwrap().flatten() {
        if file.file_name().to_string_lossy().starts_with("snap.") {
            fs::remove_file(file.path()).unwrap();
        }
    }
    let error = open(dir.path()).unwrap_err();
    assert!(matches!(error, OpenError::Empty { synced: 40 }), "{error}");
    // Removed fence: sled opens an empty store silently, and the hub would begin a new log.
    assert_eq!(open_unfenced(dir.path()).unwrap().head(), 0);
}

#[test]
fn a_deleted_store_is_refused_and_not_created_again() {
    let dir = made(40);
    fs::remove_dir_all(dir.path().join("journal")).unwrap();
    refused(dir.path(), "record 40 was stored");
    assert!(!dir.path().join("journal").exists());
}

#[test]
fn a_truncated_store_is_refused() {
    let sound = made(200);
    let bytes = fs::read(sound.path().join("journal/db")).unwrap();
    for part in 0..20 {
        let broken = tempfile::tempdir().unwrap();
        copy(sound.path(), broken.path());
        let rest = &bytes[..bytes.len() * part / 20];
        fs::write(broken.path().join("journal/db"), rest).unwrap();
        assert!(read_all(broken.path()).is_err(), "{part}/20");
    }
}

#[test]
fn an_older_backup_is_refused_until_it_is_adopted() {
    let dir = tempfile::tempdir().unwrap();
    let (state, backup) = (dir.path().join("state"), dir.path().join("backup"));
    filled(&state, 40);
    copy(&state.join("journal"), &backup);
    filled(&state, 20);
    fs::remove_dir_all(state.join("journal")).unwrap();
    copy(&backup, &state.join("journal"));
    let error = refused(&state, "hubd adopt");
    let is_behind = matches!(
        error,
        OpenError::Behind {
            head: 40,
            synced: 60
        }
    );
    assert!(is_behind, "{error}");
    hubd::maintain::Maintenance::Adopt.run(&state).unwrap();
    let journal = open(&state).unwrap();
    assert_eq!(all(&journal).unwrap()[..40], expected(40));
    assert!(journal.head() > 1_000_000);
    // Removed fence: the numbers from 41 on would be assigned a second time.
    let unfenced = dir.path().join("unfenced");
    copy(&backup, &unfenced.join("journal"));
    fs::copy(state.join("epoch"), unfenced.join("epoch")).unwrap();
    assert_eq!(open_unfenced(&unfenced).unwrap().head(), 40);
}

#[test]
fn a_missing_epoch_file_is_refused() {
    let dir = made(40);
    fs::remove_file(dir.path().join("epoch")).unwrap();
    let error = open(dir.path()).unwrap_err();
    assert!(matches!(error, OpenError::NoEpoch), "{error}");
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let dir = made(3);
    let path = dir.path().join("epoch");
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace("\"format\":2", "\"format\":9");
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
fn damage_while_open_is_reported_to_readers_and_writers() {
    let dir = made(2000);
    let journal = open(dir.path()).unwrap();
    let file = dir.path().join("journal/db");
    let mut bytes = fs::read(&file).unwrap();
    for page in bytes.chunks_mut(4096) {
        page[100] ^= 1;
    }
    fs::write(&file, bytes).unwrap();
    // Pages in sled's cache are still right; the rest is damaged.
    if let Err(error) = journal.scrub(drop) {
        assert!(matches!(error, JournalError::Corrupt { .. }), "{error}");
    }
    let Ok(found) = all(&journal) else {
        let refused = publish(&journal);
        assert!(matches!(refused, Err(JournalError::Corrupt { .. })));
        return;
    };
    let lost = |it: &Entry| journal.lost_at(it.seq).is_some();
    let kept: Vec<_> = expected(2000).into_iter().filter(|it| !lost(it)).collect();
    assert_eq!(found, kept);
}
