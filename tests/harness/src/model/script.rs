//! Common scripts.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use super::{Reply, Request};

/// The model's text when its script has no reply.
pub(super) const NOTHING: &str = "ok";

/// Returns the replies in order, for any requests; then [`NOTHING`].
pub fn turns(replies: impl IntoIterator<Item = Reply>) -> impl Fn(&Request) -> Reply {
    let replies: Mutex<VecDeque<Reply>> = Mutex::new(replies.into_iter().collect());
    move |_| {
        let mut replies = replies.lock().unwrap_or_else(PoisonError::into_inner);
        replies.pop_front().unwrap_or_else(|| Reply::text(NOTHING))
    }
}

/// Returns the reply of the first rule whose text is new in the request; [`NOTHING`] if none matches.
pub fn rules<T: Into<String>>(
    rules: impl IntoIterator<Item = (T, Reply)>,
) -> impl Fn(&Request) -> Reply {
    let rules: Vec<(String, Reply)> = rules.into_iter().map(|(t, it)| (t.into(), it)).collect();
    move |request| {
        let fitting = rules.iter().find(|(text, _)| request.count_new(text) > 0);
        fitting.map_or_else(|| Reply::text(NOTHING), |(_, reply)| reply.clone())
    }
}
