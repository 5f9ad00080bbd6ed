//! A disk that fails to read stored data, once or permanently.

use std::fs;
use std::path::Path;

use hubd::maintain::Maintenance;

use super::adopt::{adopt_under, adopted};
use super::child::{Writer, inject};
use super::{all, copy, expected, filled, flipped, made, open, reopened};

/// Enough records for several reads of sled.
const RECORDS: u64 = 1200;

/// Arguments of strace that fail one read of sled's file, and only that one.
fn one_read(dir: &Path, when: usize) -> Vec<String> {
    let failure = format!("pread64:error=EIO:when={when}");
    inject(&dir.join("journal/db"), &failure)
}

#[test]
fn a_read_error_of_the_store_at_a_start_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (sound, read) = (dir.path().join("sound"), dir.path().join("read"));
    filled(&sound, RECORDS);
    for when in [1, 2, 3, 5, 9, 20] {
        copy(&sound, &read);
        let writer = Writer::new(&read, RECORDS + 1).under(one_read(&read, when));
        let output = String::from_utf8(writer.run().stdout).unwrap();
        let stored = format!("stored {}", RECORDS + 1);
        assert!(output.contains(&stored), "read {when}: {output}");
        assert_eq!(reopened(&read), expected(RECORDS + 1));
        fs::remove_dir_all(&read).unwrap();
    }
}

#[test]
fn a_bad_sector_of_a_segment_is_restored_from_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let (sound, read) = (dir.path().join("sound"), dir.path().join("read"));
    filled(&sound, 20);
    // The first read fails, and then its first sector or none.
    for calls in ["1", "1..2"] {
        copy(&sound, &read);
        let segment = read.join("segments/00000000000000000001");
        let failure = inject(&segment, &format!("pread64:error=EIO:when={calls}"));
        let writer = Writer::new(&read, 21).under(failure);
        let output = String::from_utf8(writer.run().stdout).unwrap();
        assert!(output.contains("stored 21"), "{calls}: {output}");
        assert_eq!(reopened(&read), expected(21));
        fs::remove_dir_all(&read).unwrap();
    }
}

#[test]
fn one_read_error_costs_an_adopt_nothing() {
    let dir = made(RECORDS);
    assert!(adopt_under(dir.path(), &one_read(dir.path(), 1)));
    assert_eq!(adopted(dir.path()), expected(RECORDS));
}

/// Flips bits in each file that sled derives from its main file, and calls `look` with each damaged directory.
fn derived(mut look: impl FnMut(&Path, &str)) {
    let sound = made(60);
    // At this open sled writes the derived files.
    drop(open(sound.path()).unwrap());
    let files = fs::read_dir(sound.path().join("journal")).unwrap();
    let files = files.flatten();
    let names = files.map(|it| it.file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.retain(|name| name.starts_with("snap.") || name == "conf");
    assert_eq!(names.len(), 2, "{names:?}");
    for name in names {
        flipped(sound.path(), &format!("journal/{name}"), 9, |dir, at| {
            look(dir, &format!("{name} at {at}"));
        });
    }
}

#[test]
fn a_flipped_bit_in_a_derived_file_loses_nothing_at_a_start() {
    derived(|dir, place| {
        let journal = open(dir).unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_eq!(all(&journal).unwrap(), expected(60), "{place}");
    });
}

#[test]
fn a_flipped_bit_in_a_derived_file_loses_nothing_at_an_adopt() {
    derived(|dir, place| {
        Maintenance::Adopt.run(dir).unwrap();
        assert_eq!(adopted(dir), expected(60), "{place}");
    });
}
