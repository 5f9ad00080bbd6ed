//! The plugin for Claude Code: the hooks, a module that wakes the session, the command `/hub` and the MCP server. It is
//! written into a directory that is also a marketplace, so that Claude Code installs it without a network.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use hub_agents::{Agent, Content};
use serde_json::{Value, json};

use super::change;
use super::own::Invocation;
use super::scheme::{self, SettingsScope};
use super::status::HookStatus;
use crate::error::Error;
use crate::identity::Context;
use crate::output::println;
use crate::output::text::line;
use crate::system::shell::quoted;

/// The module, with `["hubctl"]` in place of the command.
const MODULE: &str = include_str!("plugin/hub.js");

const README: &str = include_str!("plugin/README.md");

/// The plugin's name in its marketplace, which has the same name.
const NAME: &str = "hub@hub";

/// The directory of the installed plugin in the state directory.
const DIRECTORY: &str = "claude-plugin";

/// Refuses other agents, because the plugin is for Claude Code.
pub(super) fn demand_claude(agent: Agent) -> Result<(), Error> {
    match agent {
        Agent::Claude => Ok(()),
        _ => Err(Error::Usage("--plugin is for claude".into())),
    }
}

/// Writes the plugin into `dir`, which Claude Code loads with `--plugin-dir DIR/plugins/hub`.
pub(super) fn write(dir: &Path, invocation: &Invocation) -> Result<(), Error> {
    for (path, text) in files(invocation) {
        let path = dir.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
        }
        fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// The plugin's files with their contents.
fn files(invocation: &Invocation) -> [(&'static str, String); 6] {
    let about = "Wakes sessions, delivers notifications and asks through the hub";
    let author = json!({ "name": "hub" });
    let marketplace = json!({
        "name": "hub",
        "description": about,
        "owner": author,
        "plugins": [{ "name": "hub", "source": "./plugins/hub", "description": about }],
    });
    let plugin = json!({
        "name": "hub",
        "version": env!("CARGO_PKG_VERSION"),
        "description": about,
        "author": author,
        "license": env!("CARGO_PKG_LICENSE"),
    });
    let settings = change::fresh(Agent::Claude, invocation);
    let mut hooks: Value = serde_json::from_str(&settings).unwrap_or_default();
    let hooks = json!({ "hooks": hooks["hooks"].take(), "modules": ["./hub.js"] });
    let mut words = invocation.words();
    words.push("mcp".into());
    let command = words.remove(0);
    let servers = json!({ "mcpServers": { "hub": { "command": command, "args": words } } });
    let module = MODULE.replace("[\"hubctl\"]", &Value::from(invocation.words()).to_string());
    [
        (".claude-plugin/marketplace.json", pretty(&marketplace)),
        ("plugins/hub/.claude-plugin/plugin.json", pretty(&plugin)),
        ("plugins/hub/hooks/hooks.json", pretty(&hooks)),
        ("plugins/hub/hooks/hub.js", module),
        ("plugins/hub/.mcp.json", pretty(&servers)),
        ("plugins/hub/README.md", README.into()),
    ]
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// Writes the plugin into the state directory, and lets Claude Code install it.
pub(super) fn install(invocation: &Invocation, context: &Context) -> Result<(), Error> {
    let dir = context.settings.state_dir.value.join(DIRECTORY);
    write(&dir, invocation)?;
    println(format_args!(
        "{}: plugin written",
        line(&dir.display().to_string())
    ))?;
    let dir = dir.display().to_string();
    for args in [
        &["plugin", "marketplace", "add", &dir],
        &["plugin", "install", NAME, "--scope=user"],
    ] {
        run_claude(args)?;
    }
    println("plugin installed in Claude Code")?;
    println(
        "left to do: restart the running sessions: Claude Code loads its plugins when it starts",
    )?;
    let Content::Json(settings) = &Agent::Claude.settings().content else {
        return Ok(());
    };
    let rules = settings.allow.rules.join("\", \"");
    println(format_args!(
        "left to do: a plugin cannot allow commands: in settings.json, permissions.allow: \"{rules}\""
    ))
}

/// The hooks of the plugin; `None` unless Claude Code has it. Beside hooks in settings they do nothing, so they are no second
/// install.
pub(super) fn status(context: &Context, program: &str) -> Option<HookStatus> {
    let dir = context.settings.state_dir.value.join(DIRECTORY);
    let hooks = dir.join("plugins/hub/hooks/hooks.json");
    let text = fs::read_to_string(&hooks).ok()?;
    let user = SettingsScope::User;
    let settings = scheme::path(Agent::Claude, user, &context.env, Path::new("."))?;
    let settings: Value = serde_json::from_str(&fs::read_to_string(settings).ok()?).ok()?;
    (settings["enabledPlugins"][NAME] == true).then(|| {
        HookStatus::of_plugin(hooks, &text, |own| {
            let invocation = Invocation {
                variables: own.variables.clone(),
                program: program.to_owned(),
                rewake: own.rewake,
                plugin: true,
                status_line: false,
            };
            files(&invocation).into_iter().any(|(_, new)| new == text)
        })
    })
}

/// Lets Claude Code remove the plugin, and deletes its files.
pub(super) fn uninstall(context: &Context) -> Result<(), Error> {
    run_claude(&["plugin", "uninstall", NAME])?;
    run_claude(&["plugin", "marketplace", "remove", "hub"])?;
    let dir = context.settings.state_dir.value.join(DIRECTORY);
    fs::remove_dir_all(&dir).with_context(|| dir.display().to_string())?;
    println("plugin removed from Claude Code")
}

/// Runs Claude Code's own command line. An error gives its output and the command to run by hand.
fn run_claude(args: &[&str]) -> Result<(), Error> {
    let done = Command::new("claude")
        .args(args)
        .stdin(Stdio::null())
        .output();
    let problem = match done {
        Ok(done) if done.status.success() => return Ok(()),
        Ok(done) => String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned(),
        Err(error) => format!("claude cannot be started ({error}): put it into PATH"),
    };
    let words: Vec<String> = args.iter().map(|it| quoted(it)).collect();
    Err(Error::Failed(anyhow::anyhow!(
        "`claude {}` failed: {}",
        words.join(" "),
        problem.trim()
    )))
}
