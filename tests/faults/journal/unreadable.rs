//! A disk that fails to read stored data, once or permanently.

use std::fs;
use std::path::Path;

use hubd::maintain::Maintenance;

use super::adopt::{adopt_under, adopted};
use super::child::Writer;
use super::{all, copy, expected, filled, open};

/// Enough records for several chunks of the read that precedes sled's.
const RECORDS: u64 = 1200;

/// Arguments of strace that fail one read of sled's file, and only that one.
fn one_read(dir: &Path, when: usize) -> Vec<String> {
    let file = dir.join("journal/db").display().to_string();
    let inject = format!("inject=pread64:error=EIO:when={when}");
    ["-P", &file, "-e", "trace=pread64", "-e", &inject]
        .map(str::to_owned)
        .to_vec()
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
        let writer = Writer {
            trace: one_read(&read, when),
            ..Writer::new(&read, 0)
        };
        let said = String::from_utf8(writer.run().stdout).unwrap();
        assert!(said.contains("refused cannot read"), "read {when}: {said}");
        let left = fs::read(read.join("journal/db")).unwrap();
        assert!(left == bytes, "read {when} changed the file");
        assert_eq!(all(&open(&read).unwrap()).unwrap(), expected(RECORDS));
        fs::remove_dir_all(&read).unwrap();
    }
}

#[test]
fn one_read_error_costs_an_adopt_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (sound, read) = (dir.path().join("sound"), dir.path().join("read"));
    filled(&sound, RECORDS);
    copy(&sound, &read);
    let trace = one_read(&read, 1);
    let trace: Vec<&str> = trace.iter().map(String::as_str).collect();
    assert!(adopt_under(&read, &trace));
    assert_eq!(adopted(&read), expected(RECORDS));
}

/// Flips bits in each file that sled derives from its main file, and calls `look` with each damaged directory.
fn derived(mut look: impl FnMut(&Path, &str)) {
    let dir = tempfile::tempdir().unwrap();
    let (sound, broken) = (dir.path().join("sound"), dir.path().join("broken"));
    filled(&sound, 60);
    // At this open sled writes the derived files.
    drop(open(&sound).unwrap());
    let files = fs::read_dir(sound.join("journal")).unwrap().flatten();
    let names = files.map(|file| file.file_name().into_string().unwrap());
    let names: Vec<_> = names
        .filter(|name| name.starts_with("snap.") || name == "conf")
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
    for name in names {
        for step in 0..9 {
            copy(&sound, &broken);
            let path = broken.join("journal").join(&name);
            let mut bytes = fs::read(&path).unwrap();
            let at = bytes.len() * step / 9;
            bytes[at] ^= 1 << (step % 8);
            fs::write(path, bytes).unwrap();
            look(&broken, &format!("{name} at {at}"));
            fs::remove_dir_all(&broken).unwrap();
        }
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
