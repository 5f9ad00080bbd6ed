//! Signing in to the dashboard: a code of 30 seconds is exchanged for a session of 12 hours, which belongs to the
//! browser's remembered device; the code that pairs a phone is valid for two minutes, and its session for 30 days. Codes
//! are kept in memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hub_core::secret::{Token, hex};
use hub_core::sync;
use hub_core::time::Now;
use hub_protocol::PhoneAccess;
use subtle::ConstantTimeEq;

mod devices;

pub(crate) use devices::NewDevice;
pub(crate) use devices::name_of;
pub use devices::{
    DashboardSession, Devices, OpenedSession, PushKeys, PushSubscription, PushTarget, SESSION_LIFE,
    SessionTokenError,
};

/// How long a code is valid.
pub const CODE_LIFE: Duration = Duration::from_secs(30);
/// How long the code that pairs a phone is valid: its link is scanned or copied.
pub(crate) const PAIRING_LIFE: Duration = Duration::from_secs(120);

/// Limit of open codes: more than a person asks for in 30 seconds. Above it the oldest is dropped.
const MAX_CODES: usize = 100;
/// Random bytes in a code. 128 bits cannot be guessed.
const CODE_BYTES: usize = 16;

/// The state of the sign-in handlers.
#[derive(Clone)]
pub struct LoginState {
    /// The hub's token, which it proves to clients.
    pub(crate) token: Token,
    /// The hub's port.
    pub(crate) port: u16,
    /// The codes that can be redeemed.
    pub(crate) codes: SignInCodes,
    /// The challenges that a browser can answer to resume its session. They are codes too: random, and redeemed once.
    pub(crate) challenges: SignInCodes,
    /// The challenges of paired phones. They are apart, because whoever reaches the proxy can ask for some.
    pub(crate) phone_challenges: SignInCodes,
    /// The addresses besides the loopback ones at which the hub answers.
    pub(crate) hosts: Arc<[String]>,
    /// The browsers that are signed in.
    pub(crate) devices: Devices,
    /// The hub's public key for push services.
    pub(crate) push_key: Arc<str>,
}

impl LoginState {
    /// The state of a hub that listens on `port`, without codes. It answers also at the addresses `hosts`, and push services
    /// know it by `push_key`.
    pub fn new(
        token: Token,
        port: u16,
        devices: Devices,
        (hosts, push_key): (&[String], &str),
    ) -> Self {
        Self {
            token,
            port,
            codes: SignInCodes::default(),
            challenges: SignInCodes::default(),
            phone_challenges: SignInCodes::default(),
            hosts: hosts.into(),
            devices,
            push_key: push_key.into(),
        }
    }

    /// The challenges for the browsers at an address.
    pub(crate) fn challenges_at(&self, host: &str, now: Now) -> &SignInCodes {
        if self.devices.has_phone_at(host, now) {
            &self.phone_challenges
        } else {
            &self.challenges
        }
    }
}

/// The open codes, shared by the handlers that issue and redeem them.
#[derive(Clone, Default)]
pub(crate) struct SignInCodes(Arc<Mutex<VecDeque<IssuedCode>>>);

struct IssuedCode {
    code: String,
    until: Instant,
    holder: Holder,
}

/// The client that may redeem a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Holder {
    /// A browser of the hub's user.
    Browser,
    /// One phone.
    Phone(Pairing),
}

/// The right that a code for a phone gives: to sign in at one address, also through the proxy of another user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pairing {
    pub(crate) host: String,
    pub(crate) name: Option<String>,
    pub(crate) access: PhoneAccess,
}

impl SignInCodes {
    /// Issues a new code, which can be redeemed once within [`CODE_LIFE`].
    pub(crate) fn issue(&self, now: Instant) -> Result<String, getrandom::Error> {
        self.add(now + CODE_LIFE, Holder::Browser, now)
    }

    /// Issues a code that pairs a phone once within [`PAIRING_LIFE`].
    pub(crate) fn issue_pairing(
        &self,
        pairing: Pairing,
        now: Instant,
    ) -> Result<String, getrandom::Error> {
        self.add(now + PAIRING_LIFE, Holder::Phone(pairing), now)
    }

    fn add(
        &self,
        until: Instant,
        holder: Holder,
        now: Instant,
    ) -> Result<String, getrandom::Error> {
        let mut bits = [0u8; CODE_BYTES];
        getrandom::fill(&mut bits)?;
        let code = hex(&bits);
        let mut open = sync::lock(&self.0);
        open.retain(|open| now < open.until);
        if open.len() == MAX_CODES {
            open.pop_front();
        }
        open.push_back(IssuedCode {
            code: code.clone(),
            until,
            holder,
        });
        Ok(code)
    }

    /// Returns the client that may redeem a code now. Does not redeem it.
    pub(crate) fn find(&self, code: &str, now: Instant) -> Option<Holder> {
        let open = sync::lock(&self.0);
        let is_it = |open: &IssuedCode| bool::from(open.code.as_bytes().ct_eq(code.as_bytes()));
        let mut open = open.iter();
        let found = open.find(|open| is_it(open) && now < open.until)?;
        Some(found.holder.clone())
    }

    /// Redeems a code: true the first time, and only before it expires.
    pub(crate) fn redeem(&self, code: &str, now: Instant) -> bool {
        let mut open = sync::lock(&self.0);
        let mut good = false;
        open.retain(|open| {
            let is_it = bool::from(open.code.as_bytes().ct_eq(code.as_bytes()));
            good |= is_it && now < open.until;
            !is_it && now < open.until
        });
        good
    }
}

#[cfg(test)]
mod tests;
