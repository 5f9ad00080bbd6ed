//! The spool: requests that could not be sent, stored until a hub accepts them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, anyhow};
use hub_protocol::{SpoolItem, SpoolKey};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rustix::fs::OFlags;

use crate::settings::Settings;
use crate::system::no_follow::Dir;
use crate::system::private::make_private;
use crate::system::random;

/// From this many files on, a hook spools nothing more, and a tunnel brings nothing more.
const MANY: usize = 1000;

/// The spool for one hub.
///
/// `STATE_DIR/spool` belongs to the hub of the state directory, which reads it itself. Requests for a hub that is named
/// by a URL or a socket are in `STATE_DIR/outbox/ADDRESS`, and only a hubctl that reaches that hub sends them. That
/// directory is made when the hub is first reached, so nothing is spooled for a hub that never existed.
#[derive(Debug)]
pub(crate) struct Spool {
    state_dir: PathBuf,
    /// The directory below `state_dir`; no link is followed in it.
    below: PathBuf,
    /// Why nothing may be spooled, if so.
    refused: Option<anyhow::Error>,
    /// The address of a hub that does not read this spool itself.
    elsewhere: Option<String>,
}

impl Spool {
    /// The spool for the hub that `settings` name. Its directory need not exist yet.
    pub(crate) fn of(settings: &Settings) -> Self {
        let mut spool = Self {
            state_dir: settings.state_dir.value.clone(),
            below: "spool".into(),
            refused: settings.demand_state_dir().err(),
            elsewhere: None,
        };
        if settings.is_own_hub() {
            return spool;
        }
        let hub = settings.address.value.to_string();
        let name = utf8_percent_encode(&hub, NON_ALPHANUMERIC).to_string();
        spool.below = Path::new("outbox").join(name);
        if spool.refused.is_none() && !spool.path().exists() {
            let source = settings.address.source;
            spool.refused = Some(anyhow!("no hub has ever been reached at {hub} ({source})"));
        }
        spool.elsewhere = Some(hub);
        spool
    }

    /// The address of a hub that does not read this spool itself.
    pub(crate) fn elsewhere(&self) -> Option<&str> {
        self.elsewhere.as_deref()
    }

    /// Records that the hub was reached: from now on requests may be spooled for it.
    pub(crate) fn reached(&self) {
        // If the directory cannot be made, the error is reported when something must be spooled.
        if self.elsewhere.is_some() && self.state_dir.exists() && !self.path().exists() {
            let _ = self.make();
        }
    }

    /// The directory, for messages and for its creation.
    fn path(&self) -> PathBuf {
        self.state_dir.join(&self.below)
    }

    fn make(&self) -> anyhow::Result<Dir> {
        make_private(&self.state_dir)?;
        make_private(&self.path())?;
        Ok(self.open()?)
    }

    fn open(&self) -> io::Result<Dir> {
        Dir::open(&self.state_dir)?.walk(&self.below)
    }

    /// Writes `item` to the spool and syncs it to disk.
    pub(crate) fn keep(&self, item: &SpoolItem) -> anyhow::Result<()> {
        self.store(item, true)
    }

    /// Writes `item` to the spool without a sync: a power cut within seconds may lose it.
    pub(crate) fn keep_hastily(&self, item: &SpoolItem) -> anyhow::Result<()> {
        self.store(item, false)
    }

    /// Whether so many items are spooled that no hub seems to read them.
    pub(crate) fn is_full(&self) -> bool {
        let names = self.open().and_then(|dir| dir.files());
        names.is_ok_and(|names| names.len() >= MANY)
    }

    /// Whether no item is spooled.
    pub(crate) fn is_empty(&self) -> bool {
        let names = self.open().and_then(|dir| dir.files());
        !names.is_ok_and(|names| names.iter().any(|it| is_key(it)))
    }

    fn store(&self, item: &SpoolItem, durable: bool) -> anyhow::Result<()> {
        if let Some(refused) = &self.refused {
            return Err(anyhow!("{refused:#}"));
        }
        let dir = self.make()?;
        remove_old_drafts(&dir);
        // A name of its own: another process may be writing an item with the same key.
        let draft = random::key(SystemTime::now())?.draft();
        let kept = write(&dir, Path::new(&draft), item, durable);
        if kept.is_err() {
            let _ = dir.remove(Path::new(&draft));
        }
        kept.with_context(|| format!("spool {}", self.path().display()))
    }

    /// The spooled items, oldest first, each read when it is asked for. Unreadable files are skipped; the hub sets them
    /// aside.
    pub(crate) fn items(&self) -> impl Iterator<Item = SpoolItem> {
        let dir = self.open().ok();
        let names = dir.as_ref().and_then(|dir| dir.files().ok());
        let names = names.into_iter().flatten();
        let keys = names.filter_map(|name| name.to_str()?.parse().ok());
        let keys: BTreeSet<SpoolKey> = keys.collect();
        keys.into_iter()
            .filter_map(move |key| read(dir.as_ref()?, &key))
    }

    /// Removes an item that the hub has stored.
    pub(crate) fn remove(&self, key: &SpoolKey) -> io::Result<()> {
        match self.open().and_then(|dir| dir.remove(key.path())) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// Sets an item aside that the hub will never accept, for a person to inspect.
    pub(crate) fn reject(&self, key: &SpoolKey) -> anyhow::Result<()> {
        let dir = self.open()?;
        let rejected = dir.make(Path::new(SpoolKey::REJECTED), 0o700)?;
        Ok(dir.rename_into(key.path(), &rejected, key.path())?)
    }
}

fn is_key(name: &OsStr) -> bool {
    name.to_str()
        .is_some_and(|it| it.parse::<SpoolKey>().is_ok())
}

fn write(dir: &Dir, draft: &Path, item: &SpoolItem, durable: bool) -> anyhow::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    let mut file: File = dir.file(draft, flags, 0o600)?;
    file.write_all(&serde_json::to_vec(item)?)?;
    if durable {
        file.sync_all()?;
    }
    dir.rename(draft, item.key.path())?;
    if durable {
        dir.sync()?;
    }
    Ok(())
}

fn read(dir: &Dir, key: &SpoolKey) -> Option<SpoolItem> {
    let file = dir.file(key.path(), OFlags::RDONLY, 0).ok()?;
    let mut bytes = Vec::new();
    file.take(SpoolItem::MAX_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .ok()?;
    SpoolItem::parse(key, &bytes).ok()
}

/// Removes the drafts of processes that were killed while they wrote. A failure leaves them for the next time.
fn remove_old_drafts(dir: &Dir) {
    let names = dir.files().unwrap_or_default();
    let drafts = names
        .iter()
        .filter(|name| name.to_str().is_some_and(SpoolKey::is_draft));
    for draft in drafts.map(Path::new) {
        let file = dir.file(draft, OFlags::RDONLY, 0);
        let written = file.and_then(|file| file.metadata()?.modified());
        let age = written.ok().and_then(|it| it.elapsed().ok());
        if age.is_some_and(|age| age > SpoolKey::OLD_DRAFT) {
            let _ = dir.remove(draft);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::HubLocation;
    use crate::system::env::Env;
    use hub_protocol::Spooled;
    use serde_json::value::RawValue;
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    use std::time::Duration;

    fn item(key: &str) -> SpoolItem {
        SpoolItem::new(
            key.parse().unwrap(),
            Spooled::Post(RawValue::from_string(r#"{"msg":"a"}"#.into()).unwrap()),
        )
    }

    /// The spool of the hub of the state directory `state_dir`, as if it were the default one.
    fn own(state_dir: &Path) -> Spool {
        Spool::of(&settings(state_dir, None))
    }

    fn settings(state_dir: &Path, url: Option<&str>) -> Settings {
        let place = HubLocation {
            url: url.map(str::to_owned),
            ..HubLocation::default()
        };
        let env = Env::of(
            Path::new("/"),
            &[("HUB_STATE_DIR", state_dir.to_str().unwrap())],
        );
        let mut settings = Settings::resolve(&place, &env).unwrap();
        settings.state_dir.source = "default";
        settings
    }

    #[test]
    fn a_hub_elsewhere_has_its_own_spool_once_it_was_reached() {
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("state");
        make_private(&state).unwrap();
        let of =
            |port: u16| Spool::of(&settings(&state, Some(&format!("http://127.0.0.1:{port}"))));
        assert!(of(1).keep(&item("k1")).is_err());
        of(1).reached();
        of(1).keep(&item("k1")).unwrap();
        assert_eq!(of(1).items().count(), 1);
        assert_eq!(of(2).items().count() + own(&state).items().count(), 0);
    }

    #[test]
    fn a_state_directory_that_was_named_and_does_not_exist_is_not_created() {
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("mistyped");
        let mut settings = settings(&state, None);
        settings.state_dir.source = "--state-dir";
        let error = Spool::of(&settings).keep(&item("k1")).unwrap_err();
        assert!(error.to_string().contains("hubctl up"), "{error:#}");
        assert!(!state.exists());
    }

    fn names(dir: &Path) -> Vec<String> {
        fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn an_item_is_stored_under_its_key_and_only_its_owner_can_read_it() {
        let place = tempfile::tempdir().unwrap();
        let spool = own(&place.path().join("state"));
        spool.keep(&item("k1")).unwrap();
        let path = place.path().join("state/spool/k1");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(names(&place.path().join("state/spool")), ["k1"]);
        let request = spool.items().next().unwrap().request;
        assert!(matches!(request, Spooled::Post(post) if post.get() == r#"{"msg":"a"}"#));
    }

    #[test]
    fn items_are_listed_in_the_order_of_their_keys() {
        let place = tempfile::tempdir().unwrap();
        let spool = own(&place.path().join("state"));
        for key in ["3", "1", "2"] {
            spool.keep(&item(key)).unwrap();
        }
        let keys: Vec<String> = spool.items().map(|item| item.key.into()).collect();
        assert_eq!(keys, ["1", "2", "3"]);
    }

    #[test]
    fn a_rejected_item_is_set_aside_and_not_listed() {
        let place = tempfile::tempdir().unwrap();
        let spool = own(&place.path().join("state"));
        spool.keep(&item("k1")).unwrap();
        spool.reject(&item("k1").key).unwrap();
        assert!(spool.items().next().is_none());
        assert_eq!(names(&place.path().join("state/spool/rejected")), ["k1"]);
    }

    #[test]
    fn a_directory_that_other_users_can_write_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("state");
        fs::create_dir(&state).unwrap();
        fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(own(&state).keep(&item("k1")).is_err());
    }

    #[test]
    fn no_link_in_the_spool_is_followed() {
        let place = tempfile::tempdir().unwrap();
        let (state, elsewhere) = (place.path().join("state"), place.path().join("elsewhere"));
        let spool = own(&state);
        spool.keep(&item("k1")).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        fs::rename(state.join("spool/k1"), elsewhere.join("k1")).unwrap();
        symlink(elsewhere.join("k1"), state.join("spool/k1")).unwrap();
        symlink(&elsewhere, state.join("spool/rejected")).unwrap();
        assert!(spool.items().next().is_none());
        assert!(spool.reject(&item("k1").key).is_err());
        spool.keep(&item("k1")).unwrap();
        assert!(state.join("spool/k1").symlink_metadata().unwrap().is_file());
        fs::remove_dir_all(state.join("spool")).unwrap();
        symlink(&elsewhere, state.join("spool")).unwrap();
        assert!(spool.keep(&item("k2")).is_err());
        assert!(spool.items().next().is_none());
        assert!(spool.remove(&item("k1").key).is_err());
        assert_eq!(names(&elsewhere), ["k1"]);
    }

    #[test]
    fn a_draft_of_a_killed_process_is_in_nobodys_way_and_is_removed_after_an_hour() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("state/spool");
        let spool = own(&place.path().join("state"));
        spool.keep(&item("k0")).unwrap();
        let draft = dir.join(item("k1").key.draft());
        let file = File::create(&draft).unwrap();
        file.set_modified(SystemTime::now() - SpoolKey::OLD_DRAFT + Duration::from_secs(60))
            .unwrap();
        spool.keep(&item("k1")).unwrap();
        assert!(draft.exists());
        file.set_modified(SystemTime::now() - SpoolKey::OLD_DRAFT - Duration::from_secs(60))
            .unwrap();
        spool.keep(&item("k2")).unwrap();
        let mut left = names(&dir);
        left.sort();
        assert_eq!(left, ["k0", "k1", "k2"]);
    }
}
