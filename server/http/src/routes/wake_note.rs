//! The note that shows a person why a session was woken. Agents show the same fixed text for every wake.

use hub_engine::Hub;
use hub_engine::wake_text::{NAMED, lines};
use hub_protocol::{InboxName, OwnWords, ProjectName, Quoted};

use super::stored;
use crate::error::ApiError;

/// One line for each of the first notifications that just woke a session; `None` if there are none.
pub(super) async fn text(
    hub: &Hub,
    project: ProjectName,
    session: InboxName,
) -> Result<Option<OwnWords>, ApiError> {
    let shown = hub.read(|state, _| {
        let (project, key) = state.sessions.resolve_key(project, session);
        state.emitted_by_wakes(&project, &key)
    })?;
    let mut first = Vec::new();
    for location in shown.iter().take(NAMED) {
        let stored = stored::event(hub.log(), *location).await?;
        first.extend(stored.and_then(|event| event.json()));
    }
    let text = lines(&first, shown.len());
    let lines = text.lines().map(|it| OwnWords::of(Quoted(it)));
    Ok(lines.reduce(|all, line| all.and("\n").and(line)))
}
