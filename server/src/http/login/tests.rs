use super::*;

const DAY_ONE: i64 = 1_700_000_000;

fn key() -> Token {
    "5".repeat(64).parse().unwrap()
}

fn at(seconds: i64) -> Now {
    Now {
        wall: Timestamp::from_millis(seconds * 1000),
        mono: Instant::now(),
    }
}

#[test]
fn a_code_expires_after_thirty_seconds() {
    let (codes, now) = (SignInCodes::default(), Instant::now());
    let late = codes.issue(now).unwrap();
    let in_time = codes.issue(now).unwrap();
    let just = CODE_LIFE.checked_sub(Duration::from_millis(1)).unwrap();
    assert!(codes.redeem(&in_time, now + just));
    assert!(!codes.redeem(&late, now + CODE_LIFE));
}

#[test]
fn only_the_exact_text_is_a_code() {
    let (codes, now) = (SignInCodes::default(), Instant::now());
    let code = codes.issue(now).unwrap();
    let longer = format!("{code}0");
    for wrong in ["", "0", &code[1..], &longer, &"0".repeat(32)] {
        assert!(!codes.redeem(wrong, now), "{wrong}");
    }
    // A wrong guess costs the right one nothing.
    assert!(codes.redeem(&code, now));
}

#[test]
fn the_oldest_code_is_dropped_above_the_limit() {
    let (codes, now) = (SignInCodes::default(), Instant::now());
    let all: Vec<_> = (0..=MAX_CODES).map(|_| codes.issue(now).unwrap()).collect();
    assert!(!codes.redeem(&all[0], now));
    assert!(all[1..].iter().all(|code| codes.redeem(code, now)));
}

#[test]
fn a_session_lasts_twelve_hours() {
    let session = DashboardSession::start(at(DAY_ONE));
    let token = session.token(&key());
    let end = DAY_ONE + 12 * 60 * 60;
    assert_eq!(session.expires(), Timestamp::from_millis(end * 1000));
    let verify = |seconds| DashboardSession::verify(&token, &key(), at(seconds));
    assert_eq!(verify(DAY_ONE), Ok(session));
    assert_eq!(verify(end - 1), Ok(session));
    assert_eq!(verify(end), Err(SessionTokenError::Expired));
    assert_eq!(session.remaining(at(end - 1)), Duration::from_secs(1));
    assert_eq!(session.remaining(at(end + 1)), Duration::ZERO);
}

#[test]
fn a_forged_or_extended_session_token_is_refused() {
    let token = DashboardSession::start(at(DAY_ONE)).token(&key());
    let (ends, proof) = token.split_once('.').unwrap();
    let other: Token = "6".repeat(64).parse().unwrap();
    let longer = format!("{}.{proof}", ends.parse::<i64>().unwrap() + 1);
    let hello = hex(&key().hmac(&[ends.as_bytes()]));
    for forged in [
        longer,
        format!("0{ends}.{proof}"),
        format!("+{ends}.{proof}"),
        format!("{ends}.{}", proof.to_uppercase()),
        format!("{ends}.{}", &proof[1..]),
        format!("{ends}."),
        format!("{ends}.{proof}.{proof}"),
        format!(".{proof}"),
        format!("{ends}.{hello}"),
        proof.to_owned(),
        ends.to_owned(),
        token[..token.len() - 1].to_owned(),
        format!("{token}0"),
        format!("{ends}.{}", key().expose()),
        DashboardSession::start(at(DAY_ONE)).token(&other),
        String::new(),
    ] {
        let read = DashboardSession::verify(&forged, &key(), at(DAY_ONE));
        assert_eq!(read, Err(SessionTokenError::Forged), "{forged}");
    }
}

#[test]
fn a_live_session_is_proved_by_its_token_for_one_nonce_and_address() {
    let (key, now) = (Token::generate().unwrap(), Now::read());
    let session = DashboardSession::start(now);
    let token = session.token(&key);
    let (ends, _) = token.split_once('.').unwrap();
    let parts: [&[u8]; 2] = [b"00ff", b"127.0.0.1:1"];
    let proof = DashboardSession::prove(ends, &key, &parts, now);
    assert_eq!(proof, Some(hmac(token.as_bytes(), &parts)));
    let elsewhere = [b"00ff", &b"127.0.0.1:2"[..]];
    assert_ne!(proof, DashboardSession::prove(ends, &key, &elsewhere, now));
    let other = Token::generate().unwrap();
    assert_ne!(proof, DashboardSession::prove(ends, &other, &parts, now));
    for hours in [13, -1] {
        let wall = now.wall.plus_millis(hours * 3_600_000);
        let then = Now { wall, ..now };
        assert_eq!(DashboardSession::prove(ends, &key, &parts, then), None);
    }
    let no_ends = [
        "",
        "x",
        "9223372036854775807",
        "-9223372036854732608",
        "-9223372036854775808",
    ];
    for none in no_ends {
        let proof = DashboardSession::prove(none, &key, &parts, now);
        assert_eq!(proof, None, "{none}");
    }
}
