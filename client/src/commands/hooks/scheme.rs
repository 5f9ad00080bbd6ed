//! The places of an agent's settings, and the content that is installed there.

use std::path::{Path, PathBuf};

use hub_agents::{Agent, Allow, Shape};
use serde_json::Value;

use super::own::Invocation;
use super::{beside, extension};
use crate::identity::Context;
use crate::settings::Address;
use crate::system::env::Env;

/// The sessions that a settings file applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettingsScope {
    /// All sessions of this user.
    User,
    /// All sessions in a workspace, of every user; usually committed.
    Project,
    /// The sessions of this user in a workspace.
    Local,
}

impl SettingsScope {
    pub(super) const ALL: [Self; 3] = [Self::User, Self::Project, Self::Local];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
        }
    }
}

/// The path of the agent's file of `scope` for `workspace`; `None` if the agent has no such file.
pub(super) fn path(
    agent: Agent,
    scope: SettingsScope,
    env: &Env,
    workspace: &Path,
) -> Option<PathBuf> {
    let files = &agent.settings().files;
    match scope {
        SettingsScope::User => {
            let mut moved = files.moved.iter();
            let dir = moved
                .find_map(|(name, below)| Some(env.path(name)?.join(below)))
                .or_else(|| Some(env.home.as_ref()?.join(files.home)))?;
            Some(dir.join(files.user))
        }
        SettingsScope::Project => files.project.map(|file| workspace.join(file)),
        SettingsScope::Local => files.local.map(|file| workspace.join(file)),
    }
}

/// The step that is left if the variable that moves the agent's directory begins with `~`.
fn unexpanded(agent: Agent, env: &Env) -> Option<String> {
    let mut moved = agent.settings().files.moved.iter();
    let (name, _) = moved.find(|(name, _)| env.var(name).is_some())?;
    let path = env.var(name)?.to_str().filter(|it| it.starts_with('~'))?;
    Some(format!(
        "{name} is '{path}', whose ~ no shell has expanded: hubctl takes it for {}, but the agent may make a \
         directory named ~; set the variable to that path",
        env.path(name)?.display()
    ))
}

/// The hooks and rules to merge into an agent's settings.
#[derive(Debug)]
pub(super) struct Plan {
    /// The form of a hook.
    pub(super) shape: Shape,
    /// The hooks, each an element for the list of its event.
    pub(super) entries: Vec<(&'static str, Value)>,
    /// The commands that need no permission.
    pub(super) allow: Allow,
    /// The `version` of the format, if the format has one.
    pub(super) version: Option<u32>,
}

/// The content that is installed for an agent.
#[derive(Debug)]
pub(super) enum Content {
    /// A part of a JSON file that is shared with others.
    Merged(Plan),
    /// The text of a file of our own.
    Whole(String),
    /// Tables `[[hooks]]` in a TOML file that is shared with others.
    Tables(Vec<Value>),
}

/// The content that installs the hooks of `invocation`.
pub(super) fn content(agent: Agent, invocation: &Invocation) -> Content {
    match &agent.settings().content {
        hub_agents::Content::Json(json) => Content::Merged(Plan {
            shape: json.shape,
            entries: json.elements(&invocation.commands(agent)),
            allow: json.allow,
            version: json.version,
        }),
        hub_agents::Content::Tables(table, events) => {
            let command = invocation.hook(agent);
            Content::Tables(events.iter().map(|it| table(it, &command)).collect())
        }
        hub_agents::Content::Extension(part) => {
            Content::Whole(extension::text(agent, part, invocation))
        }
    }
}

/// Whether the agent reads comments in its JSON.
pub(super) fn reads_comments(agent: Agent) -> bool {
    matches!(&agent.settings().content, hub_agents::Content::Json(json) if json.comments)
}

/// The steps that are left to the person after an install into the file `hooks`.
pub(super) fn left_to_do(agent: Agent, context: &Context, hooks: &Path) -> Vec<String> {
    const SOCKET: &str = "{socket}";
    let step = |step: &&str| match &context.settings.address.value {
        _ if !step.contains(SOCKET) => Some((*step).to_owned()),
        Address::Socket(socket) => Some(step.replace(SOCKET, &socket.display().to_string())),
        Address::Url(_) => None,
    };
    let all = agent.settings().left_to_do.iter().filter_map(step);
    all.chain(beside::left_to_do(agent, hooks))
        .chain(unexpanded(agent, &context.env))
        .collect()
}
