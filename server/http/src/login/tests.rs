use super::*;

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
