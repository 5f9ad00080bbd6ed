//! Events about sessions, listeners, questions and deliveries: their records as JSON, with the kind of change.

use serde::Serialize;
use serde_json::{Value, json};

use super::frame::Watch;
use crate::core::record::{Record, kinds};

/// The kind of event of a record, by its kind byte.
pub(super) fn watch_of(kind: u8) -> Option<Watch> {
    Some(match kind {
        kinds::NOTIFIED => Watch::Notification,
        kinds::SETTLED | kinds::EMITTED | kinds::RETURNED => Watch::Delivery,
        kinds::SEEN => Watch::Seen,
        kinds::SESSION_SET | kinds::TURN_NOTED | kinds::SESSION_ENDED | kinds::PRIMARY_TAKEN => {
            Watch::Session
        }
        kinds::LISTENER_SET | kinds::LISTENER_REMOVED => Watch::Listener,
        kinds::PREFERENCES_SET => Watch::Preferences,
        kinds::QUESTION_CLAIMED | kinds::QUESTION_SETTLED => Watch::Question,
        _ => return None,
    })
}

/// The name and the data of a record's event.
pub(super) fn of(record: &Record) -> Option<(&'static str, Value)> {
    Some(match record {
        Record::SessionSet(it) => ("session", told("known", it)),
        Record::TurnNoted(it) => ("session", told("turn", it)),
        Record::SessionEnded(it) => ("session", told("gone", it)),
        Record::PrimaryTaken(it) => ("session", told("primary", it)),
        Record::ListenerSet(it) => ("listener", told("set", it)),
        Record::ListenerRemoved(it) => ("listener", told("removed", it)),
        Record::QuestionClaimed(it) => ("question", told("claimed", it)),
        Record::QuestionSettled(it) => ("question", told("settled", it)),
        Record::PreferencesSet(it) => ("preferences", json!(it.preferences)),
        Record::Emitted(it) => ("delivery", delivery("emitted", it)),
        Record::Returned(it) => ("delivery", delivery("returned", it)),
        _ => return None,
    })
}

fn told(what: &str, record: &impl Serialize) -> Value {
    let mut data = json!({ "what": what });
    if let (Value::Object(data), Ok(Value::Object(record))) =
        (&mut data, serde_json::to_value(record))
    {
        data.extend(record);
    }
    data
}

fn delivery(state: &str, record: &impl Serialize) -> Value {
    let mut data = serde_json::to_value(record).unwrap_or_default();
    data["state"] = state.into();
    data
}
