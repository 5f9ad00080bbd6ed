//! Formats the age of a timestamp for people.

use hub_protocol::Timestamp;

/// Returns how long before `now` the RFC 3339 time `at` was, in whole units; `?` if `at` is not a time.
pub(crate) fn age(at: &str, now: Timestamp) -> String {
    match at.parse::<Timestamp>() {
        Ok(at) => in_words((now.as_millis() - at.as_millis()).max(0) / 1000),
        Err(_) => "?".into(),
    }
}

fn in_words(seconds: i64) -> String {
    match seconds {
        ..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_shown_in_the_unit_that_fits() {
        for (seconds, words) in [
            (0, "0 s"),
            (59, "59 s"),
            (125, "2 min"),
            (7_300, "2 h"),
            (172_800, "2 d"),
        ] {
            assert_eq!(in_words(seconds), words);
        }
        let now: Timestamp = "2026-11-21T21:46:08.042Z".parse().unwrap();
        assert_eq!(age("2026-11-21T21:46:00.000Z", now), "8 s");
        assert_eq!(age("2026-11-21T21:47:00.000Z", now), "0 s", "ahead of us");
        assert_eq!(age("yesterday", now), "?");
    }
}
