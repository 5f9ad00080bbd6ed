//! Appends what a journal has and the stream does not: for `hubd cluster init` and `restore`.

use hub_log::journal::disk::{DiskJournal, frame};
use hub_log::journal::{Entry, Journal as _, JournalError};
use hub_protocol::Seq;

use super::{COMMIT_BYTES, LogEnd, SharedLog, SharedLogError};

/// Why a journal could not be appended to the stream.
#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    /// The stream could not be used.
    #[error(transparent)]
    Stream(#[from] SharedLogError),
    /// The journal could not be read, or the commit was not stored.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal has lost records.
    #[error("record {0} cannot be read here, so NATS would not get the whole log")]
    Lost(Seq),
    /// The stream has more than the journal.
    #[error(
        "NATS has the log up to record {stream}, and this machine up to {head}: use the machine with the newest copy"
    )]
    Older {
        /// The last record of the stream.
        stream: Seq,
        /// The last record of the journal.
        head: Seq,
    },
}

impl SharedLog {
    /// Appends the commits of `journal` behind the end of the stream, which must be an end of a part of that journal.
    /// Returns the number of appended records; `progress` gets the number of each last one.
    pub async fn upload(
        &self,
        journal: &DiskJournal,
        mut progress: impl FnMut(Seq),
    ) -> Result<u64, UploadError> {
        let origin = journal.origin();
        let state = self.state().await?;
        let mut end = LogEnd {
            head: origin.first - 1,
            chain: origin.chain,
            ..LogEnd::empty(journal.epoch())
        };
        let mut position = state.last_sequence;
        let mut publisher = self.node().to_owned();
        if state.messages > 0 {
            let (last, by) = self.frame(position).await?;
            let (stream, head) = (last.last(), journal.head());
            if stream > head {
                return Err(UploadError::Older { stream, head });
            }
            skip(journal, &mut end, stream)?;
            if (end.head, end.chain) != (stream, last.chain_after) {
                return Err(SharedLogError::Forked { head: stream }.into());
            }
            publisher = by;
        }
        let before = end.head;
        while let Some(entries) = next(journal, &end, journal.head())? {
            let (frame, chain) = frame::encode(end.epoch, end.chain, &entries);
            self.append(&publisher, position, frame.into()).await?;
            (end.head, end.chain) = (entries[entries.len() - 1].seq, chain);
            position += 1;
            progress(end.head);
        }
        Ok(end.head - before)
    }
}

/// Moves `end` to record `to`, by the entries of the journal.
fn skip(journal: &DiskJournal, end: &mut LogEnd, to: Seq) -> Result<(), UploadError> {
    while let Some(entries) = next(journal, end, to)? {
        let (_, chain) = frame::encode(end.epoch, end.chain, &entries);
        (end.head, end.chain) = (entries[entries.len() - 1].seq, chain);
    }
    Ok(())
}

/// Returns the entries of the next commit after `end`, up to record `to`; `None` if there are none.
fn next(journal: &DiskJournal, end: &LogEnd, to: Seq) -> Result<Option<Vec<Entry>>, UploadError> {
    if end.head >= to {
        return Ok(None);
    }
    let mut entries = journal.read(end.head + 1, COMMIT_BYTES)?;
    let expected = end.head + 1..;
    if let Some((_, lost)) = entries
        .iter()
        .zip(expected)
        .find(|(it, seq)| it.seq != *seq)
    {
        return Err(UploadError::Lost(lost));
    }
    entries.retain(|it| it.seq <= to);
    if entries.is_empty() {
        return Err(UploadError::Lost(end.head + 1));
    }
    Ok(Some(entries))
}
