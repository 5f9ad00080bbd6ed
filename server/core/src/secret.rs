//! The hub's token, which grants full access over TCP, and other texts that are never shown.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// 256 random bits as 64 hexadecimal digits. `Debug` hides it, and comparisons take constant time.
#[derive(Clone)]
pub struct Token(Arc<str>);

/// The error for a text that is not a token. It does not contain the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a token (expected 64 hexadecimal digits)")]
pub struct InvalidToken;

impl Token {
    /// A new token from the system's source of randomness.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut bits = [0u8; 32];
        getrandom::fill(&mut bits)?;
        Ok(Self(hex(&bits).into()))
    }

    /// Whether `text` is this token, in constant time.
    pub fn matches(&self, text: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(text).into()
    }

    /// The token as text. Only for the files in the state directory.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// HMAC-SHA256 of the concatenated `parts`, with the token's text as the key. If the borders between parts matter,
    /// the caller has to add separators.
    pub fn hmac(&self, parts: &[&[u8]]) -> [u8; 32] {
        hmac(self.0.as_bytes(), parts)
    }

    /// Whether `proof` is [`Self::hmac`] of `parts`, in constant time.
    pub fn proves(&self, parts: &[&[u8]], proof: &[u8]) -> bool {
        self.hmac(parts).ct_eq(proof).into()
    }
}

/// A text that is never shown, for example another service's access token, or a URL that grants access.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

impl Secret {
    /// The text itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl<T: Into<Box<str>>> From<T> for Secret {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(redacted)")
    }
}

impl FromStr for Token {
    type Err = InvalidToken;

    fn from_str(text: &str) -> Result<Self, InvalidToken> {
        if text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit()) {
            Ok(Self(text.into()))
        } else {
            Err(InvalidToken)
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(redacted)")
    }
}

/// HMAC-SHA256 of the concatenated `parts`.
pub fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// `bytes` as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The 256 bits of 64 lower-case hexadecimal digits.
pub fn unhex(text: &str) -> Option<[u8; 32]> {
    let is_digit = |it: &u8| matches!(it, b'0'..=b'9' | b'a'..=b'f');
    let mut bits = [0u8; 32];
    if text.len() != 64 || !text.as_bytes().iter().all(is_digit) {
        return None;
    }
    for (bit, pair) in bits.iter_mut().zip(text.as_bytes().chunks(2)) {
        *bit = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_never_shown() {
        let token = Token::generate().unwrap();
        assert_eq!(format!("{token:?}"), "(redacted)");
    }

    #[test]
    fn only_the_same_text_matches() {
        let token = Token::generate().unwrap();
        let text = token.expose().to_owned();
        assert!(token.matches(text.as_bytes()));
        assert!(!token.matches(&text.as_bytes()[1..]));
        assert!(!token.matches(b""));
        assert!(!Token::generate().unwrap().matches(text.as_bytes()));
    }

    #[test]
    fn a_proof_is_valid_for_its_text_only() {
        let token: Token = "0".repeat(64).parse().unwrap();
        let proof = token.hmac(&[b"nonce", b"127.0.0.1:1"]);
        assert!(token.proves(&[b"nonce127.0.0.1:1"], &proof));
        assert!(!token.proves(&[b"nonce127.0.0.1:2"], &proof));
    }
}
