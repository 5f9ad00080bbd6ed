//! Random identifiers.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use hub_protocol::SpoolKey;

/// 128 random bits as 32 hexadecimal digits.
pub(crate) fn random_hex() -> anyhow::Result<String> {
    let mut text = String::with_capacity(32);
    for byte in bytes::<16>()? {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

/// A unique key that sorts after those made before: the time in nanoseconds, then 64 random bits.
pub(crate) fn key(now: SystemTime) -> anyhow::Result<SpoolKey> {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let nanos = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
    Ok(SpoolKey::new(nanos, u64::from_le_bytes(bytes()?)))
}

/// A random number of at least 0 and less than 1.
pub(crate) fn fraction() -> anyhow::Result<f64> {
    Ok(f64::from(u32::from_le_bytes(bytes()?)) / 2f64.powi(32))
}

fn bytes<const N: usize>() -> anyhow::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
    Ok(bytes)
}
