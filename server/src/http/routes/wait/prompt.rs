//! The prompt with which a module within an agent wakes its session.

use bytes::Bytes;
use hub_protocol::{Framed, Seq, WakePrompt, one_line};

use crate::agents::WAKE_MARK;
use crate::http::routes::wake_note;
use crate::waiters::Batch;

/// The prompt that delivers this batch, whose notifications have these JSON texts.
pub(super) fn of(batch: &Batch, notifications: &[Bytes]) -> WakePrompt {
    let texts: Vec<_> = notifications
        .iter()
        .map(|json| String::from_utf8_lossy(json))
        .collect();
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    let framed = Framed::new(&texts, batch.remaining);
    let ids: Vec<Seq> = { batch.items.iter().take(framed.shown) }
        .map(|item| item.id)
        .collect();
    let project = batch.project.as_str();
    let project = project.rsplit('/').next().unwrap_or(project);
    let lines = wake_note::lines(&notifications[..framed.shown], batch.items.len());
    WakePrompt {
        visible: format!("{WAKE_MARK} ({}):\n{lines}", one_line(project)),
        context: framed.text,
        ids,
    }
}
