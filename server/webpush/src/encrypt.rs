//! The encryption of a message, which only the browser of a subscription can undo (RFC 8291).
//!
//! The primitives are those of ring, which hubd has for TLS anyway. A crate for this RFC brings a second implementation of
//! the curve and of AES with it.

use anyhow::anyhow;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use hub_core::secret::hmac;
use hub_http::login::PushKeys;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::rand::{SecureRandom as _, SystemRandom};

/// The most bytes of a message: with its header it fills the 4096 bytes that every push service takes.
pub(crate) const MAX_BYTES: usize = 3993;
/// The size of the only record, by RFC 8188.
const RECORD: u32 = 4096;
/// The mark of the last record, which precedes the padding.
const LAST: u8 = 2;

/// Both public keys and the secrets of a message.
struct Agreed<'a> {
    secret: &'a [u8],
    browser: &'a [u8],
    hub: &'a [u8],
    auth: &'a [u8],
    salt: [u8; 16],
}

/// Encrypts a message for a subscription: the body of a request with `Content-Encoding: aes128gcm`.
pub(crate) fn encrypt(text: &[u8], keys: &PushKeys) -> anyhow::Result<Vec<u8>> {
    anyhow::ensure!(text.len() <= MAX_BYTES, "a message of {} bytes", text.len());
    let random = SystemRandom::new();
    let failed = |_| anyhow!("the keys of the subscription are no keys");
    let mut salt = [0; 16];
    random.fill(&mut salt).map_err(failed)?;
    let own = EphemeralPrivateKey::generate(&ECDH_P256, &random).map_err(failed)?;
    let hub = own.compute_public_key().map_err(failed)?;
    let (browser, auth) = (BASE64.decode(&keys.p256dh)?, BASE64.decode(&keys.auth)?);
    let seal = |secret: &[u8]| {
        let (browser, hub, auth) = (&*browser, hub.as_ref(), &*auth);
        let agreed = Agreed {
            secret,
            browser,
            hub,
            auth,
            salt,
        };
        agreed.seal(text)
    };
    let browser = UnparsedPublicKey::new(&ECDH_P256, &browser);
    agree_ephemeral(own, &browser, seal).map_err(failed)?
}

impl Agreed<'_> {
    fn seal(&self, text: &[u8]) -> anyhow::Result<Vec<u8>> {
        let (key, nonce) = self.key();
        let key = UnboundKey::new(&AES_128_GCM, &key).map_err(|_| anyhow!("no key"))?;
        let mut record = [text, &[LAST]].concat();
        LessSafeKey::new(key)
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::empty(),
                &mut record,
            )
            .map_err(|_| anyhow!("the message cannot be sealed"))?;
        let size = RECORD.to_be_bytes();
        let length = [u8::try_from(self.hub.len())?];
        Ok([&self.salt, &size[..], &length, self.hub, &record].concat())
    }

    /// The content encryption key and the nonce, by HKDF (RFC 5869) of one block each.
    fn key(&self) -> ([u8; 16], [u8; 12]) {
        let input = hmac(self.auth, &[self.secret]);
        let input = hmac(&input, &[b"WebPush: info\0", self.browser, self.hub, &[1]]);
        let root = hmac(&self.salt, &[&input]);
        let key = hmac(&root, &[b"Content-Encoding: aes128gcm\0", &[1]]);
        let nonce = hmac(&root, &[b"Content-Encoding: nonce\0", &[1]]);
        (first(&key), first(&nonce))
    }
}

fn first<const N: usize>(block: &[u8; 32]) -> [u8; N] {
    std::array::from_fn(|at| block[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 8291, appendix A.
    #[test]
    fn a_message_is_sealed_as_in_the_example_of_the_rfc() {
        let bytes = |text: &str| BASE64.decode(text).unwrap();
        let secret = bytes("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs");
        let browser = bytes(
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        );
        let hub = bytes(
            "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8",
        );
        let agreed = Agreed {
            secret: &secret,
            browser: &browser,
            hub: &hub,
            auth: &bytes("BTBZMqHH6r4Tts7J_aSIgg"),
            salt: bytes("DGv6ra1nlYgDCS1FRnbzlw").try_into().unwrap(),
        };
        let sealed = agreed.seal(b"When I grow up, I want to be a watermelon");
        let expected = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIg\
            Dll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyou\
            BWLVWGNWQexSgSxsj_Qulcy4a-fN";
        assert_eq!(BASE64.encode(sealed.unwrap()), expected);
    }

    #[test]
    fn a_key_that_is_no_point_of_the_curve_and_a_message_that_is_too_long_are_refused() {
        let keys = |p256dh: &[u8]| PushKeys {
            p256dh: BASE64.encode(p256dh),
            auth: BASE64.encode([0; 16]),
        };
        let mut off = vec![1; 65];
        off[0] = 4;
        assert!(encrypt(b"x", &keys(&off)).is_err());
        let own = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
        let key = own.compute_public_key().unwrap().as_ref().to_vec();
        let sealed = encrypt(&[b'x'; MAX_BYTES], &keys(&key)).unwrap();
        assert_eq!(sealed.len(), 4096);
        assert!(encrypt(&[b'x'; MAX_BYTES + 1], &keys(&key)).is_err());
    }
}
