//! Checks that each commit of the stream continues the one before.

use hub_core::record::Record;
use hub_log::journal::disk::frame::{self, Frame};
use hub_log::journal::{Entry, JournalError, SharedCommit};
use hub_protocol::{Epoch, Seq};

/// The end of a log, by which the next commit is checked.
#[derive(Debug, Clone)]
pub struct LogEnd {
    pub(super) epoch: Epoch,
    pub(super) head: Seq,
    pub(super) chain: u32,
    /// The hub that appended the last commit, if that is known.
    pub(super) publisher: Option<String>,
}

impl LogEnd {
    /// The end of a log before its first record.
    pub fn empty(epoch: Epoch) -> Self {
        Self {
            epoch,
            head: 0,
            chain: 0,
            publisher: None,
        }
    }

    /// The number of the last record.
    pub fn head(&self) -> Seq {
        self.head
    }

    /// Moves the end behind `commit`, and returns its new entries. The commit must continue the log by number and chain; it
    /// may begin before the end, because a restored stream has larger commits. It must
    /// come from the hub that appended the one before, or begin the term of another one.
    pub fn advance(&mut self, commit: &SharedCommit) -> Result<Vec<Entry>, JournalError> {
        let position = commit.position;
        let decoded = frame::decode(&commit.frame);
        let whole = decoded
            .filter(|(frame, length)| *length == commit.frame.len() && frame.epoch == self.epoch);
        let continues = |frame: &Frame| {
            frame.last() > self.head && frame.chain_at(self.head) == Some(self.chain)
        };
        let Some((mut frame, _)) = whole.filter(|(frame, _)| continues(frame)) else {
            let reason = format!("message {position} of the stream does not continue it");
            return Err(self.break_at(reason));
        };
        let known = self.publisher.as_ref();
        if known.is_some_and(|it| *it != commit.publisher) && !begins_term(&frame, commit) {
            return Err(self.break_at(format!(
                "message {position} of the stream was published by '{}', which was not the active hub",
                commit.publisher
            )));
        }
        let before = self.head;
        (self.head, self.chain) = (frame.last(), frame.chain_after);
        self.publisher = Some(commit.publisher.clone());
        frame.entries.retain(|it| it.seq > before);
        Ok(frame.entries)
    }

    fn break_at(&self, reason: String) -> JournalError {
        let at = self.head + 1;
        JournalError::Corrupt { at, reason }
    }
}

/// Whether the commit makes the hub that appended it the active one.
fn begins_term(frame: &Frame, commit: &SharedCommit) -> bool {
    let first = &frame.entries[0];
    let record = Record::decode(first.kind, &first.payload);
    matches!(record, Ok(Record::Led(led)) if led.node == commit.publisher)
}

#[cfg(test)]
mod tests {
    use hub_core::record::Led;
    use hub_core::testing::seen;
    use hub_log::testing::entry;
    use hub_protocol::Timestamp;

    use super::*;

    const EPOCH: Epoch = Epoch(7);

    /// Returns the commit of one record behind `end`, appended by `publisher`.
    fn commit(end: &LogEnd, record: &Record, publisher: &str) -> SharedCommit {
        let entries = [entry(end.head + 1, record)];
        let (frame, _) = frame::encode(EPOCH, end.chain, &entries);
        SharedCommit {
            position: end.head + 1,
            publisher: publisher.into(),
            frame: frame.into(),
        }
    }

    fn led(node: &str) -> Record {
        Record::Led(Led {
            node: node.into(),
            at: Timestamp::from_millis(1),
        })
    }

    fn refusal(end: &LogEnd, commit: &SharedCommit) -> String {
        let error = end.clone().advance(commit).expect_err("it is accepted");
        error.to_string()
    }

    #[test]
    fn only_the_active_hub_may_append_and_another_one_only_to_begin_its_term() {
        let mut end = LogEnd::empty(EPOCH);
        let note = seen(1, true, Timestamp::from_millis(1));
        end.advance(&commit(&end, &led("a"), "a")).unwrap();
        end.advance(&commit(&end, &note, "a")).unwrap();
        for forged in [commit(&end, &note, "b"), commit(&end, &led("a"), "b")] {
            assert!(refusal(&end, &forged).contains("published by 'b'"));
        }
        end.advance(&commit(&end, &led("b"), "b")).unwrap();
        end.advance(&commit(&end, &note, "b")).unwrap();
        assert!(refusal(&end, &commit(&end, &note, "a")).contains("published by 'a'"));
    }

    #[test]
    fn a_commit_that_is_missing_or_from_another_log_is_noticed() {
        let note = seen(1, true, Timestamp::from_millis(1));
        let mut end = LogEnd::empty(EPOCH);
        let (first, empty) = (commit(&end, &led("a"), "a"), end.clone());
        end.advance(&first).unwrap();
        let second = commit(&end, &note, "a");
        assert!(refusal(&empty, &second).contains("does not continue"));
        assert!(refusal(&end, &first).contains("does not continue"));
        let other = LogEnd {
            chain: end.chain + 1,
            ..end.clone()
        };
        assert!(refusal(&end, &commit(&other, &note, "a")).contains("does not continue"));
    }
}
