//! The promises of a cluster, checked against the stream and against what clients were told.

use std::collections::{BTreeMap, BTreeSet};

use hub_core::fold::State;
use hub_core::record::Record;
use hub_log::journal::Entry;
use hub_log::journal::disk::frame;
use hub_protocol::{InboxName, ProjectName, Seq};

use super::nats::Stored;
use crate::oracle::{Broken, text_of};

/// The beginning of what publishers send.
pub(super) const NOTE: &str = "note ";

/// Everything that was promised so far.
#[derive(Default)]
pub(crate) struct Oracle {
    /// The fold of the stream.
    pub(crate) state: State,
    /// The messages of the stream that were looked at.
    pub(crate) known: usize,
    entries: BTreeMap<Seq, Entry>,
    /// The numbers of the stored texts.
    texts: BTreeMap<String, Seq>,
    told: BTreeMap<String, Seq>,
    refused: BTreeSet<String>,
    /// The last record that a client was told.
    pub(crate) acknowledged: Seq,
    /// The notifications that readers were told are acknowledged.
    pub(crate) read: BTreeSet<Seq>,
}

impl Oracle {
    /// Takes the next messages of the stream.
    pub(crate) fn take_in(&mut self, log: &[Stored]) -> Result<(), Broken> {
        for stored in log {
            self.known += 1;
            let (frame, _) = frame::decode(&stored.frame).ok_or("the stream has no commit")?;
            for entry in frame.entries {
                self.see(entry)?;
            }
        }
        Ok(())
    }

    fn see(&mut self, entry: Entry) -> Result<(), Broken> {
        let (seq, head) = (entry.seq, self.state.head());
        if seq != head + 1 {
            return Err(format!("the stream has record {seq} behind record {head}"));
        }
        let record = Record::decode(entry.kind, &entry.payload).map_err(|it| it.to_string())?;
        self.state.apply(seq, &record);
        if let Record::Notified(it) = &record {
            let mut text = text_of(&it.json).ok_or("a notification has no text")?;
            if !text.starts_with(NOTE) {
                // The hub tells of each repair.
                text = format!("{text} ({seq})");
            }
            if self.refused.contains(&text) {
                return Err(format!("'{text}' was refused, and is stored as {seq}"));
            }
            if let Some(before) = self.texts.insert(text.clone(), seq) {
                return Err(format!("'{text}' is stored twice: {before} and {seq}"));
            }
        }
        self.entries.insert(seq, entry);
        Ok(())
    }

    /// A publisher is told that its notification is stored.
    pub(crate) fn confirmed(&mut self, text: &str, id: Seq) -> Result<(), Broken> {
        if self.texts.get(text) != Some(&id) {
            let stored = self.texts.get(text);
            return Err(format!(
                "'{text}' is confirmed as {id}, and the stream has it as {stored:?}"
            ));
        }
        if let Some(before) = self.told.insert(text.to_owned(), id)
            && before != id
        {
            return Err(format!("'{text}' is confirmed as {before} and as {id}"));
        }
        self.acknowledged = self.acknowledged.max(id);
        Ok(())
    }

    /// A publisher is told that its notification is not stored.
    pub(crate) fn refused(&mut self, text: &str) -> Result<(), Broken> {
        if let Some(id) = self.texts.get(text) {
            return Err(format!("'{text}' is refused, and is stored as {id}"));
        }
        self.refused.insert(text.to_owned());
        Ok(())
    }

    /// A reader gets notifications. None of `read` may be among them, which was acknowledged before it asked.
    pub(crate) fn delivered(&self, ids: &[Seq], read: &BTreeSet<Seq>) -> Result<(), Broken> {
        if let Some(id) = ids
            .iter()
            .find(|it| !self.texts.values().any(|id| id == *it))
        {
            return Err(format!(
                "a reader gets {id}, which the stream does not have"
            ));
        }
        match ids.iter().find(|it| read.contains(it)) {
            Some(id) => Err(format!("a reader gets {id}, which was acknowledged before")),
            None => Ok(()),
        }
    }

    /// Checks that an inbox has nothing pending after its readers took everything.
    pub(crate) fn check_delivered(
        &self,
        (project, name): &(ProjectName, InboxName),
    ) -> Result<(), Broken> {
        let inbox = self.state.inboxes.get(project, name);
        match inbox.and_then(|it| it.pending().next()) {
            Some(item) => Err(format!("{} is pending, and no reader gets it", item.seq)),
            None => Ok(()),
        }
    }

    /// Checks that only the hub that began the last term serves as the active one.
    pub(crate) fn check_active(&self, active: &[&str]) -> Result<(), Broken> {
        let leader = self.state.leader().map(|(_, led)| led.node.as_str());
        match active.iter().find(|it| Some(**it) != leader) {
            Some(node) => Err(format!(
                "{node} is active, and {leader:?} began the last term"
            )),
            None => Ok(()),
        }
    }

    /// Checks that a hub has the records of the stream.
    pub(crate) fn compare(&self, node: &str, copy: &[Entry]) -> Result<(), Broken> {
        for entry in copy {
            if self.entries.get(&entry.seq) != Some(entry) {
                return Err(format!(
                    "{node} has another record {} than the stream",
                    entry.seq
                ));
            }
        }
        Ok(())
    }
}
