//! The task of one device: sends it what begins and what is settled, as often as it takes.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http_body_util::Full;
use hub_core::time::Now;
use hub_engine::Hub;
use hub_http::login::{Devices, PushTarget};
use hub_protocol::{Need, PhoneAccess, Preferences, Timestamp};
use hub_rules::forward::backoff::Backoff;
use hub_rules::forward::poster::{PostOutcome, Poster};
use hyper::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, USER_AGENT};
use hyper::{Request, StatusCode, Uri};

use crate::VapidKey;
use crate::encrypt::encrypt;
use crate::message::{Known, Message};

/// How long a push service keeps a message for a device that is offline, in seconds.
const KEEP: &str = "86400";
/// The pause before the needs are read again after a failure.
const PAUSE: Duration = Duration::from_secs(1);

/// Pushes to one device.
pub(crate) struct DeviceTask {
    hub: Hub,
    devices: Devices,
    key: VapidKey,
    poster: Poster,
    id: String,
    /// Needs from before are known to the device.
    started: Timestamp,
}

/// Why messages to a device stop for now.
enum Stop {
    /// All is sent.
    Done,
    /// The push service does not take it, and asks for this pause.
    Failed(Option<Duration>),
    /// The device or its subscription is gone.
    Gone,
}

impl DeviceTask {
    pub(crate) fn new(
        (hub, devices, key): (Hub, Devices, VapidKey),
        poster: Poster,
        id: &str,
        started: Timestamp,
    ) -> Self {
        Self {
            hub,
            devices,
            key,
            poster,
            id: id.to_owned(),
            started,
        }
    }

    /// Pushes until the subscription is gone, or the needs cannot be read.
    pub(crate) async fn run(self) {
        if self.follow().await.is_none() {
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Follows the needs until the subscription is gone; `None` if they cannot be read.
    async fn follow(&self) -> Option<()> {
        let mut needs = self.hub.follow_needs();
        // The first list is empty until it is computed.
        needs.list.changed().await.ok()?;
        let Some(target) = self.target() else {
            return Some(());
        };
        let from = self.started.max(target.since);
        let preferences = self.preferences().ok()?;
        let list = needs.list.borrow_and_update().clone();
        let mut known = Known::before(&list, &preferences, from, &target.shown);
        let mut backoff = Backoff::new();
        let mut subscriptions = self.devices.subscriptions();
        loop {
            let list = needs.list.borrow_and_update().clone();
            match self.update(&mut known, &list).await {
                Stop::Done => {
                    backoff = Backoff::new();
                    needs.list.changed().await.ok()?;
                }
                Stop::Failed(pause) => tokio::select! {
                    () = tokio::time::sleep(backoff.next(pause)) => {}
                    // Only the earlier push service asks for the pause.
                    _ = subscriptions.changed() => {}
                },
                Stop::Gone => return Some(()),
            }
        }
    }

    /// Sends all that is due by this list.
    async fn update(&self, known: &mut Known, needs: &[Need]) -> Stop {
        loop {
            let Some(target) = self.target() else {
                return Stop::Gone;
            };
            let Ok(preferences) = self.preferences() else {
                return Stop::Failed(None);
            };
            // Another hub of the cluster has the waiters, and pushes.
            if self.hub.is_standby() {
                *known = Known::before(needs, &preferences, Now::read().wall, &target.shown);
                return Stop::Done;
            }
            let answers = target.access != Some(PhoneAccess::Reads);
            let message = known.next(needs, &preferences, answers);
            self.remember(known.shown_after(message.as_ref()), &target)
                .await;
            let Some(message) = message else {
                return Stop::Done;
            };
            if let Err(stop) = self.send(&message, &target).await {
                return stop;
            }
            known.sent(&message, needs);
        }
    }

    fn target(&self) -> Option<PushTarget> {
        self.devices.push_target(&self.id, Now::read())
    }

    fn preferences(&self) -> Result<Preferences, hub_core::rejected::Rejected> {
        self.hub.read(|state, _| state.preferences.clone())
    }

    /// Sends a message. One that the service refuses for good counts as sent.
    async fn send(&self, message: &Message, target: &PushTarget) -> Result<(), Stop> {
        let outcome = match self.request(message, target) {
            Ok(request) => self.post(request).await,
            Err(error) => Ok(PostOutcome::Refused(error.to_string())),
        };
        let device = &self.id;
        match outcome {
            Ok(PostOutcome::Accepted) => Ok(()),
            Ok(PostOutcome::Refused(why)) => {
                tracing::warn!(device, why, "a message was not pushed");
                Ok(())
            }
            Ok(PostOutcome::Failed(why, pause)) => {
                tracing::warn!(device, why, "a push fails; it is tried again");
                Err(Stop::Failed(pause))
            }
            Err(Expired) => {
                self.forget(target).await;
                Err(Stop::Gone)
            }
        }
    }

    /// Remembers which notifications the device may show. Stored before a push, because the hub may end once that is accepted.
    async fn remember(&self, shown: BTreeSet<String>, target: &PushTarget) {
        if shown == target.shown {
            return;
        }
        let (devices, id) = (self.devices.clone(), self.id.clone());
        let endpoint = target.subscription.endpoint.clone();
        let remember = move || devices.remember_shown(&id, &endpoint, shown);
        // Without it, a need that is settled while the hub is down stays on the device.
        let _ = tokio::task::spawn_blocking(remember).await;
    }

    /// Forgets an expired subscription.
    async fn forget(&self, target: &PushTarget) {
        tracing::info!(device = self.id, "a subscription has expired");
        let (devices, id) = (self.devices.clone(), self.id.clone());
        let endpoint = target.subscription.endpoint.clone();
        let forget = move || devices.forget_subscription(&id, &endpoint);
        // One that is not forgotten only costs another request.
        let _ = tokio::task::spawn_blocking(forget).await;
    }

    async fn post(&self, request: Request<Full<Bytes>>) -> Result<PostOutcome, Expired> {
        match self.poster.open(request).await {
            Ok(it) if matches!(it.status(), StatusCode::NOT_FOUND | StatusCode::GONE) => {
                Err(Expired)
            }
            Ok(response) => Ok(PostOutcome::of(response).await),
            Err(why) => Ok(PostOutcome::Failed(why, None)),
        }
    }

    fn request(
        &self,
        message: &Message,
        target: &PushTarget,
    ) -> anyhow::Result<Request<Full<Bytes>>> {
        let endpoint: Uri = target.subscription.endpoint.parse()?;
        let now = Now::read().wall;
        let authorization = self.key.authorization(&endpoint, &target.host, now)?;
        let body = encrypt(&message.json(), &target.subscription.keys)?;
        let urgency = if message.is_pressing() {
            "high"
        } else {
            "normal"
        };
        Request::post(endpoint)
            .header(USER_AGENT, concat!("hubd/", env!("CARGO_PKG_VERSION")))
            .header(AUTHORIZATION, authorization)
            .header(CONTENT_TYPE, "application/octet-stream")
            .header(CONTENT_ENCODING, "aes128gcm")
            .header("ttl", KEEP)
            .header("urgency", urgency)
            .header("topic", message.tag())
            .body(Full::new(body.into()))
            .context("no request")
    }
}

/// The push service no longer knows the subscription.
struct Expired;
