//! Splits any bytes at NUL into pieces, and frames the pieces both as notifications and as texts of notifications.
#![no_main]

use hub_protocol::{Framed, denial, is_hidden};
use libfuzzer_sys::fuzz_target;

#[path = "../../src/framing/check.rs"]
mod check;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let pieces: Vec<&str> = text.split('\0').collect();
    check::frame(&pieces, 0);
    let said: Vec<String> = pieces
        .iter()
        .map(|msg| serde_json::json!({ "id": 1, "msg": msg }).to_string())
        .collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    check::frame(&said, bytes.len() as u64);
    check::reason(&text);
});
