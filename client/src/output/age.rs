//! Formats the age of a timestamp for people.

use hub_protocol::Timestamp;

/// Returns how long before `now` the time `at` was, in whole units.
pub fn age(at: Timestamp, now: Timestamp) -> String {
    match (now.as_millis() - at.as_millis()).max(0) / 1000 {
        seconds @ ..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds @ 3600..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} d", seconds / 86_400),
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
            let now = Timestamp::from_millis(200_000_000);
            assert_eq!(age(now.plus_millis(-1000 * seconds), now), words);
        }
        let now = Timestamp::default();
        assert_eq!(age(now.plus_millis(9000), now), "0 s", "ahead of us");
    }
}
