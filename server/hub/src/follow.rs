//! Lists that one task computes for all streams that show them, at each change and as long as there is a reader.

use std::hash::{DefaultHasher, Hasher};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use hub_core::rejected::Rejected;
use hub_core::sync;
use serde::Serialize;
use tokio::sync::watch;

use super::Hub;

/// A list that depends on the fold, the waiters and the time.
pub trait List: Default + Send + 'static {
    /// The whole of it.
    type Whole: PartialEq + Default + Send + Sync + 'static;
    /// After a change, further ones are collected for this long.
    const DEBOUNCE: Duration;
    /// The list may change without a record this often.
    const RECHECK: Duration;

    /// Computes it.
    fn read(self, hub: &Hub) -> impl Future<Output = Result<(Self::Whole, Self), Rejected>> + Send;
}

type Receiver<T> = watch::Receiver<Arc<T>>;

/// The place where the readers of a list find the task that computes it.
pub type ListSlot<T> = Mutex<Weak<Receiver<T>>>;

/// A reader of a list.
pub struct FollowedList<T> {
    /// The list, changed at first and each time that it differs.
    pub list: Receiver<T>,
    #[allow(dead_code)] // held until the reader ends
    shared: Arc<Receiver<T>>,
}

/// Names the content of a list: equal lists have equal tags.
pub fn tag(list: &impl Serialize) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(&serde_json::to_vec(list).unwrap_or_default());
    format!("{:016x}", hasher.finish())
}

/// Follows a list.
pub fn follow<L: List>(hub: &Hub, slot: &ListSlot<L::Whole>) -> FollowedList<L::Whole> {
    let mut known = sync::lock(slot);
    let shared = known.upgrade().unwrap_or_else(|| {
        let (sender, receiver) = watch::channel(Arc::default());
        keep::<L>(hub.clone(), sender);
        Arc::new(receiver)
    });
    *known = Arc::downgrade(&shared);
    let list = (*shared).clone();
    FollowedList { list, shared }
}

/// Computes the list at each change, until nobody follows it.
fn keep<L: List>(hub: Hub, sender: watch::Sender<Arc<L::Whole>>) {
    tokio::spawn(async move {
        let (mut log, mut presence) = (hub.log().subscribe(), hub.presence());
        let (mut list, mut is_first) = (L::default(), true);
        loop {
            match list.read(&hub).await {
                Ok((whole, read)) => {
                    list = read;
                    sender.send_if_modified(|known| {
                        let changed = std::mem::take(&mut is_first) || **known != whole;
                        *known = Arc::new(whole);
                        changed
                    });
                }
                Err(error) => {
                    tracing::error!(%error, "a list for the streams could not be read");
                    return;
                }
            }
            tokio::select! {
                () = sender.closed() => return,
                () = hub.shutdown().cancelled() => return,
                Ok(()) = log.changed() => {}
                Ok(()) = presence.changed() => {}
                () = tokio::time::sleep(L::RECHECK) => {}
            }
            tokio::time::sleep(L::DEBOUNCE).await;
            log.mark_unchanged();
            presence.mark_unchanged();
        }
    });
}
