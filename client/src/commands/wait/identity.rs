//! The name of a waiter.

use hub_protocol::InboxName;

/// The most characters of a session's name in a waiter's name. A UUID fits.
const LONGEST_SESSION: usize = 40;

/// A name that is unique to this process, even after its number is reused: `SESSION:PID-STARTED`.
pub(super) fn waiter_name(session: Option<&InboxName>) -> String {
    let session = session.map_or("hubctl", InboxName::as_str);
    let session = &session[..session.len().min(LONGEST_SESSION)];
    format!("{session}:{}-{}", std::process::id(), started())
}

/// When this process started, in clock ticks since boot; if the system does not tell, the current time.
fn started() -> u128 {
    hub_protocol::process::started(std::process::id()).map_or_else(now, u128::from)
}

fn now() -> u128 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiters_name_is_valid_for_the_longest_session_name() {
        let session: InboxName = "s".repeat(64).parse().unwrap();
        let name = waiter_name(Some(&session));
        assert!(name.parse::<InboxName>().is_ok(), "{name}");
        assert!(waiter_name(None).starts_with("hubctl:"));
    }
}
