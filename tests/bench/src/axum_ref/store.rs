//! The only writing thread: drains the queue, inserts each record, flushes once, syncs once, answers.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use bytes::{BufMut, Bytes, BytesMut};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::{broadcast, mpsc, oneshot};

use super::{Draft, Stored};

/// Most requests that may wait for a sync.
const QUEUE: usize = 1024;

/// Drafts of one request, and the channel for their ids.
pub(super) struct Append {
    pub(super) drafts: Vec<Draft>,
    pub(super) answer: oneshot::Sender<Vec<u64>>,
}

/// sled, and the descriptor whose sync makes its flush durable.
pub(super) struct Store {
    db: sled::Db,
    file: File,
}

#[derive(Serialize)]
struct Numbered<'a> {
    id: u64,
    ts: u64,
    from: &'a str,
    to: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    msg: &'a str,
    data: &'a RawValue,
}

impl Store {
    pub(super) fn open(state_dir: &Path) -> Result<Self> {
        let path = state_dir.join("sled");
        let config = sled::Config::new().path(&path).cache_capacity(64 << 20);
        let db = config.open()?;
        let file = File::options().write(true).open(path.join("db"))?;
        Ok(Self { db, file })
    }

    fn insert(&self, stored: &Stored) -> sled::Result<()> {
        let key = stored.id.to_be_bytes();
        self.db.insert(key, stored.json.as_ref()).map(drop)
    }

    fn sync(&self) -> Result<()> {
        self.db.flush()?;
        Ok(self.file.sync_data()?)
    }

    fn head(&self) -> u64 {
        let last = self.db.last().ok().flatten();
        last.map_or(0, |(key, _)| number(&key))
    }

    /// Up to 500 notifications after `last`.
    pub(super) fn after(&self, last: u64) -> Vec<(u64, Bytes)> {
        let records = self.records(last);
        records
            .map(|(key, json)| (number(&key), Bytes::copy_from_slice(&json)))
            .collect()
    }

    /// The events of up to 500 notifications after `last`, and the last of them; `None` when there is none.
    pub(super) fn frames_after(&self, last: u64) -> Option<(u64, Bytes)> {
        let mut frames = BytesMut::with_capacity(128 * 1024);
        let mut newest = None;
        for (key, json) in self.records(last) {
            let id = number(&key);
            put_frame(&mut frames, id, &json);
            newest = Some(id);
        }
        newest.map(|id| (id, frames.freeze()))
    }

    fn records(&self, last: u64) -> impl Iterator<Item = (sled::IVec, sled::IVec)> {
        let records = self.db.range((last + 1).to_be_bytes()..);
        records.map_while(Result::ok).take(500)
    }
}

/// Starts the writer; it ends when the sender is dropped, or with an error of the store.
pub(super) fn start_writer(
    store: Option<Arc<Store>>,
    live: broadcast::Sender<Stored>,
) -> mpsc::Sender<Append> {
    let (sender, queue) = mpsc::channel(QUEUE);
    std::thread::spawn(move || {
        if let Err(error) = write(store.as_deref(), &live, queue) {
            eprintln!("axum reference: {error:#}");
        }
    });
    sender
}

fn write(
    store: Option<&Store>,
    live: &broadcast::Sender<Stored>,
    mut queue: mpsc::Receiver<Append>,
) -> Result<()> {
    let mut head = store.map_or(0, Store::head);
    let mut group = Vec::new();
    while queue.blocking_recv_many(&mut group, QUEUE) > 0 {
        let mut fresh = Vec::new();
        let mut answers = Vec::new();
        for Append { drafts, answer } in group.drain(..) {
            let first = head + 1;
            for draft in drafts {
                head += 1;
                fresh.push(numbered(head, &draft)?);
            }
            answers.push((answer, (first..=head).collect()));
        }
        if let Some(store) = store {
            fresh.iter().try_for_each(|stored| store.insert(stored))?;
            store.sync()?;
        }
        for (answer, ids) in answers {
            // The request may be gone; its notifications are stored all the same.
            let _ = answer.send(ids);
        }
        for stored in fresh {
            // There may be no readers.
            let _ = live.send(stored);
        }
    }
    Ok(())
}

fn numbered(id: u64, draft: &Draft) -> Result<Stored> {
    let ts = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
    let json = serde_json::to_vec(&Numbered {
        id,
        ts: u64::try_from(ts)?,
        from: &draft.from,
        to: &draft.to,
        kind: &draft.kind,
        msg: &draft.msg,
        data: &draft.data,
    })?;
    let mut frame = BytesMut::with_capacity(json.len() + 40);
    put_frame(&mut frame, id, &json);
    Ok(Stored {
        id,
        json: json.into(),
        frame: frame.freeze(),
    })
}

fn put_frame(frames: &mut BytesMut, id: u64, json: &[u8]) {
    frames.put_slice(format!("id: {id}\ndata: ").as_bytes());
    frames.put_slice(json);
    frames.put_slice(b"\n\n");
}

fn number(key: &[u8]) -> u64 {
    key.try_into().map_or(0, u64::from_be_bytes)
}
