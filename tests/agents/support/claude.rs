//! A Claude Code process with its own scripted model.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use hub_harness::model::Request;
use hub_harness::{Model, Pane, until, within};

use super::{Sandbox, installed};

/// Builds a Claude Code.
pub(crate) struct Builder<'a> {
    sandbox: &'a Sandbox,
    model: Model,
    name: String,
    dir: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

/// A Claude Code in a terminal.
pub(crate) struct Claude {
    /// The model that answers it.
    pub(crate) model: Model,
    /// The terminal that it runs in.
    pub(crate) pane: Pane,
}

impl<'a> Builder<'a> {
    pub(super) fn new(sandbox: &'a Sandbox, model: Model) -> Self {
        Self {
            sandbox,
            model,
            name: "claude".into(),
            dir: sandbox.project(),
            args: vec!["--permission-mode".into(), "default".into()],
            env: Vec::new(),
        }
    }

    /// Sets the tmux session's name, for tests with several.
    pub(crate) fn named(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the working directory, which must be trusted.
    pub(crate) fn within(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = dir.into();
        self
    }

    /// Adds an environment variable.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Adds arguments.
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
        let tmux = self.sandbox.tmux();
        let pane = tmux.start(&self.name, &self.dir, &self.env, &command);
        pane.until("Claude Code is ready", |shown| {
            shown.contains('❯') && shown.contains("manual mode on")
        });
        Claude {
            model: self.model,
            pane,
        }
    }

    /// Runs it headless for one prompt; returns its output and its model.
    pub(crate) fn headless(self, prompt: &str) -> (Output, Model) {
        let output = Command::new(installed::claude())
            .args(["-p", prompt])
            .args(&self.args)
            .current_dir(&self.dir)
            .env_clear()
            .envs(self.sandbox.env())
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
    pub(crate) fn submit(&self, text: &str) {
        self.pane.type_in(text);
        self.pane.press(&["Enter"]);
    }

    /// Waits for the first request with this new text, which must belong to a turn that a wake started.
    pub(crate) fn woken_by(&self, text: &str) -> Request {
        let request = self.model.until_received(text);
        let wakes = request.count_new("<task-notification>");
        assert!(wakes > 0, "{:?}", request.new_texts);
        request
    }

    /// Confirms the first choice of the dialog that shows this text. A dialog ignores keys in the moment when it
    /// appears, so Enter is pressed until the dialog has disappeared.
    pub(crate) fn confirm(&self, dialog: &str) {
        self.pane
            .until("there is a dialog", |it| it.contains(dialog));
        let gone = || self.pane.exit_code().is_some() || !self.pane.text().contains(dialog);
        until("the dialog is gone", || {
            self.pane.press(&["Enter"]);
            within(Duration::from_secs(2), || gone().then_some(()))
        });
    }

    /// Sends `/exit`, and confirms that background tasks end too.
    pub(crate) fn exit(&self) {
        const DIALOG: &str = "Background work is running";
        self.submit("/exit");
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
    /// Prints the terminal's content when the test fails.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the terminal:\n{}", self.pane.text().trim());
        }
    }
}
