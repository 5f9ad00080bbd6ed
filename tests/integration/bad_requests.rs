//! Bad input: a clear problem with a code and a hint, nothing stored, and the hub goes on.

use hub_harness::Answer;

mod bodies;
mod callers;
mod rules;
mod transport;

/// Asserts what a bad request was told; that it is a sound problem with a hint the harness has checked.
#[track_caller]
fn assert_told(what: &str, answer: &Answer, status: u16, code: &str) {
    let told = (answer.status, answer.code());
    assert_eq!(told, (status, code.to_owned()), "{what}: {}", answer.text());
}
