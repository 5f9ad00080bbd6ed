//! The spool: files in which `hubctl` stored notifications while the hub was down.
//!
//! A file is unlinked only after its notification is durable. After a crash in between, the file is submitted again,
//! and its Idempotency-Key prevents a duplicate.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hub_protocol::{SpoolItem, SpoolKey};
use notify::{RecursiveMode, Watcher};
use rustix::io::Errno;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::Verdict;
use super::untrusted_dir::{FileError, UntrustedDir};

/// Delay before a retry of items that could not be stored.
const RETRY: Duration = Duration::from_secs(1);

/// Poll interval besides file system events, because a system may drop events or run out of watches.
const POLL_INTERVAL: Duration = Duration::from_secs(30);

/// The result of one pass over the spool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpoolPass {
    /// Items that are durable now.
    pub stored: usize,
    /// Files that were moved to `rejected`.
    pub rejected: usize,
    /// Whether items remain that could not be stored.
    pub retry: bool,
}

/// The directory of spooled notifications.
#[derive(Debug)]
pub struct Spool {
    dir: PathBuf,
    /// How many files with other names than keys the last pass ignored.
    ignored: AtomicUsize,
}

/// Why a file is not a readable item.
#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error("it is gone, or is being written")]
    Changing,
    #[error(transparent)]
    Item(#[from] hub_protocol::SpoolError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl Unreadable {
    /// Sets the file aside only for faults of its own. After a fault of the machine, it is retried.
    fn verdict(&self) -> Verdict {
        if let Self::File(FileError::Io(error)) = self
            && !matches!(
                Errno::from_io_error(error),
                // A file without permission, an unreadable disk block.
                Some(Errno::ACCESS | Errno::PERM | Errno::IO)
            )
        {
            tracing::warn!(%error, "a spooled notification cannot be read now");
            return Verdict::Later;
        }
        Verdict::Refused(self.to_string())
    }
}

impl Spool {
    /// Opens the spool in `dir`, creating it if necessary. The parent directory must be private to this user.
    pub fn open(dir: &Path) -> io::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir.join(SpoolKey::REJECTED))?;
        Ok(Self {
            dir: dir.to_owned(),
            ignored: AtomicUsize::new(0),
        })
    }

    /// Submits every item, oldest first, until one must be retried. A stored item is unlinked; a refused or unreadable
    /// one is moved to `rejected`. A file that cannot be removed does not block the others: the next pass submits it
    /// again, and its key prevents a duplicate.
    pub async fn drain(
        &self,
        submit: &impl AsyncFn(SpoolItem) -> Verdict,
    ) -> io::Result<SpoolPass> {
        let mut pass = SpoolPass::default();
        let dir = self.untrusted()?;
        if let Err(error) = dir.remove_hidden(SpoolKey::is_draft, SpoolKey::OLD_DRAFT) {
            tracing::warn!(%error, "drafts of killed processes stay in the spool");
        }
        for key in self.keys(&dir)? {
            let verdict = match read(&dir, &key) {
                Ok(item) => submit(item).await,
                Err(Unreadable::Changing) => continue,
                Err(unreadable) => unreadable.verdict(),
            };
            let removed = match verdict {
                Verdict::Stored => {
                    pass.stored += 1;
                    dir.remove(key.as_str())
                }
                Verdict::Refused(reason) => {
                    tracing::warn!(%key, reason, "a spooled notification is set aside");
                    dir.move_into(key.as_str(), SpoolKey::REJECTED)
                        .map(|()| pass.rejected += 1)
                }
                Verdict::Later => {
                    pass.retry = true;
                    break;
                }
            };
            if let Err(error) = removed {
                tracing::warn!(%key, %error, "it cannot be taken out of the spool");
            }
        }
        Ok(pass)
    }

    /// Submits new items as they arrive, until `shutdown`.
    pub async fn watch(
        &self,
        submit: &impl AsyncFn(SpoolItem) -> Verdict,
        shutdown: &CancellationToken,
    ) {
        let changed = Arc::new(Notify::new());
        let _watcher = self.watcher(Arc::clone(&changed));
        loop {
            // The first pass finds items that arrived before the watch was set.
            let delay = match self.drain(submit).await {
                Ok(SpoolPass { retry: false, .. }) => POLL_INTERVAL,
                Ok(_) => RETRY,
                Err(error) => {
                    tracing::warn!(%error, dir = %self.dir.display(), "the spool cannot be read");
                    POLL_INTERVAL
                }
            };
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = changed.notified(), if delay == POLL_INTERVAL => {}
                () = tokio::time::sleep(delay) => {}
            }
        }
    }

    /// Notifies `changed` of every change in the directory while the watcher lives; `None` if the system has no
    /// watches.
    fn watcher(&self, changed: Arc<Notify>) -> Option<impl Watcher + use<>> {
        let notify = move |event: notify::Result<notify::Event>| {
            // Ignore reads, because the spool's own passes cause them.
            if event.is_ok_and(|event| !event.kind.is_access()) {
                changed.notify_one();
            }
        };
        let watch = notify::recommended_watcher(notify).and_then(|mut watcher| {
            watcher.watch(&self.dir, RecursiveMode::NonRecursive)?;
            Ok(watcher)
        });
        watch
            .inspect_err(
                |error| tracing::warn!(%error, "the spool is looked at every {POLL_INTERVAL:?} only"),
            )
            .ok()
    }

    /// The directory, opened again for each pass, because a person may replace it.
    fn untrusted(&self) -> io::Result<UntrustedDir> {
        let (Some(parent), Some(name)) = (self.dir.parent(), self.dir.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let opened = UntrustedDir::open(parent, &[&*name.to_string_lossy()]);
        opened.map_err(|error| {
            let error = io::Error::from(error);
            io::Error::new(error.kind(), format!("{}: {error}", self.dir.display()))
        })
    }

    /// Keys of the complete files, oldest first: a key begins with its time. Files with other names are ignored: `hubctl`
    /// writes none.
    fn keys(&self, dir: &UntrustedDir) -> io::Result<Vec<SpoolKey>> {
        let (mut keys, mut others) = (Vec::new(), 0);
        for name in dir.entries()? {
            let name = name?;
            match name.parse() {
                Ok(key) => keys.push(key),
                Err(_) => others += usize::from(name != SpoolKey::REJECTED),
            }
        }
        if self.ignored.swap(others, Ordering::Relaxed) != others && others > 0 {
            tracing::warn!(
                files = others,
                "files in the spool are ignored, because their names are not keys"
            );
        }
        keys.sort();
        Ok(keys)
    }
}

fn read(dir: &UntrustedDir, key: &SpoolKey) -> Result<SpoolItem, Unreadable> {
    // One byte above the limit shows that the file is too large.
    let read = dir.read(key.as_str(), SpoolItem::MAX_BYTES + 1)?;
    let (_, bytes) = read.ok_or(Unreadable::Changing)?;
    Ok(SpoolItem::parse(key, &bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::sync::Mutex;

    /// A spool with the keys that were submitted from it.
    struct TestSpool {
        dir: tempfile::TempDir,
        spool: Spool,
        submitted: Mutex<Vec<String>>,
    }

    impl TestSpool {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let spool = Spool::open(&dir.path().join("spool")).unwrap();
            Self {
                dir,
                spool,
                submitted: Mutex::default(),
            }
        }

        fn file(&self, name: &str) -> PathBuf {
            self.dir.path().join("spool").join(name)
        }

        fn write(&self, name: &str, text: &str) {
            fs::write(self.file(name), text).unwrap();
        }

        fn item(&self, key: &str) {
            self.write(
                key,
                &format!(r#"{{"v":1,"key":"{key}","post":{{"msg":"{key}"}}}}"#),
            );
        }

        async fn drain(&self, verdict: Verdict) -> SpoolPass {
            let submit = async |item: SpoolItem| {
                self.submitted.lock().unwrap().push(item.key.into());
                verdict.clone()
            };
            self.spool.drain(&submit).await.unwrap()
        }

        fn submitted(&self) -> Vec<String> {
            self.submitted.lock().unwrap().clone()
        }
    }

    #[tokio::test]
    async fn items_are_stored_in_order_and_unlinked() {
        let spool = TestSpool::new();
        for key in ["3", "1", "2"] {
            spool.item(key);
        }
        assert_eq!(spool.drain(Verdict::Stored).await.stored, 3);
        assert_eq!(spool.submitted(), ["1", "2", "3"]);
        assert!(!spool.file("1").exists());
        assert_eq!(spool.drain(Verdict::Stored).await, SpoolPass::default());
    }

    #[tokio::test]
    async fn an_item_that_must_be_retried_stays_and_blocks_later_ones() {
        let spool = TestSpool::new();
        spool.item("a");
        spool.item("b");
        assert!(spool.drain(Verdict::Later).await.retry);
        assert_eq!(spool.submitted(), ["a"]);
        assert!(spool.file("a").exists() && spool.file("b").exists());
    }

    #[tokio::test]
    async fn refused_and_broken_files_are_set_aside() {
        let spool = TestSpool::new();
        spool.item("a");
        spool.write("broken", "{");
        spool.write("renamed", r#"{"v":1,"key":"other","post":{}}"#);
        std::os::unix::fs::symlink("/etc/hostname", spool.file("link")).unwrap();
        fs::create_dir(spool.file("directory")).unwrap();
        let refused = Verdict::Refused("no".into());
        assert_eq!(spool.drain(refused).await.rejected, 5);
        assert_eq!(spool.submitted(), ["a"]);
        for name in ["a", "broken", "renamed", "link", "directory"] {
            let aside = spool.file("rejected").join(name);
            assert!(aside.symlink_metadata().is_ok(), "{name}");
        }
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_set_aside_does_not_block_others() {
        let spool = TestSpool::new();
        fs::create_dir(spool.file("0old")).unwrap();
        fs::create_dir(spool.file("rejected/0old")).unwrap();
        spool.write("rejected/0old/x", "");
        spool.item("1");
        let pass = spool.drain(Verdict::Stored).await;
        assert_eq!((pass.stored, pass.rejected), (1, 0));
        assert!(spool.file("0old").exists() && !spool.file("1").exists());
    }

    #[tokio::test]
    async fn a_file_whose_name_is_not_a_key_is_left_alone() {
        let spool = TestSpool::new();
        for name in ["a b", "x\ny", "a.json", "\u{e9}"] {
            spool.write(name, "{");
        }
        spool.item("1");
        let pass = spool.drain(Verdict::Stored).await;
        assert_eq!((pass.stored, pass.rejected), (1, 0));
        assert_eq!(spool.spool.ignored.load(Ordering::Relaxed), 4);
        assert!(spool.file("x\ny").exists());
    }

    #[tokio::test]
    async fn a_file_above_the_limit_and_a_pipe_are_set_aside() {
        let spool = TestSpool::new();
        let padding = " ".repeat(SpoolItem::MAX_BYTES);
        spool.write("1", &format!(r#"{{"v":1,"key":"1","post":{{}}}}{padding}"#));
        let made = std::process::Command::new("mkfifo")
            .arg(spool.file("2"))
            .status();
        assert!(made.unwrap().success());
        spool.item("3");
        let pass = spool.drain(Verdict::Stored).await;
        assert_eq!((pass.stored, pass.rejected), (1, 2));
        assert_eq!(spool.submitted(), ["3"]);
    }

    #[tokio::test]
    async fn a_link_in_place_of_the_spool_or_of_the_rejected_files_is_not_followed() {
        let spool = TestSpool::new();
        let elsewhere = spool.dir.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::remove_dir(spool.file("rejected")).unwrap();
        std::os::unix::fs::symlink(&elsewhere, spool.file("rejected")).unwrap();
        spool.write("1", "{");
        assert_eq!(spool.drain(Verdict::Stored).await, SpoolPass::default());
        assert!(spool.file("1").exists() && fs::read_dir(&elsewhere).unwrap().next().is_none());
        fs::remove_dir_all(spool.spool.dir.as_path()).unwrap();
        fs::write(elsewhere.join("1"), r#"{"v":1,"key":"1","post":{}}"#).unwrap();
        std::os::unix::fs::symlink(&elsewhere, spool.spool.dir.as_path()).unwrap();
        let submit = async |_: SpoolItem| Verdict::Stored;
        assert!(spool.spool.drain(&submit).await.is_err());
        assert!(elsewhere.join("1").exists());
    }

    #[test]
    fn a_fault_of_the_machine_does_not_set_a_file_aside() {
        let verdict = |errno: Errno| Unreadable::File(FileError::Io(errno.into())).verdict();
        for passing in [Errno::MFILE, Errno::NFILE, Errno::NOMEM] {
            assert_eq!(verdict(passing), Verdict::Later, "{passing}");
        }
        for lasting in [Errno::ACCESS, Errno::PERM, Errno::IO] {
            let verdict = verdict(lasting);
            assert!(matches!(verdict, Verdict::Refused(_)), "{lasting}");
        }
    }

    #[tokio::test]
    async fn a_draft_is_left_alone_for_an_hour_and_then_removed() {
        let spool = TestSpool::new();
        let names = [".k.tmp", ".note.txt", ".dir.tmp/x"];
        fs::create_dir(spool.file(".dir.tmp")).unwrap();
        for name in names {
            spool.write(name, "{");
        }
        assert_eq!(spool.drain(Verdict::Stored).await, SpoolPass::default());
        assert!(names.iter().all(|name| spool.file(name).exists()));
        let written = std::time::SystemTime::now() - SpoolKey::OLD_DRAFT - Duration::from_secs(60);
        for name in [".k.tmp", ".note.txt", ".dir.tmp"] {
            let file = fs::File::open(spool.file(name)).unwrap();
            file.set_modified(written).unwrap();
        }
        assert_eq!(spool.drain(Verdict::Stored).await, SpoolPass::default());
        let left = names.map(|name| spool.file(name).exists());
        assert_eq!(left, [false, true, true]);
    }

    #[tokio::test]
    async fn the_watch_takes_new_items_in_as_they_arrive() {
        let spool = TestSpool::new();
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let shutdown = CancellationToken::new();
        let submit = async |item: SpoolItem| {
            sender.send(String::from(item.key)).unwrap();
            Verdict::Stored
        };
        let watched = spool.spool.watch(&submit, &shutdown);
        let acted = async {
            for key in ["first", "second"] {
                // As in hubctl: the file is complete before it gets its name.
                spool.write(".draft", &format!(r#"{{"v":1,"key":"{key}","post":{{}}}}"#));
                fs::rename(spool.file(".draft"), spool.file(key)).unwrap();
                assert_eq!(receiver.recv().await.unwrap(), key);
            }
            shutdown.cancel();
        };
        tokio::join!(watched, acted);
    }
}
