//! Computes how installing or uninstalling hooks changes a settings file.

use serde_json::{Value, json};

use hub_protocol::Agent;

use super::file::SettingsFile;
use super::own::Invocation;
use super::scheme::{Content, content};
use super::tree::{BOM, Node, indent_of};
use super::{block, extension, merge, status_line};

/// The change to a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The file stays as it is.
    None,
    /// The file gets this content.
    Text(String),
    /// The file is removed.
    Gone,
}

/// The change that installs the hooks of `invocation`. An error says what is wrong with the file.
pub(super) fn installing(
    file: &SettingsFile,
    agent: Agent,
    invocation: &Invocation,
) -> Result<Change, String> {
    let before = file.before.as_deref().unwrap_or_default();
    let text = match content(agent, invocation) {
        Content::Whole(text) => {
            demand_ours(file)?;
            text
        }
        Content::Block(tables) => block::install(before, &tables)?,
        Content::Merged(plan) => {
            let mut settings = Node::parse(before)?;
            let unchanged = settings.value();
            merge::install(&mut settings, agent, &plan)?;
            if invocation.status_line {
                status_line::install(&mut settings, invocation)?;
            }
            if file.before.is_some() && settings.value() == unchanged {
                return Ok(Change::None);
            }
            written(&settings, before)
        }
    };
    let same = file.before.as_ref() == Some(&text);
    Ok(if same {
        Change::None
    } else {
        Change::Text(text)
    })
}

/// The content that is installed if there is no file.
pub(super) fn fresh(agent: Agent, invocation: &Invocation) -> String {
    match content(agent, invocation) {
        Content::Whole(text) | Content::Block(text) => text,
        Content::Merged(plan) => {
            let mut settings = Node::Object(Vec::new());
            // Installing into an empty object cannot fail.
            let _ = merge::install(&mut settings, agent, &plan);
            written(&settings, "")
        }
    }
}

/// The settings in `file` without our hooks, if those are `installed`; `Value::Null` if there is no file. `None` if the
/// whole file is ours.
pub(super) fn without_ours(
    file: &SettingsFile,
    agent: Agent,
    installed: bool,
) -> Result<Option<Value>, String> {
    let Some(before) = &file.before else {
        return Ok(Some(Value::Null));
    };
    Ok(match content(agent, &Invocation::anybody()) {
        Content::Whole(_) | Content::Block(_) => None,
        Content::Merged(plan) => {
            let mut settings = Node::parse(before)?;
            if installed {
                merge::uninstall(&mut settings, agent, &plan, None)?;
            }
            Some(settings.value())
        }
    })
}

/// The change that removes our hooks and rules. `before_install` is the settings before the install, if they were
/// recorded.
pub(super) fn uninstalling(
    file: &SettingsFile,
    agent: Agent,
    before_install: Option<&Value>,
) -> Result<Change, String> {
    let Some(before) = &file.before else {
        return Ok(Change::None);
    };
    match content(agent, &Invocation::anybody()) {
        Content::Whole(_) => {
            demand_ours(file)?;
            Ok(Change::Gone)
        }
        Content::Block(_) => {
            let text = block::uninstall(before);
            let made = before_install.is_some_and(Value::is_null);
            Ok(match text.as_str() {
                text if text == before => Change::None,
                "" if made => Change::Gone,
                _ => Change::Text(text),
            })
        }
        Content::Merged(plan) => {
            let mut settings = Node::parse(before)?;
            let unchanged = settings.value();
            merge::uninstall(&mut settings, agent, &plan, before_install)?;
            if agent == Agent::Claude {
                status_line::uninstall(&mut settings)?;
            }
            let now = settings.value();
            if now == unchanged {
                return Ok(Change::None);
            }
            let nothing = match plan.version {
                Some(version) => now == json!({ "version": version }),
                None => now == json!({}),
            };
            // A file that the install created is removed with it. If nothing was recorded, only a file that contains
            // nothing but the version is removed.
            let made = before_install.map_or(plan.version.is_some(), Value::is_null);
            Ok(if nothing && made {
                Change::Gone
            } else {
                Change::Text(written(&settings, before))
            })
        }
    }
}

/// Formats `settings` with the indentation, the byte order mark, the line ends and the final line end of `before`.
fn written(settings: &Node, before: &str) -> String {
    let mut text = settings.text(indent_of(before));
    if before.is_empty() || before.ends_with('\n') {
        text.push('\n');
    }
    if before.contains("\r\n") {
        // Values that are kept as they were already have CRLF. A JSON string contains no unescaped line end, so no
        // string changes.
        text = text.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    if before.starts_with(BOM) {
        text.insert(0, BOM);
    }
    text
}

/// Returns an error unless the file is ours, which its first line shows.
fn demand_ours(file: &SettingsFile) -> Result<(), String> {
    match &file.before {
        Some(text) if !text.starts_with(extension::MARK) => {
            Err("was not installed by hubctl".to_owned())
        }
        _ => Ok(()),
    }
}
