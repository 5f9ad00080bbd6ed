//! The spool: requests that could not be sent, stored until a hub accepts them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use hub_protocol::SpoolItem;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rustix::fs::OFlags;

use crate::settings::Settings;
use crate::system::private::make_private;

/// The largest file that is read as an item: the largest notification, with room for JSON escapes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// From this many files on, a hook spools nothing more.
const MANY: usize = 1000;

/// The spool for one hub.
///
/// `STATE_DIR/spool` belongs to the hub of the state directory, which reads it itself. Requests for a hub that is named
/// by a URL or a socket are in `STATE_DIR/outbox/ADDRESS`, and only a hubctl that reaches that hub sends them. That
/// directory is made when the hub is first reached, so nothing is spooled for a hub that never existed.
#[derive(Debug)]
pub(crate) struct Spool {
    state_dir: PathBuf,
    dir: PathBuf,
    /// Why nothing may be spooled, if so.
    refused: Option<anyhow::Error>,
    /// The address of a hub that does not read this spool itself.
    elsewhere: Option<String>,
}

impl Spool {
    /// The spool for the hub that `settings` name. Its directory need not exist yet.
    pub(crate) fn of(settings: &Settings) -> Self {
        let state_dir = settings.state_dir.value.clone();
        let mut refused = settings.demand_state_dir().err();
        if settings.is_own_hub() {
            let dir = state_dir.join("spool");
            return Self {
                state_dir,
                dir,
                refused,
                elsewhere: None,
            };
        }
        let hub = settings.address.value.to_string();
        let name = utf8_percent_encode(&hub, NON_ALPHANUMERIC).to_string();
        let dir = state_dir.join("outbox").join(name);
        if refused.is_none() && !dir.exists() {
            let source = settings.address.source;
            refused = Some(anyhow!("no hub has ever been reached at {hub} ({source})"));
        }
        Self {
            state_dir,
            dir,
            refused,
            elsewhere: Some(hub),
        }
    }

    /// The address of a hub that does not read this spool itself.
    pub(crate) fn elsewhere(&self) -> Option<&str> {
        self.elsewhere.as_deref()
    }

    /// Records that the hub was reached: from now on requests may be spooled for it.
    pub(crate) fn reached(&self) {
        // If the directory cannot be made, the error is reported when something must be spooled.
        if self.elsewhere.is_some() && self.state_dir.exists() && !self.dir.exists() {
            let _ = self.make();
        }
    }

    fn make(&self) -> anyhow::Result<()> {
        make_private(&self.state_dir)?;
        make_private(&self.dir)
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
        fs::read_dir(&self.dir).is_ok_and(|entries| entries.count() >= MANY)
    }

    fn store(&self, item: &SpoolItem, durable: bool) -> anyhow::Result<()> {
        if let Some(refused) = &self.refused {
            return Err(anyhow!("{refused:#}"));
        }
        self.make()?;
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

    /// The spooled items, oldest first. Unreadable files are skipped; the hub sets them aside.
    pub(crate) fn items(&self) -> Vec<SpoolItem> {
        let Ok(entries) = fs::read_dir(&self.dir) else {
            return Vec::new();
        };
        let mut names = BTreeSet::new();
        names.extend(entries.flatten().filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            (entry.file_type().ok()?.is_file() && !name.starts_with('.')).then_some(name)
        }));
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

    /// Removes an item that the hub has stored.
    pub(crate) fn remove(&self, key: &str) -> io::Result<()> {
        match fs::remove_file(self.dir.join(key)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// Sets an item aside that the hub will never accept, for a person to inspect.
    pub(crate) fn reject(&self, key: &str) -> anyhow::Result<()> {
        let rejected = self.dir.join("rejected");
        make_private(&rejected)?;
        fs::rename(self.dir.join(key), rejected.join(key))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::HubLocation;
    use crate::system::env::Env;
    use hub_protocol::Spooled;
    use serde_json::value::RawValue;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    fn item(key: &str) -> SpoolItem {
        SpoolItem::new(
            key.into(),
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
        assert_eq!(of(1).items().len(), 1);
        assert!(of(2).items().is_empty() && own(&state).items().is_empty());
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
        let request = &spool.items()[0].request;
        assert!(matches!(request, Spooled::Post(post) if post.get() == r#"{"msg":"a"}"#));
    }

    #[test]
    fn items_are_listed_in_the_order_of_their_keys() {
        let place = tempfile::tempdir().unwrap();
        let spool = own(&place.path().join("state"));
        for key in ["3", "1", "2"] {
            spool.keep(&item(key)).unwrap();
        }
        let keys: Vec<String> = spool.items().into_iter().map(|item| item.key).collect();
        assert_eq!(keys, ["1", "2", "3"]);
    }

    #[test]
    fn a_rejected_item_is_set_aside_and_not_listed() {
        let place = tempfile::tempdir().unwrap();
        let spool = own(&place.path().join("state"));
        spool.keep(&item("k1")).unwrap();
        spool.reject("k1").unwrap();
        assert!(spool.items().is_empty());
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
}
