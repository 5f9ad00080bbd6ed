//! The lines of an export, format 2. Every line except the first has some of the fields of [`ExportLine`]:
//!
//! | line | fields |
//! |---|---|
//! | first | `hubd_export`, `epoch`, `first`, `chain`, `head` |
//! | the fold of the dropped records, if the log does not begin at record 1 | `snapshot`, `state` |
//! | a record | `seq`, `kind`, and its payload: `json`; or `frame` and `json`; or `base64` |
//! | last | `end`, `sha256` of the folded state, `lines` |
//!
//! `lines` is the SHA-256 of all lines before, each with a line feed; format 1 does not have it. JSON payloads are
//! written byte for byte.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use hub_core::record::kinds;
use hub_log::journal::Entry;
use hub_protocol::{Epoch, Seq};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The format version that this build writes, and the newest that it reads.
pub(super) const FORMAT: u32 = 2;

/// The first line of an export.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ExportHeader {
    /// The format version, at most [`FORMAT`].
    pub(super) hubd_export: u32,
    /// The journal's identity.
    pub(super) epoch: Epoch,
    /// The first exported record.
    pub(super) first: Seq,
    /// The chain before the record `first`.
    pub(super) chain: u32,
    /// The last exported record.
    pub(super) head: Seq,
}

/// Any line of an export except the first.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ExportLine {
    /// The last record that `state` includes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) snapshot: Option<Seq>,
    /// The fold after the record `snapshot`, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<Seq>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    json: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    /// The last exported record.
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<Seq>,
    /// The SHA-256 of the fold of all records, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sha256: Option<String>,
    /// The SHA-256 of all lines before this one, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lines: Option<String>,
}

impl ExportLine {
    /// Returns the line of the fold `state` after the record `snapshot`.
    pub(super) fn base(snapshot: Seq, state: Box<RawValue>) -> Self {
        Self {
            snapshot: Some(snapshot),
            state: Some(state),
            ..Self::default()
        }
    }

    /// Returns the last line.
    pub(super) fn end(head: Seq, sha256: String, lines: String) -> Self {
        Self {
            end: Some(head),
            sha256: Some(sha256),
            lines: Some(lines),
            ..Self::default()
        }
    }

    /// Returns the line of a record.
    pub(super) fn of(entry: &Entry) -> Self {
        let (frame, json) = split(entry);
        let mut line = Self {
            seq: Some(entry.seq),
            kind: Some(entry.kind),
            ..Self::default()
        };
        match (frame.map(raw), raw(json)) {
            (None, Some(json)) => line.json = Some(json),
            (Some(Some(frame)), Some(json)) => (line.frame, line.json) = (Some(frame), Some(json)),
            _ => line.base64 = Some(STANDARD.encode(&entry.payload)),
        }
        line
    }

    /// Returns the record of a line; `None` if the line is of another kind.
    pub(super) fn entry(&self) -> anyhow::Result<Option<Entry>> {
        let (Some(seq), Some(kind)) = (self.seq, self.kind) else {
            return Ok(None);
        };
        let payload = match (&self.frame, &self.json, &self.base64) {
            (None, Some(json), None) => Bytes::copy_from_slice(json.get().as_bytes()),
            (Some(frame), Some(json), None) => join(frame.get(), json.get())?,
            (None, None, Some(base64)) => STANDARD.decode(base64)?.into(),
            _ => anyhow::bail!("record {seq} has no payload"),
        };
        Ok(Some(Entry { seq, kind, payload }))
    }
}

/// Splits a payload into its JSON parts: the frame, if it has one, and the rest.
fn split(entry: &Entry) -> (Option<&[u8]>, &[u8]) {
    let payload = &entry.payload[..];
    if ![kinds::NOTIFIED, kinds::REWRITTEN].contains(&entry.kind) || payload.len() < 4 {
        return (None, payload);
    }
    let mut rest = payload;
    let length = usize::try_from(rest.get_u32_le()).unwrap_or(usize::MAX);
    match rest.split_at_checked(length) {
        Some((frame, json)) => (Some(frame), json),
        None => (None, payload),
    }
}

fn join(frame: &str, json: &str) -> anyhow::Result<Bytes> {
    let mut payload = BytesMut::with_capacity(4 + frame.len() + json.len());
    payload.put_u32_le(u32::try_from(frame.len())?);
    payload.put_slice(frame.as_bytes());
    payload.put_slice(json.as_bytes());
    Ok(payload.freeze())
}

/// Returns `bytes` as JSON; `None` if that would change a byte or contain a line feed.
fn raw(bytes: &[u8]) -> Option<Box<RawValue>> {
    let raw: &RawValue = serde_json::from_slice(bytes).ok()?;
    let exact = raw.get().len() == bytes.len() && !bytes.contains(&b'\n');
    exact.then(|| raw.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_payload_is_exported_and_read_back_byte_for_byte() {
        let framed = join("{\"a\":1}", "{ \"id\": 1, \"msg\": \"\\u00e4\" }").unwrap();
        let payloads: [(u8, Bytes); 5] = [
            (kinds::NOTIFIED, framed),
            (kinds::NOTIFIED, Bytes::from_static(b"\x01")),
            (kinds::SETTLED, Bytes::from_static(b"{\"ids\": [1]}")),
            (kinds::SETTLED, Bytes::from_static(b" {}")),
            (200, Bytes::from_static(b"\xff\x00")),
        ];
        for (kind, payload) in payloads {
            let entry = Entry {
                seq: 7,
                kind,
                payload,
            };
            let text = serde_json::to_string(&ExportLine::of(&entry)).unwrap();
            let line: ExportLine = serde_json::from_str(&text).unwrap();
            assert_eq!(line.entry().unwrap(), Some(entry), "{text}");
        }
    }
}
