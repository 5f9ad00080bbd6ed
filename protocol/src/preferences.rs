//! The person's preferences: the states of agents to alert about, mutes and quiet hours.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::{InboxName, Kind, ProjectName, Timestamp};

/// The person's preferences, `GET` and `PUT /preferences`: one set for the hub. An absent field is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Preferences {
    /// The quiet hours, in which only `urgent` notifications alert the person.
    #[serde(deserialize_with = "crate::null::object")]
    pub quiet: Option<Quiet>,
    /// Projects and sessions of which only `urgent` notifications alert the person.
    pub mutes: Vec<Mute>,
    /// The states that raise a browser notification.
    #[serde(deserialize_with = "alerts")]
    pub notify: BTreeSet<Alert>,
    /// The states that play a sound.
    #[serde(deserialize_with = "alerts")]
    pub sound: BTreeSet<Alert>,
    /// The link that opens a path in the person's editor, with `{path}` and `{line}`; Visual Studio Code when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub editor: Option<String>,
}

/// A state of an agent that alerts the person when it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Alert {
    /// It asks a question, or for a permission.
    NeedsYou,
    /// It failed, died or fell silent.
    Blocked,
    /// It has stopped.
    YourTurn,
}

/// Reads alerts. Earlier versions stored types of notifications instead; these become the state that they report, or
/// nothing.
fn alerts<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeSet<Alert>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected needs_you, blocked or your_turn")]
    enum Stored {
        Alert(Alert),
        Kind(Kind),
    }
    let stored = Vec::<Stored>::deserialize(from)?;
    let alert = |stored| match stored {
        Stored::Alert(alert) => Some(alert),
        Stored::Kind(Kind::Question | Kind::Approval) => Some(Alert::NeedsYou),
        Stored::Kind(Kind::Error) => Some(Alert::Blocked),
        Stored::Kind(Kind::Complete | Kind::Waiting | Kind::Testing) => Some(Alert::YourTurn),
        Stored::Kind(_) => None,
    };
    Ok(stored.into_iter().filter_map(alert).collect())
}

/// Quiet hours, every day. If `to` is before `from`, they last past midnight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quiet {
    /// The time at which they begin.
    pub from: TimeOfDay,
    /// The time at which they end.
    pub to: TimeOfDay,
    /// The time zone of both times.
    pub zone: Zone,
}

/// A project, or one of its sessions, that is muted for good or until a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mute {
    /// The project that is muted, or the project of the muted session.
    pub project: ProjectName,
    /// The session; every session of the project when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<InboxName>,
    /// When the mute ends; readers ignore a mute that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl Mute {
    /// Whether it applies at `now` to a sender of this project. `is_sender` tells whether a name is the sender's.
    pub fn applies(
        &self,
        project: &ProjectName,
        is_sender: impl Fn(&InboxName) -> bool,
        now: Timestamp,
    ) -> bool {
        self.project == *project
            && self.session.as_ref().is_none_or(is_sender)
            && self.until.is_none_or(|until| now < until)
    }
}

impl Quiet {
    /// Whether they apply at `now`, by the time zone database. An unknown zone silences nothing.
    pub fn apply(&self, now: Timestamp) -> bool {
        let zone = jiff::tz::TimeZone::get(self.zone.as_str());
        let now = jiff::Timestamp::from_millisecond(now.as_millis());
        zone.is_ok_and(|zone| {
            now.is_ok_and(|now| {
                let time = TimeOfDay::from(zone.to_datetime(now).time());
                time.is_within(self.from, self.to)
            })
        })
    }
}

/// A time of the day in whole minutes, `HH:MM` from `00:00` to `23:59`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeOfDay {
    hour: u8,
    minute: u8,
}

/// The error for a text that is not a time of the day.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a time of the day (HH:MM, 00:00 to 23:59)")]
pub struct InvalidTimeOfDay(String);

impl TimeOfDay {
    /// Whether it is in the span that begins at `from` and ends before `to`. If `to` is before `from`, the span lasts past
    /// midnight.
    pub fn is_within(self, from: Self, to: Self) -> bool {
        if from <= to {
            (from..to).contains(&self)
        } else {
            self >= from || self < to
        }
    }
}

impl From<jiff::civil::Time> for TimeOfDay {
    fn from(time: jiff::civil::Time) -> Self {
        Self {
            hour: time.hour().unsigned_abs(),
            minute: time.minute().unsigned_abs(),
        }
    }
}

impl FromStr for TimeOfDay {
    type Err = InvalidTimeOfDay;

    fn from_str(text: &str) -> Result<Self, InvalidTimeOfDay> {
        let digit = |byte: u8| byte.is_ascii_digit().then(|| byte - b'0');
        let parsed = match text.as_bytes() {
            [h1, h2, b':', m1, m2] => digit(*h1)
                .zip(digit(*h2))
                .zip(digit(*m1).zip(digit(*m2)))
                .map(|((h1, h2), (m1, m2))| (h1 * 10 + h2, m1 * 10 + m2)),
            _ => None,
        };
        match parsed {
            Some((hour, minute)) if hour < 24 && minute < 60 => Ok(Self { hour, minute }),
            _ => Err(InvalidTimeOfDay(printable(text))),
        }
    }
}

impl TryFrom<String> for TimeOfDay {
    type Error = InvalidTimeOfDay;

    fn try_from(text: String) -> Result<Self, InvalidTimeOfDay> {
        text.parse()
    }
}

impl From<TimeOfDay> for String {
    fn from(time: TimeOfDay) -> Self {
        time.to_string()
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.hour, self.minute)
    }
}

/// A name of a time zone: 1 to 64 of `A-Z a-z 0-9 / _ + -`. Parsing does not check that the zone exists; the time zone
/// database does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Zone(Box<str>);

/// The error for a time zone that does not exist, or whose name cannot be one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown time zone '{0}' (expected a name of the IANA time zone database, such as Europe/Berlin)"
)]
pub struct UnknownZone(String);

impl Zone {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The error for a zone that the time zone database does not contain.
    pub fn unknown(&self) -> UnknownZone {
        UnknownZone(self.0.to_string())
    }
}

impl FromStr for Zone {
    type Err = UnknownZone;

    fn from_str(text: &str) -> Result<Self, UnknownZone> {
        let sound = |b: u8| b.is_ascii_alphanumeric() || b"/_+-".contains(&b);
        if (1..=64).contains(&text.len()) && text.bytes().all(sound) {
            Ok(Self(text.into()))
        } else {
            Err(UnknownZone(printable(text)))
        }
    }
}

impl TryFrom<String> for Zone {
    type Error = UnknownZone;

    fn try_from(text: String) -> Result<Self, UnknownZone> {
        text.parse()
    }
}

impl From<Zone> for String {
    fn from(zone: Zone) -> Self {
        zone.0.into()
    }
}

/// The first 64 characters of a text, without unprintable ones.
fn printable(text: &str) -> String {
    text.chars()
        .take(64)
        .filter(|c| !crate::is_unprintable(*c))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_the_day_is_written_as_it_was_read() {
        for text in ["00:00", "07:05", "23:59"] {
            assert_eq!(text.parse::<TimeOfDay>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_malformed_time_of_the_day_is_refused() {
        for text in [
            "", "7:00", "24:00", "12:60", "12.30", "12:3a", "12:30:00", "-1:00", "１2:0",
        ] {
            assert!(text.parse::<TimeOfDay>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_zone_name_cannot_leave_the_directory_of_the_database() {
        for text in [
            "",
            "../etc/passwd",
            "Europe/Ber lin",
            "a\u{1b}b",
            &"a".repeat(65),
        ] {
            assert!(text.parse::<Zone>().is_err(), "{text:?}");
        }
        for text in [
            "UTC",
            "Europe/Berlin",
            "America/Port-au-Prince",
            "Etc/GMT+1",
        ] {
            assert_eq!(text.parse::<Zone>().unwrap().as_str(), text);
        }
    }

    #[test]
    fn types_that_earlier_versions_stored_become_states() {
        let notify = |given: &str| {
            let read: Result<Preferences, _> = serde_json::from_str(given);
            read.map(|it| it.notify.into_iter().collect::<Vec<_>>())
        };
        let old = r#"{"notify":["error","needs_input","error","question","message"]}"#;
        assert_eq!(notify(old).unwrap(), [Alert::NeedsYou, Alert::Blocked]);
        let new = r#"{"notify":["your_turn","needs_you"]}"#;
        assert_eq!(notify(new).unwrap(), [Alert::NeedsYou, Alert::YourTurn]);
        assert!(notify(r#"{"notify":["shout"]}"#).is_err());
    }

    #[test]
    fn empty_preferences_are_written_in_full_and_read_from_an_empty_object() {
        let nothing = serde_json::to_string(&Preferences::default()).unwrap();
        assert_eq!(
            nothing,
            r#"{"quiet":null,"mutes":[],"notify":[],"sound":[]}"#
        );
        assert_eq!(
            serde_json::from_str::<Preferences>("{}").unwrap(),
            Preferences::default()
        );
    }
}
