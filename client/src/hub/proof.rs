//! The hub's proof that it has the token. A program that took the hub's port cannot give it.

use hmac::{Hmac, KeyInit, Mac};
use hub_protocol::Hello;
use sha2::Sha256;

/// Whether `body` contains HMAC-SHA256(token, nonce ‖ address). Compared in constant time.
pub(super) fn holds(token: &[u8], body: &[u8], nonce: &str, address: &str) -> bool {
    let Some(hello) = std::str::from_utf8(body)
        .ok()
        .and_then(|text| serde_json::from_str::<Hello>(text).ok())
    else {
        return false;
    };
    let (Some(proof), Ok(mut mac)) = (unhex(&hello.proof), Hmac::<Sha256>::new_from_slice(token))
    else {
        return false;
    };
    mac.update(nonce.as_bytes());
    mac.update(address.as_bytes());
    mac.verify_slice(&proof).is_ok()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // HMAC-SHA256("key", "ab" ‖ "127.0.0.1:1"), by `printf 'ab127.0.0.1:1' | openssl dgst -sha256 -hmac key`.
    const PROOF: &str = "6f68d437e80066937d16823a2273e4418e9715a6a039c9e46763a6a655abd03b";

    fn body(proof: &str) -> Vec<u8> {
        format!("{{\"proof\":\"{proof}\",\"version\":\"1\"}}").into_bytes()
    }

    #[test]
    fn the_proof_depends_on_the_token_the_nonce_and_the_address() {
        assert!(holds(b"key", &body(PROOF), "ab", "127.0.0.1:1"));
        assert!(!holds(b"another", &body(PROOF), "ab", "127.0.0.1:1"));
        assert!(!holds(b"key", &body(PROOF), "ac", "127.0.0.1:1"));
        assert!(!holds(b"key", &body(PROOF), "ab", "127.0.0.1:2"));
    }

    #[test]
    fn a_malformed_proof_is_refused() {
        for proof in ["", "é", "0", "zz", &PROOF[2..]] {
            assert!(
                !holds(b"key", &body(proof), "ab", "127.0.0.1:1"),
                "{proof:?}"
            );
        }
        assert!(!holds(b"key", b"<html>", "ab", "127.0.0.1:1"));
    }
}
