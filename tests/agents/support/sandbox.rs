//! A person's surroundings: a home directory, a project, terminals.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use hub_harness::model::{Reply, Request};
use hub_harness::{Marker, Tmux, until};
use serde_json::{Value, json};

use super::{Builder, Hooks, installed};

/// The end of an API key that no vendor issued. The agent's settings list it as approved by the person.
const KEY: &str = "sk-ant-api03-test-0123456789abcdefghi";

/// A temporary directory with a home, a trusted project and a tmux server. Dropping it kills every process that was
/// started in it.
pub(crate) struct Sandbox {
    // Fields are dropped in this order: terminals, other processes, files.
    tmux: Tmux,
    marker: Marker,
    dir: tempfile::TempDir,
}

impl Sandbox {
    /// Creates a sandbox with an empty project.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let marker = Marker::new(dir.path());
        let sandbox = Self {
            tmux: Tmux::new(dir.path(), surroundings(dir.path(), &marker)),
            marker,
            dir,
        };
        for name in ["home", "project", "tmp"] {
            std::fs::create_dir(sandbox.path(name)).expect("a directory");
        }
        sandbox.trust(&[&sandbox.project()]);
        sandbox
    }

    /// Returns a path in the temporary directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let dir = self.dir.path().canonicalize().expect("a real path");
        dir.join(name)
    }

    /// Returns the project's directory.
    pub(crate) fn project(&self) -> PathBuf {
        self.path("project")
    }

    /// Returns the home directory.
    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// Returns the tmux server.
    pub(crate) fn tmux(&self) -> &Tmux {
        &self.tmux
    }

    /// Returns the marker in the environment of every process of this sandbox.
    pub(crate) fn marker(&self) -> &Marker {
        &self.marker
    }

    /// Waits until tmux is the only process of this sandbox.
    pub(crate) fn until_only_tmux(&self) {
        until("only tmux is left", || {
            let mut left = self.marker.processes().into_iter();
            left.all(|it| it.command.starts_with("tmux ")).then_some(())
        });
    }

    /// Returns the environment of a program that is started without tmux.
    pub(crate) fn env(&self) -> Vec<(String, String)> {
        surroundings(self.dir.path(), &self.marker)
    }

    /// Makes Claude Code trust these directories, and no others, without a question. Call it before Claude Code starts,
    /// because Claude Code writes this file too.
    pub(crate) fn trust(&self, dirs: &[&Path]) {
        let trusted = json!({"hasTrustDialogAccepted": true});
        let trust = |dir: &&Path| (dir.display().to_string(), trusted.clone());
        let projects: serde_json::Map<String, Value> = dirs.iter().map(trust).collect();
        let approved = &KEY[KEY.len() - 20..];
        let state = json!({
            "hasCompletedOnboarding": true,
            "fullscreenUpsellSeenCount": 99,
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

    /// Creates recording hooks for these events, and installs them for Claude Code, which may run `echo`.
    pub(crate) fn hooks(&self, events: &[&str]) -> Hooks {
        self.hooks_allowing(events, "Bash(echo:*)")
    }

    /// Installs recording hooks, and allows other commands than `echo`, by a rule for Claude Code.
    pub(crate) fn hooks_allowing(&self, events: &[&str], allow: &'static str) -> Hooks {
        let mut hooks = Hooks::new(self, events, 30);
        hooks.allow = allow;
        self.settings(&hooks.settings());
        hooks
    }

    /// Writes a file in the home directory.
    pub(crate) fn write_home(&self, name: &str, text: &str) {
        let path = self.home().join(name);
        let dir = path.parent().expect("a directory");
        std::fs::create_dir_all(dir).expect("a directory");
        std::fs::write(path, text).expect("a file");
    }

    /// Runs a program in the project's directory; returns its stdout. Panics unless it exits 0.
    pub(crate) fn run(&self, program: &Path, args: &[&str], env: &[(&str, &str)]) -> String {
        let output = self.output(&self.project(), program, args, env);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs a program in a directory, with any exit code.
    pub(crate) fn output(
        &self,
        dir: &Path,
        program: &Path,
        args: &[&str],
        env: &[(&str, &str)],
    ) -> Output {
        let mut command = self.command(program, args);
        let command = command.current_dir(dir).envs(env.iter().copied());
        command.stdin(Stdio::null()).output().expect("it starts")
    }

    /// Returns a command in the project's directory.
    pub(crate) fn command(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.project());
        command.env_clear().envs(self.env());
        command
    }

    /// Returns a builder for a Claude Code whose model follows this script.
    pub(crate) fn claude(
        &self,
        script: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Builder<'_> {
        Builder::new(self, script)
    }
}

/// Returns an environment that takes only `PATH` from the machine.
fn surroundings(dir: &Path, marker: &Marker) -> Vec<(String, String)> {
    let (mark, value) = marker.env();
    let hubctl = Path::new(env!("CARGO_BIN_EXE_hubctl"));
    let bin = hubctl.parent().expect("a directory").display();
    let path = std::env::var("PATH").unwrap_or_default();
    let dir = dir.canonicalize().expect("a real path");
    let agents = installed::dir().join("node_modules/.bin");
    let path = format!("{bin}:{path}:{}", agents.display());
    let home = dir.join("home").display().to_string();
    let tmp = dir.join("tmp").display().to_string();
    let pairs = [
        (mark, value),
        ("PATH", &path),
        ("HOME", &home),
        ("TMPDIR", &tmp),
        ("CLAUDE_CODE_TMPDIR", &tmp),
        ("SHELL", "/bin/sh"),
        ("LANG", "C.UTF-8"),
        ("GIT_CONFIG_SYSTEM", "/dev/null"),
        ("ANTHROPIC_API_KEY", KEY),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("DISABLE_TELEMETRY", "1"),
    ];
    pairs
        .map(|(name, value)| (name.into(), value.into()))
        .into()
}
