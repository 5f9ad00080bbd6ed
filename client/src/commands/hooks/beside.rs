//! The file beside an agent's own settings in which it runs hooks too, and to which the person may have moved ours.

use std::fs;
use std::path::{Path, PathBuf};

use hub_agents::Agent;
use serde_json::Value;

use super::change::Change;
use super::file::SettingsFile;
use super::own::OwnCommand;
use super::tables;

/// The file beside the file `hooks`, if the agent has one.
pub(super) fn path(agent: Agent, hooks: &Path) -> Option<PathBuf> {
    Some(hooks.with_file_name(agent.settings().files.beside?))
}

/// A command of ours in the file beside `hooks`, with that file.
pub(super) fn moved(agent: Agent, hooks: &Path) -> Option<(PathBuf, OwnCommand)> {
    let path = path(agent, hooks)?;
    let found = tables::find(&fs::read_to_string(&path).ok()?, agent).ok()?;
    found.into_iter().next().map(|(_, own)| (path, own))
}

/// The change that removes our hooks from the file.
pub(super) fn leaving(agent: Agent, file: &SettingsFile) -> Result<Change, String> {
    let before = file.before.as_deref().unwrap_or_default();
    tables::uninstall(before, agent).map(Change::Text)
}

/// The step that is left if the file beside `hooks` has hooks too.
pub(super) fn left_to_do(agent: Agent, hooks: &Path) -> Option<String> {
    let path = path(agent, hooks)?;
    let found = tables::hooks(&fs::read_to_string(&path).ok()?).ok()??;
    // The agent stores there too which hooks are trusted.
    let mut events = found.as_object()?.values();
    events.any(Value::is_array).then(|| {
        format!(
            "{} has hooks too, and {} warns at each start while both files have some: move them into one; hubctl \
             recognises its own in either",
            path.display(),
            agent.facts().product
        )
    })
}
