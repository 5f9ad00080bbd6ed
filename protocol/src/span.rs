//! Durations as people write them.

use std::str::FromStr;
use std::time::Duration;

/// A duration in whole seconds: `90`, `90s`, `10m`, `2h` or `7d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

impl FromStr for Span {
    // A type of its own for errors would make `hubctl` larger, which is built for size.
    type Err = String;

    /// Parses it. A longer duration counts as a hundred years, which keeps deadlines in the range of clocks.
    fn from_str(text: &str) -> Result<Self, String> {
        let (letters, seconds) = match text.as_bytes().last() {
            Some(b's') => (1, 1),
            Some(b'm') => (1, 60),
            Some(b'h') => (1, 3_600),
            Some(b'd') => (1, 86_400),
            _ => (0, 1),
        };
        let number = &text[..text.len() - letters];
        let number: Option<u64> = number.parse().ok().filter(|_| !number.starts_with('+'));
        let expected = || format!("invalid duration '{text}': use seconds, or 90s, 10m, 2h or 7d");
        let number = number.ok_or_else(expected)?;
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
