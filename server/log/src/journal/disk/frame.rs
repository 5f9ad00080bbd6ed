//! A commit in a segment, format 1.
//!
//! All integers are little endian.
//!
//! | offset | bytes | field | meaning |
//! |---|---|---|---|
//! | 0 | 4 | magic | FF FE FD FC: no entry contains these bytes in a row |
//! | 4 | 4 | length | bytes of the body |
//! | 8 | 8 | epoch | the journal's identity |
//! | 16 | 8 | first | number of the first entry |
//! | 24 | 4 | count | number of entries |
//! | 28 | 4 | chain | CRC-32C over all entries before these, as in [`crate::journal::block`] |
//! | 32 | 4 | crc | CRC-32C over bytes 0..32 and the chain after the body |
//! | 36 | | body | entries in the form of a block: kind (u8), length (u32), payload |

use bytes::{BufMut, Bytes};
use hub_protocol::{Epoch, Seq};
use memchr::memmem;

use crate::journal::{Entry, block};

pub(super) const MAGIC: [u8; 4] = [0xFF, 0xFE, 0xFD, 0xFC];
pub(super) const HEADER: usize = 36;

/// A decoded commit with a correct checksum.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The identity of the journal that wrote it.
    pub epoch: Epoch,
    /// The chain before its entries.
    pub chain: u32,
    /// The chain after its entries.
    pub chain_after: u32,
    /// The entries, at least one.
    pub entries: Vec<Entry>,
}

/// Encodes `entries`, at least one, as a frame. Returns it with the chain after the entries.
pub fn encode(epoch: Epoch, chain: u32, entries: &[Entry]) -> (Vec<u8>, u32) {
    let length = entries.iter().map(block::stored_len).sum::<usize>();
    let count = u32::try_from(entries.len()).expect("a commit has fewer than 2^32 entries");
    let mut frame = Vec::with_capacity(HEADER + length);
    frame.put_slice(&MAGIC);
    frame.put_u32_le(u32::try_from(length).expect("a commit is below 4 GiB"));
    frame.put_u64_le(epoch.0);
    frame.put_u64_le(entries[0].seq);
    frame.put_u32_le(count);
    frame.put_u32_le(chain);
    frame.put_u32_le(0);
    for entry in entries {
        block::put_entry(&mut frame, entry);
    }
    let chain_after = crc32c::crc32c_append(chain, &frame[HEADER..]);
    let crc = checksum(&frame, chain_after);
    frame[32..HEADER].copy_from_slice(&crc.to_le_bytes());
    (frame, chain_after)
}

/// Returns the frame's checksum. It covers the body through the chain, so one pass over the body computes both.
fn checksum(frame: &[u8], chain_after: u32) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&frame[..32]), &chain_after.to_le_bytes())
}

/// Returns the length of the frame whose header is at the start of `bytes`, by that header; `None` if there is no header.
pub(super) fn length(bytes: &[u8]) -> Option<usize> {
    let header = bytes.first_chunk::<HEADER>()?;
    let body = u32::from_le_bytes(*header[4..].first_chunk()?);
    let length = HEADER.checked_add(usize::try_from(body).ok()?)?;
    header.starts_with(&MAGIC).then_some(length)
}

/// Decodes the frame at the start of `bytes` and returns its length too; `None` unless a whole, valid frame is there.
pub fn decode(bytes: &Bytes) -> Option<(Frame, usize)> {
    let header = bytes.first_chunk::<HEADER>()?;
    let u32_at = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| header[at + byte]));
    let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
    let end = HEADER.checked_add(usize::try_from(u32_at(4)).ok()?)?;
    if header[..4] != MAGIC || end > bytes.len() {
        return None;
    }
    let (chain, body) = (u32_at(28), bytes.slice(HEADER..end));
    let chain_after = crc32c::crc32c_append(chain, &body);
    if checksum(header, chain_after) != u32_at(32) {
        return None;
    }
    let frame = Frame {
        epoch: Epoch(u64_at(8)),
        chain,
        chain_after,
        entries: block::entries(&body, u64_at(16), u32_at(24).try_into().ok()?).ok()?,
    };
    (!frame.entries.is_empty()).then_some((frame, end))
}

/// Returns all valid frames in `bytes`; skips other bytes.
pub(super) fn find_all(bytes: &Bytes) -> Vec<Frame> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(skipped) = memmem::find(&bytes[at..], &MAGIC) {
        at += skipped;
        match decode(&bytes.slice(at..)) {
            Some((frame, length)) => {
                at += length;
                found.push(frame);
            }
            None => at += 1,
        }
    }
    found
}

impl Frame {
    /// Returns the number of the first entry.
    pub fn first(&self) -> Seq {
        self.entries[0].seq
    }

    /// Whether the frame continues a journal that ends with entry `head` and the chain `chain`.
    pub(super) fn follows(&self, (head, chain): (Seq, u32)) -> bool {
        (self.first(), self.chain) == (head + 1, chain)
    }

    /// Returns the chain after record `seq`, which is one of its entries or the one before them.
    pub fn chain_at(&self, seq: Seq) -> Option<u32> {
        if !(self.first()..=self.last() + 1).contains(&(seq + 1)) {
            return None;
        }
        let mut stored = Vec::new();
        for entry in self.entries.iter().take_while(|it| it.seq <= seq) {
            block::put_entry(&mut stored, entry);
        }
        Some(crc32c::crc32c_append(self.chain, &stored))
    }

    /// Returns the number of the last entry.
    pub fn last(&self) -> Seq {
        self.entries[self.entries.len() - 1].seq
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn entries(first: Seq, payloads: Vec<Vec<u8>>) -> Vec<Entry> {
        let numbered = payloads.into_iter().zip(first..);
        let entry = |(payload, seq): (Vec<u8>, Seq)| Entry {
            seq,
            kind: 7,
            payload: payload.into(),
        };
        numbered.map(entry).collect()
    }

    proptest! {
        #[test]
        fn an_encoded_frame_is_found_between_arbitrary_bytes(
            before in vec(any::<u8>(), 0..80), first in 1..u64::MAX / 2, chain: u32,
            payloads in vec(vec(0..0xF0_u8, 0..300), 1..9), after in vec(any::<u8>(), 0..80),
        ) {
            let stored = entries(first, payloads);
            let (frame, chain_after) = encode(Epoch(9), chain, &stored);
            let bytes = Bytes::from([&before[..], &frame, &after].concat());
            let found = find_all(&bytes);
            prop_assert_eq!(found.len(), 1);
            let read = &found[0];
            prop_assert_eq!((read.epoch, read.chain, read.chain_after), (Epoch(9), chain, chain_after));
            prop_assert_eq!(&read.entries, &stored);
        }

        #[test]
        fn a_frame_with_a_flipped_bit_is_never_decoded(
            payloads in vec(vec(any::<u8>(), 0..40), 1..5), at: prop::sample::Index, bit in 0..8_u8,
        ) {
            let (mut frame, _) = encode(Epoch(9), 1, &entries(5, payloads));
            let at = at.index(frame.len());
            frame[at] ^= 1 << bit;
            prop_assert!(find_all(&frame.into()).is_empty());
        }

        #[test]
        fn a_frame_cut_anywhere_is_never_decoded(
            payloads in vec(vec(any::<u8>(), 0..40), 1..5), at: prop::sample::Index,
        ) {
            let (mut frame, _) = encode(Epoch(9), 1, &entries(5, payloads));
            frame.truncate(at.index(frame.len()));
            prop_assert!(find_all(&frame.into()).is_empty());
        }
    }
}
