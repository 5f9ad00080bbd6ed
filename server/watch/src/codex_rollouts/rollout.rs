//! A rollout: where it is, and what its end says.

use std::path::Path;

use hub_protocol::{Timestamp, first_chars, single_spaced};
use serde::Deserialize;
use serde_json::Value;

use crate::untrusted_dir::UntrustedDir;

/// The end of a rollout that is read, in bytes: the end of a turn is its last line, or one of the last.
const END: usize = 64 * 1024;
/// The longest reason, in characters: the message about a usage limit names its end behind two addresses.
const MAX_REASON: usize = 300;
/// A thread's directory has its date in Codex's time zone, which may be another day.
const DAY_MS: i64 = 24 * 3600 * 1000;

/// The errors that tell a limit, or more sessions than the model's API serves now. Codex has retried the others already, so they
/// have no end to wait for.
const LIMITS: [&str; 2] = ["usage_limit_exceeded", "server_overloaded"];
/// The statuses that tell the same.
const LIMIT_STATUSES: [u64; 2] = [429, 529];

/// Why a turn failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// The kind of the error, and Codex's words for it.
    pub(super) reason: String,
    /// Whether it has no end to wait for.
    pub(super) permanent: bool,
}

#[derive(Deserialize)]
struct Line {
    timestamp: Timestamp,
    payload: Payload,
}

#[derive(Deserialize)]
struct Payload {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    error: Option<TurnError>,
}

#[derive(Deserialize)]
struct TurnError {
    #[serde(default)]
    message: String,
    #[serde(default)]
    codex_error_info: Value,
}

/// Why the last turn of the thread `id` failed, if it ended later than `since`. May block.
pub(super) fn last_failure(home: &Path, id: &str, since: Timestamp) -> Option<Failure> {
    let began = began_at(id)?;
    let days = [0, -DAY_MS, DAY_MS].into_iter();
    days.map(|it| began.plus_millis(it))
        .find_map(|day| end_of(home, id, day))
        .and_then(|end| failure_in(&end, since))
}

/// The time in a UUID of version 7, which begins with its milliseconds.
fn began_at(id: &str) -> Option<Timestamp> {
    let digits: String = id.chars().filter(|it| *it != '-').collect();
    let is_of_time = digits.len() == 32 && digits.as_bytes()[12] == b'7';
    let millis = i64::from_str_radix(digits.get(..12)?, 16).ok()?;
    is_of_time.then(|| Timestamp::from_millis(millis))
}

/// The end of a thread's rollout, if it lies in the directory of this day.
fn end_of(home: &Path, id: &str, day: Timestamp) -> Option<String> {
    let date = day.to_string();
    let (year, month, day) = (date.get(..4)?, date.get(5..7)?, date.get(8..10)?);
    let dir = UntrustedDir::open(home, &["sessions", year, month, day]).ok()?;
    let end = format!("-{id}.jsonl");
    let mut names = dir.entries().ok()?.filter_map(Result::ok);
    let name = names.find(|it| it.starts_with("rollout-") && it.ends_with(&end))?;
    let content = dir.read_end(&name, END).ok()??;
    Some(String::from_utf8_lossy(&content).into_owned())
}

/// The failure of the last turn in the end of a rollout. A line that is cut, or not written to its end, is no event.
fn failure_in(end: &str, since: Timestamp) -> Option<Failure> {
    let event = |line: &str| serde_json::from_str::<Line>(line).ok();
    let is_of_turn = |it: &Line| {
        let kinds = ["task_started", "task_complete", "turn_aborted"];
        kinds.contains(&it.payload.kind.as_str())
    };
    let last = end.lines().rev().filter_map(event).find(is_of_turn)?;
    let is_new = last.timestamp > since;
    let error = last.payload.error.filter(|_| is_new)?;
    Some(failure(&error))
}

fn failure(error: &TurnError) -> Failure {
    let info = &error.codex_error_info;
    let named = info.as_object().and_then(|it| it.iter().next());
    let kind = named.map_or_else(|| info.as_str(), |(kind, _)| Some(kind.as_str()));
    let status = named.and_then(|(_, more)| more["http_status_code"].as_u64());
    let words = single_spaced(&error.message);
    let reason = match kind {
        Some(kind) if words.is_empty() => kind.to_owned(),
        Some(kind) => format!("{kind}: {words}"),
        None => words,
    };
    let is_limit = status.is_some_and(|it| LIMIT_STATUSES.contains(&it))
        || kind.is_some_and(|it| LIMITS.contains(&it));
    Failure {
        reason: first_chars(&reason, MAX_REASON).into(),
        permanent: !is_limit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01a21b4e-ccad-7313-b3bd-30ffe15c801b";

    fn line(seconds: i64, payload: &str) -> String {
        let at = Timestamp::from_millis(seconds * 1000);
        format!("{{\"timestamp\":\"{at}\",\"type\":\"event_msg\",\"payload\":{payload}}}\n")
    }

    fn failed(info: &str) -> String {
        let error = format!("{{\"message\":\"no more\",\"codex_error_info\":{info}}}");
        line(
            10,
            &format!("{{\"type\":\"task_complete\",\"error\":{error}}}"),
        )
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    #[test]
    fn the_end_of_a_turn_says_why_it_failed() {
        for (info, kind, permanent) in [
            (r#""usage_limit_exceeded""#, "usage_limit_exceeded", false),
            (r#""server_overloaded""#, "server_overloaded", false),
            (r#""internal_server_error""#, "internal_server_error", true),
            (r#""unauthorized""#, "unauthorized", true),
            (
                r#"{"response_too_many_failed_attempts":{"http_status_code":429}}"#,
                "response_too_many_failed_attempts",
                false,
            ),
            (
                r#"{"http_connection_failed":{"http_status_code":403}}"#,
                "http_connection_failed",
                true,
            ),
            (
                r#"{"response_stream_disconnected":{"http_status_code":null}}"#,
                "response_stream_disconnected",
                true,
            ),
        ] {
            let reason = format!("{kind}: no more");
            let expected = Failure { reason, permanent };
            assert_eq!(failure_in(&failed(info), at(9)), Some(expected), "{info}");
        }
        let unknown = failure_in(&failed("null"), at(9)).unwrap();
        assert_eq!(unknown.reason, "no more");
    }

    #[test]
    fn only_the_last_turn_counts_and_only_if_it_ended_later() {
        let failed = failed(r#""other""#);
        assert!(failure_in(&failed, at(9)).is_some());
        assert_eq!(failure_in(&failed, at(10)), None, "of the turn before");
        let more = line(11, r#"{"type":"token_count","info":null}"#);
        assert!(failure_in(&format!("cut\"}}\n{failed}{more}{{\"time"), at(9)).is_some());
        for next in ["task_started", "task_complete", "turn_aborted"] {
            let next = line(12, &format!("{{\"type\":\"{next}\"}}"));
            assert_eq!(failure_in(&format!("{failed}{next}"), at(9)), None);
        }
    }

    #[test]
    fn a_rollout_is_found_by_the_time_in_its_id_also_a_day_beside_it() {
        assert_eq!(
            began_at(ID).unwrap().to_string(),
            "2026-11-27T04:41:18.765Z"
        );
        assert_eq!(began_at("11111111-1111-4111-8111-111111111111"), None);
        let home = tempfile::tempdir().unwrap();
        for day in ["26", "27", "28"] {
            let dir = home.path().join("sessions/2026/11").join(day);
            std::fs::create_dir_all(&dir).unwrap();
            let name = dir.join(format!("rollout-2026-11-{day}T04-41-18-{ID}.jsonl"));
            let long = "x".repeat(2 * END);
            let content = format!("{long}\n{}", failed(r#""other""#));
            std::fs::write(&name, content).unwrap();
            assert!(last_failure(home.path(), ID, at(9)).is_some(), "{day}");
            let moved = home.path().join("elsewhere");
            std::fs::rename(&name, &moved).unwrap();
            std::os::unix::fs::symlink(&moved, &name).unwrap();
            assert_eq!(last_failure(home.path(), ID, at(9)), None, "a link");
            std::fs::remove_file(&name).unwrap();
        }
    }
}
