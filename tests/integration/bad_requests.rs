//! Bad input: a problem with a code and a hint, nothing stored, and the hub stays up.

use hub_harness::Answer;

mod bodies;
mod callers;
mod rules;
mod transport;

/// Asserts status and code of a response to bad input, which must be a problem. The harness has validated its hint.
#[track_caller]
fn assert_refused(what: &str, answer: &Answer, status: u16, code: &str) {
    let refusal = (answer.status, &*answer.code());
    assert_eq!(refusal, (status, code), "{what}: {}", answer.text());
}
