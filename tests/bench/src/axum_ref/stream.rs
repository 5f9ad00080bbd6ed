//! Events for one reader: first the stored ones, then new ones.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, stream};
use tokio::sync::broadcast::{self, error::RecvError};

use super::Stored;
use super::store::Store;

struct Reader {
    live: broadcast::Receiver<Stored>,
    /// The store, while the reader is behind.
    behind: Option<Arc<Store>>,
    last: u64,
}

/// Returns the stream of a reader that has everything up to `since`, or of new events only.
pub(super) fn events(
    live: broadcast::Receiver<Stored>,
    store: Option<Arc<Store>>,
    since: Option<u64>,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let reader = Reader {
        live,
        behind: since.and(store),
        last: since.unwrap_or(0),
    };
    stream::unfold(reader, |mut reader| async {
        let frames = reader.next().await?;
        Some((Ok(frames), reader))
    })
}

impl Reader {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(store) = &self.behind {
            if let Some((newest, frames)) = store.frames_after(self.last) {
                self.last = newest;
                return Some(frames);
            }
            self.behind = None;
        }
        loop {
            match self.live.recv().await {
                Ok(stored) if stored.id > self.last => {
                    self.last = stored.id;
                    return Some(stored.frame);
                }
                Ok(_) => {}
                Err(RecvError::Lagged(_) | RecvError::Closed) => return None,
            }
        }
    }
}
