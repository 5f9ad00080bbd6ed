//! Whether hooks are installed, and as they should be.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::change::{Change, installing};
use super::file::SettingsFile;
use super::own::{Caller, Own};
use super::scheme::{Content, Scope, Shape, content, files};
use super::tree::Node;
use super::{merge, opencode};
use crate::agent::Agent;
use crate::env::Env;

/// How it stands in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing of ours.
    Absent,
    /// As this hubctl would install it.
    Installed,
    /// Otherwise: another version's, of a hubctl elsewhere, incomplete, or changed by hand.
    Outdated,
    /// The file cannot be read.
    Malformed,
}

/// What is found in one file.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) agent: &'static str,
    pub(super) scope: &'static str,
    pub(super) path: PathBuf,
    pub(super) state: State,
    /// The hubctl that is called.
    pub(super) hubctl: Option<String>,
    /// Whether the session is woken by itself.
    pub(super) rewake: bool,
    /// Whether an event has it twice in this file, or another file has it too: each hook would be told twice.
    pub(super) duplicate: bool,
    /// What is wrong.
    pub(super) problem: Option<String>,
}

/// How it stands in each file of `agent`.
pub(super) fn look(agent: Agent, env: &Env, workspace: &Path, program: &str) -> Vec<Found> {
    let paths = Scope::ALL
        .into_iter()
        .filter_map(|scope| Some((scope, files(agent).path(scope, env, workspace)?)));
    let mut all: Vec<Found> = paths
        .map(|(scope, path)| look_at(agent, scope, path, program))
        .collect();
    let several = all.iter().filter(|found| found.hubctl.is_some()).count() > 1;
    for found in &mut all {
        found.duplicate |= several && found.hubctl.is_some();
    }
    all
}

fn look_at(agent: Agent, scope: Scope, path: PathBuf, program: &str) -> Found {
    let mut found = Found {
        agent: agent.name(),
        scope: scope.name(),
        path,
        state: State::Absent,
        hubctl: None,
        rewake: false,
        duplicate: false,
        problem: None,
    };
    if let Err(problem) = found.fill(agent, program) {
        found.state = State::Malformed;
        found.problem = Some(problem);
    }
    found
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Installed => "installed",
            Self::Outdated => "outdated",
            Self::Malformed => "malformed",
        }
    }
}

impl Found {
    /// This, for a script.
    pub(super) fn json(&self) -> Value {
        json!({
            "agent": self.agent,
            "scope": self.scope,
            "path": self.path.display().to_string(),
            "state": self.state.name(),
            "hubctl": self.hubctl,
            "rewake": self.rewake,
            "duplicate": self.duplicate,
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
        let key = |(event, own): &(String, Own)| (event.clone(), own.rewake);
        self.duplicate = own
            .iter()
            .enumerate()
            .any(|(n, one)| own[..n].iter().any(|before| key(before) == key(one)));
        // As it was installed, but by this hubctl.
        let caller = Caller {
            variables: first.variables.clone(),
            program: program.to_owned(),
            rewake: self.rewake,
        };
        self.state = match installing(&file, agent, &caller)? {
            Change::None => State::Installed,
            _ => State::Outdated,
        };
        if !Path::new(&first.program).exists() {
            self.problem = Some(format!("{} does not exist", first.program));
        }
        Ok(())
    }
}

/// Our commands in a file, each with its event.
fn own(file: &SettingsFile, agent: Agent) -> Result<Vec<(String, Own)>, String> {
    let Some(text) = &file.before else {
        return Ok(Vec::new());
    };
    let nobody = Caller {
        variables: Vec::new(),
        program: String::new(),
        rewake: false,
    };
    match content(agent, &nobody) {
        Content::Merged(plan) => {
            let shape: Shape = plan.shape;
            merge::find(&mut Node::parse(text)?, agent, shape)
        }
        Content::Whole(_) => {
            let own = opencode::command(text).and_then(|command| Own::parse(&command, agent));
            Ok(own.map(|own| (String::new(), own)).into_iter().collect())
        }
    }
}
