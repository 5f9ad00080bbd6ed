//! The Web Push subscription of a device, as its browser made it.

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;

use axum::http::Uri;
use hub_core::time::Now;
use hub_protocol::{PhoneAccess, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::Devices;

/// Longest address of a subscription, in bytes. Those of the push services have a few hundred.
const MAX_ENDPOINT: usize = 2048;
/// A point of P-256 and 16 bytes, in base64 without padding (RFC 8291).
const KEY_LENGTHS: [usize; 2] = [87, 22];

/// A subscription: where messages are posted, and the keys that encrypt them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushSubscription {
    /// The address at the push service. Who knows it and has the hub's key can push to the device.
    pub endpoint: String,
    /// The keys.
    pub keys: PushKeys,
}

/// The keys of a subscription, in base64 for URLs without padding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushKeys {
    /// The browser's public key.
    pub p256dh: String,
    /// The secret that the browser shares with the hub.
    pub auth: String,
}

/// A subscription as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StoredSubscription {
    #[serde(flatten)]
    subscription: PushSubscription,
    /// When the device subscribed.
    since: Timestamp,
    /// The ids of the needs that the device may show. They are stored before they are pushed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    shown: BTreeSet<String>,
}

/// A device to which the hub pushes.
#[derive(Debug, Clone)]
pub struct PushTarget {
    /// Its subscription.
    pub subscription: PushSubscription,
    /// When it subscribed.
    pub since: Timestamp,
    /// The ids of the needs that it may show.
    pub shown: BTreeSet<String>,
    /// The address in `Host` at which it signed in.
    pub host: String,
    /// Its rights, if it is a paired phone.
    pub access: Option<PhoneAccess>,
}

impl PushSubscription {
    /// Says what is wrong with a subscription.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.endpoint.len() > MAX_ENDPOINT {
            return Err(format!("endpoint has at most {MAX_ENDPOINT} bytes"));
        }
        let uri: Uri = self
            .endpoint
            .parse()
            .map_err(|_| "endpoint is no address")?;
        if !is_service(&uri) {
            return Err("endpoint is an https address at the name of a push service".into());
        }
        let keys = [&self.keys.p256dh, &self.keys.auth];
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let are_keys = keys
            .iter()
            .zip(KEY_LENGTHS)
            .all(|(key, length)| key.len() == length && key.bytes().all(is_base64));
        if !are_keys {
            return Err(
                "keys are p256dh with 65 bytes and auth with 16, in base64url without padding"
                    .into(),
            );
        }
        Ok(())
    }
}

/// Whether an address can be that of a push service: no device makes the hub post to an address of its own network by number,
/// or to this machine by the names that always mean it. Only the tests of a debug build have a service here.
fn is_service(endpoint: &Uri) -> bool {
    let host = endpoint.host().unwrap_or_default();
    let plain = endpoint
        .authority()
        .is_some_and(|it| !it.as_str().contains('@'));
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    let is_test = cfg!(debug_assertions) && address.as_ref().is_ok_and(IpAddr::is_loopback);
    match endpoint.scheme_str() {
        Some("https") => plain && address.is_err() && host.contains('.') && !is_localhost(host),
        Some("http") => plain && is_test,
        _ => false,
    }
}

/// Whether a name means this machine, by RFC 6761.
fn is_localhost(host: &str) -> bool {
    let name = host.strip_suffix('.').unwrap_or(host);
    let last = name.rsplit('.').next().unwrap_or_default();
    last.eq_ignore_ascii_case("localhost")
}

impl Devices {
    /// Notified when a device subscribes.
    pub fn subscriptions(&self) -> watch::Receiver<()> {
        self.0.subscribed.subscribe()
    }

    /// The devices with a subscription and a session that is valid now.
    pub fn subscribers(&self, now: Now) -> Vec<String> {
        let table = self.lock();
        let live = table
            .iter()
            .filter(|it| it.push.is_some() && !it.is_over(now));
        live.map(|it| it.device.id.clone()).collect()
    }

    /// The device `id` as a target, while it has a subscription and a valid session.
    pub fn push_target(&self, id: &str, now: Now) -> Option<PushTarget> {
        let target = self.live(id, now, |it| {
            let StoredSubscription {
                subscription,
                since,
                shown,
            } = it.push.clone()?;
            Some(PushTarget {
                subscription,
                since,
                shown,
                host: it.host.clone(),
                access: it.device.access,
            })
        });
        target.flatten()
    }

    /// Stores the subscription of the device `id`, in place of an earlier one. A device that was paired anew in the same
    /// browser takes it over. Waits for the disk.
    pub(crate) fn subscribe(
        &self,
        id: &str,
        subscription: &PushSubscription,
        now: Now,
    ) -> io::Result<()> {
        let mut table = self.lock();
        let same = |it: &mut StoredSubscription| it.subscription.endpoint == subscription.endpoint;
        let taken = table.iter_mut().filter_map(|it| it.push.take_if(same));
        let shown = taken.flat_map(|it| it.shown).collect();
        if let Some(entry) = table.iter_mut().find(|it| it.device.id == id) {
            entry.push = Some(StoredSubscription {
                subscription: subscription.clone(),
                since: now.wall,
                shown,
            });
        }
        drop(table);
        self.store()?;
        self.0.subscribed.send_replace(());
        Ok(())
    }

    /// Remembers, over restarts, which needs the device `id` may show. Waits for the disk.
    pub fn remember_shown(&self, id: &str, endpoint: &str, shown: BTreeSet<String>) {
        let mut table = self.lock();
        let entry = table.iter_mut().find(|it| it.device.id == id);
        let push = entry.and_then(|it| it.push.as_mut());
        let Some(push) = push.filter(|it| it.subscription.endpoint == endpoint) else {
            return;
        };
        push.shown = shown;
        drop(table);
        if let Err(error) = self.store() {
            tracing::warn!(%error, "a restart forgets which needs a device shows");
        }
    }

    /// Removes the subscription of the device `id`. Waits for the disk.
    pub(crate) fn unsubscribe(&self, id: &str) -> io::Result<()> {
        for entry in self.lock().iter_mut().filter(|it| it.device.id == id) {
            entry.push = None;
        }
        self.store()
    }

    /// Removes a subscription that its push service no longer knows, unless the device has another one by now. Waits for the
    /// disk.
    pub fn forget_subscription(&self, id: &str, endpoint: &str) {
        for entry in self.lock().iter_mut().filter(|it| it.device.id == id) {
            entry
                .push
                .take_if(|it| it.subscription.endpoint == endpoint);
        }
        if let Err(error) = self.store() {
            tracing::warn!(%error, "an expired subscription is back when the hub restarts");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscription_names_an_https_service_and_has_keys_of_its_size() {
        let check = |endpoint: &str, p256dh: usize, auth: usize| {
            let keys = PushKeys {
                p256dh: "A".repeat(p256dh),
                auth: "A".repeat(auth),
            };
            let endpoint = endpoint.to_owned();
            PushSubscription { endpoint, keys }.check().is_ok()
        };
        assert!(check("https://fcm.googleapis.com/fcm/send/a:b", 87, 22));
        for endpoint in [
            "http://push.example/a",
            "https://user@push.example/a",
            "https://localhost/a",
            "https://localhost./a",
            "https://push.LocalHost:8443/a",
            "https://127.0.0.1/a",
            "https://[::1]/a",
            "https://10.0.0.1/a",
            "ftp://push.example/a",
            "http://192.0.2.1/a",
            "/a",
            "",
            &format!("https://push.example/{}", "a".repeat(MAX_ENDPOINT)),
        ] {
            assert!(!check(endpoint, 87, 22), "{endpoint}");
        }
        assert!(!check("https://push.example/a", 86, 22));
        assert!(!check("https://push.example/a", 87, 23));
    }
}
