//! The check of replies against the vendor's types accepts valid replies and rejects others.

use serde_json::json;

use crate::support::{assert_valid_reply, is_valid_reply};

#[test]
fn only_a_reply_that_the_vendors_types_allow_for_the_event_is_valid() {
    let context = json!({"hookEventName": "Stop", "additionalContext": "news"});
    let reply = json!({"hookSpecificOutput": context});
    assert_valid_reply("Stop", &reply);
    assert!(!is_valid_reply("PostToolUse", &reply));
    let unknown = json!({"additionalContext": "news"});
    assert!(!is_valid_reply("Stop", &unknown));
}
