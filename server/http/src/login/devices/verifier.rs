//! The stored form of a session's token, which is random: enough to recognise it and not enough to have it.
//!
//! A program of the user may read what is stored. So a bearer's token is compared by its hash, and the hub's own proof has a
//! key that only the hub uses. A browser keeps the token as a key that cannot be read (`web/hub/device.js`) and resumes its
//! session as in SCRAM (RFC 5802): it derives a second key, of which the hub knows the hash, and sends it covered by an HMAC
//! that is keyed with that hash. The hub then has that key for a moment, and with it opens the stored secret.

use hub_core::secret::{hex, hmac, unhex};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The texts from which keys are derived by HMAC with the token. The browser uses the same ones.
const OF_THE_HUB: &[u8] = b"hub\0";
const OF_THE_BROWSER: &[u8] = b"browser\0";
/// The text from which the cover of the stored secret is derived with the browser's key.
const COVER: &[u8] = b"secret\0";

/// 256 bits in hexadecimal digits.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Bits([u8; 32]);

/// The stored form of a token.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Verifier {
    /// The hash of the token.
    token_hash: Bits,
    /// The key of the hub's proofs.
    hub_key: Bits,
    /// The hash of the browser's key, at the address at which it signed in.
    browser_key_hash: Bits,
    /// The token's secret under the browser's key.
    covered: Bits,
}

impl Verifier {
    /// A new token for the device `id` at the address `host`, and its stored form.
    pub(super) fn new(id: &str, host: &str) -> Result<(String, Self), getrandom::Error> {
        let mut secret = [0u8; 32];
        getrandom::fill(&mut secret)?;
        let token = token_of(id, &secret);
        let browser_key = hmac(token.as_bytes(), &[OF_THE_BROWSER, host.as_bytes()]);
        let verifier = Self {
            token_hash: hash(token.as_bytes()),
            hub_key: Bits(hmac(token.as_bytes(), &[OF_THE_HUB])),
            browser_key_hash: hash(&browser_key),
            covered: Bits(xor(secret, hmac(&browser_key, &[COVER]))),
        };
        Ok((token, verifier))
    }

    /// Whether a text is the token.
    pub(super) fn accepts(&self, token: &str) -> bool {
        hash(token.as_bytes()).0.ct_eq(&self.token_hash.0).into()
    }

    /// The hub's proof of `parts`.
    pub(super) fn prove(&self, parts: &[&[u8]]) -> [u8; 32] {
        hmac(&self.hub_key.0, parts)
    }

    /// The token of the device `id`, if `proof` is the browser's key for `host`, covered for this challenge.
    pub(super) fn open(
        &self,
        id: &str,
        challenge: &str,
        host: &str,
        proof: &str,
    ) -> Option<String> {
        let parts = [challenge.as_bytes(), b"\0", host.as_bytes()];
        let cover = hmac(&self.browser_key_hash.0, &parts);
        let browser_key = xor(unhex(proof)?, cover);
        let is_it: bool = hash(&browser_key).0.ct_eq(&self.browser_key_hash.0).into();
        let secret = || xor(self.covered.0, hmac(&browser_key, &[COVER]));
        is_it.then(|| token_of(id, &secret()))
    }
}

fn token_of(id: &str, secret: &[u8; 32]) -> String {
    format!("{id}.{}", hex(secret))
}

fn hash(bytes: &[u8]) -> Bits {
    Bits(Sha256::digest(bytes).into())
}

fn xor(mut a: [u8; 32], b: [u8; 32]) -> [u8; 32] {
    a.iter_mut().zip(b).for_each(|(a, b)| *a ^= b);
    a
}

impl From<Bits> for String {
    fn from(bits: Bits) -> Self {
        hex(&bits.0)
    }
}

impl TryFrom<String> for Bits {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        unhex(&text).map(Self).ok_or("not 64 hexadecimal digits")
    }
}
