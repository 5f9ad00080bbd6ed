//! Durations as people write them.

use std::str::FromStr;
use std::time::Duration;

use crate::one_line;

/// A duration in whole seconds: `90`, `90s`, `10m`, `2h` or `7d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

/// The error for a text that is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid duration '{}': use seconds, or 90s, 10m, 2h or 7d", one_line(.0))]
pub struct InvalidSpan(String);

impl FromStr for Span {
    type Err = InvalidSpan;

    /// Parses it. A longer duration counts as a hundred years, which keeps deadlines in the range of clocks.
    fn from_str(text: &str) -> Result<Self, InvalidSpan> {
        let (number, seconds) = match text.split_at_checked(text.len().saturating_sub(1)) {
            Some((number, "s")) => (number, 1),
            Some((number, "m")) => (number, 60),
            Some((number, "h")) => (number, 3_600),
            Some((number, "d")) => (number, 86_400),
            _ => (text, 1),
        };
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let number: Option<u64> = number.parse().ok().filter(|_| is_number);
        let number = number.ok_or_else(|| InvalidSpan(text.into()))?;
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
            ("9999999999999999d", 100 * 366 * 86_400),
        ] {
            assert_eq!(text.parse(), Ok(Span(Duration::from_secs(seconds))));
        }
    }

    #[test]
    fn a_malformed_duration_is_refused() {
        for bad in ["", "s", "-1", "1.5", "1w", "+1", "1 m", "1é"] {
            assert!(bad.parse::<Span>().is_err(), "{bad:?}");
        }
    }
}
