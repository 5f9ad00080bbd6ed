//! What could not be sent, kept until a hub takes them in.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use hub_protocol::SpoolItem;
use rustix::fs::OFlags;

/// The largest file that can be an item: the largest notification, and room for what JSON escapes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// So many files, and whoever makes them without being asked (a hook) makes no more.
const MANY: usize = 1000;

/// The directory `STATE_DIR/spool`.
#[derive(Debug)]
pub(crate) struct Spool {
    state_dir: PathBuf,
    dir: PathBuf,
}

impl Spool {
    /// The spool of this state directory, which need not exist yet.
    pub(crate) fn of(state_dir: &Path) -> Self {
        Self {
            state_dir: state_dir.to_owned(),
            dir: state_dir.join("spool"),
        }
    }

    /// Keeps `item`; durable when this returns.
    pub(crate) fn keep(&self, item: &SpoolItem) -> anyhow::Result<()> {
        self.store(item, true)
    }

    /// Keeps `item` at once: a power cut within seconds may lose it.
    pub(crate) fn keep_hastily(&self, item: &SpoolItem) -> anyhow::Result<()> {
        self.store(item, false)
    }

    /// Whether so much is kept that nobody seems to come for it.
    pub(crate) fn is_full(&self) -> bool {
        fs::read_dir(&self.dir).is_ok_and(|entries| entries.count() >= MANY)
    }

    fn store(&self, item: &SpoolItem, durable: bool) -> anyhow::Result<()> {
        make_private(&self.state_dir)?;
        make_private(&self.dir)?;
        let draft = self.dir.join(format!(".{}.tmp", item.key));
        let kept = self.write(&draft, item, durable);
        if kept.is_err() {
            let _ = fs::remove_file(&draft);
        }
        kept.with_context(|| format!("spool {}", self.dir.display()))
    }

    fn write(&self, draft: &Path, item: &SpoolItem, durable: bool) -> anyhow::Result<()> {
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(draft)?;
        file.write_all(&serde_json::to_vec(item)?)?;
        if durable {
            file.sync_all()?;
        }
        fs::rename(draft, self.dir.join(&item.key))?;
        if durable {
            File::open(&self.dir)?.sync_all()?;
        }
        Ok(())
    }

    /// What is kept, oldest first; unreadable files are left to the hub, which sets them aside.
    pub(crate) fn items(&self) -> Vec<SpoolItem> {
        let Ok(entries) = fs::read_dir(&self.dir) else {
            return Vec::new();
        };
        let names: BTreeSet<_> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                (entry.file_type().ok()?.is_file() && !name.starts_with('.')).then_some(name)
            })
            .collect();
        names.iter().filter_map(|name| self.read(name)).collect()
    }

    fn read(&self, name: &str) -> Option<SpoolItem> {
        let mut bytes = Vec::new();
        fs::OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(self.dir.join(name))
            .ok()?
            .take(MAX_FILE_BYTES)
            .read_to_end(&mut bytes)
            .ok()?;
        SpoolItem::parse(name, &bytes).ok()
    }

    /// The hub has it.
    pub(crate) fn remove(&self, key: &str) -> io::Result<()> {
        match fs::remove_file(self.dir.join(key)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// The hub will never take it: set aside for a person to look at.
    pub(crate) fn reject(&self, key: &str) -> anyhow::Result<()> {
        let rejected = self.dir.join("rejected");
        make_private(&rejected)?;
        fs::rename(self.dir.join(key), rejected.join(key))?;
        Ok(())
    }
}

/// Makes the directory `path` for us alone, or checks that it is one.
pub(crate) fn make_private(path: &Path) -> anyhow::Result<()> {
    match DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    }
    let meta = fs::symlink_metadata(path)?;
    let uid = rustix::process::geteuid().as_raw();
    ensure!(meta.is_dir(), "{} is not a directory", path.display());
    ensure!(
        meta.uid() == uid,
        "{} belongs to user {}, not to you",
        path.display(),
        meta.uid()
    );
    // What others can write they may have filled; what they can only read is closed.
    ensure!(
        meta.mode() & 0o022 == 0,
        "{} can be written by others",
        path.display()
    );
    if !is_private(meta.mode()) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Whether a file mode gives nothing to anybody but the owner.
pub(crate) fn is_private(mode: u32) -> bool {
    mode.trailing_zeros() >= 6
}

#[cfg(test)]
mod tests {
    use super::*;
    use hub_protocol::Spooled;
    use serde_json::value::RawValue;

    fn item(key: &str) -> SpoolItem {
        SpoolItem::new(
            key.into(),
            Spooled::Post(RawValue::from_string(r#"{"msg":"a"}"#.into()).unwrap()),
        )
    }

    fn names(dir: &Path) -> Vec<String> {
        fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn what_is_kept_is_there_under_its_key_for_us_alone() {
        let place = tempfile::tempdir().unwrap();
        let spool = Spool::of(&place.path().join("state"));
        spool.keep(&item("k1")).unwrap();
        let path = place.path().join("state/spool/k1");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(names(&place.path().join("state/spool")), ["k1"]);
        let said = &spool.items()[0].said;
        assert!(matches!(said, Spooled::Post(post) if post.get() == r#"{"msg":"a"}"#));
    }

    #[test]
    fn items_come_in_the_order_of_their_keys() {
        let place = tempfile::tempdir().unwrap();
        let spool = Spool::of(&place.path().join("state"));
        for key in ["3", "1", "2"] {
            spool.keep(&item(key)).unwrap();
        }
        let keys: Vec<String> = spool.items().into_iter().map(|item| item.key).collect();
        assert_eq!(keys, ["1", "2", "3"]);
    }

    #[test]
    fn a_rejected_item_is_set_aside_and_no_longer_offered() {
        let place = tempfile::tempdir().unwrap();
        let spool = Spool::of(&place.path().join("state"));
        spool.keep(&item("k1")).unwrap();
        spool.reject("k1").unwrap();
        assert!(spool.items().is_empty());
        assert_eq!(names(&place.path().join("state/spool/rejected")), ["k1"]);
    }

    #[test]
    fn a_directory_that_others_can_write_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("state");
        fs::create_dir(&state).unwrap();
        fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(Spool::of(&state).keep(&item("k1")).is_err());
    }
}
