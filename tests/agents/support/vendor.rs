//! An agent that a scripted model answers in Anthropic's format: how to install it and how to run it.

use std::path::{Path, PathBuf};

use hub_agents::Agent;
use hub_harness::model::{Reply, Request};
use hub_harness::{Model, Pane};
use serde_json::json;

use super::{InstalledHub, installed};

/// How to run an agent offline. `{URL}` stands for the model's URL, `PLATFORM` for npm's name of this platform.
pub(crate) struct Vendor {
    /// The agent.
    pub(crate) agent: Agent,
    /// The directory of its npm package in the directory of the agents.
    pub(crate) package: &'static str,
    /// Its program in that package.
    pub(crate) program: &'static str,
    /// Its settings file in the home directory, with the text.
    pub(crate) settings: (&'static str, &'static str),
    /// The npm package that it would download beside its settings at each start, while the test runs. Its plugins do without.
    pub(crate) downloads: Option<&'static str>,
    /// The text of that file with which it asks for a permission before it runs a command, if the other one does not.
    pub(crate) asking: &'static str,
    /// Its environment.
    pub(crate) env: &'static [(&'static str, &'static str)],
    /// The arguments that come before a single prompt.
    pub(crate) headless: &'static [&'static str],
    /// The arguments for a session in a terminal.
    pub(crate) interactive: &'static [&'static str],
    /// A text in the terminal that shows that it is ready for a prompt.
    pub(crate) ready: &'static str,
    /// A text of the dialog in which it asks for a permission.
    pub(crate) dialog: &'static str,
    /// The tools of its model.
    pub(crate) tools: Tools,
}

/// The tools of an agent's model, each with its input as JSON.
#[derive(Clone, Copy)]
pub(crate) struct Tools {
    /// The tool that runs a command.
    pub(crate) shell: &'static str,
    /// The tool that asks the person which database, with the options `postgres` and `sqlite`.
    pub(crate) asks: (&'static str, &'static str),
    /// The tool that writes the file `FILE`.
    pub(crate) writes: (&'static str, &'static str),
    /// The tool that gives a subagent the prompt `Go and look`.
    pub(crate) delegates: (&'static str, &'static str),
    /// The text that the model reads when the person denied a command: `not so, says the hub` if the agent passes it on.
    pub(crate) denied: &'static str,
    /// What it offers to allow always when it asks for `touch granted`.
    pub(crate) always: &'static str,
}

impl Tools {
    /// No tools.
    pub(crate) const NONE: Self = Self {
        shell: "",
        asks: ("", ""),
        writes: ("", ""),
        delegates: ("", ""),
        denied: "not so, says the hub",
        always: "",
    };
}

/// The dialogs in which Kimi Code and Copilot CLI ask whether to trust the directory; Enter trusts it.
const TRUST: [&str; 2] = ["Trust this folder?", "Confirm folder trust"];

/// A terminal with an agent, and the model that answers it.
pub(crate) struct Terminal {
    /// The model.
    pub(crate) model: Model,
    /// The terminal.
    pub(crate) pane: Pane,
}

impl Vendor {
    /// The agent with the settings in which it asks for permissions.
    pub(crate) fn asking(&self) -> Self {
        let (path, text) = self.settings;
        let asking = if self.asking.is_empty() {
            text
        } else {
            self.asking
        };
        Self {
            settings: (path, asking),
            ..*self
        }
    }

    /// The directory of the agent's package.
    pub(crate) fn package(&self) -> PathBuf {
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            other => other,
        };
        let platform = format!("{}-{architecture}", std::env::consts::OS);
        installed::dir().join(self.package.replace("PLATFORM", &platform))
    }

    /// Starts a model, writes the agent's settings for it, and installs the hub's hooks in them as a person does.
    pub(crate) fn install(
        &self,
        hub: &InstalledHub,
        script: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Model {
        let model = Model::start(script);
        let (path, text) = self.settings;
        hub.write_home(path, &text.replace("{URL}", &model.url()));
        if let (Some(package), Some((dir, _))) = (self.downloads, path.rsplit_once('/')) {
            let locked = json!({"packages": {"": {"dependencies": {package: "*"}}}});
            hub.write_home(&format!("{dir}/node_modules/.package-lock.json"), "{}");
            hub.write_home(&format!("{dir}/package-lock.json"), &locked.to_string());
        }
        let agent = self.agent.as_str();
        hub.hubctl(&["hooks", "install", agent]);
        let status = hub.hubctl(&["hooks", "status", agent]);
        let verified = format!(
            "verified with {}",
            self.agent.facts().verified().expect("a version")
        );
        let is_installed = |line: &str| {
            line.contains(" user ") && line.contains(" installed ") && line.contains(&verified)
        };
        assert!(status.lines().any(is_installed), "{status}");
        model
    }

    pub(crate) fn command(&self) -> Vec<String> {
        let program = self.package().join(self.program);
        assert!(
            program.exists(),
            "{} is missing: run tests/run",
            program.display()
        );
        let is_script = ["js", "mjs"].map(|it| program.extension().is_some_and(|is| is == it));
        let runner = is_script.contains(&true).then(|| "node".to_owned());
        runner
            .into_iter()
            .chain([program.display().to_string()])
            .collect()
    }

    pub(crate) fn env(&self, model: &Model) -> Vec<(String, String)> {
        let url = model.url();
        let pair = |(name, value): &(&str, &str)| ((*name).into(), value.replace("{URL}", &url));
        self.env.iter().map(pair).collect()
    }

    /// Runs the agent for one prompt, as the project's primary; returns its stdout.
    pub(crate) fn ask(&self, hub: &InstalledHub, model: &Model, prompt: &str) -> String {
        self.run(
            hub,
            &hub.project(),
            ("HUB_ROLE", "primary"),
            (model, prompt),
        )
    }

    /// Runs the agent for one prompt in a directory, as a worker of this session; returns its stdout.
    pub(crate) fn work(
        &self,
        hub: &InstalledHub,
        (dir, parent): (&Path, &str),
        asked: (&Model, &str),
    ) -> String {
        self.run(hub, dir, ("HUB_PARENT", parent), asked)
    }

    fn run(
        &self,
        hub: &InstalledHub,
        dir: &Path,
        (name, value): (&str, &str),
        (model, prompt): (&Model, &str),
    ) -> String {
        let mut command = self.command();
        command.extend(self.headless.iter().map(|&it| it.to_owned()));
        command.push(prompt.into());
        let mut env = self.env(model);
        env.push((name.into(), value.into()));
        let args: Vec<&str> = command[1..].iter().map(String::as_str).collect();
        let env: Vec<_> = env.iter().map(|(a, b)| (&**a, &**b)).collect();
        let output = hub.output(dir, command[0].as_ref(), &args, &env);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Starts the agent in a terminal, and waits until it is ready for a prompt.
    pub(crate) fn open(&self, hub: &InstalledHub, model: Model) -> Terminal {
        self.open_with(hub, model, &[])
    }

    /// Starts it as [`Vendor::open`] does, with more variables.
    pub(crate) fn open_with(
        &self,
        hub: &InstalledHub,
        model: Model,
        more: &[(&str, &str)],
    ) -> Terminal {
        let mut command = self.command();
        command.extend(self.interactive.iter().map(|&it| it.to_owned()));
        let (mut env, dir) = (self.env(&model), hub.project());
        env.extend(
            more.iter()
                .map(|&(name, value)| (name.into(), value.into())),
        );
        let pane = hub.tmux().start(self.agent.as_str(), &dir, &env, &command);
        let asks = |it: &str| TRUST.iter().any(|dialog| it.contains(dialog));
        let is_ready = |it: &str| it.contains(self.ready) && !asks(it);
        pane.until("it is ready or asks", |it| is_ready(it) || asks(it));
        if asks(&pane.text()) {
            pane.press_until("Enter", "the directory is trusted", |it| !asks(it));
        }
        pane.until("the agent is ready", is_ready);
        Terminal { model, pane }
    }
}

impl Terminal {
    /// Types a prompt and sends it.
    pub(crate) fn submit(&self, text: &str) {
        self.pane.type_in(text);
        let is_sent = |_: &str| !self.model.received(text).is_empty();
        self.pane
            .press_until("Enter", "the prompt is sent", is_sent);
    }
}

impl Drop for Terminal {
    /// Prints the terminal's content when the test fails.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the terminal:\n{}", self.pane.text().trim());
        }
    }
}
