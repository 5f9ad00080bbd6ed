//! What installing or uninstalling makes of a file.

use super::file::SettingsFile;
use super::own::Caller;
use super::scheme::{Content, content};
use super::tree::{Node, indent_of};
use super::{merge, opencode};
use crate::agent::Agent;

/// What becomes of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It is as it should be.
    None,
    /// It gets this content.
    Text(String),
    /// It goes.
    Gone,
}

/// The change that installs what `caller` says; an error says what is wrong with the file.
pub(super) fn installing(
    file: &SettingsFile,
    agent: Agent,
    caller: &Caller,
) -> Result<Change, String> {
    let before = file.before.as_deref().unwrap_or_default();
    let text = match content(agent, caller) {
        Content::Whole(text) => {
            demand_ours(file)?;
            text
        }
        Content::Merged(plan) => {
            let mut settings = Node::parse(before)?;
            let unchanged = settings.value();
            merge::install(&mut settings, agent, &plan)?;
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

/// What is installed where nothing is.
pub(super) fn fresh(agent: Agent, caller: &Caller) -> String {
    match content(agent, caller) {
        Content::Whole(text) => text,
        Content::Merged(plan) => {
            let mut settings = Node::Object(Vec::new());
            // An empty object takes anything.
            let _ = merge::install(&mut settings, agent, &plan);
            written(&settings, "")
        }
    }
}

/// The change that takes everything of ours out of a file.
pub(super) fn uninstalling(
    file: &SettingsFile,
    agent: Agent,
    caller: &Caller,
) -> Result<Change, String> {
    let Some(before) = &file.before else {
        return Ok(Change::None);
    };
    match content(agent, caller) {
        Content::Whole(_) => {
            demand_ours(file)?;
            Ok(Change::Gone)
        }
        Content::Merged(plan) => {
            let mut settings = Node::parse(before)?;
            let unchanged = settings.value();
            merge::uninstall(&mut settings, agent, &plan)?;
            let now = settings.value();
            if now == unchanged {
                return Ok(Change::None);
            }
            let ours_alone = plan
                .version
                .is_some_and(|version| now == serde_json::json!({ "version": version }));
            Ok(if ours_alone {
                Change::Gone
            } else {
                Change::Text(written(&settings, before))
            })
        }
    }
}

/// The text, which ends as the one before did.
fn written(settings: &Node, before: &str) -> String {
    let mut text = settings.text(indent_of(before));
    if before.is_empty() || before.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// A whole file is only ours where its first line says so.
fn demand_ours(file: &SettingsFile) -> Result<(), String> {
    match &file.before {
        Some(text) if !text.starts_with(opencode::MARK) => {
            Err("was not installed by hubctl".to_owned())
        }
        _ => Ok(()),
    }
}
