//! The remembered devices: the browsers that are signed in, each with one session of 12 hours.
//!
//! They are kept in `STATE_DIR/devices.json` without secrets: a session's token is its device's id with an HMAC by the
//! hub's token. So a new hub's token ends all sessions, and removing a device ends its session.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hub_protocol::{Device, Timestamp};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use tokio_util::sync::CancellationToken;

use crate::core::durable;
use crate::core::secret::{Token, hex, hmac};
use crate::core::time::Now;

/// How long a session is valid: a working day.
pub const SESSION_LIFE: Duration = Duration::from_secs(12 * 60 * 60);

/// Limit of devices: more than a person uses in 12 hours. Above it the oldest is removed.
const MAX_DEVICES: usize = 100;
/// Random bytes in a device's id. It is no secret.
const ID_BYTES: usize = 8;
/// The prefix of the HMAC input of a session's token. It separates tokens from proofs of `GET /hello`, whose input
/// begins with hexadecimal digits.
const CONTEXT: &[u8] = b"dashboard session\0";
/// The prefix of the HMAC input with which a browser proves that it knows a session's token.
const RESUME: &[u8] = b"resume\0";

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
}

/// A device as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredDevice {
    #[serde(flatten)]
    device: Device,
    /// The address in `Host` at which it signed in. Its session is resumed at that address only.
    host: String,
    /// Cancelled when the device is removed.
    #[serde(skip)]
    removed: CancellationToken,
}

/// A device's session. The guard adds it to the extensions of every request that the session makes.
#[derive(Debug, Clone)]
pub struct DashboardSession {
    id: String,
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
        })))
    }

    /// Adds a device that signed in at the address `host`, and starts its session. Waits for the disk.
    pub fn add(
        &self,
        name: String,
        host: &str,
        now: Now,
    ) -> Result<DashboardSession, getrandom::Error> {
        let mut id = [0u8; ID_BYTES];
        getrandom::fill(&mut id)?;
        let seconds = now.wall.as_millis() / 1000 + SESSION_LIFE.as_secs().cast_signed();
        let entry = StoredDevice {
            device: Device {
                id: hex(&id),
                name,
                created_at: now.wall,
                used_at: now.wall,
                expires_at: Timestamp::from_millis(seconds * 1000),
            },
            host: host.into(),
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
        Ok(session)
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
        key: &Token,
        now: Now,
    ) -> Result<DashboardSession, SessionTokenError> {
        let (id, _) = text.split_once('.').ok_or(SessionTokenError::Forged)?;
        if !bool::from(token_of(id, key).as_bytes().ct_eq(text.as_bytes())) {
            return Err(SessionTokenError::Forged);
        }
        self.live(id, now, |entry| {
            entry.device.used_at = now.wall;
            entry.session()
        })
        .ok_or(SessionTokenError::Over)
    }

    /// Proves that the hub knows the session of device `id`: the HMAC of `parts`, with the session's token as the key.
    /// `None` without such a session.
    pub(crate) fn prove(
        &self,
        id: &str,
        key: &Token,
        parts: &[&[u8]],
        now: Now,
    ) -> Option<[u8; 32]> {
        self.live(id, now, |_| ())?;
        Some(hmac(token_of(id, key).as_bytes(), parts))
    }

    /// The session of device `id`, if `proof` proves that the caller knows its token, for this challenge and for the
    /// address at which the device signed in. The caller redeems the challenge.
    pub(crate) fn resume(
        &self,
        (id, challenge, proof): (&str, &str, &str),
        host: &str,
        key: &Token,
        now: Now,
    ) -> Option<DashboardSession> {
        let parts = [RESUME, challenge.as_bytes(), host.as_bytes()];
        let expected = hex(&hmac(token_of(id, key).as_bytes(), &parts));
        if !bool::from(expected.as_bytes().ct_eq(proof.as_bytes())) {
            return None;
        }
        let session = self.live(id, now, |entry| {
            (entry.host == host).then(|| {
                entry.device.used_at = now.wall;
                entry.session()
            })
        });
        session.flatten()
    }

    fn live<T>(&self, id: &str, now: Now, read: impl FnOnce(&mut StoredDevice) -> T) -> Option<T> {
        let mut table = self.lock();
        let found = table.iter_mut().find(|entry| entry.device.id == id);
        found.filter(|entry| !entry.is_over(now)).map(read)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<StoredDevice>> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn store(&self) -> io::Result<()> {
        let Some(path) = &self.0.path else {
            return Ok(());
        };
        let _writing = self
            .0
            .writing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
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
            expires: self.device.expires_at,
            removed: self.removed.clone(),
        }
    }
}

impl DashboardSession {
    /// The session's token: `ID.PROOF`.
    pub fn token(&self, key: &Token) -> String {
        token_of(&self.id, key)
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

fn token_of(id: &str, key: &Token) -> String {
    format!("{id}.{}", hex(&key.hmac(&[CONTEXT, id.as_bytes()])))
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
