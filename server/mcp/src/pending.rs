//! The pending notifications in the results of tools, and their acknowledgement by the caller's next call.
//!
//! A result that was sent may never reach the model. So the hub remembers what it handed to a client, and acknowledges
//! it when the same client calls again. Until then a lease keeps it from other readers; for a session with hooks, its
//! next hook event is a proof as well (see `fold/delivery.rs`). A client that begins anew has lost what it did not
//! acknowledge, so it is offered that again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use hub_core::fold::Session;
use hub_core::sync::lock;
use hub_core::waiters::lease_token::Claim;
use hub_core::waiters::{Batch, MAX_TEXT_BYTES, WaitSpec};
use hub_engine::Hub;
use hub_protocol::{Frame, Framed, InboxName, ProjectName, Seq, Way};

use super::McpCaller;
use hub_http::error::ApiError;
use hub_http::routes::{stored, wait};

/// At most this many callers are remembered. A forgotten one is offered its notifications again.
const MAX_CALLERS: usize = 10_000;

/// At most this many results of one session, of all its clients. The lease of a forgotten one ends by itself.
const MAX_HANDED: usize = 64;

/// Notifications for a model that calls tools.
const NOTIFICATIONS: Frame = Frame {
    more: "call the tool inbox",
    ..Frame::NOTIFICATIONS
};

/// The notifications that each caller has received and not acknowledged yet, by project and inbox.
#[derive(Clone, Default)]
pub(super) struct Unacknowledged(Arc<Mutex<Callers>>);

type Callers = HashMap<(ProjectName, InboxName), Vec<HandedOver>>;

struct HandedOver {
    client: String,
    claim: Claim,
}

impl Unacknowledged {
    fn remember(&self, caller: &McpCaller, claim: Claim) {
        let Some(inbox) = caller.inbox() else { return };
        let mut callers = lock(&self.0);
        if callers.len() >= MAX_CALLERS {
            callers.clear();
        }
        let handed = callers.entry((caller.project.clone(), inbox.clone()));
        let handed = handed.or_default();
        if handed.len() >= MAX_HANDED {
            handed.remove(0);
        }
        handed.push(HandedOver {
            client: caller.client.clone(),
            claim,
        });
    }

    /// Removes what was handed to the caller's session and is `meant`.
    fn remove(&self, caller: &McpCaller, meant: impl Fn(&HandedOver) -> bool) -> Vec<Claim> {
        let Some(inbox) = caller.inbox() else {
            return Vec::new();
        };
        let place = (caller.project.clone(), inbox.clone());
        let mut callers = lock(&self.0);
        let Some(handed) = callers.get_mut(&place) else {
            return Vec::new();
        };
        let removed = handed
            .extract_if(.., |it| meant(it))
            .map(|it| it.claim)
            .collect();
        if handed.is_empty() {
            callers.remove(&place);
        }
        removed
    }

    /// Acknowledges what the caller got with its calls before this one.
    pub(super) async fn acknowledge(&self, hub: &Hub, caller: &McpCaller) -> Result<(), ApiError> {
        for claim in self.remove(caller, |it| it.client == caller.client) {
            wait::settle(hub, claim).await?;
        }
        Ok(())
    }

    /// Offers again what a client of this session got and did not acknowledge, because the client begins anew.
    pub(super) async fn offer_again(&self, hub: &Hub, caller: &McpCaller) {
        for claim in self.remove(caller, |_| true) {
            // The lease ends by itself if this fails.
            let _ = hub.give_back(claim).await;
        }
    }

    /// Offers these notifications again, which this client got with a task that it cancelled.
    pub(super) async fn give_back(&self, hub: &Hub, caller: &McpCaller, ids: &[Seq]) {
        let has_one = |claim: &Claim| {
            let mut all = claim.items.iter().flat_map(|(_, covered)| covered);
            all.any(|id| ids.contains(id))
        };
        let meant = |it: &HandedOver| it.client == caller.client && has_one(&it.claim);
        for claim in self.remove(caller, meant) {
            let _ = hub.give_back(claim).await;
        }
    }

    /// Takes what is pending for the caller, and returns it as text for the model with the ids; `None` if there is
    /// nothing.
    pub(super) async fn take(
        &self,
        hub: &Hub,
        caller: &McpCaller,
    ) -> Result<Option<(Framed, Vec<Seq>)>, ApiError> {
        let Some(spec) = spec(caller) else {
            return Ok(None);
        };
        let way = if has_hooks(hub, caller)? {
            Some(Way::Hook)
        } else {
            spec.way
        };
        match hub.take(WaitSpec { way, ..spec }).await? {
            Some(batch) => self.hand_over(hub, caller, batch).await.map(Some),
            None => Ok(None),
        }
    }

    /// Returns a batch as text for the model with the ids, and remembers it. Notifications that do not fit stay pending.
    pub(super) async fn hand_over(
        &self,
        hub: &Hub,
        caller: &McpCaller,
        batch: Batch,
    ) -> Result<(Framed, Vec<Seq>), ApiError> {
        let mut lines = Vec::new();
        for item in &batch.items {
            let json = stored::item_json(hub, &batch.project, item).await?;
            lines.push(String::from_utf8_lossy(&json).into_owned());
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let framed = Framed::notifications(NOTIFICATIONS, &lines, batch.remaining);
        let (shown, left) = batch.items.split_at(framed.shown);
        let shown: Vec<Seq> = shown.iter().map(|it| it.id).collect();
        let mut claim = batch.claim(hub.log().epoch());
        if !left.is_empty() {
            let mut rest = claim.clone();
            let not_shown = |id: &Seq| !shown.contains(id);
            rest.items
                .iter_mut()
                .for_each(|(_, ids)| ids.retain(not_shown));
            claim
                .items
                .iter_mut()
                .for_each(|(_, ids)| ids.retain(|id| !not_shown(id)));
            hub.give_back(rest).await?;
        }
        if has_hooks(hub, caller)? {
            wait::settle(hub, claim.clone()).await?;
        }
        self.remember(
            caller,
            Claim {
                shown: None,
                ..claim
            },
        );
        Ok((framed, shown))
    }
}

/// Whether hook events of the caller's session prove what reached it.
fn has_hooks(hub: &Hub, caller: &McpCaller) -> Result<bool, ApiError> {
    let Some(session) = caller.session.clone() else {
        return Ok(false);
    };
    let found = hub.read(|state, _| {
        let (project, key) = state.sessions.resolve_key(caller.project.clone(), session);
        state
            .sessions
            .get(&project, &key)
            .is_some_and(Session::has_hooks)
    });
    Ok(found?)
}

/// A wait at the caller's inboxes that takes what is there; `None` if the caller has no inbox.
pub(super) fn spec(caller: &McpCaller) -> Option<WaitSpec> {
    let inbox = caller.inbox()?;
    let name = match caller.client.as_str() {
        "" => format!("mcp:{inbox}"),
        client => format!("mcp:{client}"),
    };
    let spec = WaitSpec::drain(
        caller.project.clone(),
        caller.session.clone(),
        name,
        MAX_TEXT_BYTES,
    );
    Some(match caller.session {
        Some(_) => WaitSpec {
            way: Some(Way::Wait),
            ..spec
        },
        None => WaitSpec {
            inboxes: vec![inbox.clone()],
            ..spec
        },
    })
}
