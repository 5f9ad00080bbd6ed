//! Finds out whether hooks are installed, and whether they are up to date.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use hub_agents::Agent;

use super::caller::passing;
use super::change::{Change, installing};
use super::file::SettingsFile;
use super::json::{Document, value_of};
use super::obstacle::{self, Obstacle};
use super::own::{Invocation, OwnCommand, can_rewake};
use super::scheme::{self, Content, SettingsScope, content, reads_comments};
use super::{beside, extension, merge, tables};
use crate::system::env::Env;
use crate::system::shell::quoted;

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
    /// The variables that they set, as `NAME=value`.
    variables: Vec<String>,
    /// The workspace, if it was given.
    pub(super) dir: Option<PathBuf>,
    /// Whether the rewake hooks are installed.
    pub(in crate::commands) rewake: bool,
    /// Whether this file has the hooks twice for an event, or another file has them too: each event would then be
    /// reported twice.
    pub(in crate::commands) duplicate: bool,
    /// The error, if there is one.
    pub(in crate::commands) problem: Option<String>,
    /// Why the agent runs none of the installed hooks, if it does not.
    pub(in crate::commands) obstacle: Option<Obstacle>,
}

/// The hooks in each settings file of `agent`.
pub(super) fn look(agent: Agent, env: &Env, workspace: &Path, program: &str) -> Vec<HookStatus> {
    let mut all: Vec<HookStatus> = Vec::new();
    for scope in SettingsScope::ALL {
        let path = scheme::path(agent, scope, env, workspace);
        // In the home directory, the project's file is the user's.
        let new = path.filter(|path| all.iter().all(|it| !is_same(&it.path, path)));
        let Some(path) = new else { continue };
        let moved = beside::moved(agent, &path)
            .map(|(path, own)| moved_to(agent, path, scope, own, program));
        let here = look_at(agent, scope, path, program);
        if moved.is_none() || here.state != InstallState::Absent {
            all.push(here);
        }
        all.extend(moved);
    }
    let several = all.iter().filter(|found| found.hubctl.is_some()).count() > 1;
    for found in &mut all {
        found.duplicate |= several && found.hubctl.is_some();
    }
    let obstacle = obstacle::look(agent, env, workspace);
    for found in all.iter_mut().filter(|it| it.hubctl.is_some()) {
        found.obstacle.clone_from(&obstacle);
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

/// The hooks that the person moved into the file `path` beside the agent's own.
fn moved_to(
    agent: Agent,
    path: PathBuf,
    scope: SettingsScope,
    own: OwnCommand,
    program: &str,
) -> HookStatus {
    let mut found = HookStatus::absent(agent, scope, path);
    found.state = if own.program == program {
        InstallState::Installed
    } else {
        InstallState::Outdated
    };
    found.find(own);
    found
}

fn look_at(agent: Agent, scope: SettingsScope, path: PathBuf, program: &str) -> HookStatus {
    let mut found = HookStatus::absent(agent, scope, path);
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
    fn absent(agent: Agent, scope: SettingsScope, path: PathBuf) -> Self {
        Self {
            agent,
            scope: scope.name(),
            path,
            state: InstallState::Absent,
            hubctl: None,
            variables: Vec::new(),
            dir: None,
            rewake: false,
            duplicate: false,
            problem: None,
            obstacle: None,
        }
    }

    /// The hooks of Claude Code's plugin in the file `path` with this text. `is_new` is whether this hubctl would write the
    /// same file for commands such as the given one.
    pub(super) fn of_plugin(
        path: PathBuf,
        text: &str,
        is_new: impl Fn(&OwnCommand) -> bool,
    ) -> Self {
        let mut found = Self {
            scope: "plugin",
            ..Self::absent(Agent::Claude, SettingsScope::User, path)
        };
        let own = own_in(text, Agent::Claude);
        let Some((_, first)) = own.as_ref().ok().and_then(|it| it.first()) else {
            found.state = InstallState::Malformed;
            found.problem = own.err();
            return found;
        };
        found.rewake = own.iter().flatten().any(|(_, own)| own.rewake);
        let first = OwnCommand {
            rewake: found.rewake,
            ..first.clone()
        };
        found.state = if is_new(&first) {
            InstallState::Installed
        } else {
            InstallState::Outdated
        };
        found.find(first);
        found
    }

    /// Notes what the hooks call.
    fn find(&mut self, own: OwnCommand) {
        let hubctl = own.program;
        self.variables = own.variables;
        self.problem = passing(&hubctl);
        if !Path::new(&hubctl).exists() {
            self.problem = Some(format!("{hubctl} does not exist"));
        }
        self.hubctl = Some(hubctl);
    }

    /// The command that installs these hooks again, with the same options.
    pub(in crate::commands) fn install_command(&self) -> String {
        let mut line = format!("hubctl hooks install {} --{}", self.agent, self.scope);
        let mut add = |option: &str, value: &str| {
            line.extend([" ", option, " ", &quoted(value)]);
        };
        if let (Some(dir), "project" | "local") = (&self.dir, self.scope) {
            add("--dir", &dir.display().to_string());
        }
        for variable in &self.variables {
            match variable.split_once('=') {
                Some(("HUB_SESSION", name)) => add("--session", name),
                Some(("HUB_STATE_DIR", dir)) => add("--state-dir", dir),
                _ => {}
            }
        }
        if !self.rewake && can_rewake(self.agent) {
            line.push_str(" --no-rewake");
        }
        line
    }

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
            "verified": self.agent.facts().verified(),
            "problem": self.problem,
            "obstacle": self.obstacle.as_ref().map(|it| &it.what),
        })
    }

    fn fill(&mut self, agent: Agent, program: &str) -> Result<(), String> {
        let file = SettingsFile::read(&self.path).map_err(|error| format!("{error:#}"))?;
        let own = own(&file, agent)?;
        let Some((_, first)) = own.first() else {
            return Ok(());
        };
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
        self.find(first.clone());
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
        match self.agent.facts().verified() {
            Some(version) => write!(f, "; verified with {version}")?,
            None => f.write_str("; experimental: not run")?,
        }
        if self.duplicate {
            f.write_str("; installed twice: uninstall one")?;
        }
        if let Some(problem) = &self.problem {
            write!(f, "; {problem}")?;
        }
        if let Some(Obstacle { what, todo }) = &self.obstacle {
            write!(f, "; {what}: {todo}")?;
        }
        if self.state == InstallState::Outdated {
            write!(f, "; run: {}", self.install_command())?;
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
    let text = file.before.as_ref();
    text.map_or_else(|| Ok(Vec::new()), |text| own_in(text, agent))
}

/// Our commands in the text of a file, each with its event.
fn own_in(text: &str, agent: Agent) -> Result<Vec<(String, OwnCommand)>, String> {
    match content(agent, &Invocation::anybody()) {
        Content::Merged(plan) => {
            let settings = Document::parse(text, reads_comments(agent))?;
            merge::find(value_of(&settings.top, "hooks").as_ref(), agent, plan.shape)
        }
        Content::Whole(_) => {
            let own =
                extension::command(text).and_then(|command| OwnCommand::parse(&command, agent));
            Ok(own.map(|own| (String::new(), own)).into_iter().collect())
        }
        Content::Tables(_) => tables::find(text, agent),
    }
}
