//! The person's messages to sessions, until the sessions have them.

use std::collections::BTreeMap;

use hub_core::fold::{Inbox, Item, Session, SessionKey, State};
use hub_core::time::Now;
use hub_core::waiters::SharedWaiters;
use hub_protocol::{AnswerDelivery, InboxName, Kind, Reason, Seq, Timestamp};

use crate::why::Explainer;

/// The newest message of the person that a session does not have yet.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) id: Seq,
    pub(super) ts: Timestamp,
    pub(super) way: ReplyWay,
}

/// How far a message has come.
#[derive(Debug)]
pub(super) enum ReplyWay {
    /// It is on its way.
    Sent(AnswerDelivery),
    /// The hub cannot deliver it now. The text gives the reason and what the person can do.
    NotTaken(String),
}

/// The person's message that a session does not have yet, unless they have closed what the session needs since.
pub(super) fn find(
    state: &State,
    waiters: &SharedWaiters,
    (project, key): &SessionKey,
    session: &Session,
    now: Timestamp,
) -> Option<Reply> {
    let own = state.inboxes.get(project, key);
    // Most sessions have nothing pending, and a hub may know many.
    if own.is_none_or(Inbox::is_empty) && state.sessions.primary(project) != Some(key) {
        return None;
    }
    let inboxes = state.sessions.inboxes_of(project, key);
    let of_person = |it: &&Item| it.from.as_str() == InboxName::PERSON && it.kind == Kind::Message;
    let pending = inboxes.iter().flat_map(|name| {
        let inbox = state.inboxes.get(project, name).into_iter();
        let items = inbox.flat_map(Inbox::pending).filter(of_person);
        items.map(move |it| (name, it))
    });
    let (inbox, item) = pending.max_by_key(|(_, it)| it.seq)?;
    let is_closed = session.closed_at(now).is_some_and(|at| at > item.ts);
    (!is_closed).then(|| {
        let waiters = waiters.read();
        let explainer = Explainer::new(state, &waiters, BTreeMap::new(), false, Now::read());
        let found = explainer.find(&(project.clone(), inbox.clone()), item).item;
        Reply {
            id: item.seq,
            ts: item.ts,
            way: way(found.reason, &found.text),
        }
    })
}

fn way(reason: Reason, why: &str) -> ReplyWay {
    let then = match reason {
        Reason::Woken | Reason::DeliveredByHook | Reason::Leased => {
            return ReplyWay::Sent(AnswerDelivery::Delivered);
        }
        Reason::Ended => "Resume the session within a day, and it gets it; or ask another one.",
        Reason::NoTransport => {
            "Type in its terminal: your next prompt there delivers it with your words."
        }
        Reason::NoHooks | Reason::HookUntrusted => "Type in its terminal instead.",
        _ => return ReplyWay::Sent(AnswerDelivery::Stored),
    };
    ReplyWay::NotTaken(format!("Your message was not taken: {why}. {then}"))
}
