//! Timestamps in the API.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A wall-clock time in milliseconds since 1970. On the wire it is RFC 3339 in UTC with milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// The latest time that jiff can write in every time zone, near the end of the year 9999.
const MAX_MILLIS: i64 = 253_402_207_200_000;

/// The bytes of a time's text.
const LEN: usize = 24;

/// Writes a number with leading zeros.
fn put(digits: &mut [u8], mut number: u16) {
    for digit in digits.iter_mut().rev() {
        *digit += (number % 10) as u8;
        number /= 10;
    }
}

impl Timestamp {
    /// How far the clock of a sender may be ahead of the receiver's, in milliseconds.
    pub const MAX_AHEAD_MS: i64 = 24 * 3600 * 1000;

    /// The time `millis` milliseconds after 1970, clamped to the years 1970 to 9999.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(0, MAX_MILLIS))
    }

    /// Milliseconds since 1970.
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// The current time of this machine's wall clock.
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let millis = since.map_or(0, |since| since.as_millis());
        Self::from_millis(i64::try_from(millis).unwrap_or(MAX_MILLIS))
    }

    /// Writes the time into `text`. jiff's printer, for any precision and offset, takes three times as long, and each
    /// notification has several times.
    fn write(self, text: &mut [u8; LEN]) -> &str {
        *text = *b"0000-00-00T00:00:00.000Z";
        let time = jiff::Timestamp::from_millisecond(self.0).unwrap_or_default();
        let time = jiff::tz::Offset::UTC.to_datetime(time);
        put(&mut text[0..4], time.year().unsigned_abs());
        put(&mut text[5..7], time.month().unsigned_abs().into());
        put(&mut text[8..10], time.day().unsigned_abs().into());
        put(&mut text[11..13], time.hour().unsigned_abs().into());
        put(&mut text[14..16], time.minute().unsigned_abs().into());
        put(&mut text[17..19], time.second().unsigned_abs().into());
        put(&mut text[20..23], time.millisecond().unsigned_abs());
        std::str::from_utf8(text).expect("digits and signs")
    }

    /// Returns this time moved by `millis`, clamped as in [`Self::from_millis`].
    #[must_use]
    pub fn plus_millis(self, millis: i64) -> Self {
        Self::from_millis(self.0.saturating_add(millis))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.write(&mut [0; LEN]))
    }
}

/// The error for a text that is not an RFC 3339 time with an offset.
// jiff's own error would link all of its messages into `hubctl`, which is built for size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an RFC 3339 time with an offset, such as 2026-11-21T21:46:08Z")]
pub struct InvalidTimestamp;

impl std::str::FromStr for Timestamp {
    type Err = InvalidTimestamp;

    /// Parses RFC 3339 with any offset.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let time: jiff::Timestamp = text.parse().map_err(|_| InvalidTimestamp)?;
        Ok(Self::from_millis(time.as_millisecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.write(&mut [0; LEN]))
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map_err(|_| D::Error::custom(format!("'{text}' is not an RFC 3339 time")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_as_rfc_3339_and_read_back() {
        let time = Timestamp::from_millis(1_795_297_568_042);
        assert_eq!(time.to_string(), "2026-11-21T21:46:08.042Z");
        assert_eq!(time.to_string().parse::<Timestamp>().unwrap(), time);
    }

    #[test]
    fn a_time_is_written_as_jiff_writes_it() {
        for day in 0..3_000_000 / 37 {
            let time =
                Timestamp::from_millis(day * 37 * 24 * 3600 * 1000 + day * 86_399_989 % 86_400_000);
            let jiffs = jiff::Timestamp::from_millisecond(time.0).unwrap();
            assert_eq!(time.to_string(), format!("{jiffs:.3}"));
        }
    }

    #[test]
    fn a_time_out_of_range_becomes_the_last_that_can_be_written() {
        let last = Timestamp::from_millis(i64::MAX);
        assert_eq!(last.to_string(), "9999-12-30T22:00:00.000Z");
        assert_eq!(last.to_string().parse::<Timestamp>().unwrap(), last);
    }

    #[test]
    fn a_time_with_an_offset_is_converted_to_utc() {
        let time: Timestamp = "2026-02-17T14:30:05-06:00".parse().unwrap();
        assert_eq!(time.to_string(), "2026-02-17T20:30:05.000Z");
    }
}
