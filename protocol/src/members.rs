//! Reads answers member by member.
//!
//! A derived deserializer repeats its parsing for every type, which would make `hubctl` a tenth larger. [`members!`]
//! shares one parser: a type only says which member sets which field. Unknown members are ignored, because a newer hub
//! may send them.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeOwned, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Error;
use serde_json::value::RawValue;

/// Sets the field for the member with this name.
type Set<'a> = &'a mut dyn FnMut(&str, &RawValue) -> Result<(), Error>;

/// Implements `Deserialize` for a type with a default: the members that must exist, those that may be absent, and those
/// whose field has another name.
macro_rules! members {
    ($type:ident:
     required [$($required:ident),*]
     $(optional [$($optional:ident),*])?
     $(renamed [$($name:literal => $($field:ident).+),*])?) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let json = Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
                let mut it = Self::default();
                let set = &mut |name: &str, json: &serde_json::value::RawValue| {
                    match name {
                        $(stringify!($required) => it.$required = $crate::members::value(json)?,)*
                        $($(stringify!($optional) => it.$optional = $crate::members::value(json)?,)*)?
                        $($($name => it.$($field).+ = $crate::members::value(json)?,)*)?
                        _ => {}
                    }
                    Ok(())
                };
                let required = &[$(stringify!($required)),*];
                $crate::members::each(&json, required, set).map_err(serde::de::Error::custom)?;
                Ok(it)
            }
        }
    };
}
pub(crate) use members;

/// Parses the value of one member.
#[inline(never)]
pub(crate) fn value<T: DeserializeOwned>(json: &RawValue) -> Result<T, Error> {
    serde_json::from_str(json.get())
}

/// Calls `set` with each member of an object. An error if one of `required` is missing.
pub(crate) fn each(json: &RawValue, required: &[&str], set: Set<'_>) -> Result<(), Error> {
    let missing = Object {
        missing: required.to_vec(),
        set,
    };
    serde_json::Deserializer::from_str(json.get()).deserialize_map(missing)
}

struct Object<'a> {
    missing: Vec<&'a str>,
    set: Set<'a>,
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<Cow<'_, str>>()? {
            let json: &RawValue = map.next_value()?;
            self.missing.retain(|missing| *missing != name);
            (self.set)(&name, json).map_err(A::Error::custom)?;
        }
        match self.missing.first() {
            None => Ok(()),
            Some(name) => Err(A::Error::custom(format_args!("missing field `{name}`"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde_json::{Value, json};

    use super::*;
    use crate::{InboxInfo, Problem, Question, Session, Step, WaitReply};

    /// Reads an answer that has every member, and one that it does not know.
    fn read<T: DeserializeOwned + Serialize>(answer: &Value) {
        let mut newer = answer.clone();
        newer["of_a_newer_hub"] = json!([1]);
        let read: T = serde_json::from_str(&newer.to_string()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), *answer);
    }

    #[test]
    fn every_member_is_read_and_an_unknown_one_is_ignored() {
        let at = "2026-11-21T21:46:08.042Z";
        let holder =
            json!({"as": "a", "session": "s", "session_name": "n", "way": "wait", "since": at});
        let place = json!({"host": "h", "cwd": "/", "pane": "%1"});
        read::<Session>(
            &json!({"id": "s", "aliases": ["t"], "name": "n", "project": "p", "agent": "claude", "host": "h",
            "cwd": "/", "parent": "l", "role": "primary", "main_worktree": true, "headless": true,
            "process": {"pid": 1, "started": 2, "boot_id": "b"}, "pane": "%1", "title": "t", "metadata": {"a": 1},
            "primary": true, "state": "working", "evidence": "Stop hook", "since": at, "gone": true, "silent": true,
            "last_seen": at, "last": 7, "pending": 1, "waiter": holder, "wake": "live",
            "listeners": [{"caller": "l", "since": at, "until": at}]}),
        );
        read::<Question>(
            &json!({"id": 1, "project": "p", "from": "s", "from_name": "n", "type": "question", "ts": at,
            "expires_at": at, "state": "answered", "by": "b", "answer_id": 2, "answer": "a", "msg": "m",
            "options": ["o"], "data": {"a": 1}, "deliverable": true, "where": place}),
        );
        read::<InboxInfo>(
            &json!({"project": "p", "name": "s", "pending": 1, "leased": 1, "oldest": 1, "oldest_ts": at,
            "held": 1, "held_until": at, "session": "n", "waiter": holder}),
        );
        read::<Problem>(
            &json!({"status": 409, "code": "c", "title": "t", "detail": "d", "hint": "h", "holder": holder,
            "inbox": "s", "nearest": "n", "question": 1, "state": "open", "where": place}),
        );
        read::<Step>(
            &json!({"seq": 1, "at": at, "state": "held", "project": "p", "inbox": "s", "by": "b", "way": "hook",
            "until": at, "limit": "l", "rides_along": "r"}),
        );
        read::<WaitReply>(
            &json!({"notifications": [{"id": 1}], "lease": "l", "remaining": 1,
            "why_woken": {"reason": "arrived", "id": 1, "from": "s", "type": "error"}, "barrier": {"met": true}}),
        );
    }

    #[test]
    fn an_answer_without_a_required_member_is_refused() {
        let error = serde_json::from_str::<Problem>(r#"{"status":1,"code":"c"}"#).unwrap_err();
        assert!(
            error.to_string().contains("missing field `title`"),
            "{error}"
        );
    }
}
