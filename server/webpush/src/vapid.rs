//! The key by which push services recognise this hub (RFC 8292).

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use hub_config::state_dir::{StateDirError, read_private};
use hub_core::durable;
use hub_protocol::Timestamp;
use hyper::Uri;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;

/// How long a signature is valid, in seconds. A push service accepts at most a day.
const LIFE: i64 = 12 * 60 * 60;
/// The name of the file in the state directory: PKCS #8 in base64.
const FILE: &str = "vapid.key";

/// The hub's key pair. Clones share it.
#[derive(Debug, Clone)]
pub struct VapidKey(Arc<EcdsaKeyPair>);

impl VapidKey {
    /// Reads the key in the state directory `dir`. Makes one at the first start, and in place of a damaged one: the pages of
    /// the devices then subscribe anew.
    pub fn open(dir: &Path) -> anyhow::Result<Self> {
        let path = dir.join(FILE);
        let text = match read_private(&path) {
            Err(StateDirError::Io { source, .. }) if source.kind() == ErrorKind::InvalidData => {
                Some(String::new())
            }
            read => read?,
        };
        let stored = text.as_deref().and_then(parse);
        if text.is_some() && stored.is_none() {
            tracing::warn!(
                path = %path.display(),
                "this file holds no key, and gets a new one: each device is without Web Push until its page is opened"
            );
        }
        let pair = stored.map_or_else(|| make(&path), Ok)?;
        Ok(Self(Arc::new(pair)))
    }

    /// The public key, as pages name it when they subscribe.
    pub fn public(&self) -> String {
        BASE64.encode(self.0.public_key())
    }

    /// The header `Authorization` of a request to this endpoint. The service may tell the operator of the page `contact`
    /// about problems.
    pub(crate) fn authorization(
        &self,
        endpoint: &Uri,
        contact: &str,
        now: Timestamp,
    ) -> anyhow::Result<String> {
        let (scheme, authority) = (endpoint.scheme_str(), endpoint.authority());
        let (scheme, authority) = scheme
            .zip(authority)
            .context("the endpoint is no address")?;
        let claims = json!({
            "aud": format!("{scheme}://{authority}"),
            "exp": now.as_millis() / 1000 + LIFE,
            "sub": format!("https://{contact}"),
        });
        let header = json!({ "typ": "JWT", "alg": "ES256" });
        let encode = |part: serde_json::Value| BASE64.encode(part.to_string());
        let signed = format!("{}.{}", encode(header), encode(claims));
        let signature = self.0.sign(&SystemRandom::new(), signed.as_bytes());
        let signature = signature.map_err(|_| anyhow::anyhow!("the key signs nothing"))?;
        let signature = BASE64.encode(signature);
        Ok(format!("vapid t={signed}.{signature}, k={}", self.public()))
    }
}

fn parse(text: &str) -> Option<EcdsaKeyPair> {
    let document = BASE64.decode(text.trim_end()).ok()?;
    let random = SystemRandom::new();
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &document, &random).ok()
}

fn make(path: &Path) -> anyhow::Result<EcdsaKeyPair> {
    let random = SystemRandom::new();
    let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
    let made = made.map_err(|_| anyhow::anyhow!("no randomness for a key"))?;
    let text = BASE64.encode(&made) + "\n";
    durable::replace(path, &[text.as_bytes()])
        .with_context(|| format!("cannot write {}", path.display()))?;
    parse(&text).context("a key that was just made is none")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    #[test]
    fn the_key_is_made_once_and_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let first = VapidKey::open(dir.path()).unwrap().public();
        let mode = dir.path().join(FILE).metadata().unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
        assert_eq!(VapidKey::open(dir.path()).unwrap().public(), first);
    }

    #[test]
    fn a_new_key_replaces_a_damaged_one() {
        let dir = tempfile::tempdir().unwrap();
        let first = VapidKey::open(dir.path()).unwrap().public();
        for damaged in [&b"x"[..], b"", b"\xff\xfe"] {
            std::fs::write(dir.path().join(FILE), damaged).unwrap();
            let second = VapidKey::open(dir.path()).unwrap().public();
            assert_ne!(second, first);
            assert_eq!(VapidKey::open(dir.path()).unwrap().public(), second);
        }
    }

    #[test]
    fn a_request_is_signed_for_its_service_for_less_than_a_day() {
        let dir = tempfile::tempdir().unwrap();
        let key = VapidKey::open(dir.path()).unwrap();
        let endpoint = "https://push.example:8443/send/abc".parse().unwrap();
        let now = Timestamp::from_millis(1_000_000);
        let header = key.authorization(&endpoint, "hub.example", now).unwrap();
        let (token, public) = header
            .strip_prefix("vapid t=")
            .and_then(|it| it.split_once(", k="))
            .unwrap();
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let public =
            UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, BASE64.decode(public).unwrap());
        let signature = BASE64.decode(signature).unwrap();
        public.verify(signed.as_bytes(), &signature).unwrap();
        let claims = BASE64.decode(signed.split_once('.').unwrap().1).unwrap();
        let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
        let expected = json!({ "aud": "https://push.example:8443", "exp": 1000 + LIFE, "sub": "https://hub.example" });
        assert_eq!(claims, expected);
    }
}
