//! The time at which a usage limit ends, from the words of an agent's error message.
//!
//! Claude Code writes `… resets 3pm (Europe/Berlin)`, `… resets 3:30pm (UTC)`, `… resets Oct 9, 3pm (UTC)` or, in older
//! versions, `…|1791540000`, in seconds since 1970. Codex writes `… try again at 3:05 PM.` or
//! `… try again at Oct 9th, 2026 3:05 PM.`, in the time zone of the machine.

use hub_protocol::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use jiff::{ToSpan, Zoned};

/// The longest time that a limit lasts, in milliseconds: a weekly limit, with a day for a wrong clock.
const LONGEST_MS: i64 = 8 * 24 * 3600 * 1000;

/// A minute, in milliseconds.
const MINUTE_MS: i64 = 60_000;

/// Returns the time that `message` names, if it is within eight days. If it passed less than a minute ago, it is a minute
/// later: the clocks differ, or the limit lasts until the end of that minute.
pub(crate) fn reset_time(message: &str, now: Timestamp) -> Option<Timestamp> {
    let found = in_seconds(message)
        .or_else(|| in_words(message, now))
        .or_else(|| on_the_clock(message, now, TimeZone::system()))?;
    let wait = found.as_millis() - now.as_millis();
    match wait {
        1..=LONGEST_MS => Some(found),
        _ if -MINUTE_MS < wait && wait <= 0 => Some(found.plus_millis(MINUTE_MS)),
        _ => None,
    }
}

fn in_seconds(message: &str) -> Option<Timestamp> {
    let (_, seconds) = message.rsplit_once('|')?;
    let seconds: i64 = seconds.trim().parse().ok()?;
    Some(Timestamp::from_millis(seconds.checked_mul(1000)?))
}

fn in_words(message: &str, now: Timestamp) -> Option<Timestamp> {
    let (_, words) = message.split_once("resets ")?;
    let (words, zone) = words.split_once(" (")?;
    let (zone, _) = zone.split_once(')')?;
    let zone = TimeZone::get(zone).ok()?;
    let now = jiff::Timestamp::from_millisecond(now.as_millis()).ok()?;
    let now = now.to_zoned(zone.clone());
    let (date, time) = match words.split_once(", ") {
        Some((date, time)) => (Some(date), time),
        None => (None, words),
    };
    let time = time_of_day(time.trim())?;
    let a_minute_ago = now.checked_sub(1.minute()).ok()?;
    let at = match date {
        Some(date) => date_near(date.trim(), &now)?.to_datetime(time),
        None => next(time, &a_minute_ago)?,
    };
    let at = at.to_zoned(zone).ok()?;
    Some(Timestamp::from_millis(at.timestamp().as_millisecond()))
}

/// Reads Codex's words. They are cut to the minute, so the limit may last until the end of that minute.
fn on_the_clock(message: &str, now: Timestamp, zone: TimeZone) -> Option<Timestamp> {
    let (_, words) = message.rsplit_once("try again at ")?;
    let words = words.split('.').next()?.trim();
    let now = jiff::Timestamp::from_millisecond(now.as_millis()).ok()?;
    let a_minute_ago = now.to_zoned(zone.clone()).checked_sub(1.minute()).ok()?;
    let at = if let Some((day, rest)) = words.split_once(", ") {
        let day = day.trim_end_matches(char::is_alphabetic);
        let read = strtime::parse("%b %d %Y %I:%M %p", format!("{day} {rest}"));
        read.ok()?.to_datetime().ok()?
    } else {
        let time = strtime::parse("%I:%M %p", words).ok()?.to_time().ok()?;
        next(time, &a_minute_ago)?
    };
    let end = at.checked_add(1.minute()).ok()?.to_zoned(zone).ok()?;
    Some(Timestamp::from_millis(end.timestamp().as_millisecond()))
}

/// Parses `3pm` or `3:30pm`.
fn time_of_day(text: &str) -> Option<Time> {
    let formats = ["%I:%M%p", "%I%p"];
    let parsed = |format: &str| strtime::parse(format, text).ok()?.to_time().ok();
    formats.into_iter().find_map(parsed)
}

/// The next time that the clock shows `time`.
fn next(time: Time, now: &Zoned) -> Option<DateTime> {
    let today = now.date().to_datetime(time);
    if today > now.datetime() {
        return Some(today);
    }
    today.checked_add(1.day()).ok()
}

/// Parses `Oct 9` as a date of this year, or of the next year if it is past.
fn date_near(text: &str, now: &Zoned) -> Option<Date> {
    let in_year = |year: i16| {
        let date = strtime::parse("%Y %b %d", format!("{year} {text}")).ok()?;
        date.to_date().ok()
    };
    let date = in_year(now.year())?;
    if date < now.date() {
        return in_year(now.year() + 1);
    }
    Some(date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_in_a_message_is_read_in_the_zone_that_it_names() {
        let now: Timestamp = "2026-11-23T13:10:00Z".parse().unwrap();
        for (message, expected) in [
            (
                "You have hit your limit · resets 3pm (UTC)",
                "2026-11-23T15:00:00Z",
            ),
            (
                "limit · resets 3:30pm (Europe/Berlin)",
                "2026-11-23T14:30:00Z",
            ),
            ("limit · resets 9am (UTC)", "2026-11-24T09:00:00Z"),
            ("limit · resets Nov 28, 12am (UTC)", "2026-11-28T00:00:00Z"),
            (
                "Claude AI usage limit reached|1795446000",
                "2026-11-23T15:00:00Z",
            ),
        ] {
            assert_eq!(
                reset_time(message, now),
                Some(expected.parse().unwrap()),
                "{message}"
            );
        }
    }

    #[test]
    fn a_limit_that_still_holds_as_its_time_passes_ends_a_minute_later() {
        for (now, expected) in [
            ("2026-11-23T14:59:59Z", "2026-11-23T15:00:00Z"),
            ("2026-11-23T15:00:00Z", "2026-11-23T15:01:00Z"),
            ("2026-11-23T15:00:59Z", "2026-11-23T15:01:00Z"),
            ("2026-11-23T15:01:00Z", "2026-11-24T15:00:00Z"),
        ] {
            for words in ["resets 3pm (UTC)", "resets 4pm (Europe/Berlin)"] {
                let found = reset_time(words, now.parse().unwrap());
                assert_eq!(found, Some(expected.parse().unwrap()), "{now}");
            }
        }
        for (now, expected) in [
            ("2026-11-23T14:59:59.999Z", Some("2026-11-23T15:00:00Z")),
            ("2026-11-23T15:00:00Z", Some("2026-11-23T15:01:00Z")),
            ("2026-11-23T15:00:59.999Z", Some("2026-11-23T15:01:00Z")),
            ("2026-11-23T15:01:00Z", None),
        ] {
            let found = reset_time("limit reached|1795446000", now.parse().unwrap());
            let expected = expected.map(|at| at.parse().unwrap());
            assert_eq!(found, expected, "{now}");
        }
    }

    #[test]
    fn the_time_in_codexs_words_is_read_in_the_zone_of_the_machine_and_to_the_end_of_its_minute() {
        let now: Timestamp = "2026-11-23T13:10:40Z".parse().unwrap();
        for (words, expected) in [
            ("3:30 PM", "2026-11-23T14:31:00Z"),
            ("2:10 PM", "2026-11-23T13:11:00Z"),
            ("2:09 PM", "2026-11-24T13:10:00Z"),
            ("9:05 AM", "2026-11-24T08:06:00Z"),
            ("Nov 28th, 2026 12:00 AM", "2026-11-27T23:01:00Z"),
            ("Dec 1st, 2026 9:05 AM", "2026-12-01T08:06:00Z"),
        ] {
            let message =
                format!("You’ve hit your usage limit. Visit https://a.b or try again at {words}.");
            let berlin = TimeZone::get("Europe/Berlin").unwrap();
            let found = on_the_clock(&message, now, berlin);
            assert_eq!(found, Some(expected.parse().unwrap()), "{words}");
        }
    }

    #[test]
    fn a_message_without_a_plausible_time_has_none() {
        let now: Timestamp = "2026-11-23T13:10:00Z".parse().unwrap();
        for message in [
            "rate_limit",
            "resets soon",
            "resets 3pm",
            "resets 3pm (Mars/Olympus)",
            "resets 25pm (UTC)",
            "resets Dec 24, 3pm (UTC)",
            "limit reached|1",
            "try again later",
            "try again at noon.",
            "try again at Feb 16th, 2027 10:45 PM.",
            "limit reached|99999999999999999999",
        ] {
            assert_eq!(reset_time(message, now), None, "{message}");
        }
    }
}
