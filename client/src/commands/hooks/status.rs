//! Finds out whether hooks are installed, and whether they are up to date.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use hub_protocol::Agent;

use super::change::{Change, installing};
use super::file::SettingsFile;
use super::own::{Invocation, OwnCommand};
use super::scheme::{Content, SettingsScope, Shape, content, files};
use super::tree::Node;
use super::{block, extension, merge};
use crate::system::env::Env;

/// The state of the hooks in one settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum InstallState {
    /// The file has no hooks of ours.
    Absent,
    /// The hooks are as this hubctl would install them.
    Installed,
    /// The hooks are of another version or another hubctl, incomplete, or changed by hand.
    Outdated,
    /// The file cannot be read or parsed.
    Malformed,
}

/// The hooks in one settings file.
#[derive(Debug)]
pub(in crate::commands) struct HookStatus {
    pub(in crate::commands) agent: Agent,
    pub(in crate::commands) scope: &'static str,
    pub(in crate::commands) path: PathBuf,
    pub(in crate::commands) state: InstallState,
    /// The path of the hubctl that the hooks call.
    pub(in crate::commands) hubctl: Option<String>,
    /// Whether the rewake hooks are installed.
    pub(in crate::commands) rewake: bool,
    /// Whether this file has the hooks twice for an event, or another file has them too: each event would then be
    /// reported twice.
    pub(in crate::commands) duplicate: bool,
    /// The error, if there is one.
    pub(in crate::commands) problem: Option<String>,
}

/// The hooks in each settings file of `agent`.
pub(super) fn look(agent: Agent, env: &Env, workspace: &Path, program: &str) -> Vec<HookStatus> {
    let mut all: Vec<HookStatus> = Vec::new();
    for scope in SettingsScope::ALL {
        let path = files(agent).path(scope, env, workspace);
        // In the home directory, the project's file is the user's.
        let new = path.filter(|path| all.iter().all(|it| !is_same(&it.path, path)));
        all.extend(new.map(|path| look_at(agent, scope, path, program)));
    }
    let several = all.iter().filter(|found| found.hubctl.is_some()).count() > 1;
    for found in &mut all {
        found.duplicate |= several && found.hubctl.is_some();
    }
    all
}

/// Whether two paths are one file.
fn is_same(a: &Path, b: &Path) -> bool {
    a == b
        || a.canonicalize()
            .ok()
            .is_some_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

fn look_at(agent: Agent, scope: SettingsScope, path: PathBuf, program: &str) -> HookStatus {
    let mut found = HookStatus {
        agent,
        scope: scope.name(),
        path,
        state: InstallState::Absent,
        hubctl: None,
        rewake: false,
        duplicate: false,
        problem: None,
    };
    if let Err(problem) = found.fill(agent, program) {
        found.state = InstallState::Malformed;
        found.problem = Some(problem);
    }
    found
}

impl InstallState {
    fn name(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Installed => "installed",
            Self::Outdated => "outdated",
            Self::Malformed => "malformed",
        }
    }
}

impl HookStatus {
    /// The JSON form, for scripts.
    pub(super) fn json(&self) -> Value {
        json!({
            "agent": self.agent.as_str(),
            "scope": self.scope,
            "path": self.path.display().to_string(),
            "state": self.state.name(),
            "hubctl": self.hubctl,
            "rewake": self.rewake,
            "duplicate": self.duplicate,
            "verified": self.agent.verified(),
            "problem": self.problem,
        })
    }

    fn fill(&mut self, agent: Agent, program: &str) -> Result<(), String> {
        let file = SettingsFile::read(&self.path).map_err(|error| format!("{error:#}"))?;
        let own = own(&file, agent)?;
        let Some((_, first)) = own.first() else {
            return Ok(());
        };
        self.hubctl = Some(first.program.clone());
        self.rewake = own.iter().any(|(_, own)| own.rewake);
        let key = |(event, own): &(String, OwnCommand)| (event.clone(), own.rewake);
        self.duplicate = own
            .iter()
            .enumerate()
            .any(|(n, one)| own[..n].iter().any(|before| key(before) == key(one)));
        // Compare with an install by this hubctl that has the same variables.
        let invocation = Invocation {
            variables: first.variables.clone(),
            program: program.to_owned(),
            rewake: self.rewake,
            plugin: false,
            status_line: false,
        };
        self.state = match installing(&file, agent, &invocation)? {
            Change::None => InstallState::Installed,
            _ => InstallState::Outdated,
        };
        if !Path::new(&first.program).exists() {
            self.problem = Some(format!("{} does not exist", first.program));
        }
        Ok(())
    }
}

impl fmt::Display for HookStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            InstallState::Absent => "not installed",
            InstallState::Installed => "installed",
            InstallState::Outdated => "outdated",
            InstallState::Malformed => "malformed",
        };
        let path = self.path.display();
        write!(f, "{:9} {:8} {state:14} {path}", self.agent, self.scope)?;
        if self.rewake {
            f.write_str("; rewakes")?;
        }
        match self.agent.verified() {
            Some(version) => write!(f, "; verified with {version}")?,
            None => f.write_str("; experimental: not run")?,
        }
        if self.duplicate {
            f.write_str("; installed twice: uninstall one")?;
        }
        if let Some(problem) = &self.problem {
            write!(f, "; {problem}")?;
        }
        if self.state == InstallState::Outdated {
            write!(
                f,
                "; run: hubctl hooks install {} --{}",
                self.agent, self.scope
            )?;
        }
        Ok(())
    }
}

/// Whether a file contains any command of ours.
pub(super) fn is_installed(file: &SettingsFile, agent: Agent) -> Result<bool, String> {
    Ok(!own(file, agent)?.is_empty())
}

/// Our commands in a file, each with its event.
fn own(file: &SettingsFile, agent: Agent) -> Result<Vec<(String, OwnCommand)>, String> {
    let Some(text) = &file.before else {
        return Ok(Vec::new());
    };
    match content(agent, &Invocation::anybody()) {
        Content::Merged(plan) => {
            let shape: Shape = plan.shape;
            merge::find(&mut Node::parse(text)?, agent, shape)
        }
        Content::Whole(_) => {
            let own =
                extension::command(text).and_then(|command| OwnCommand::parse(&command, agent));
            Ok(own.map(|own| (String::new(), own)).into_iter().collect())
        }
        Content::Block(_) => Ok(block::find(text, agent)),
    }
}
