//! Signing in to the dashboard: a code of 30 seconds is exchanged for a session of 12 hours, which belongs to the
//! browser's remembered device. Codes are kept in memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hub_core::secret::{Token, hex};
use subtle::ConstantTimeEq;

mod devices;

pub(crate) use devices::name_of;
pub use devices::{DashboardSession, Devices, OpenedSession, SESSION_LIFE, SessionTokenError};

/// How long a code is valid.
pub const CODE_LIFE: Duration = Duration::from_secs(30);

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
    /// The browsers that are signed in.
    pub(crate) devices: Devices,
}

impl LoginState {
    /// The state of a hub that listens on `port`, without codes.
    pub fn new(token: Token, port: u16, devices: Devices) -> Self {
        Self {
            token,
            port,
            codes: SignInCodes::default(),
            challenges: SignInCodes::default(),
            devices,
        }
    }
}

/// The open codes, shared by the handlers that issue and redeem them.
#[derive(Clone, Default)]
pub(crate) struct SignInCodes(Arc<Mutex<VecDeque<IssuedCode>>>);

struct IssuedCode {
    code: String,
    until: Instant,
}

impl SignInCodes {
    /// Issues a new code, which can be redeemed once within [`CODE_LIFE`].
    pub(crate) fn issue(&self, now: Instant) -> Result<String, getrandom::Error> {
        let mut bits = [0u8; CODE_BYTES];
        getrandom::fill(&mut bits)?;
        let code = hex(&bits);
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|open| now < open.until);
        if open.len() == MAX_CODES {
            open.pop_front();
        }
        open.push_back(IssuedCode {
            code: code.clone(),
            until: now + CODE_LIFE,
        });
        Ok(code)
    }

    /// Whether a code can be redeemed now. Does not redeem it.
    pub(crate) fn is_open(&self, code: &str, now: Instant) -> bool {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |open: &IssuedCode| bool::from(open.code.as_bytes().ct_eq(code.as_bytes()));
        open.iter().any(|open| is_it(open) && now < open.until)
    }

    /// Redeems a code: true the first time, and only before it expires.
    pub(crate) fn redeem(&self, code: &str, now: Instant) -> bool {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
