//! Computes how installing or uninstalling hooks changes a settings file.

use std::ffi::OsStr;
use std::path::Path;

use serde_json::{Value, json};

use hub_agents::Agent;

use super::file::SettingsFile;
use super::json::Document;
use super::own::Invocation;
use super::scheme::{Content, content, reads_comments};
use super::{extension, merge, status_line, tables};

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
        Content::Tables(tables) => tables::install(before, agent, &tables)?,
        Content::Merged(plan) => {
            let settings = Document::parse(before, reads_comments(agent))?;
            let unchanged = settings.value();
            merge::install(&settings.top, agent, &plan)?;
            if invocation.status_line {
                status_line::install(&settings.top, invocation)?;
            }
            if file.before.is_some() && settings.value() == unchanged {
                return Ok(Change::None);
            }
            settings.text()
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
    // Installing into an empty file cannot fail.
    match content(agent, invocation) {
        Content::Whole(text) => text,
        Content::Tables(tables) => tables::install("", agent, &tables).unwrap_or_default(),
        Content::Merged(plan) => {
            let text = Document::parse("", false).and_then(|settings| {
                merge::install(&settings.top, agent, &plan)?;
                Ok(settings.text())
            });
            text.unwrap_or_default()
        }
    }
}

/// The text of `file` without our hooks, if those are `installed`; `Value::Null` if there is no file. `None` if the whole
/// file is ours, or uninstalling needs no record.
pub(super) fn without_ours(
    file: &SettingsFile,
    agent: Agent,
    installed: bool,
) -> Result<Option<Value>, String> {
    let Some(before) = &file.before else {
        return Ok(Some(Value::Null));
    };
    Ok(match content(agent, &Invocation::anybody()) {
        Content::Whole(_) | Content::Tables(_) => None,
        Content::Merged(plan) if installed => {
            let settings = Document::parse(before, reads_comments(agent))?;
            merge::uninstall(&settings.top, agent, &plan, None)?;
            Some(settings.text().into())
        }
        Content::Merged(_) => Some(before.as_str().into()),
    })
}

/// The change that removes our hooks and rules. `before_install` is the text before the install, or the settings if an
/// earlier version recorded them; `None` if nothing was recorded.
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
        Content::Tables(_) => {
            let text = tables::uninstall(before, agent)?;
            let made = before_install.is_some_and(Value::is_null);
            Ok(match text.as_str() {
                text if text == before => Change::None,
                "" if made => Change::Gone,
                _ => Change::Text(text),
            })
        }
        Content::Merged(plan) => {
            let settings = Document::parse(before, reads_comments(agent))?;
            let unchanged = settings.value();
            let text = before_install.and_then(Value::as_str);
            let was = text.and_then(|it| Document::parse(it, reads_comments(agent)).ok());
            let was = was.map(|it| it.value());
            merge::uninstall(&settings.top, agent, &plan, was.as_ref().or(before_install))?;
            if agent == Agent::Claude {
                status_line::uninstall(&settings.top);
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
            let left = settings.text();
            Ok(match text {
                _ if nothing && made => Change::Gone,
                Some(text) if text.trim().is_empty() && nothing => Change::Text(text.to_owned()),
                Some(text) if was == Some(now) && differs_in_space_only(text, &left) => {
                    Change::Text(text.to_owned())
                }
                _ => Change::Text(left),
            })
        }
    }
}

/// Whether two texts are the same but for the blanks and line ends, which an install may have added.
fn differs_in_space_only(a: &str, b: &str) -> bool {
    let visible = |it: &char| !it.is_whitespace();
    a.chars().filter(visible).eq(b.chars().filter(visible))
}

/// Returns an error if an agent could not parse `text` in a file of this name.
pub(super) fn demand_valid(path: &Path, agent: Agent, text: &str) -> Result<(), String> {
    match path.extension().and_then(OsStr::to_str) {
        Some("json") => Document::parse(text, reads_comments(agent)).map(drop),
        Some("toml") => tables::value(text).map(drop),
        _ => Ok(()),
    }
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
