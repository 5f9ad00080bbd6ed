//! The differences between agents: the places of their settings, and the format of a hook.

use std::path::{Path, PathBuf};

use hub_protocol::Agent;
use serde_json::{Value, json};

use super::own::Invocation;
use super::{claude, codex, copilot, cursor, extension, gemini, kimi, opencode, pi, qwen};
use crate::identity::Context;
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

/// An agent's settings files.
#[derive(Debug)]
pub(super) struct Files {
    /// Variables that replace the agent's own directory, each with the path below it; the first that is set wins.
    pub(super) moved: &'static [(&'static str, &'static str)],
    /// The agent's own directory if no variable is set, below the home directory.
    pub(super) home: &'static str,
    /// The user's file, in the agent's own directory.
    pub(super) user: &'static str,
    /// The workspace's file, in the workspace, if the agent has one.
    pub(super) project: Option<&'static str>,
    /// The user's file in a workspace, if the agent has one.
    pub(super) local: Option<&'static str>,
}

impl Files {
    /// The path of the file of `scope` for `workspace`; `None` if the agent has no such file.
    pub(super) fn path(
        &self,
        scope: SettingsScope,
        env: &Env,
        workspace: &Path,
    ) -> Option<PathBuf> {
        match scope {
            SettingsScope::User => {
                let mut moved = self.moved.iter();
                let dir = moved
                    .find_map(|(name, below)| Some(env.path(name)?.join(below)))
                    .or_else(|| Some(env.home.as_ref()?.join(self.home)))?;
                Some(dir.join(self.user))
            }
            SettingsScope::Project => self.project.map(|file| workspace.join(file)),
            SettingsScope::Local => self.local.map(|file| workspace.join(file)),
        }
    }

    /// The step that is left if the variable that moves the agent's directory begins with `~`.
    fn unexpanded(&self, env: &Env) -> Option<String> {
        let (name, _) = self
            .moved
            .iter()
            .find(|(name, _)| env.var(name).is_some())?;
        let path = env.var(name)?.to_str().filter(|it| it.starts_with('~'))?;
        Some(format!(
            "{name} is '{path}', whose ~ no shell has expanded: hubctl takes it for {}, but the agent may make a \
             directory named ~; set the variable to that path",
            env.path(name)?.display()
        ))
    }
}

/// The position of the command in an element of an event's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// `{"matcher": …, "hooks": [{"command": …}]}`
    Grouped,
    /// `{"<name>": …}` with the name of the member that contains the command.
    Flat(&'static str),
}

/// A hook of ours for one event.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The event's name.
    pub(super) event: &'static str,
    /// The element for the event's list.
    pub(super) node: Value,
}

/// Rules that let commands run without asking the person.
#[derive(Debug)]
pub(super) struct Allow {
    /// The names of the object in the settings, and of the list in it.
    pub(super) at: [&'static str; 2],
    /// The rules, in the agent's own syntax.
    pub(super) rules: &'static [&'static str],
}

impl Allow {
    /// No rules.
    pub(super) const NOTHING: Self = Self {
        at: ["", ""],
        rules: &[],
    };
}

/// The hooks and rules to merge into an agent's settings.
#[derive(Debug)]
pub(super) struct Plan {
    /// The position of the command in an element.
    pub(super) shape: Shape,
    /// The hooks.
    pub(super) entries: Vec<Entry>,
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

/// The settings files of the agent.
pub(super) fn files(agent: Agent) -> &'static Files {
    match agent {
        Agent::Claude => &claude::FILES,
        Agent::Codex => &codex::FILES,
        Agent::Gemini => &gemini::FILES,
        Agent::OpenCode => &opencode::FILES,
        Agent::Qwen => &qwen::FILES,
        Agent::Pi => &pi::FILES,
        Agent::Copilot => &copilot::FILES,
        Agent::Kimi => &kimi::FILES,
        Agent::Cursor => &cursor::FILES,
    }
}

/// The content that installs the hooks of `invocation`.
pub(super) fn content(agent: Agent, invocation: &Invocation) -> Content {
    match agent {
        Agent::Claude => Content::Merged(claude::plan(invocation)),
        Agent::Codex => Content::Merged(codex::plan(invocation)),
        Agent::Gemini => Content::Merged(gemini::plan(invocation)),
        Agent::OpenCode => Content::Whole(extension::text(agent, opencode::PLUGIN, invocation)),
        Agent::Qwen => Content::Merged(qwen::plan(invocation)),
        Agent::Pi => Content::Whole(extension::text(agent, pi::EXTENSION, invocation)),
        Agent::Copilot => Content::Merged(copilot::plan(invocation)),
        Agent::Kimi => Content::Tables(kimi::tables(invocation)),
        Agent::Cursor => Content::Merged(cursor::plan(invocation)),
    }
}

/// Whether the agent reads comments in its JSON.
pub(super) fn reads_comments(agent: Agent) -> bool {
    matches!(agent, Agent::Gemini | Agent::Qwen)
}

/// The steps that are left to the person after an install into the file `hooks`.
pub(super) fn left_to_do(agent: Agent, context: &Context, hooks: &Path) -> Vec<String> {
    let mut all = match agent {
        Agent::Claude => claude::left_to_do(context),
        Agent::Codex => codex::left_to_do(context, hooks),
        Agent::Gemini => gemini::left_to_do(),
        Agent::OpenCode => opencode::left_to_do(),
        Agent::Qwen => qwen::left_to_do(),
        Agent::Pi => pi::left_to_do(),
        Agent::Copilot => copilot::left_to_do(),
        Agent::Kimi => kimi::left_to_do(),
        Agent::Cursor => cursor::left_to_do(),
    };
    all.extend(files(agent).unexpanded(&context.env));
    all
}

/// Returns an entry for each of `events`, with the element that `node` makes.
pub(super) fn entries(events: &[&'static str], node: &dyn Fn(&'static str) -> Value) -> Vec<Entry> {
    let entry = |&event| Entry {
        event,
        node: node(event),
    };
    events.iter().map(entry).collect()
}

/// Command handlers in a group, the format of Claude Code, Codex and Gemini.
pub(super) fn group(matcher: Option<&str>, handlers: &[Value]) -> Value {
    match matcher {
        Some(matcher) => json!({"matcher": matcher, "hooks": handlers}),
        None => json!({"hooks": handlers}),
    }
}

/// A command handler with its timeout in seconds.
pub(super) fn handler(command: &str, timeout: u32) -> Value {
    json!({"type": "command", "command": command, "timeout": timeout})
}
