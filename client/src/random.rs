//! Chance.

use std::fmt::Write as _;

use crate::error::Error;

/// 128 random bits as 32 hexadecimal digits.
pub(crate) fn random_hex() -> Result<String, Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
    let mut text = String::with_capacity(32);
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}
