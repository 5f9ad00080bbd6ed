//! Recognises a block by its format and checksum, where sled no longer records that there is one.

use bytes::Bytes;

use super::{Block, ENTRY_HEADER, HEADER, LOST_VERSION, LostBody, MAX_BODY, SKIPS, VERSION};
use super::{entry_len, key, u16_at, u32_at};

/// The exclusive limit for record numbers; a larger number is not plausible.
const MAX_SEQ: u64 = 1 << 53;

impl Block {
    /// Decodes the block at the start of `bytes`. Returns it with its length, or `None` unless its checksum is right.
    pub fn salvage(bytes: &[u8]) -> Option<(Self, usize)> {
        let header = bytes.first_chunk::<HEADER>()?;
        let (entries, part) = (u16_at(header, 2), u16_at(header, 4));
        let first = u64::from_le_bytes(*header[6..].first_chunk()?);
        let is_lost = header[0] == LOST_VERSION;
        let plausible = (is_lost || header[0] == VERSION)
            && header[1] & !SKIPS == 0
            && (1..MAX_SEQ).contains(&first)
            && u32_at(header, 14) < u32_at(header, 18)
            && (entries > 0) == (part == 0 && !is_lost);
        if !plausible {
            return None;
        }
        let body = &bytes[HEADER..bytes.len().min(HEADER + MAX_BODY)];
        let length = if is_lost {
            LostBody::BYTES
        } else if part == 0 {
            first_part_len(body, entries)?
        } else {
            later_part_len(header, body)?
        };
        let value = Bytes::copy_from_slice(bytes.get(..HEADER + length)?);
        let block = Self::decode(&key(first, part), &value).ok()?;
        Some((block, value.len()))
    }
}

/// Returns the body length of a block with `entries` entries; a single entry that is cut fills the block.
fn first_part_len(body: &[u8], entries: u16) -> Option<usize> {
    let mut at = 0;
    for _ in 0..entries {
        at += ENTRY_HEADER + entry_len(body.get(at..)?)?;
    }
    match entries {
        1 => Some(at.min(MAX_BODY)),
        _ => Some(at).filter(|at| *at <= MAX_BODY),
    }
}

/// Returns the body length of a later part of a record. Only the checksum reveals it, so it tries each length.
fn later_part_len(header: &[u8; HEADER], body: &[u8]) -> Option<usize> {
    let expected = u32_at(header, 26);
    let mut crc = crc32c::crc32c(&header[..26]);
    if crc32c::crc32c_append(crc, body) == expected {
        return Some(body.len());
    }
    (1..=body.len()).find(|length| {
        crc = crc32c::crc32c_append(crc, &body[length - 1..*length]);
        crc == expected
    })
}
