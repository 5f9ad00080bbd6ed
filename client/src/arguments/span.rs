//! Durations as people write them.

use std::str::FromStr;
use std::time::Duration;

/// A duration in whole seconds: `90`, `90s`, `10m`, `2h` or `7d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span(pub Duration);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = match text.strip_suffix(['s', 'm', 'h', 'd']) {
            Some(number) => (number, &text[number.len()..]),
            None => (text, "s"),
        };
        let seconds = match unit {
            "m" => 60,
            "h" => 3_600,
            "d" => 86_400,
            _ => 1,
        };
        let expected = || format!("invalid duration '{text}': use seconds, or 90s, 10m, 2h or 7d");
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(expected());
        }
        let number: u64 = number.parse().map_err(|_| expected())?;
        // The limit of a hundred years keeps deadlines in the range of clocks.
        let seconds = number.saturating_mul(seconds).min(100 * 366 * 86_400);
        Ok(Self(Duration::from_secs(seconds)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_number_is_seconds_and_a_letter_is_a_unit() {
        for (text, seconds) in [
            ("90", 90),
            ("90s", 90),
            ("10m", 600),
            ("2h", 7200),
            ("7d", 604_800),
        ] {
            assert_eq!(text.parse(), Ok(Span(Duration::from_secs(seconds))));
        }
    }

    #[test]
    fn a_malformed_duration_is_refused() {
        for bad in ["", "s", "-1", "1.5", "1w", "+1", "1 m"] {
            assert!(bad.parse::<Span>().is_err(), "{bad:?}");
        }
    }
}
