//! The base: a snapshot of the fold in NATS. Retention drops the oldest commits of the stream, and a new copy of the log
//! then starts with the base.

use std::io;

use async_nats::jetstream::Context;
use async_nats::jetstream::object_store::{Config, GetErrorKind, ObjectStore};
use bytes::{Buf as _, BufMut as _};
use hub_log::journal::disk::DiskJournal;
use hub_log::journal::sled::{DirLock, JournalOrigin, OpenError, Options, StagedJournal};
use hub_log::journal::snapshot::{FoldSnapshot, Snapshots};
use hub_log::journal::{Entry, Journal as _, JournalError};
use hub_protocol::{Epoch, Seq};
use tokio::io::AsyncReadExt as _;

use super::shared_log::unavailable;
use super::{COMMIT_BYTES, LogEnd, SharedLog, SharedLogError};

/// The name of the object: the number of the last record (u64, little endian), then the fold as JSON.
const NAME: &str = "base";

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

/// The store of the base of one cluster.
pub struct BaseStore {
    context: Context,
    bucket: String,
    replicas: usize,
}

impl BaseStore {
    /// The store in `bucket`; asks nothing of NATS.
    pub fn new(context: Context, bucket: &str, replicas: usize) -> Self {
        Self {
            context,
            bucket: bucket.into(),
            replicas,
        }
    }

    /// Returns the store; makes it if it is missing.
    pub async fn open(&self) -> Result<ObjectStore, SharedLogError> {
        if let Ok(found) = self.context.get_object_store(&self.bucket).await {
            return Ok(found);
        }
        let config = Config {
            bucket: self.bucket.clone(),
            num_replicas: self.replicas,
            ..Config::default()
        };
        let made = self.context.create_object_store(config).await;
        made.map_err(unavailable)
    }

    /// Replaces the base.
    pub async fn upload(&self, base: &FoldSnapshot) -> Result<(), SharedLogError> {
        let mut bytes = Vec::with_capacity(8 + base.payload.len());
        bytes.put_u64_le(base.seq);
        bytes.put_slice(&base.payload);
        let put = self.open().await?;
        put.put(NAME, &mut &bytes[..]).await.map_err(unavailable)?;
        Ok(())
    }

    /// Returns the base: the number of its last record, and the fold.
    async fn download(&self) -> Result<Option<(Seq, Vec<u8>)>, SharedLogError> {
        let mut object = match self.open().await?.get(NAME).await {
            Ok(object) => object,
            Err(error) if error.kind() == GetErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unavailable(error)),
        };
        let mut bytes = Vec::new();
        object.read_to_end(&mut bytes).await.map_err(unavailable)?;
        let fold = bytes.split_off(bytes.len().min(8));
        let seq = (bytes.len() == 8).then(|| (&bytes[..]).get_u64_le());
        Ok(seq.map(|seq| (seq, fold)))
    }
}

/// Makes the journal of the locked state directory a copy of the stream, as far as the base reaches; the rest is
/// followed later. A journal that is there already is kept aside.
pub async fn copy(
    lock: &DirLock,
    (shared, base): (&SharedLog, &BaseStore),
    epoch: Epoch,
) -> Result<(), BaseError> {
    let staged = StagedJournal::begin(lock)?;
    let first = shared.state().await?.first_sequence;
    let end = shared.end_before(first, &LogEnd::empty(epoch)).await?;
    let origin = JournalOrigin {
        epoch,
        first: end.head + 1,
        chain: end.chain,
    };
    let base = base.download().await?;
    let Some((seq, fold)) = base.filter(|(seq, _)| *seq + 1 >= origin.first) else {
        return Err(BaseError::NoBase(origin.first));
    };
    let options = Options {
        origin: Some(origin),
        // The reserve is only needed while a hub publishes.
        reserve_bytes: 0,
        ..Options::default()
    };
    let journal = DiskJournal::open(&staged.files().root, options)?;
    fill(&journal, shared, (first, end), seq).await?;
    journal.close()?;
    Snapshots::new(&staged.files().snapshots(), epoch).save(seq, &fold)?;
    for path in staged.install()? {
        tracing::warn!(path = %path.display(), "the log was copied again; the old files are kept");
    }
    Ok(())
}

/// Stores the commits from `position` on, until record `to` is there.
async fn fill(
    journal: &DiskJournal,
    shared: &SharedLog,
    (mut position, mut end): (u64, LogEnd),
    to: Seq,
) -> Result<(), BaseError> {
    let (mut entries, mut bytes) = (Vec::<Entry>::new(), 0);
    while end.head < to {
        let commits = shared.read(position).await?;
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
