//! A person's surroundings: a home directory, a project, terminals.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hub_harness::{Marker, Model, Tmux, until};
use serde_json::{Value, json};

use super::{Builder, Hooks};

/// The end of a key that no vendor gave out; the agent is told that the person has approved it.
const KEY: &str = "sk-ant-api03-test-0123456789abcdefghi";

/// A temporary directory with a home, a project that is trusted, and a tmux server. When it is dropped, whatever was
/// started in it is killed.
pub(crate) struct Desk {
    // The order is that of the end: terminals, then what is left, then the files.
    tmux: Tmux,
    marker: Marker,
    dir: tempfile::TempDir,
}

impl Desk {
    /// One with an empty project.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let marker = Marker::new(dir.path());
        let desk = Self {
            tmux: Tmux::new(dir.path(), surroundings(dir.path(), &marker)),
            marker,
            dir,
        };
        for name in ["home", "project", "tmp"] {
            std::fs::create_dir(desk.path(name)).expect("a directory");
        }
        desk.trust(&[&desk.project()]);
        desk
    }

    /// A path in the temporary directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let dir = self.dir.path().canonicalize().expect("a real path");
        dir.join(name)
    }

    /// The project's directory.
    pub(crate) fn project(&self) -> PathBuf {
        self.path("project")
    }

    /// The home directory.
    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// The terminals.
    pub(crate) fn tmux(&self) -> &Tmux {
        &self.tmux
    }

    /// What everything that is started here carries.
    pub(crate) fn marker(&self) -> &Marker {
        &self.marker
    }

    /// Waits until nothing of what was started here is left but the terminals.
    pub(crate) fn until_only_tmux(&self) {
        until("only tmux is left", || {
            let left = self.marker.processes();
            left.iter()
                .all(|it| it.command.starts_with("tmux "))
                .then_some(())
        });
    }

    /// The environment of a program that is started without tmux.
    pub(crate) fn env(&self) -> Vec<(String, String)> {
        surroundings(self.dir.path(), &self.marker)
    }

    /// Makes Claude Code go to work in these directories (and only these) without a question. To be called before it
    /// starts, since it writes this file too.
    pub(crate) fn trust(&self, dirs: &[&Path]) {
        let trusted = json!({"hasTrustDialogAccepted": true});
        let dirs = dirs.iter().map(|dir| dir.display().to_string());
        let projects: serde_json::Map<String, Value> =
            dirs.map(|dir| (dir, trusted.clone())).collect();
        let approved = &KEY[KEY.len() - 20..];
        let state = json!({
            "hasCompletedOnboarding": true,
            "customApiKeyResponses": {"approved": [approved], "rejected": []},
            "messageIdleNotifThresholdMs": 1000,
            "projects": projects,
        });
        self.write_home(".claude.json", &state.to_string());
    }

    /// Writes the project's settings for Claude Code.
    pub(crate) fn settings(&self, settings: &Value) {
        let dir = self.project().join(".claude");
        std::fs::create_dir_all(&dir).expect("a directory");
        std::fs::write(dir.join("settings.json"), settings.to_string()).expect("settings");
    }

    /// Hooks for these events, which only record.
    pub(crate) fn hooks(&self, events: &[&str]) -> Hooks {
        Hooks::install(self, events)
    }

    /// Writes a file in the home directory.
    pub(crate) fn write_home(&self, name: &str, text: &str) {
        let path = self.home().join(name);
        let dir = path.parent().expect("a directory");
        std::fs::create_dir_all(dir).expect("a directory");
        std::fs::write(path, text).expect("a file");
    }

    /// Runs a program in the project's directory to its end; what it printed.
    pub(crate) fn run(&self, program: &Path, args: &[&str], env: &[(&str, &str)]) -> String {
        let output = Command::new(program)
            .args(args)
            .current_dir(self.project())
            .env_clear()
            .envs(self.env())
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .output()
            .expect("it starts");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A Claude Code before it starts.
    pub(crate) fn claude(&self, model: Model) -> Builder<'_> {
        Builder::new(self, model)
    }
}

/// Nothing of the machine but its programs.
fn surroundings(dir: &Path, marker: &Marker) -> Vec<(String, String)> {
    let (mark, value) = marker.env();
    let hubctl = Path::new(env!("CARGO_BIN_EXE_hubctl"));
    let bin = hubctl.parent().expect("a directory").display();
    let path = std::env::var("PATH").unwrap_or_default();
    let dir = dir.canonicalize().expect("a real path");
    let home = dir.join("home").display().to_string();
    let tmp = dir.join("tmp").display().to_string();
    let pairs = [
        (mark, value.to_owned()),
        ("PATH", format!("{bin}:{path}")),
        ("HOME", home),
        ("TMPDIR", tmp.clone()),
        ("CLAUDE_CODE_TMPDIR", tmp),
        ("SHELL", "/bin/sh".into()),
        ("LANG", "C.UTF-8".into()),
        ("GIT_CONFIG_SYSTEM", "/dev/null".into()),
        ("ANTHROPIC_API_KEY", KEY.into()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
        ("DISABLE_AUTOUPDATER", "1".into()),
        ("DISABLE_TELEMETRY", "1".into()),
    ];
    let owned = pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    owned.collect()
}
