//! The remembered devices: the browsers that are signed in, each with one session of 12 hours.
//!
//! They are kept in `STATE_DIR/devices.json`, which every program of the user can read, so without anything that opens a
//! session: see [`verifier`]. Removing a device ends its session.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use hub_core::durable;
use hub_core::secret::hex;
use hub_core::sync;
use hub_core::time::Now;
use hub_protocol::{Device, PhoneAccess, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

mod push;
mod verifier;

use push::StoredSubscription;
pub use push::{PushKeys, PushSubscription, PushTarget};
use verifier::Verifier;

/// How long a session is valid: a working day.
pub const SESSION_LIFE: Duration = Duration::from_secs(12 * 60 * 60);
/// How long that of a paired phone is valid. A phone is its person's, and is paired at the machine of the hub.
const PHONE_LIFE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Limit of devices: more than a person uses in a month. Above it the oldest is removed.
const MAX_DEVICES: usize = 100;
/// Random bytes in a device's id. It is no secret.
const ID_BYTES: usize = 8;
/// The devices of a hub, shared by the guard and the sign-in handlers.
#[derive(Clone, Default)]
pub struct Devices(Arc<DeviceTable>);

#[derive(Default)]
struct DeviceTable {
    /// The file; `None` keeps the devices in memory only.
    path: Option<PathBuf>,
    table: Mutex<Vec<StoredDevice>>,
    /// Held while the file is written, so that an older table never replaces a newer one.
    writing: Mutex<()>,
    /// Notified when a device subscribes to Web Push.
    subscribed: watch::Sender<()>,
}

/// A device as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredDevice {
    #[serde(flatten)]
    device: Device,
    /// The address in `Host` at which it signed in. Its session is resumed at that address only.
    host: String,
    #[serde(flatten)]
    verifier: Verifier,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    push: Option<StoredSubscription>,
    /// Cancelled when the device is removed.
    #[serde(skip)]
    removed: CancellationToken,
}

/// A device that signs in.
pub(crate) struct NewDevice<'a> {
    pub(crate) name: String,
    /// The address in `Host`.
    pub(crate) host: &'a str,
    /// Its rights, if it is a phone.
    pub(crate) access: Option<PhoneAccess>,
}

/// A session with its token, which the hub does not keep.
#[derive(Debug)]
pub struct OpenedSession {
    /// The session.
    pub session: DashboardSession,
    /// Its token: `ID.SECRET`.
    pub token: String,
}

/// A device's session. The guard adds it to the extensions of every request that the session makes.
#[derive(Debug, Clone)]
pub struct DashboardSession {
    id: String,
    name: String,
    access: Option<PhoneAccess>,
    expires: Timestamp,
    removed: CancellationToken,
}

/// Why a text is not a valid session token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionTokenError {
    /// It was not issued by this hub.
    Forged,
    /// The session has ended, or its device was removed.
    Over,
}

impl Devices {
    /// The devices that are stored in `dir`. A file that cannot be parsed counts as empty: everyone signs in again.
    pub fn open(dir: &Path) -> io::Result<Self> {
        let path = dir.join("devices.json");
        let table = match std::fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).unwrap_or_else(|error| {
                tracing::warn!(%error, path = %path.display(), "the signed-in browsers are forgotten");
                Vec::new()
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(Self(Arc::new(DeviceTable {
            path: Some(path),
            table: Mutex::new(table),
            writing: Mutex::default(),
            subscribed: watch::Sender::default(),
        })))
    }

    /// Adds a device, and starts its session. Waits for the disk.
    pub(crate) fn add(
        &self,
        new: NewDevice<'_>,
        now: Now,
    ) -> Result<OpenedSession, getrandom::Error> {
        let NewDevice { name, host, access } = new;
        let mut id = [0u8; ID_BYTES];
        getrandom::fill(&mut id)?;
        let id = hex(&id);
        let (token, verifier) = Verifier::new(&id, host)?;
        let life = access.map_or(SESSION_LIFE, |_| PHONE_LIFE);
        let seconds = now.wall.as_millis() / 1000 + life.as_secs().cast_signed();
        let entry = StoredDevice {
            device: Device {
                id,
                name,
                created_at: now.wall,
                used_at: now.wall,
                expires_at: Timestamp::from_millis(seconds * 1000),
                access,
                own: false,
            },
            host: host.into(),
            verifier,
            push: None,
            removed: CancellationToken::new(),
        };
        let session = entry.session();
        let mut table = self.lock();
        table.retain(|entry| !entry.is_over(now));
        if table.len() == MAX_DEVICES {
            table.remove(0).removed.cancel();
        }
        table.push(entry);
        drop(table);
        if let Err(error) = self.store() {
            tracing::warn!(%error, "a signed-in browser is forgotten when the hub restarts");
        }
        Ok(OpenedSession { session, token })
    }

    /// Whether a phone was paired at this address.
    pub(crate) fn has_phone_at(&self, host: &str, now: Now) -> bool {
        let is_one = |it: &StoredDevice| it.device.access.is_some() && it.host == host;
        self.lock().iter().any(|it| is_one(it) && !it.is_over(now))
    }

    /// Whether the device `id` is a paired phone.
    pub(crate) fn is_phone(&self, id: &str, now: Now) -> bool {
        self.live(id, now, |it| it.device.access.is_some()) == Some(true)
    }

    /// The devices with a session that is valid now, oldest first.
    pub(crate) fn list(&self, now: Now) -> Vec<Device> {
        let table = self.lock();
        let live = table.iter().filter(|entry| !entry.is_over(now));
        live.map(|entry| entry.device.clone()).collect()
    }

    /// Removes the device `id`, or all devices, and ends their sessions. Returns how many there were. Waits for the
    /// disk.
    pub(crate) fn remove(&self, id: Option<&str>) -> io::Result<usize> {
        let mut count = 0;
        self.lock().retain(|entry| {
            let stays = id.is_some_and(|id| id != entry.device.id);
            if !stays {
                entry.removed.cancel();
                count += 1;
            }
            stays
        });
        self.store()?;
        Ok(count)
    }

    /// Verifies a session's token, and notes that its device is in use.
    pub(crate) fn verify(
        &self,
        text: &str,
        now: Now,
    ) -> Result<DashboardSession, SessionTokenError> {
        let (id, _) = text.split_once('.').ok_or(SessionTokenError::Forged)?;
        let mut table = self.lock();
        let entry = table.iter_mut().find(|entry| entry.device.id == id);
        // The token of a removed device and a forged one look the same.
        let entry = entry.ok_or(SessionTokenError::Over)?;
        if !entry.verifier.accepts(text) {
            return Err(SessionTokenError::Forged);
        }
        if entry.is_over(now) {
            return Err(SessionTokenError::Over);
        }
        entry.device.used_at = now.wall;
        Ok(entry.session())
    }

    /// Proves to the browser of device `id` that this is the hub that it signed in to: the HMAC of `parts`. `None` without
    /// such a session.
    pub(crate) fn prove(&self, id: &str, parts: &[&[u8]], now: Now) -> Option<[u8; 32]> {
        self.live(id, now, |entry| entry.verifier.prove(parts))
    }

    /// The session of device `id`, if `proof` proves that the caller knows its token, for this challenge and for the
    /// address at which the device signed in. The caller redeems the challenge.
    pub(crate) fn resume(
        &self,
        (id, challenge, proof): (&str, &str, &str),
        host: &str,
        now: Now,
    ) -> Option<OpenedSession> {
        let session = self.live(id, now, |entry| {
            let token = entry.verifier.open(id, challenge, host, proof);
            let token = token.filter(|_| entry.host == host)?;
            entry.device.used_at = now.wall;
            let session = entry.session();
            Some(OpenedSession { session, token })
        });
        session.flatten()
    }

    fn live<T>(&self, id: &str, now: Now, read: impl FnOnce(&mut StoredDevice) -> T) -> Option<T> {
        let mut table = self.lock();
        let found = table.iter_mut().find(|entry| entry.device.id == id);
        found.filter(|entry| !entry.is_over(now)).map(read)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<StoredDevice>> {
        sync::lock(&self.0.table)
    }

    fn store(&self) -> io::Result<()> {
        let Some(path) = &self.0.path else {
            return Ok(());
        };
        let _writing = sync::lock(&self.0.writing);
        let text = serde_json::to_vec(&*self.lock())?;
        durable::replace(path, &[&text])
    }
}

impl StoredDevice {
    fn is_over(&self, now: Now) -> bool {
        self.device.expires_at <= now.wall
    }

    fn session(&self) -> DashboardSession {
        DashboardSession {
            id: self.device.id.clone(),
            name: self.device.name.clone(),
            access: self.device.access,
            expires: self.device.expires_at,
            removed: self.removed.clone(),
        }
    }
}

impl DashboardSession {
    /// The id of its device.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The name of its device.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The rights of its device, if that is a phone.
    pub(crate) fn access(&self) -> Option<PhoneAccess> {
        self.access
    }

    /// Its end time.
    pub(crate) fn expires(&self) -> Timestamp {
        self.expires
    }

    /// The time until it expires.
    pub(crate) fn remaining(&self, now: Now) -> Duration {
        let left = self.expires.as_millis() - now.wall.as_millis();
        Duration::from_millis(left.max(0).cast_unsigned())
    }

    /// Cancelled when the device is removed.
    pub(crate) fn removed(&self) -> &CancellationToken {
        &self.removed
    }
}

/// A name for a browser, from its `User-Agent`: `Firefox 140 on Linux`.
pub(crate) fn name_of(user_agent: &str) -> String {
    let first = |table: &[(&str, &'static str)]| {
        let found = table.iter().find(|(mark, _)| user_agent.contains(mark));
        found.map(|(mark, name)| ((*mark).to_owned(), *name))
    };
    // Most browsers also name those that they are compatible with, so the order counts.
    let browser = first(&[
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Version/", "Safari"),
    ]);
    let system = first(&[
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("CrOS", "ChromeOS"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("Linux", "Linux"),
    ]);
    let Some((mark, browser)) = browser else {
        return "unknown program".into();
    };
    let version = user_agent.split(&mark).nth(1).unwrap_or_default();
    let digits = version.chars().take_while(char::is_ascii_digit).take(4);
    let version: String = digits.collect();
    let system = system.map_or("unknown system", |(_, name)| name);
    format!("{browser} {version} on {system}")
}

#[cfg(test)]
mod tests;
