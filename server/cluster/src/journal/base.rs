//! The base: a snapshot of the fold in NATS. Retention drops the oldest commits of the stream, and a new copy of the log
//! then starts with the base.

use std::io;
use std::time::Duration;

use bytes::{Buf as _, BufMut as _};
use hub_log::journal::disk::DiskJournal;
use hub_log::journal::sled::{JournalOrigin, OpenError, Options, StagedJournal};
use hub_log::journal::snapshot::{FoldSnapshot, Snapshots};
use hub_log::journal::{Entry, Journal as _, JournalError};
use hub_protocol::{Epoch, Seq};
use tokio::time::Instant;

use super::{COMMIT_BYTES, LogEnd, SharedLog, SharedLogError};
use crate::nats::Nats;

/// How long a start waits for a server that is connected and does not answer, and the pause between two attempts.
const BUSY: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(500);
/// The name of the object before hubs named it by the position: the same content.
const OLD_NAME: &str = "base";

/// Why the log could not be copied from the base.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    /// NATS could not be used.
    #[error(transparent)]
    Stream(#[from] SharedLogError),
    /// The stream has no beginning, and there is no base.
    #[error("NATS has no records before {0}, and no base")]
    NoBase(Seq),
    /// The stream is damaged, or the copy could not be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The copy could not be made.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A file could not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl BaseError {
    /// Whether it may pass: a server is busy, or leads the stream no more, or the beginning was dropped meanwhile.
    fn may_pass(&self) -> bool {
        use SharedLogError::{Behind, Hole};
        match self {
            Self::NoBase(_) | Self::Stream(Behind { .. } | Hole(_)) => true,
            Self::Stream(fault) => !fault.is_lasting(),
            _ => false,
        }
    }

    /// Whether NATS did not answer.
    fn is_silence(&self) -> bool {
        matches!(self, Self::Stream(fault) if !fault.is_lasting())
    }
}

/// Lets `attempt` look whether the log must be copied, and copy it, until it succeeds. A server that is connected is asked for
/// some time; one that is not may be away for days, so that the hub starts with what it has.
pub async fn retry<F: Future<Output = Result<(), BaseError>>>(
    attempt: impl Fn() -> F,
    is_connected: impl Fn() -> bool,
) -> Result<(), BaseError> {
    let began = Instant::now();
    loop {
        let Err(error) = attempt().await else {
            return Ok(());
        };
        let waits = is_connected() && began.elapsed() < BUSY;
        if !error.may_pass() || (!waits && !error.is_silence()) {
            return Err(error);
        }
        if !waits {
            tracing::warn!(%error, "NATS was not asked");
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// A place for the new copy, which replaces the old one as a whole.
pub trait StagedCopy: Sized {
    /// Begins an empty journal in it.
    fn begin(&self, origin: JournalOrigin) -> Result<DiskJournal, BaseError>;

    /// Adds the fold that includes the records up to `seq`, and replaces the old copy. The journal is closed.
    fn install(self, epoch: Epoch, seq: Seq, fold: &[u8]) -> Result<(), BaseError>;
}

impl StagedCopy for StagedJournal<'_> {
    fn begin(&self, origin: JournalOrigin) -> Result<DiskJournal, BaseError> {
        let options = Options {
            origin: Some(origin),
            // The reserve is only needed while a hub publishes.
            reserve_bytes: 0,
            ..Options::default()
        };
        Ok(DiskJournal::open(&self.files().root, options)?)
    }

    fn install(self, epoch: Epoch, seq: Seq, fold: &[u8]) -> Result<(), BaseError> {
        Snapshots::new(&self.files().snapshots(), epoch).save(seq, fold)?;
        for path in StagedJournal::install(self)? {
            tracing::warn!(path = %path.display(), "the log was copied again; the old files are kept");
        }
        Ok(())
    }
}

/// The name of the base of a stream that begins at `position`: the number of the last record (u64, little endian), then the
/// fold as JSON. By the position, so that one that arrives late replaces none of a later beginning.
fn name(position: u64) -> String {
    format!("base.{position}")
}

impl<N: Nats> SharedLog<N> {
    /// Stores the base of the stream when it will begin at `position`.
    pub async fn put_base(&self, position: u64, base: &FoldSnapshot) -> Result<(), SharedLogError> {
        let mut bytes = Vec::with_capacity(8 + base.payload.len());
        bytes.put_u64_le(base.seq);
        bytes.put_slice(&base.payload);
        self.nats.put_object(&name(position), bytes).await
    }

    /// Lets the stream begin at `position`, of which the base is stored; `before` is where it begins now.
    pub async fn begin_at(&self, position: u64, before: u64) -> Result<(), SharedLogError> {
        self.purge(position).await?;
        self.nats.remove_object(&name(before)).await?;
        self.nats.remove_object(OLD_NAME).await
    }

    /// Returns the base of the stream that begins at `position`: the number of its last record, and the fold.
    pub async fn base(&self, position: u64) -> Result<Option<(Seq, Vec<u8>)>, SharedLogError> {
        let mut object = self.nats.object(&name(position)).await?;
        if object.is_none() {
            object = self.nats.object(OLD_NAME).await?;
        }
        Ok(object.and_then(|mut bytes| {
            let fold = bytes.split_off(bytes.len().min(8));
            let seq = (bytes.len() == 8).then(|| (&bytes[..]).get_u64_le());
            seq.map(|seq| (seq, fold))
        }))
    }

    /// Whether the stream begins behind the first record of the log.
    pub async fn lacks_beginning(&self, epoch: Epoch) -> Result<bool, SharedLogError> {
        let state = self.state().await?;
        if state.messages == 0 {
            return Ok(false);
        }
        let end = LogEnd::empty(epoch);
        match self.end_before(state.first_sequence, &end).await {
            // The hub starts with what it has, and reports it.
            Err(SharedLogError::Hole(_)) => Ok(false),
            before => Ok(before?.head > 0),
        }
    }

    /// Makes a copy of the stream as far as the base reaches, in place of the old one; the rest is followed later.
    pub async fn copy(&self, epoch: Epoch, staged: impl StagedCopy) -> Result<(), BaseError> {
        let first = self.state().await?.first_sequence;
        let end = self.end_before(first, &LogEnd::empty(epoch)).await?;
        let origin = JournalOrigin {
            epoch,
            first: end.head + 1,
            chain: end.chain,
        };
        let base = self.base(first).await?;
        let Some((seq, fold)) = base.filter(|(seq, _)| *seq + 1 >= origin.first) else {
            return Err(BaseError::NoBase(origin.first));
        };
        let journal = staged.begin(origin)?;
        self.fill(&journal, (first, end), seq).await?;
        journal.close()?;
        drop(journal);
        staged.install(epoch, seq, &fold)
    }

    /// Stores the commits from `position` on, until record `to` is there.
    async fn fill(
        &self,
        journal: &DiskJournal,
        (mut position, mut end): (u64, LogEnd),
        to: Seq,
    ) -> Result<(), BaseError> {
        let (mut entries, mut bytes) = (Vec::<Entry>::new(), 0);
        while end.head < to {
            let commits = self.read(position).await?;
            if commits.is_empty() {
                return Err(SharedLogError::Behind { head: to }.into());
            }
            position += commits.len() as u64;
            for commit in &commits {
                bytes += commit.frame.len();
                entries.extend(end.advance(commit)?);
            }
            if bytes > COMMIT_BYTES || end.head >= to {
                journal.append(&entries)?;
                (entries, bytes) = (Vec::new(), 0);
            }
        }
        Ok(())
    }
}
