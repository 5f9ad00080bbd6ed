//! Random identifiers.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::Error;

/// 128 random bits as 32 hexadecimal digits.
pub(crate) fn random_hex() -> Result<String, Error> {
    hex_of::<16>()
}

/// A unique key that sorts after those made before: the time in nanoseconds, then 64 random bits.
pub(crate) fn key(now: SystemTime) -> Result<String, Error> {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let nanos = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
    Ok(format!("{nanos:016x}{}", hex_of::<8>()?))
}

/// A random number of at least 0 and less than 1.
pub(crate) fn fraction() -> Result<f64, Error> {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
    Ok(f64::from(u32::from_le_bytes(bytes)) / 2f64.powi(32))
}

fn hex_of<const N: usize>() -> Result<String, Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
    let mut text = String::with_capacity(2 * N);
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}
