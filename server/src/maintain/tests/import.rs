use std::fs;
use std::io::{BufReader, Read};

use hub_log::journal::sled::OpenError;

use super::*;
use crate::maintain::import;

/// A reader of an export that calls `look` before each read.
struct Watched<'a, F> {
    export: &'a [u8],
    look: F,
}

impl<F: FnMut()> Read for Watched<'_, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (self.look)();
        self.export.read(buffer)
    }
}

fn import_watched(dir: &Path, export: &[u8], look: impl FnMut()) -> anyhow::Result<()> {
    let input = BufReader::with_capacity(500, Watched { export, look });
    import::import(dir, input, None)
}

#[test]
fn no_hub_starts_while_an_import_reads_its_input() {
    let (from, to) = (with_records(40), tempfile::tempdir().unwrap());
    import_watched(to.path(), &exported(from.path()), || {
        let hub = DiskJournal::open(to.path(), Options::default());
        assert!(matches!(hub, Err(OpenError::Locked)), "{hub:?}");
    })
    .unwrap();
    assert_eq!(folded(to.path()), folded(from.path()));
}

#[test]
fn an_import_while_a_hub_runs_is_refused_and_changes_nothing() {
    let (from, to) = (with_records(40), tempfile::tempdir().unwrap());
    let hub = filled(to.path(), 3);
    let error = refused(to.path(), &exported(from.path()));
    assert!(error.contains("in use by another"), "{error}");
    drop(hub);
    assert_eq!(folded(to.path()).0, 3);
}

#[test]
fn a_killed_import_leaves_no_journal_and_can_be_repeated() {
    let (from, to) = (with_records(400), tempfile::tempdir().unwrap());
    let export = exported(from.path());
    let mut killed = Vec::new();
    import_watched(to.path(), &export, || {
        if killed.len() < 12 {
            let left = tempfile::tempdir().unwrap();
            copy(to.path(), left.path());
            killed.push(left);
        }
    })
    .unwrap();
    for left in killed {
        assert!(Files::new(left.path()).are_missing());
        import::import(left.path(), &export[..], None).unwrap();
        assert_eq!(folded(left.path()), folded(from.path()));
    }
}

#[test]
fn an_import_interrupted_between_renames_is_finished_by_the_next_start() {
    let (from, to) = (with_records(40), tempfile::tempdir().unwrap());
    import::import(to.path(), &exported(from.path())[..], None).unwrap();
    let left = to.path().join("left");
    let all = ["epoch", "segments", "journal"];
    for parts in [&all[..1], &all[..2], &all] {
        let staged = Files::new(&left).staged();
        fs::create_dir_all(&staged).unwrap();
        for part in all {
            let staged_part = parts.contains(&part);
            let place = if staged_part { &staged } else { &left };
            copy(&to.path().join(part), &place.join(part));
        }
        assert_eq!(exported(&left), exported(from.path()));
        assert!(!staged.exists());
        fs::remove_dir_all(&left).unwrap();
    }
}

#[test]
fn a_failed_import_leaves_only_the_lock_file() {
    let (from, to) = (with_records(40), tempfile::tempdir().unwrap());
    let export = exported(from.path());
    import::import(to.path(), &export[..export.len() / 2], None).unwrap_err();
    let left: Vec<_> = fs::read_dir(to.path()).unwrap().flatten().collect();
    let left: Vec<_> = left.iter().map(fs::DirEntry::file_name).collect();
    assert_eq!(left, ["journal.lock"]);
}
