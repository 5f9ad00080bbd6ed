//! `hubctl hooks`: installs and removes hooks in the settings of agents, and shows their state.

mod beside;
mod caller;
mod change;
mod extension;
mod file;
mod json;
mod merge;
mod obstacle;
mod own;
mod plugin;
mod receipt;
mod scheme;
mod status;
mod status_line;
mod tables;

use std::path::{Path, PathBuf};
use std::time::Instant;

use hub_agents::Agent;
use hub_protocol::InboxName;
use hub_protocol::git::{self, Repository};

use self::caller::{invocation, program};
use self::change::{Change, demand_valid, installing, uninstalling};
use self::file::SettingsFile;
use self::obstacle::Obstacle;
pub(super) use self::own::is_ours;
use self::own::{Invocation, OwnCommand};
use self::receipt::Receipts;
use self::scheme::{SettingsScope, left_to_do};
pub(super) use self::status::{HookStatus, InstallState};
use crate::arguments::agent;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::identity::Context;
use crate::output::text::{json_line, line};
use crate::output::{print, println};
use crate::settings::HubLocation;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Hooks report to the hub what an agent's sessions do, and deliver notifications to them. They are merged into the \
agent's settings: other settings stay unchanged, and settings/ in the state directory keeps a backup from before the \
last change. If the agent has permission rules for commands, the commands of the instructions are allowed: hubctl \
wait, notify, ask and answer.

Examples:
  hubctl hooks install claude
  hubctl hooks install claude --plugin
  hubctl hooks install claude --local --no-rewake
  hubctl hooks install claude --status-line
  hubctl hooks install codex --session worker-1 --dir ../worker-1 --state-dir /srv/hub
  hubctl hooks status
  hubctl hooks uninstall claude")]
/// The arguments of `hubctl hooks`.
pub(crate) struct HooksArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Install hooks
    #[command(after_help = "\
Examples:
  hubctl hooks install claude
  hubctl hooks install gemini --project --dry-run")]
    Install(InstallArgs),
    /// Remove hooks
    #[command(after_help = "\
Examples:
  hubctl hooks uninstall claude
  hubctl hooks uninstall codex --project --dir ../worker-1")]
    Uninstall(UninstallArgs),
    /// Show whether hooks are installed, where, and whether they are up to date
    #[command(after_help = "\
Examples:
  hubctl hooks status
  hubctl hooks status claude --json")]
    Status(HookStatusArgs),
    /// Print the hooks as they would be installed into empty settings
    #[command(after_help = "\
Examples:
  hubctl hooks print codex
  hubctl hooks print --plugin ./hub-plugin && claude --plugin-dir ./hub-plugin/plugins/hub")]
    Print(PrintArgs),
}

/// The settings file of an agent.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools)] // each a flag of its own
struct Target {
    /// The agent to connect
    #[arg(value_parser = agent::parser())]
    agent: Agent,
    /// In your own settings [default, unless --dir or --session is given]
    #[arg(long, conflicts_with_all = ["project", "local", "dir"])]
    user: bool,
    /// In the workspace's settings, which are usually committed
    #[arg(long, conflicts_with = "local")]
    project: bool,
    /// In your own settings for the workspace
    #[arg(long)]
    local: bool,
    /// The workspace [default: the current worktree]
    #[arg(long, value_name = "WORKSPACE")]
    dir: Option<PathBuf>,
    /// Print the changed file instead of writing it
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, clap::Args)]
struct InstallArgs {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    call: CallArgs,
    /// Install the plugin for Claude Code instead: the hooks, a module that wakes the session at once, the MCP server
    /// and `/hub`
    #[arg(long, conflicts_with_all = ["user", "project", "local", "dir", "dry_run", "session"])]
    plugin: bool,
    /// Show the sessions that need you in Claude Code's status line
    #[arg(long, conflicts_with = "plugin")]
    status_line: bool,
}

#[derive(Debug, clap::Args)]
struct UninstallArgs {
    #[command(flatten)]
    target: Target,
    /// Remove the plugin from Claude Code
    #[arg(long, conflicts_with_all = ["user", "project", "local", "dir", "dry_run"])]
    plugin: bool,
    /// Accepted as for install; all hooks of hubctl are removed
    #[arg(long, value_name = "ID", hide = true)]
    session: Option<InboxName>,
}

#[derive(Debug, clap::Args)]
struct PrintArgs {
    /// The agent
    #[arg(value_parser = agent::parser(), required_unless_present = "plugin")]
    agent: Option<Agent>,
    /// Write the plugin for Claude Code into this directory, which is a marketplace
    #[arg(long, value_name = "DIR", conflicts_with = "agent")]
    plugin: Option<PathBuf>,
    #[command(flatten)]
    call: CallArgs,
}

/// How hubctl is called; `--state-dir` belongs to it.
#[derive(Debug, clap::Args)]
struct CallArgs {
    /// The name of this workspace's sessions (`HUB_SESSION`)
    #[arg(long, value_name = "ID")]
    session: Option<InboxName>,
    /// Leave out the hooks that wake an idle session
    #[arg(long)]
    no_rewake: bool,
}

#[derive(Debug, clap::Args)]
struct HookStatusArgs {
    /// The agent [default: all of them]
    #[arg(value_parser = agent::parser())]
    agent: Option<Agent>,
    /// The workspace [default: the current worktree]
    #[arg(long, value_name = "WORKSPACE")]
    dir: Option<PathBuf>,
    /// Print the state as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(
    args: &HooksArgs,
    location: &HubLocation,
    context: &Context,
) -> Result<Exit, Error> {
    match &args.action {
        Action::Install(args) => install(args, location, context),
        Action::Uninstall(args) if args.plugin => {
            plugin::demand_claude(args.target.agent)?;
            plugin::uninstall(context).map(|()| Exit::DONE)
        }
        Action::Uninstall(args) => uninstall(&args.target, context),
        Action::Status(args) => status(args, context),
        Action::Print(args) => show(args, location, context),
    }
}

/// Whether the settings of Claude Code that apply in `workspace` have hooks of ours. Each hook of the plugin asks this.
pub(super) fn are_in_settings(context: &Context, workspace: &Path) -> bool {
    let path = |scope| scheme::path(Agent::Claude, scope, &context.env, workspace);
    let mut paths = SettingsScope::ALL.into_iter().filter_map(path);
    paths.any(|path| {
        let file = SettingsFile::read(&path);
        file.is_ok_and(|file| status::is_installed(&file, Agent::Claude).unwrap_or_default())
    })
}

/// The state of the hooks in each settings file of each agent.
pub(super) fn everywhere(context: &Context) -> Result<Vec<HookStatus>, Error> {
    let (workspace, program) = (workspace(None, context), program(context)?);
    Ok(look(&Agent::ALL, &workspace, &program, context))
}

/// The hooks of these agents: those in settings files, and those of the plugin.
fn look(agents: &[Agent], workspace: &Path, program: &str, context: &Context) -> Vec<HookStatus> {
    let of = |agent: &Agent| {
        let mut found = status::look(*agent, &context.env, workspace, program);
        found.extend(
            (*agent == Agent::Claude)
                .then(|| plugin::status(context, program))
                .flatten(),
        );
        found
    };
    agents.iter().flat_map(of).collect()
}

fn install(args: &InstallArgs, location: &HubLocation, context: &Context) -> Result<Exit, Error> {
    context.settings.demand_state_dir()?;
    let agent = args.target.agent;
    let mut invocation = invocation(&args.call, args.plugin, location, context)?;
    if args.status_line && agent != Agent::Claude {
        return Err(Error::Usage(format!(
            "{agent} has no setting for a status line"
        )));
    }
    invocation.status_line = args.status_line;
    if args.plugin {
        plugin::demand_claude(agent)?;
        plugin::install(&invocation, context)?;
        return say_obstacle(agent, &args.target, context);
    }
    let named = args.call.session.is_some();
    let (file, scope) = args.target.file(context, named)?;
    if let Some((path, own)) = beside::moved(agent, &file.path) {
        return moved(agent, &path, &own, &invocation);
    }
    let change =
        installing(&file, agent, &invocation).map_err(|what| refused(&file, agent, &what))?;
    let receipts = Receipts::of(&context.settings.state_dir.value);
    if !args.target.dry_run && change != Change::None {
        let noted = receipts.note(&file, agent);
        noted.map_err(|what| refused(&file, agent, &what))?;
    }
    let done = args
        .target
        .apply(&file, change, "hooks installed", &receipts)?;
    if done {
        for todo in left_to_do(agent, context, &file.path) {
            println(format_args!("left to do: {}", line(&todo)))?;
        }
    }
    let all = status::look(
        agent,
        &context.env,
        &args.target.workspace(context),
        &invocation.program,
    );
    for other in all
        .iter()
        .filter(|it| it.duplicate && it.scope != scope.name())
    {
        println(format_args!(
            "installed twice: also in {}; `hubctl hooks uninstall {agent} --{}` removes it there",
            line(&other.path.display().to_string()),
            other.scope
        ))?;
    }
    say_obstacle(agent, &args.target, context)
}

/// Says with which setting the agent does not run the hooks, if there is one.
fn say_obstacle(agent: Agent, target: &Target, context: &Context) -> Result<Exit, Error> {
    let obstacle = obstacle::look(agent, &context.env, &target.workspace(context));
    if let Some(Obstacle { what, todo }) = obstacle {
        println(format_args!("left to do: {}: {}", line(&what), line(&todo)))?;
    }
    Ok(Exit::DONE)
}

/// Our hooks that the person moved into the file beside stay there, if they call this hubctl.
fn moved(
    agent: Agent,
    path: &Path,
    own: &OwnCommand,
    invocation: &Invocation,
) -> Result<Exit, Error> {
    let path = path.display();
    if own.program != invocation.program {
        return Err(Error::Failed(anyhow::anyhow!(
            "{path} has hooks that call {}: remove them with `hubctl hooks uninstall {agent}`, and install again",
            own.program
        )));
    }
    println(format_args!(
        "{}: nothing to change: it has the hooks, and {} runs them",
        line(&path.to_string()),
        agent.facts().product
    ))?;
    Ok(Exit::DONE)
}

fn uninstall(target: &Target, context: &Context) -> Result<Exit, Error> {
    let (file, scope) = target.file(context, false)?;
    let agent = target.agent;
    let receipts = Receipts::of(&context.settings.state_dir.value);
    if let Some((path, _)) = beside::moved(agent, &file.path) {
        let file = target.read(scope, &path, context)?;
        let change = beside::leaving(agent, &file).map_err(|what| refused(&file, agent, &what))?;
        target.apply(&file, change, "hooks removed", &receipts)?;
    }
    let before = receipts.before(&file);
    let change =
        uninstalling(&file, agent, before.as_ref()).map_err(|what| refused(&file, agent, &what))?;
    if target.apply(&file, change, "hooks removed", &receipts)? {
        if before.is_none()
            && file
                .before
                .as_ref()
                .is_some_and(|text| text.contains("(hubctl "))
        {
            println(
                "left to do: it is not recorded whether the install added the rules for `hubctl …` commands; remove them by hand",
            )?;
        }
        receipts.forget(&file)?;
    }
    Ok(Exit::DONE)
}

fn status(args: &HookStatusArgs, context: &Context) -> Result<Exit, Error> {
    let agents: Vec<Agent> = args.agent.map_or(Agent::ALL.into(), |agent| vec![agent]);
    let workspace = workspace(args.dir.as_deref(), context);
    let program = program(context)?;
    let mut found = look(&agents, &workspace, &program, context);
    for one in &mut found {
        one.dir = args.dir.as_ref().map(|_| workspace.clone());
    }
    if args.json {
        let all: Vec<_> = found.iter().map(HookStatus::json).collect();
        println(json_line(&serde_json::json!({ "hooks": all }).to_string()))?;
        return Ok(Exit::DONE);
    }
    for one in &found {
        println(line(&one.to_string()))?;
    }
    Ok(Exit::DONE)
}

fn show(args: &PrintArgs, location: &HubLocation, context: &Context) -> Result<Exit, Error> {
    let invocation = invocation(&args.call, args.plugin.is_some(), location, context)?;
    if let Some(agent) = args.agent {
        print(&change::fresh(agent, &invocation))?;
    }
    if let Some(dir) = &args.plugin {
        plugin::write(&context.env.absolute(dir), &invocation)?;
    }
    Ok(Exit::DONE)
}

impl Target {
    fn workspace(&self, context: &Context) -> PathBuf {
        workspace(self.dir.as_deref(), context)
    }

    /// The settings file to change. Hooks that name one session belong to one workspace: they never go into the user's
    /// settings, and go into the workspace's local settings if the agent has such a file.
    fn file(&self, context: &Context, named: bool) -> Result<(SettingsFile, SettingsScope), Error> {
        let scope = match (self.project, self.local) {
            (true, _) => SettingsScope::Project,
            (_, true) => SettingsScope::Local,
            _ if self.user && named => {
                return Err(Error::Usage(
                    "--session names the sessions of one workspace, so it cannot be combined with --user".into(),
                ));
            }
            _ if self.dir.is_none() && !named => SettingsScope::User,
            _ if self.agent.settings().files.local.is_some() => SettingsScope::Local,
            _ => SettingsScope::Project,
        };
        let path = scheme::path(self.agent, scope, &context.env, &self.workspace(context));
        let path = path.ok_or_else(|| {
            Error::Usage(match scope {
                SettingsScope::User => "no home directory".into(),
                _ => format!("{} has no settings for --{}", self.agent, scope.name()),
            })
        })?;
        Ok((self.read(scope, &path, context)?, scope))
    }

    fn read(
        &self,
        scope: SettingsScope,
        path: &Path,
        context: &Context,
    ) -> anyhow::Result<SettingsFile> {
        match scope {
            SettingsScope::User => SettingsFile::read(path),
            _ => SettingsFile::read_within(&self.workspace(context), path),
        }
    }

    /// Applies the change, or prints it for --dry-run. Returns whether the file was changed.
    fn apply(
        &self,
        file: &SettingsFile,
        change: Change,
        done: &str,
        receipts: &Receipts,
    ) -> Result<bool, Error> {
        let path = file.path.display().to_string();
        let path = line(&path);
        match change {
            Change::None => println(format_args!("{path}: nothing to change"))?,
            Change::Text(text) if self.dry_run => {
                println(format_args!("{path} would become:"))?;
                print(&text)?;
            }
            Change::Gone if self.dry_run => println(format_args!("{path} would be removed"))?,
            Change::Text(text) => {
                receipts.back_up(file)?;
                file.replace(&text, |text| demand_valid(&file.path, self.agent, text))?;
                let backup = receipts.backup(file).display().to_string();
                match file.before {
                    Some(_) => println(format_args!(
                        "{path}: {done}; a copy of what it was before: {}",
                        line(&backup)
                    ))?,
                    None => println(format_args!("{path}: {done}"))?,
                }
                return Ok(true);
            }
            Change::Gone => {
                receipts.back_up(file)?;
                file.remove()?;
                println(format_args!("{path}: {done}"))?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The error for a settings file that hubctl cannot parse or change, with the next step for the person.
fn refused(file: &SettingsFile, agent: Agent, what: &str) -> Error {
    Error::Failed(anyhow::anyhow!(
        "{} {what}; it was not changed: repair it, or add by hand the hooks that `hubctl hooks print {agent}` shows",
        file.path.display()
    ))
}

fn workspace(dir: Option<&Path>, context: &Context) -> PathBuf {
    if let Some(dir) = dir {
        return context.env.absolute(dir);
    }
    let worktree = Repository::of(&context.env.cwd, Instant::now() + git::PATIENCE)
        .and_then(|found| found.worktree);
    worktree.unwrap_or_else(|| context.env.cwd.clone())
}
