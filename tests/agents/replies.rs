//! The check of replies against the vendor's types accepts valid replies and rejects others.

use serde_json::json;

use crate::support::{assert_valid_reply, is_valid_reply};

#[test]
fn a_reply_that_the_vendors_types_allow_is_valid() {
    let context = json!({"hookEventName": "Stop", "additionalContext": "news"});
    assert_valid_reply("Stop", &json!({"hookSpecificOutput": context}));
}

#[test]
fn a_reply_of_another_event_is_not_valid() {
    let context = json!({"hookEventName": "Stop", "additionalContext": "news"});
    assert!(!is_valid_reply(
        "PostToolUse",
        &json!({"hookSpecificOutput": context})
    ));
}

#[test]
fn a_reply_with_an_unknown_field_is_not_valid() {
    assert!(!is_valid_reply(
        "Stop",
        &json!({"additionalContext": "news"})
    ));
}
