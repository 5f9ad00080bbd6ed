//! The journal of a cluster: a stream of NATS that all hubs share, and a copy of it on the disk of each hub.
//!
//! A commit is one message of the stream, in the form of a segment's frame (`disk/frame.rs`). The active hub
//! appends: it publishes the commit with the position that it expects, so that only one hub can extend a given end of the
//! log, and then stores it in its copy. Every other hub stores the commits that it follows. Reads, numbers and the epoch
//! are those of the copy, so a cursor is valid on every hub.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use futures_util::future::BoxFuture;
use hub_core::record::Record;
use hub_core::sync;
use hub_core::time::{Clock, SystemClock};
use hub_protocol::{Epoch, Seq};
use tokio::runtime::Handle;
use tokio::sync::watch;

use hub_log::journal::disk::{DiskJournal, frame};
use hub_log::journal::{Entry, Health, Journal, JournalError, LostRange, Repairs, SharedCommit};

use crate::nats::{JetStream, Nats};

mod append;
pub mod base;
pub mod shared_log;
mod upload;
mod verify;

pub use shared_log::{Place, SharedLog, SharedLogError};
pub use upload::UploadError;
pub use verify::LogEnd;

/// The bytes of entries at which a commit ends: a larger message delays the next ones more than it saves.
const COMMIT_BYTES: usize = 1 << 20;
/// The largest message of the stream.
pub const MAX_MESSAGE: usize = 8 << 20;
/// Room for the headers of a message.
const HEADERS: usize = 1024;

/// Waits for an append, on the thread that appends.
pub type BlockOn = Box<dyn Fn(Append) -> Result<(), JournalError> + Send + Sync>;
/// An append that is under way.
pub type Append = BoxFuture<'static, Result<(), JournalError>>;

/// The journal of one hub of a cluster.
pub struct JetStreamJournal<N = JetStream> {
    copy: DiskJournal,
    shared: Arc<SharedLog<N>>,
    block_on: BlockOn,
    clock: Arc<dyn Clock>,
    /// The position in the stream at which the copy ends; `None` until it is known.
    position: watch::Sender<Option<u64>>,
    /// The hub that appended the last commit of the copy; `None` until it is known.
    publisher: Mutex<Option<String>>,
    /// Whether this hub has become the active one, and has not noticed that it is not any more.
    leads: AtomicBool,
    /// Until when no other hub can be active, by [`Clock::boot_ms`].
    sure_until: AtomicI64,
    /// Why the copy cannot follow the stream any more.
    fault: OnceLock<String>,
}

impl JetStreamJournal {
    /// A journal that keeps `copy` as the copy of `shared`. Appends wait on `runtime`, so they must not run on it.
    pub fn new(copy: DiskJournal, shared: Arc<SharedLog>, runtime: Handle) -> Self {
        let block_on = Box::new(move |append: Append| runtime.block_on(append));
        Self::over(copy, shared, block_on, Arc::new(SystemClock))
    }
}

impl<N: Nats> JetStreamJournal<N> {
    /// A journal that keeps `copy` as the copy of `shared`. Appends wait by `block_on`; the lease ends by `clock`.
    pub fn over(
        copy: DiskJournal,
        shared: Arc<SharedLog<N>>,
        block_on: BlockOn,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            copy,
            shared,
            block_on,
            clock,
            position: watch::Sender::new(None),
            publisher: Mutex::default(),
            leads: AtomicBool::new(false),
            sure_until: AtomicI64::new(0),
            fault: OnceLock::new(),
        }
    }

    /// Finds the position at which the copy ends. Fails if the stream does not contain the copy.
    pub async fn locate(&self) -> Result<(), SharedLogError> {
        let place = self.shared.place_of(&self.copy).await?;
        // An append or a followed commit may have moved it since.
        self.position.send_if_modified(|known| {
            let unknown = known.is_none();
            if unknown {
                *known = Some(place.position);
                *sync::lock(&self.publisher) = place.publisher;
            }
            unknown
        });
        Ok(())
    }

    /// Returns the end of the copy, by which the next commit is checked.
    fn end(&self) -> LogEnd {
        let (head, chain) = self.copy.end();
        LogEnd {
            epoch: self.copy.epoch(),
            head,
            chain,
            publisher: sync::lock(&self.publisher).clone(),
        }
    }

    /// Returns the position in the stream at which the copy ends, and its changes.
    pub fn position(&self) -> watch::Receiver<Option<u64>> {
        self.position.subscribe()
    }

    /// Returns the copy on the disk of this hub.
    pub fn local(&self) -> &DiskJournal {
        &self.copy
    }

    /// Returns the stream.
    pub fn shared(&self) -> &Arc<SharedLog<N>> {
        &self.shared
    }

    /// Notes that no other hub can be active until then, by [`Clock::boot_ms`].
    pub fn confirm(&self, until: i64) {
        self.sure_until.store(until, Ordering::Release);
    }

    /// Whether this hub has become the active one, and has not noticed that it is not any more.
    pub fn leads(&self) -> bool {
        self.leads.load(Ordering::Acquire)
    }

    /// Notes why the copy cannot follow the stream any more.
    pub fn fail(&self, reason: &str) {
        self.lead(false);
        let _ = self.fault.set(reason.into());
    }

    /// Returns why the copy cannot follow the stream any more.
    pub fn fault(&self) -> Option<String> {
        self.fault.get().cloned()
    }

    /// Whether the copy has no room for notifications.
    pub fn is_full(&self) -> bool {
        self.copy.health() == Health::Full
    }

    /// Whether no other hub can be active: this one leads, and the time of its lease is not over.
    pub fn is_active(&self) -> bool {
        self.leads() && self.clock.boot_ms() < self.sure_until.load(Ordering::Acquire)
    }
}

impl<N: Nats> Journal for JetStreamJournal<N> {
    fn epoch(&self) -> Epoch {
        self.copy.epoch()
    }

    fn head(&self) -> Seq {
        self.copy.head()
    }

    fn earliest(&self) -> Seq {
        self.copy.earliest()
    }

    fn append(&self, entries: &[Entry]) -> Result<(), JournalError> {
        if entries.is_empty() {
            return Ok(());
        }
        let position = *self.position.borrow();
        let Some(position) = position.filter(|_| self.is_active()) else {
            return Err(JournalError::Deposed);
        };
        // Before the message is sent, so that the copy is not full afterwards.
        self.copy.admit(entries)?;
        let (head, chain) = self.copy.end();
        hub_log::journal::assert_numbered(entries, head + 1);
        let (frame, _) = frame::encode(self.copy.epoch(), chain, entries);
        if frame.len() + HEADERS > MAX_MESSAGE {
            return Err(JournalError::Full);
        }
        let shared = Arc::clone(&self.shared);
        (self.block_on)(Box::pin(async move {
            let node = shared.node();
            shared.append(node, position, frame.into()).await
        }))?;
        *sync::lock(&self.publisher) = Some(self.shared.node().to_owned());
        match self.copy.append(entries) {
            // The stream has it, so it is not refused: the copy gets it when there is room.
            Err(JournalError::Full) => return Err(JournalError::Unsettled),
            stored => stored?,
        }
        self.position.send_replace(Some(position + 1));
        Ok(())
    }

    fn commit_bytes(&self) -> usize {
        COMMIT_BYTES
    }

    fn lead(&self, leads: bool) {
        self.leads.store(leads, Ordering::Release);
    }

    fn follow(&self, commits: &[SharedCommit]) -> Result<(usize, Vec<Entry>), JournalError> {
        let position = *self.position.borrow();
        let mut position = position.ok_or_else(gap)?;
        let mut end = self.end();
        let (mut taken, mut bytes, mut entries) = (0, 0, Vec::new());
        for commit in commits {
            if commit.position > position {
                match continued(&end, commit, position) {
                    Ok((next, more)) => {
                        (end, position) = (next, commit.position);
                        entries.extend(more);
                    }
                    // It is the first one of the next call.
                    Err(_) if taken > 0 => break,
                    Err(error) => return Err(error),
                }
            }
            taken += 1;
            bytes += commit.frame.len();
            if bytes >= COMMIT_BYTES {
                break;
            }
        }
        if !entries.is_empty() {
            self.copy.append(&entries)?;
            *sync::lock(&self.publisher) = end.publisher;
            self.position.send_replace(Some(position));
        }
        Ok((taken, entries))
    }

    fn read(&self, from: Seq, max_bytes: usize) -> Result<Vec<Entry>, JournalError> {
        self.copy.read(from, max_bytes)
    }

    fn lost_at(&self, seq: Seq) -> Option<LostRange> {
        self.copy.lost_at(seq)
    }

    fn repairs(&self) -> Repairs {
        self.copy.repairs()
    }

    fn trim(&self, below: Seq) -> Result<(), JournalError> {
        self.copy.trim(below)
    }

    fn bytes(&self) -> u64 {
        self.copy.bytes()
    }

    fn health(&self) -> Health {
        if let Some(reason) = self.fault() {
            let at = self.head() + 1;
            return Health::Corrupt { at, reason };
        }
        match self.copy.health() {
            Health::Sound | Health::Full if !self.is_active() => Health::Standby,
            health => health,
        }
    }

    fn close(&self) -> Result<(), JournalError> {
        self.copy.close()
    }
}

/// Returns the end of the log behind `commit` and its new entries; `commit` must follow the message at `position`.
fn continued(
    end: &LogEnd,
    commit: &SharedCommit,
    position: u64,
) -> Result<(LogEnd, Vec<Entry>), JournalError> {
    if commit.position != position + 1 {
        return Err(gap());
    }
    let mut end = end.clone();
    let entries = end.advance(commit)?;
    // Before they are stored, so that this version can still start with its copy.
    if let Some(it) = entries.iter().find(|it| !Record::is_known(it.kind)) {
        let (at, kind) = (it.seq, it.kind);
        return Err(JournalError::UnknownKind { at, kind });
    }
    Ok((end, entries))
}

fn gap() -> JournalError {
    io::Error::other("a followed commit does not continue the copy").into()
}
