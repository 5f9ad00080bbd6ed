//! Files that changed after they were written.

use std::fs;
use std::path::Path;

use hubd::log::journal::sled::{DurabilityChecks, OpenError, Options, SledJournal};
use hubd::log::journal::{Entry, Journal, JournalError};

use super::{all, copy, expected, filled, flipped, open, publish};

/// Opens the journal without the checks of the epoch file.
fn open_unfenced(dir: &Path) -> Result<SledJournal, OpenError> {
    let checks = DurabilityChecks {
        epoch: false,
        ..DurabilityChecks::default()
    };
    SledJournal::open(
        dir,
        Options {
            checks,
            ..Options::default()
        },
    )
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
    let dir = tempfile::tempdir().unwrap();
    let sound = dir.path().join("sound");
    filled(&sound, RECORDS);
    let mut complaints = 0;
    flipped(&sound, "journal/db", 300, |dir, at| match read_all(dir) {
        Ok(found) => assert_eq!(found, expected(RECORDS), "byte {at}"),
        Err(_) => complaints += 1,
    });
    // Most blocks have another copy in the file, or the flipped place is unused.
    assert!(complaints > 10, "{complaints} of 300 flips were seen");
}

#[test]
fn an_emptied_store_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path(), 40);
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
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path(), 40);
    fs::remove_dir_all(dir.path().join("journal")).unwrap();
    let error = open(dir.path()).unwrap_err();
    assert!(
        error.to_string().contains("record 40 was stored"),
        "{error}"
    );
    assert!(!dir.path().join("journal").exists());
}

#[test]
fn a_truncated_store_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let sound = dir.path().join("sound");
    filled(&sound, 200);
    let length = fs::metadata(sound.join("journal/db")).unwrap().len();
    for part in 0..20 {
        let broken = dir.path().join("broken");
        copy(&sound, &broken);
        let file = fs::OpenOptions::new()
            .write(true)
            .open(broken.join("journal/db"))
            .unwrap();
        file.set_len(length * part / 20).unwrap();
        assert!(read_all(&broken).is_err(), "{part}/20");
        fs::remove_dir_all(broken).unwrap();
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
    let error = open(&state).unwrap_err();
    assert!(
        matches!(
            error,
            OpenError::Behind {
                head: 40,
                synced: 60
            }
        ),
        "{error}"
    );
    assert!(error.to_string().contains("hubd adopt"), "{error}");
    hubd::maintain::Maintenance::Adopt.run(&state).unwrap();
    let journal = open(&state).unwrap();
    assert_eq!(all(&journal).unwrap()[..40], expected(40));
    assert!(journal.head() > 1_000_000);
    // Removed fence: the numbers from 41 on would be assigned a second time.
    copy(&backup, &dir.path().join("unfenced/journal"));
    fs::copy(state.join("epoch"), dir.path().join("unfenced/epoch")).unwrap();
    assert_eq!(
        open_unfenced(&dir.path().join("unfenced")).unwrap().head(),
        40
    );
}

#[test]
fn a_missing_epoch_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path(), 40);
    fs::remove_file(dir.path().join("epoch")).unwrap();
    let error = open(dir.path()).unwrap_err();
    assert!(matches!(error, OpenError::NoEpoch), "{error}");
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path(), 3);
    let path = dir.path().join("epoch");
    let text = fs::read_to_string(&path)
        .unwrap()
        .replace("\"format\":2", "\"format\":9");
    let slots = text.lines().filter_map(|line| {
        let (json, _) = line.trim().rsplit_once(' ')?;
        Some(format!(
            "{:4096}",
            format!("{json} {:08x}", crc32c::crc32c(json.as_bytes()))
        ))
    });
    let slots: String = slots.collect();
    fs::write(path, slots).unwrap();
    let error = open(dir.path()).unwrap_err();
    assert!(error.to_string().contains("format 9"), "{error}");
}

#[test]
fn stray_files_do_not_matter() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path(), 40);
    fs::create_dir(dir.path().join("snapshots")).unwrap();
    let cut_short = [
        "journal/snap.00000000000FF000.generating",
        "epoch.tmp",
        "snapshots/00000000000000000030.tmp",
    ];
    for stray in cut_short.into_iter().chain(["notes.txt"]) {
        fs::write(dir.path().join(stray), b"half of some").unwrap();
    }
    assert_eq!(all(&open(dir.path()).unwrap()).unwrap(), expected(40));
    // Unfinished files do not occupy space for ever.
    assert!(
        !cut_short
            .iter()
            .any(|stray| dir.path().join(stray).exists())
    );
    assert!(dir.path().join("notes.txt").exists());
}

#[test]
fn damage_while_open_is_reported_to_readers_and_writers() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path(), 2000);
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
    match all(&journal) {
        Ok(found) => {
            let lost = |it: &Entry| journal.lost_at(it.seq).is_some();
            let kept: Vec<_> = expected(2000).into_iter().filter(|it| !lost(it)).collect();
            assert_eq!(found, kept);
        }
        Err(_) => assert!(matches!(
            publish(&journal),
            Err(JournalError::Corrupt { .. })
        )),
    }
}
