//! One Claude Code with a model of its own.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use hub_harness::{Model, Pane, until, within};

use super::{Desk, installed};

/// A Claude Code before it starts.
pub(crate) struct Builder<'a> {
    desk: &'a Desk,
    model: Model,
    name: String,
    dir: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

/// A Claude Code in a terminal.
pub(crate) struct Claude {
    /// What it asks.
    pub(crate) model: Model,
    /// What it shows.
    pub(crate) pane: Pane,
}

impl<'a> Builder<'a> {
    pub(super) fn new(desk: &'a Desk, model: Model) -> Self {
        Self {
            desk,
            model,
            name: "claude".into(),
            dir: desk.project(),
            args: vec!["--permission-mode".into(), "default".into()],
            env: Vec::new(),
        }
    }

    /// The tmux session's name, where there are several.
    pub(crate) fn named(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// In another directory, which must be trusted.
    pub(crate) fn within(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = dir.into();
        self
    }

    /// With a further variable.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// With further arguments.
    pub(crate) fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|&arg| arg.into()));
        self
    }

    /// Starts it in a terminal, and waits until it is ready for a prompt.
    pub(crate) fn start(mut self) -> Claude {
        let mut command = vec![installed::claude().display().to_string()];
        command.append(&mut self.args);
        self.env
            .push(("ANTHROPIC_BASE_URL".into(), self.model.url()));
        let tmux = self.desk.tmux();
        let pane = tmux.start(&self.name, &self.dir, &self.env, &command);
        pane.until("Claude Code is ready", |shown| {
            shown.contains('❯') && shown.contains("manual mode on")
        });
        Claude {
            model: self.model,
            pane,
        }
    }

    /// Runs it for one prompt without a terminal; what it printed, and its model.
    pub(crate) fn headless(self, prompt: &str) -> (Output, Model) {
        let output = Command::new(installed::claude())
            .args(["-p", prompt])
            .args(&self.args)
            .current_dir(&self.dir)
            .env_clear()
            .envs(self.desk.env())
            .envs(self.env)
            .env("ANTHROPIC_BASE_URL", self.model.url())
            .stdin(Stdio::null())
            .output()
            .expect("Claude Code starts");
        (output, self.model)
    }
}

impl Claude {
    /// Types a prompt, or a command such as `/clear`, and sends it.
    pub(crate) fn say(&self, text: &str) {
        self.pane.type_in(text);
        self.pane.press(&["Enter"]);
    }

    /// Takes the first choice of a dialog that shows this text. A dialog ignores keys that come just when it appears, so
    /// Enter is pressed again as long as it stands there.
    pub(crate) fn confirm(&self, dialog: &str) {
        self.pane
            .until("there is a dialog", |it| it.contains(dialog));
        let gone = || self.pane.exit_code().is_some() || !self.pane.text().contains(dialog);
        until("the dialog is gone", || {
            self.pane.press(&["Enter"]);
            within(Duration::from_secs(2), || gone().then_some(()))
        });
    }

    /// Ends it, as a person would who lets its background tasks end too.
    pub(crate) fn exit(&self) {
        const DIALOG: &str = "Background work is running";
        self.say("/exit");
        let ends = || self.pane.exit_code().is_some();
        self.pane
            .until("it ends or asks", |it| ends() || it.contains(DIALOG));
        if !ends() {
            self.confirm(DIALOG);
        }
        self.pane.until_ended();
    }
}

impl Drop for Claude {
    /// A test that fails shows what a person would have seen.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the terminal:\n{}", self.pane.text().trim());
        }
    }
}
