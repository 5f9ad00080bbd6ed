//! The spool: files in which `hubctl` stored notifications while the hub was down.
//!
//! A file is unlinked only after its notification is durable. After a crash in between, the file is submitted again,
//! and its Idempotency-Key prevents a duplicate.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hub_protocol::SpoolItem;
use notify::{RecursiveMode, Watcher};
use rustix::fs::OFlags;
use rustix::io::Errno;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::Verdict;

/// Largest file of an item in bytes: the largest notification, with room for JSON escapes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

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
    rejected: PathBuf,
}

/// Why a file is not a readable item.
#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error("not a file of ours")]
    Foreign,
    #[error("larger than {MAX_FILE_BYTES} bytes")]
    TooLarge,
    #[error(transparent)]
    Item(#[from] hub_protocol::SpoolError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Unreadable {
    /// Sets the file aside only for faults of its own. After a fault of the machine, it is retried.
    fn verdict(&self) -> Verdict {
        if let Self::Io(error) = self
            && !matches!(
                Errno::from_io_error(error),
                // A link, a file without permission, a socket, an unreadable disk block.
                Some(Errno::LOOP | Errno::ACCESS | Errno::PERM | Errno::NXIO | Errno::IO)
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
        let rejected = dir.join("rejected");
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&rejected)?;
        Ok(Self {
            dir: dir.to_owned(),
            rejected,
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
        for name in self.names()? {
            let verdict = match self.read(&name) {
                Ok(item) => submit(item).await,
                Err(Unreadable::Io(error)) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(unreadable) => unreadable.verdict(),
            };
            let removed = match verdict {
                Verdict::Stored => {
                    pass.stored += 1;
                    self.unlink(&name)
                }
                Verdict::Refused(reason) => {
                    tracing::warn!(file = ?name, reason, "a spooled notification is set aside");
                    fs::rename(self.dir.join(&name), self.rejected.join(&name))
                        .map(|()| pass.rejected += 1)
                }
                Verdict::Later => {
                    pass.retry = true;
                    break;
                }
            };
            if let Err(error) = removed {
                tracing::warn!(file = ?name, %error, "it cannot be taken out of the spool");
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

    /// Names of the complete files, oldest first: a key begins with its time. A draft's name begins with a dot.
    fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b".") || entry.path() == self.rejected {
                continue;
            }
            names.push(name);
        }
        names.sort();
        Ok(names)
    }

    fn read(&self, name: &OsString) -> Result<SpoolItem, Unreadable> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(self.dir.join(name))?;
        let meta = file.metadata()?;
        if !meta.is_file() || meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(Unreadable::Foreign);
        }
        if meta.len() > MAX_FILE_BYTES {
            return Err(Unreadable::TooLarge);
        }
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
        Ok(SpoolItem::parse(&name.to_string_lossy(), &bytes)?)
    }

    fn unlink(&self, name: &OsString) -> io::Result<()> {
        match fs::remove_file(self.dir.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
                self.submitted.lock().unwrap().push(item.key);
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

    #[test]
    fn a_fault_of_the_machine_does_not_set_a_file_aside() {
        let verdict = |errno: Errno| Unreadable::Io(errno.into()).verdict();
        for passing in [Errno::MFILE, Errno::NFILE, Errno::NOMEM] {
            assert_eq!(verdict(passing), Verdict::Later, "{passing}");
        }
        for lasting in [Errno::LOOP, Errno::ACCESS, Errno::NXIO, Errno::IO] {
            let verdict = verdict(lasting);
            assert!(matches!(verdict, Verdict::Refused(_)), "{lasting}");
        }
    }

    #[tokio::test]
    async fn a_draft_is_left_alone() {
        let spool = TestSpool::new();
        spool.write(".k.tmp", "{");
        assert_eq!(spool.drain(Verdict::Stored).await, SpoolPass::default());
        assert!(spool.file(".k.tmp").exists());
    }

    #[tokio::test]
    async fn the_watch_takes_new_items_in_as_they_arrive() {
        let spool = TestSpool::new();
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let shutdown = CancellationToken::new();
        let submit = async |item: SpoolItem| {
            sender.send(item.key).unwrap();
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
