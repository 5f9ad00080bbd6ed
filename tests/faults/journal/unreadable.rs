//! A disk that fails to read stored data, once or permanently.

use std::fs;
use std::path::Path;

use hubd::maintain::Maintenance;

use super::adopt::{adopt_under, adopted};
use super::child::{Writer, inject};
use super::{all, copy, expected, filled, flipped, made, open, reopened};

/// Enough records for several chunks of the read that precedes sled's.
const RECORDS: u64 = 1200;

/// Arguments of strace that fail one read of sled's file, and only that one.
fn one_read(dir: &Path, when: usize) -> Vec<String> {
    let failure = format!("pread64:error=EIO:when={when}");
    inject(&dir.join("journal/db"), &failure)
}

#[test]
fn one_read_error_at_a_start_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (sound, read) = (dir.path().join("sound"), dir.path().join("read"));
    filled(&sound, RECORDS);
    let bytes = fs::read(sound.join("journal/db")).unwrap();
    let reads = bytes.len().div_ceil(1 << 20);
    assert!(reads > 1);
    for when in 1..=reads {
        copy(&sound, &read);
        let writer = Writer::new(&read, 0).under(one_read(&read, when));
        let output = String::from_utf8(writer.run().stdout).unwrap();
        assert!(
            output.contains("refused cannot read"),
            "read {when}: {output}"
        );
        let left = fs::read(read.join("journal/db")).unwrap();
        assert!(left == bytes, "read {when} changed the file");
        assert_eq!(reopened(&read), expected(RECORDS));
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
