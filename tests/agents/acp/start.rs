//! How each agent is started by the protocol, offline.

use hub_harness::model::{Reply, Request, rules};
use hub_harness::{Model, Program};
use serde_json::{Map, json};

use crate::each::PI;
use crate::support::{InstalledHub, Vendor, installed};

/// The model of an agent, its command and its environment.
pub(super) type Started = (Model, Vec<String>, Vec<(String, String)>);

/// How an agent is started by the protocol.
pub(super) struct Agent {
    /// The name of its row: the agent's, with the number of its version.
    pub(super) row: &'static str,
    /// Whether it asks before it runs a command.
    pub(super) asks: bool,
    /// More arguments of `hubctl acp run`.
    pub(super) more: &'static [&'static str],
    /// Writes its settings and installs its hooks; returns the model, the command and the environment.
    pub(super) start: fn(&InstalledHub) -> Started,
}

/// The model's reply to each prompt of the test: it makes a file, also in the turn that is cancelled.
fn script(
    hub: &InstalledHub,
    shell: &'static str,
) -> impl Fn(&Request) -> Reply + Send + Sync + use<> {
    let dir = hub.project();
    let make = |file: &str, more: &str| match shell {
        // Gemini denies commands to a model whose person is not at its own terminal, and asks for files.
        "write_file" => Reply::tool(
            shell,
            json!({"file_path": dir.join(file), "content": "a fig"}),
        ),
        // Codex asks only for what leaves its sandbox.
        "exec_command" => Reply::tool(
            shell,
            json!({"cmd": format!("touch {file}{more}"), "sandbox_permissions": "require_escalated", "justification": "May I?"}),
        ),
        _ => Reply::tool(
            shell,
            json!({"command": format!("touch {file}{more}"), "description": "Do it"}),
        ),
    };
    rules([
        ("Which fruit?", Reply::text("A scripted fig.")),
        ("And then?", Reply::text("Then a plum.")),
        ("Make the file", make("granted", "")),
        // First, because an agent may have kept nothing of the cancelled turn but its prompt, and send both.
        ("Wake up", Reply::text("I am awake.")),
        ("Sleep now", make("runs", "; sleep 100")),
    ])
}

/// An agent that the other tests run too.
pub(super) fn vendor(vendor: &Vendor, hub: &InstalledHub, args: &[&str]) -> Started {
    let vendor = vendor.asking();
    let model = vendor.install(hub, script(hub, vendor.tools.shell));
    let mut command = vendor.command();
    command.extend(args.iter().map(ToString::to_string));
    let env = vendor.env(&model);
    (model, command, env)
}

/// An agent that npm links under the name by which the hub knows it.
pub(super) fn by_link(agent: &Vendor, hub: &InstalledHub, name: &str, arg: &str) -> Started {
    let (model, _, env) = vendor(agent, hub, &[]);
    (model, [linked(name), vec![arg.to_owned()]].concat(), env)
}

fn linked(name: &str) -> Vec<String> {
    vec![installed::linked(name).display().to_string()]
}

fn pairs<const N: usize>(pairs: [(&str, String); N]) -> Vec<(String, String)> {
    pairs.map(|(name, value)| (name.to_owned(), value)).into()
}

pub(super) fn claude_code(hub: &InstalledHub) -> Started {
    hub.hubctl(&["hooks", "install", "claude"]);
    claude_without_hooks(script(hub, "Bash"))
}

/// Claude Code with a model that follows this script.
pub(super) fn claude_without_hooks(
    script: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> Started {
    let model = Model::start(script);
    let program = installed::claude().display().to_string();
    let env = pairs([
        ("ANTHROPIC_BASE_URL", model.url()),
        ("CLAUDE_CODE_EXECUTABLE", program),
    ]);
    (model, linked("claude-agent-acp"), env)
}

pub(super) fn codex_cli(hub: &InstalledHub) -> Started {
    hub.hubctl(&["hooks", "install", "codex"]);
    codex_without_hooks(hub, script(hub, "exec_command"))
}

/// Codex with a model that follows this script.
pub(super) fn codex_without_hooks(
    hub: &InstalledHub,
    script: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> Started {
    let model = Model::start(script);
    hub.codex_settings(&model);
    let program = installed::linked("codex").display().to_string();
    let env = pairs([("SCRIPTED_KEY", "x".into()), ("CODEX_PATH", program)]);
    (model, linked("codex-acp"), env)
}

pub(super) fn gemini_cli(hub: &InstalledHub) -> Started {
    let model = Model::start(script(hub, "write_file"));
    hub.gemini_settings(&Map::new());
    hub.hubctl(&["hooks", "install", "gemini"]);
    let env = pairs([
        ("GEMINI_API_KEY", "x".into()),
        ("GOOGLE_GEMINI_BASE_URL", model.url()),
        ("GEMINI_MODEL", "gemini-2.5-pro".into()),
    ]);
    let mut command = linked("gemini");
    command.extend(["--acp", "--skip-trust"].map(str::to_owned));
    (model, command, env)
}

pub(super) fn pi_adapter(hub: &InstalledHub) -> Started {
    let model = PI.install(hub, script(hub, "bash"));
    let program = hub.path("pi");
    let text = format!(
        "#!/bin/sh\nexec {} --model anthropic/claude-sonnet-4-5 \"$@\"\n",
        PI.command().join(" ")
    );
    std::fs::write(&program, text).expect("a file");
    hub.run(
        "chmod".as_ref(),
        &["+x", &program.display().to_string()],
        &[],
    );
    let mut env = PI.env(&model);
    env.extend(pairs([(
        "PI_ACP_PI_COMMAND",
        program.display().to_string(),
    )]));
    (model, linked("pi-acp"), env)
}

/// A model that tells what it received when the test fails.
pub(super) struct Shown(pub(super) Model);

impl Drop for Shown {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for request in self.0.requests() {
                let last = request.new_texts.last().map_or("", String::as_str);
                eprintln!(
                    "the model received: {}",
                    hub_protocol::first_chars(last, 200)
                );
            }
        }
    }
}

/// Starts the agent as session fig, with more arguments of `hubctl acp run`.
pub(super) fn run(
    hub: &InstalledHub,
    more: &[&str],
    command: &[String],
    env: Vec<(String, String)>,
) -> Program {
    let mut words = vec!["acp", "run", "--name", "fig"];
    words.extend(more);
    words.push("--");
    words.extend(command.iter().map(String::as_str));
    let program = start(hub, &words, env);
    program.until(" is session fig");
    program
}

/// Starts `hubctl` with these arguments and variables.
pub(super) fn start(hub: &InstalledHub, words: &[&str], env: Vec<(String, String)>) -> Program {
    let hubctl = std::path::Path::new(env!("CARGO_BIN_EXE_hubctl"));
    let mut run = hub.command(hubctl, words);
    run.envs(env);
    Program::start(run)
}
