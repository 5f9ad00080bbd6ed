use std::os::unix::fs::PermissionsExt as _;
use std::time::Instant;

use hub_core::secret::{hmac, unhex};
use sha2::{Digest as _, Sha256};

use super::*;

const DAY_ONE: i64 = 1_700_000_000;
const HOST: &str = "127.0.0.1:4782";

fn at(seconds: i64) -> Now {
    Now {
        boot_ms: 0,
        wall: Timestamp::from_millis(seconds * 1000),
        mono: Instant::now(),
    }
}

fn sign_in(devices: &Devices, seconds: i64) -> OpenedSession {
    let new = NewDevice {
        name: "Firefox".into(),
        host: HOST,
        access: None,
    };
    devices.add(new, at(seconds)).unwrap()
}

fn id_of(token: &str) -> &str {
    token.split_once('.').unwrap().0
}

/// The answer of a browser with the session's token to a challenge.
fn answer(token: &str, challenge: &str, host: &str) -> String {
    let key = hmac(token.as_bytes(), &[b"browser\0", host.as_bytes()]);
    let parts = [challenge.as_bytes(), b"\0", host.as_bytes()];
    let cover = hmac(&Sha256::digest(key), &parts);
    hex(&std::array::from_fn::<u8, 32, _>(|it| key[it] ^ cover[it]))
}

#[test]
fn a_session_lasts_twelve_hours() {
    let devices = Devices::default();
    let OpenedSession { session, token } = sign_in(&devices, DAY_ONE);
    let end = DAY_ONE + 12 * 60 * 60;
    assert_eq!(session.expires(), Timestamp::from_millis(end * 1000));
    let verify = |seconds| devices.verify(&token, at(seconds)).map(|_| ());
    assert_eq!(verify(DAY_ONE), Ok(()));
    assert_eq!(verify(end - 1), Ok(()));
    assert_eq!(devices.list(at(end - 1))[0].used_at, at(end - 1).wall);
    assert_eq!(verify(end), Err(SessionTokenError::Over));
    assert_eq!(session.remaining(at(end - 1)), Duration::from_secs(1));
    assert_eq!(session.remaining(at(end + 1)), Duration::ZERO);
    assert_eq!(devices.list(at(end)), []);
}

#[test]
fn a_forged_session_token_is_refused() {
    let devices = Devices::default();
    let token = sign_in(&devices, DAY_ONE).token;
    let other = sign_in(&devices, DAY_ONE).token;
    let (id, secret) = token.split_once('.').unwrap();
    for forged in [
        format!("{}.{secret}", other.split_once('.').unwrap().0),
        format!("{id}.{}", secret.to_uppercase()),
        format!("{id}.{}", &secret[1..]),
        format!("{id}."),
        format!("{id}.{secret}.{secret}"),
        secret.to_owned(),
        id.to_owned(),
        format!("{token}0"),
        String::new(),
    ] {
        let read = devices.verify(&forged, at(DAY_ONE));
        assert_eq!(read.err(), Some(SessionTokenError::Forged), "{forged}");
    }
    for unknown in [format!("0{id}.{secret}"), format!(".{secret}")] {
        let read = devices.verify(&unknown, at(DAY_ONE));
        assert_eq!(read.err(), Some(SessionTokenError::Over), "{unknown}");
    }
}

#[test]
fn nothing_that_is_stored_opens_a_session() {
    let dir = tempfile::tempdir().unwrap();
    let devices = Devices::open(dir.path()).unwrap();
    let token = sign_in(&devices, DAY_ONE).token;
    let stored = std::fs::read(dir.path().join("devices.json")).unwrap();
    let stored: serde_json::Value = serde_json::from_slice(&stored).unwrap();
    for (name, value) in stored[0].as_object().unwrap() {
        let value = value.as_str().unwrap();
        assert!(!token.contains(value) || name == "id", "{name}");
        let (id, bits) = (id_of(&token), unhex(value).unwrap_or_default());
        let derived = [value.to_owned(), hex(&hmac(&bits, &[id.as_bytes()]))];
        for secret in derived {
            assert!(
                devices
                    .verify(&format!("{id}.{secret}"), at(DAY_ONE))
                    .is_err()
            );
            let proofs = [secret.clone(), answer(&secret, "c0de", HOST)];
            for proof in proofs {
                let resumed = devices.resume((id, "c0de", &proof), HOST, at(DAY_ONE));
                assert!(resumed.is_none(), "{name}");
            }
        }
    }
}

#[test]
fn a_live_session_is_proved_by_its_token_for_one_nonce_and_address() {
    let devices = Devices::default();
    let token = sign_in(&devices, DAY_ONE).token;
    let id = id_of(&token);
    let parts: [&[u8]; 2] = [b"00ff", HOST.as_bytes()];
    let prove = |id: &str, seconds| devices.prove(id, &parts, at(seconds));
    let key = hmac(token.as_bytes(), &[b"hub\0"]);
    assert_eq!(prove(id, DAY_ONE), Some(hmac(&key, &parts)));
    assert_eq!(prove(id, DAY_ONE + 13 * 3600), None);
    assert_eq!(prove("", DAY_ONE), None);
}

#[test]
fn a_session_is_resumed_only_with_its_token_at_its_address_until_its_end() {
    let devices = Devices::default();
    let OpenedSession { session, token } = sign_in(&devices, DAY_ONE);
    let resume = |id: &str, proof: &str, host, seconds| {
        let resumed = devices.resume((id, "c0de", proof), host, at(seconds));
        resumed.map(|it| (it.token, it.session.expires()))
    };
    let proof = answer(&token, "c0de", HOST);
    let id = id_of(&token);
    let same = Some((token.clone(), session.expires()));
    assert_eq!(resume(id, &proof, HOST, DAY_ONE + 60), same);
    // The proof that the hub gives to anyone who asks is not one.
    let of_hub = hmac(token.as_bytes(), &[b"hub\0"]);
    let of_hub = hex(&hmac(&of_hub, &[b"c0de", HOST.as_bytes()]));
    let elsewhere = "127.0.0.1:4783";
    for (id, proof, host) in [
        (id, "", HOST),
        (id, &*of_hub, HOST),
        (id, &answer(&token, "c0df", HOST), HOST),
        (id, &answer(&token, "c0de", elsewhere), HOST),
        (id, &answer(&token, "c0de", elsewhere), elsewhere),
        ("0", &*proof, HOST),
    ] {
        assert_eq!(resume(id, proof, host, DAY_ONE), None, "{proof} {host}");
    }
    assert_eq!(resume(id, &proof, HOST, DAY_ONE + 13 * 3600), None);
    devices.remove(Some(id)).unwrap();
    assert_eq!(resume(id, &proof, HOST, DAY_ONE), None);
}

#[test]
fn devices_are_stored_privately_and_without_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let devices = Devices::open(dir.path()).unwrap();
    let (gone, kept) = (sign_in(&devices, DAY_ONE), sign_in(&devices, DAY_ONE));
    let tokens = [gone.token, kept.token];
    let (gone, kept) = (gone.session, kept.session);
    assert_eq!(devices.remove(Some(id_of(&tokens[0]))).unwrap(), 1);
    assert!(gone.removed().is_cancelled() && !kept.removed().is_cancelled());
    let path = dir.path().join("devices.json");
    let mode = path.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = std::fs::read_to_string(&path).unwrap();
    for token in &tokens {
        assert!(!text.contains(token.split_once('.').unwrap().1));
    }
    let again = Devices::open(dir.path()).unwrap();
    let verify = |token| again.verify(token, at(DAY_ONE)).err();
    assert_eq!(verify(&tokens[0]), Some(SessionTokenError::Over));
    assert_eq!(verify(&tokens[1]), None);
    assert_eq!(again.remove(None).unwrap(), 1);
    std::fs::write(&path, "{").unwrap();
    assert_eq!(Devices::open(dir.path()).unwrap().list(at(DAY_ONE)), []);
}

#[test]
fn the_oldest_device_is_removed_above_the_limit() {
    let devices = Devices::default();
    let first = sign_in(&devices, DAY_ONE).session;
    for _ in 0..MAX_DEVICES {
        sign_in(&devices, DAY_ONE);
    }
    assert!(first.removed().is_cancelled());
    assert_eq!(devices.list(at(DAY_ONE)).len(), MAX_DEVICES);
}

#[test]
fn a_device_is_named_after_its_browser_and_system() {
    for (agent, name) in [
        (
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36",
            "Chrome 156 on Linux",
        ),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36 Edg/156.0.0.0",
            "Edge 156 on Windows",
        ),
        (
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Firefox 140 on Linux",
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1",
            "Safari 18 on iPhone",
        ),
        ("Mozilla/5.0 Chrome/<script>", "Chrome  on unknown system"),
        ("curl/8.5", "unknown program"),
        ("", "unknown program"),
    ] {
        assert_eq!(name_of(agent), name);
    }
}
