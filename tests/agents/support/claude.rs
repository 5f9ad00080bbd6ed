//! A Claude Code process with its own scripted model.

use std::path::PathBuf;
use std::process::Output;

use hub_harness::model::{Reply, Request};
use hub_harness::{Model, Pane};
use serde_json::json;

use super::{Sandbox, installed};

/// Builds a Claude Code.
pub(crate) struct Builder<'a> {
    sandbox: &'a Sandbox,
    model: Model,
    name: String,
    dir: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    in_shell: bool,
    /// The permission mode, and its name in the terminal.
    mode: (&'static str, &'static str),
}

/// Returns the call of a tool that asks the person for one of two colours.
pub(crate) fn colours() -> Reply {
    let options = json!([
        {"label": "Red", "description": "The red one"},
        {"label": "Blue", "description": "The blue one"},
    ]);
    let question = json!({
        "question": "Which colour?", "header": "Colour", "multiSelect": false, "options": options,
    });
    Reply::tool("AskUserQuestion", json!({"questions": [question]}))
}

/// A Claude Code in a terminal.
pub(crate) struct Claude {
    /// The model that answers it.
    pub(crate) model: Model,
    /// The terminal that it runs in.
    pub(crate) pane: Pane,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        sandbox: &'a Sandbox,
        script: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self {
            sandbox,
            model: Model::start(script),
            name: "claude".into(),
            dir: sandbox.project(),
            args: Vec::new(),
            env: Vec::new(),
            in_shell: false,
            mode: ("default", "manual mode on"),
        }
    }

    /// Starts it from a shell in its terminal, as a person does.
    pub(crate) fn in_shell(mut self) -> Self {
        self.in_shell = true;
        self
    }

    /// Sets the permission mode in which it starts, and the mode's name in the terminal.
    pub(crate) fn mode(mut self, name: &'static str, shown: &'static str) -> Self {
        self.mode = (name, shown);
        self
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
        let (mode, shown_mode) = self.mode;
        let program = installed::claude().display().to_string();
        let mut command = vec![program, "--permission-mode".into(), mode.into()];
        command.append(&mut self.args);
        let (model, sandbox) = (self.model, self.sandbox);
        self.env.push(("ANTHROPIC_BASE_URL".into(), model.url()));
        let tmux = sandbox.tmux();
        let pane = if self.in_shell {
            let shell = ["bash", "--norc"].map(str::to_owned);
            let pane = tmux.start(&self.name, &self.dir, &self.env, &shell);
            pane.until("the shell is ready", |it| {
                it.contains('$') || it.contains('#')
            });
            pane.type_in(&command.join(" "));
            pane.press(&["Enter"]);
            pane
        } else {
            tmux.start(&self.name, &self.dir, &self.env, &command)
        };
        let is_ready = |shown: &str| shown.contains('❯') && shown.contains(shown_mode);
        pane.until("Claude Code is ready", is_ready);
        Claude { model, pane }
    }

    /// Runs it headless for one prompt; returns its output and its model.
    pub(crate) fn headless(self, prompt: &str) -> (Output, Model) {
        let mut args = vec!["--permission-mode", self.mode.0, "-p", prompt];
        args.extend(self.args.iter().map(String::as_str));
        let url = self.model.url();
        let mut env = vec![("ANTHROPIC_BASE_URL", url.as_str())];
        env.extend(self.env.iter().map(|(name, value)| (&**name, &**value)));
        let output = self
            .sandbox
            .output(&self.dir, &installed::claude(), &args, &env);
        (output, self.model)
    }
}

impl Claude {
    /// Types a prompt, or a command such as `/clear`, and sends it. Claude Code can have left a command in its input that it
    /// has run.
    pub(crate) fn submit(&self, text: &str) {
        self.pane.type_at("❯", text);
        self.pane.press(&["Enter"]);
    }

    /// Waits until the terminal shows a text.
    pub(crate) fn until_shown(&self, text: &str) {
        self.pane
            .until(&format!("{text:?} is shown"), |it| it.contains(text));
    }

    /// Waits for the first request with this new text, which must belong to a turn that a wake started.
    pub(crate) fn woken_by(&self, text: &str) -> Request {
        let request = self.model.until_received(text);
        let wakes = request.count_new("<task-notification>");
        assert!(wakes > 0, "{:?}", request.new_texts);
        request
    }

    /// Confirms the first choice of the dialog that shows this text.
    pub(crate) fn confirm(&self, dialog: &str) {
        self.press_away("Enter", dialog);
    }

    /// Presses a key until the dialog that shows this text, or the program, has ended.
    pub(crate) fn press_away(&self, key: &str, dialog: &str) {
        self.until_shown(dialog);
        let is_gone = |shown: &str| !shown.contains(dialog) || self.pane.exit_code().is_some();
        self.pane.press_until(key, "the dialog is gone", is_gone);
    }

    /// Sends `/exit`, and confirms that background tasks end too.
    pub(crate) fn exit(&self) {
        const DIALOG: &str = "Background work is running";
        self.submit("/exit");
        let ends = || self.pane.exit_code().is_some();
        let asks = |it: &str| it.contains(DIALOG);
        self.pane.until("it ends or asks", |it| ends() || asks(it));
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
