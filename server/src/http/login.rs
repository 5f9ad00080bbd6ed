//! Signing in to the dashboard: a code of 30 seconds is exchanged for a session of 12 hours.
//!
//! Codes are kept in memory. Sessions are not stored: a session's token is its end time with an HMAC by the hub's
//! token.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hub_protocol::Timestamp;
use subtle::ConstantTimeEq;

use crate::core::secret::{Token, hex, hmac};
use crate::core::time::Now;

/// How long a code is valid.
pub const CODE_LIFE: Duration = Duration::from_secs(30);
/// How long a session is valid: a working day.
pub const SESSION_LIFE: Duration = Duration::from_secs(12 * 60 * 60);

/// Limit of open codes: more than a person asks for in 30 seconds. Above it the oldest is dropped.
const MAX_CODES: usize = 100;
/// Random bytes in a code. 128 bits cannot be guessed.
const CODE_BYTES: usize = 16;
/// The prefix of the HMAC input. It separates sessions from proofs of `GET /hello`, whose input begins with hexadecimal
/// digits.
const CONTEXT: &[u8] = b"dashboard session\0";

/// The state of the sign-in handlers.
#[derive(Clone)]
pub(crate) struct LoginState {
    /// The hub's token, which signs sessions.
    pub(crate) token: Token,
    /// The hub's port.
    pub(crate) port: u16,
    /// The codes that can be redeemed.
    pub(crate) codes: SignInCodes,
}

impl LoginState {
    /// The state of a hub that listens on `port`, without codes.
    pub(crate) fn new(token: Token, port: u16) -> Self {
        Self {
            token,
            port,
            codes: SignInCodes::default(),
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

/// A dashboard session. The guard adds it to the extensions of every request that a session makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DashboardSession {
    expires: i64,
}

/// Why a text is not a valid session token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionTokenError {
    /// It was not issued by this hub.
    Forged,
    /// The session has ended.
    Expired,
}

impl DashboardSession {
    /// Starts a session now.
    pub fn start(now: Now) -> Self {
        let seconds = now.wall.as_millis() / 1000;
        Self {
            expires: seconds + SESSION_LIFE.as_secs().cast_signed(),
        }
    }

    /// The session's token: `SECONDS.PROOF`.
    pub fn token(self, key: &Token) -> String {
        let expires = self.expires.to_string();
        let proof = hex(&key.hmac(&[CONTEXT, expires.as_bytes()]));
        format!("{expires}.{proof}")
    }

    /// Proves that the hub knows the session that expires at `expires`, in seconds: [`Token::hmac`] of `parts`, with the
    /// session's token as the key. `None` if no session that is valid now expires then.
    pub fn prove(expires: &str, key: &Token, parts: &[&[u8]], now: Now) -> Option<[u8; 32]> {
        let expires: i64 = expires.parse().ok()?;
        let session = Self { expires };
        let started = expires.checked_sub(SESSION_LIFE.as_secs().cast_signed())?;
        let is_valid = started <= now.wall.as_millis() / 1000 && !session.remaining(now).is_zero();
        is_valid.then(|| hmac(session.token(key).as_bytes(), parts))
    }

    /// Verifies a session token.
    pub fn verify(text: &str, key: &Token, now: Now) -> Result<Self, SessionTokenError> {
        let (expires, proof) = text.split_once('.').ok_or(SessionTokenError::Forged)?;
        let expected = hex(&key.hmac(&[CONTEXT, expires.as_bytes()]));
        if !bool::from(expected.as_bytes().ct_eq(proof.as_bytes())) {
            return Err(SessionTokenError::Forged);
        }
        let expires: i64 = expires.parse().map_err(|_| SessionTokenError::Forged)?;
        if now.wall.as_millis() / 1000 < expires {
            Ok(Self { expires })
        } else {
            Err(SessionTokenError::Expired)
        }
    }

    /// The time until it expires.
    pub fn remaining(self, now: Now) -> Duration {
        let expires = self.expires.saturating_mul(1000);
        let left = expires.saturating_sub(now.wall.as_millis());
        Duration::from_millis(left.max(0).cast_unsigned())
    }

    /// Its end time.
    pub fn expires(self) -> Timestamp {
        Timestamp::from_millis(self.expires * 1000)
    }
}

#[cfg(test)]
mod tests;
