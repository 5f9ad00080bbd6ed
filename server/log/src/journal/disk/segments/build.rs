//! Makes segments of records that the store has, too.

use std::io;

use hub_protocol::Seq;

use super::Segments;

/// The segments that are made, each written when it is full.
pub(in crate::journal::disk) struct SegmentBuilder<'a> {
    segments: &'a Segments,
    /// The first number of the segment that is made.
    name: Seq,
    bytes: Vec<u8>,
}

impl<'a> SegmentBuilder<'a> {
    /// Begins with the segment `name`.
    pub(in crate::journal::disk) fn new(segments: &'a Segments, name: Seq) -> Self {
        let bytes = Vec::new();
        Self {
            segments,
            name,
            bytes,
        }
    }

    /// Adds `frame`, whose first record is `first`. It may begin another segment if `may_split`.
    pub(in crate::journal::disk) fn add(
        &mut self,
        first: Seq,
        frame: &[u8],
        may_split: bool,
    ) -> io::Result<()> {
        let is_full = (self.bytes.len() + frame.len()) as u64 > self.segments.size;
        if is_full && may_split && !self.bytes.is_empty() {
            self.write()?;
            self.name = first;
        }
        self.bytes.extend_from_slice(frame);
        Ok(())
    }

    /// Writes the last segment.
    pub(in crate::journal::disk) fn finish(mut self) -> io::Result<()> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        self.segments.replace(self.name, &self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}
