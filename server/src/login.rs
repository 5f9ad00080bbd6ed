//! How a person gets into the dashboard: a code of 30 seconds, exchanged for a session of 12 hours.
//!
//! Codes live in memory, a session nowhere: its token is its end and a proof of it by the hub's token.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hub_protocol::Timestamp;
use subtle::ConstantTimeEq;

use crate::clock::Now;
use crate::secret::{Token, hex};

/// How long a code may be exchanged.
pub const CODE_LIFE: Duration = Duration::from_secs(30);
/// How long a session lasts: a working day.
pub const SESSION_LIFE: Duration = Duration::from_secs(12 * 60 * 60);

/// More open codes than a person asks for in 30 seconds; beyond it the oldest goes.
const MAX_CODES: usize = 100;
/// Random bytes in a code: nobody guesses one of 128 bits.
const CODE_BYTES: usize = 16;
/// What a session's proof begins with: no proof of `GET /hello` is one, its text begins with hexadecimal digits.
const CONTEXT: &[u8] = b"dashboard session\0";

/// The codes that are open, shared by all who hand them out and take them in.
#[derive(Clone, Default)]
pub struct Codes(Arc<Mutex<VecDeque<Open>>>);

struct Open {
    code: String,
    until: Instant,
}

impl Codes {
    /// A new code that can be redeemed once within [`CODE_LIFE`].
    pub fn issue(&self, now: Instant) -> Result<String, getrandom::Error> {
        let mut bits = [0u8; CODE_BYTES];
        getrandom::fill(&mut bits)?;
        let code = hex(&bits);
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|open| now < open.until);
        if open.len() == MAX_CODES {
            open.pop_front();
        }
        open.push_back(Open {
            code: code.clone(),
            until: now + CODE_LIFE,
        });
        Ok(code)
    }

    /// Takes a code in: true once for each, and in its time only.
    pub fn redeem(&self, code: &str, now: Instant) -> bool {
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

/// A dashboard's session: an extension of every request that one made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    ends: i64,
}

/// Why a text is no token of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoSession {
    /// This hub never gave it out.
    Forged,
    /// It was one.
    Over,
}

impl Session {
    /// A session that begins now.
    pub fn begin(now: Now) -> Self {
        let seconds = now.wall.as_millis() / 1000;
        Self {
            ends: seconds + SESSION_LIFE.as_secs().cast_signed(),
        }
    }

    /// The token that stands for it: `SECONDS.PROOF`.
    pub fn token(self, key: &Token) -> String {
        let ends = self.ends.to_string();
        let proof = hex(&key.hmac(&[CONTEXT, ends.as_bytes()]));
        format!("{ends}.{proof}")
    }

    /// Reads a token.
    pub fn read(text: &str, key: &Token, now: Now) -> Result<Self, NoSession> {
        let (ends, proof) = text.split_once('.').ok_or(NoSession::Forged)?;
        let right = hex(&key.hmac(&[CONTEXT, ends.as_bytes()]));
        if !bool::from(right.as_bytes().ct_eq(proof.as_bytes())) {
            return Err(NoSession::Forged);
        }
        let ends: i64 = ends.parse().map_err(|_| NoSession::Forged)?;
        if now.wall.as_millis() / 1000 < ends {
            Ok(Self { ends })
        } else {
            Err(NoSession::Over)
        }
    }

    /// How long it still lasts.
    pub fn left(self, now: Now) -> Duration {
        let left = self.ends * 1000 - now.wall.as_millis();
        Duration::from_millis(left.max(0).cast_unsigned())
    }

    /// When it ends.
    pub fn ends(self) -> Timestamp {
        Timestamp::from_millis(self.ends * 1000)
    }
}

#[cfg(test)]
mod tests;
