//! What differs between agents: where their settings are, and what a hook looks like there.

use std::path::{Path, PathBuf};

use super::own::Caller;
use super::tree::Node;
use super::{claude, codex, copilot, cursor, gemini, opencode};
use crate::agent::Agent;
use crate::env::Env;
use crate::here::Here;

/// Whose sessions settings are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// All of this user's.
    User,
    /// Everybody's in a workspace: usually committed.
    Project,
    /// This user's in a workspace.
    Local,
}

impl Scope {
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
    /// Variables that move the agent's own directory, each with where it is below theirs; the first that is set counts.
    pub(super) moved: &'static [(&'static str, &'static str)],
    /// The agent's own directory otherwise, below the home.
    pub(super) home: &'static str,
    /// The user's file, below the agent's own directory.
    pub(super) user: &'static str,
    /// The workspace's file.
    pub(super) project: &'static str,
    /// The user's file in a workspace, if the agent knows one.
    pub(super) local: Option<&'static str>,
}

impl Files {
    /// The file of `scope`, seen from `workspace`; nothing where the agent has none.
    pub(super) fn path(&self, scope: Scope, env: &Env, workspace: &Path) -> Option<PathBuf> {
        match scope {
            Scope::User => {
                let mut moved = self.moved.iter();
                let dir = moved
                    .find_map(|(name, below)| Some(env.path(name)?.join(below)))
                    .or_else(|| Some(env.home.as_ref()?.join(self.home)))?;
                Some(dir.join(self.user))
            }
            Scope::Project => Some(workspace.join(self.project)),
            Scope::Local => self.local.map(|file| workspace.join(file)),
        }
    }
}

/// Where the command is in an event's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// `{"matcher": …, "hooks": [{"command": …}]}`
    Grouped,
    /// `{"<name>": …}`, the name of the member that holds the command.
    Flat(&'static str),
}

/// A hook of ours for one event.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The event.
    pub(super) event: &'static str,
    /// What stands in the event's list.
    pub(super) node: Node,
}

/// What is put into an agent's settings.
#[derive(Debug)]
pub(super) struct Plan {
    /// Where the command is.
    pub(super) shape: Shape,
    /// The hooks.
    pub(super) entries: Vec<Entry>,
    /// Commands that need no permission, in `permissions.allow`.
    pub(super) allow: &'static [&'static str],
    /// The `version` of the format, where the format has one.
    pub(super) version: Option<u32>,
}

/// What is installed for an agent.
#[derive(Debug)]
pub(super) enum Content {
    /// A part of a JSON file that others share.
    Merged(Plan),
    /// A file of our own.
    Whole(String),
}

/// The agent's files.
pub(super) fn files(agent: Agent) -> &'static Files {
    match agent {
        Agent::Claude => &claude::FILES,
        Agent::Codex => &codex::FILES,
        Agent::Gemini => &gemini::FILES,
        Agent::Opencode => &opencode::FILES,
        Agent::Copilot => &copilot::FILES,
        Agent::Cursor => &cursor::FILES,
    }
}

/// What `caller` is installed as.
pub(super) fn content(agent: Agent, caller: &Caller) -> Content {
    match agent {
        Agent::Claude => Content::Merged(claude::plan(caller)),
        Agent::Codex => Content::Merged(codex::plan(caller)),
        Agent::Gemini => Content::Merged(gemini::plan(caller)),
        Agent::Opencode => Content::Whole(opencode::plugin(caller)),
        Agent::Copilot => Content::Merged(copilot::plan(caller)),
        Agent::Cursor => Content::Merged(cursor::plan(caller)),
    }
}

/// What a person still has to do once it is installed.
pub(super) fn left_to_do(agent: Agent, here: &Here) -> Vec<String> {
    match agent {
        Agent::Claude => claude::left_to_do(here),
        Agent::Codex => codex::left_to_do(here),
        Agent::Gemini => gemini::left_to_do(),
        Agent::Opencode => opencode::left_to_do(),
        Agent::Copilot => copilot::left_to_do(),
        Agent::Cursor => cursor::left_to_do(),
    }
}

/// An entry for each of `events`, as `node` makes it.
pub(super) fn entries(events: &[&'static str], node: &dyn Fn(&'static str) -> Node) -> Vec<Entry> {
    let entry = |&event| Entry {
        event,
        node: node(event),
    };
    events.iter().map(entry).collect()
}

/// A command handler in a group of its own, as Claude Code, Codex and Gemini have it.
pub(super) fn group(matcher: Option<&str>, handlers: Vec<Node>) -> Node {
    let mut members = Vec::new();
    members.extend(matcher.map(|matcher| ("matcher".to_owned(), Node::of(&matcher))));
    members.push(("hooks".to_owned(), Node::Array(handlers)));
    Node::Object(members)
}

/// A command handler.
pub(super) fn handler(command: &str, timeout: u32) -> Node {
    Node::object_of([
        ("type", Node::of(&"command")),
        ("command", Node::of(&command)),
        ("timeout", Node::of(&timeout)),
    ])
}
