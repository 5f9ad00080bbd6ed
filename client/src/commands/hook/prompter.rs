//! Tells who sent the prompt of a turn that ends: the hook of the prompt does not say it, and Claude Code's transcript does.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::Duration;

use hub_agents::{Agent, is_of_peer};
use rustix::fs::OFlags;

use super::payload::Payload;
use crate::system::no_follow::Dir;

/// The most bytes of the transcript that are read. If a turn is longer, its prompt counts as the person's.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// The pauses between the reads of the transcript until it has the prompt: a short turn may end before it is written, by seconds
/// on a busy machine.
const PAUSES: [u64; 7] = [50, 100, 200, 400, 800, 1600, 3200];

/// Whether another session sent the prompt of the turn that this event ends.
pub(super) async fn is_peer(agent: Agent, payload: &Payload) -> bool {
    if agent != Agent::Claude || !payload.is_stop(agent) {
        return false;
    }
    let known = payload
        .text("prompt_id")
        .zip(payload.text("transcript_path"));
    let Some((prompt, path)) = known else {
        return false;
    };
    for pause in PAUSES.map(Duration::from_millis) {
        let Some(end) = end_of(Path::new(path)) else {
            return false;
        };
        if let Some(is_peer) = is_of_peer(&end, prompt) {
            return is_peer;
        }
        tokio::time::sleep(pause).await;
    }
    false
}

/// The end of a regular file.
fn end_of(path: &Path) -> Option<String> {
    let dir = Dir::open(path.parent()?).ok()?;
    let name = Path::new(path.file_name()?);
    let mut file = dir.file(name, OFlags::RDONLY, 0).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_BYTES)))
        .ok()?;
    let mut end = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut end).ok()?;
    Some(String::from_utf8_lossy(&end).into_owned())
}
