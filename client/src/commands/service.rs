//! `hubctl service`: makes the hub a service of this user, which starts at login and after a crash.

mod launchd;
mod systemd;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use super::down::held_lock;
use super::up::hubd;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::identity::Context;
use crate::output::{println, say};

pub(super) use systemd::runs as is_service;
pub use systemd::{packaged_units, unit_word};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
On Linux it is a systemd user unit with socket activation, on macOS a launchd agent.

Examples:
  hubctl service install
  hubctl service logs -- --follow")]
/// The arguments of `hubctl service`.
pub(crate) struct ServiceArgs {
    #[command(subcommand)]
    action: ServiceAction,
}

#[derive(Debug, clap::Subcommand)]
enum ServiceAction {
    /// Install the service and start it; after an upgrade, restart it
    Install,
    /// Stop the service and remove it; what the hub has stored stays
    Uninstall,
    /// Show the state of the service
    Status,
    /// Show the log of the service
    Logs {
        /// Further arguments of journalctl, or of tail on macOS
        #[arg(last = true)]
        options: Vec<String>,
    },
}

/// The hub that the service runs.
struct Place {
    hubd: PathBuf,
    state_dir: PathBuf,
    config: Option<PathBuf>,
    /// The value of its setting `listen`.
    listen: String,
}

/// A service in the terms of its manager: files to write, and commands to run.
struct Service {
    files: Vec<(PathBuf, String)>,
    start: Vec<Vec<String>>,
    stop: Vec<Vec<String>>,
    /// Questions to the manager: whether it starts or runs the hub, from files of a package too.
    is_used: Vec<Vec<String>>,
    forget: Vec<Vec<String>>,
    status: Vec<String>,
    logs: Vec<String>,
    hint: &'static str,
}

pub(crate) fn run(args: &ServiceArgs, context: &Context) -> Result<Exit, Error> {
    let place = Place::of(context)?;
    let service = if cfg!(target_os = "macos") {
        launchd::service(&place, context)?
    } else {
        systemd::service(&place, context)?
    };
    match &args.action {
        ServiceAction::Install => service.install(&place)?,
        ServiceAction::Uninstall => service.uninstall(&place)?,
        ServiceAction::Status => return execute(&service.status),
        ServiceAction::Logs { options } => return execute(&[&service.logs[..], options].concat()),
    }
    Ok(Exit::DONE)
}

impl Place {
    fn of(context: &Context) -> Result<Self, Error> {
        let hubd = hubd()?;
        let state_dir = context.env.absolute(&context.settings.state_dir.value);
        let config = context.env.path("HUB_CONFIG");
        let config = config.map(|file| context.env.absolute(&file));
        // hubd knows its own settings, from whichever file they come.
        let shown = Command::new(&hubd).arg("--print-config").output();
        let shown = shown.with_context(|| hubd.display().to_string())?;
        if !shown.status.success() {
            let reason = String::from_utf8_lossy(&shown.stderr);
            return Err(anyhow::anyhow!("{}", reason.trim()).into());
        }
        let shown = String::from_utf8_lossy(&shown.stdout);
        let listen = shown.lines().find_map(|it| it.strip_prefix("listen = \""));
        let listen = listen.and_then(|it| it.split('"').next());
        Ok(Self {
            listen: listen.context("hubd shows no setting 'listen'")?.into(),
            hubd,
            state_dir,
            config,
        })
    }

    /// The command line of hubd.
    fn command(&self) -> anyhow::Result<Vec<&str>> {
        let mut words = vec![text(&self.hubd)?, "--state-dir", text(&self.state_dir)?];
        if let Some(config) = &self.config {
            words.extend(["--config", text(config)?]);
        }
        Ok(words)
    }
}

impl Service {
    fn install(&self, place: &Place) -> Result<(), Error> {
        if held_lock(&place.state_dir)?.is_some() && !is_service(&place.state_dir) {
            return Err(anyhow::anyhow!(
                "a hub runs in {} that is not the service: stop it first with `hubctl down`",
                place.state_dir.display()
            )
            .into());
        }
        let is_new = !self.is_installed();
        let started = self
            .write()
            .and_then(|()| self.start.iter().try_for_each(|it| succeed(it)));
        if let Err(error) = started {
            if is_new {
                let _ = self.remove();
            }
            say(
                "the service manager of this login does not start it: `hubctl up` starts the hub without one",
            );
            return Err(error);
        }
        println(format_args!(
            "the service hubd runs in {}",
            place.state_dir.display()
        ))?;
        say(self.hint);
        Ok(())
    }

    fn is_installed(&self) -> bool {
        self.files.iter().any(|(path, _)| path.exists())
    }

    fn write(&self) -> Result<(), Error> {
        for (path, text) in &self.files {
            fs::create_dir_all(parent(path)).with_context(|| path.display().to_string())?;
            fs::write(path, text).with_context(|| path.display().to_string())?;
            println(format_args!("wrote {}", path.display()))?;
        }
        Ok(())
    }

    fn uninstall(&self, place: &Place) -> Result<(), Error> {
        let is_own = self.is_installed();
        if !is_own && !self.is_used.iter().any(|it| holds(it)) {
            return println("no service is installed");
        }
        self.stop.iter().try_for_each(|it| succeed(it))?;
        if !is_own {
            println("stopped and disabled the service, whose files a package has installed")?;
        }
        self.remove()?;
        self.forget.iter().try_for_each(|it| succeed(it))?;
        println(format_args!(
            "the notifications stay in {}",
            place.state_dir.display()
        ))
    }

    fn remove(&self) -> Result<(), Error> {
        for (path, _) in &self.files {
            if path.exists() {
                fs::remove_file(path).with_context(|| path.display().to_string())?;
                println(format_args!("removed {}", path.display()))?;
            }
            // Directories with other files stay, because they are not empty.
            let _ =
                fs::remove_dir(parent(path)).and_then(|()| fs::remove_dir(parent(parent(path))));
        }
        Ok(())
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// Runs a command of the service manager, which must succeed.
fn succeed(words: &[String]) -> Result<(), Error> {
    match execute(words)? {
        Exit::DONE => Ok(()),
        _ => Err(anyhow::anyhow!("`{}` failed", words.join(" ")).into()),
    }
}

/// Runs a command with the terminal of this one.
fn execute(words: &[String]) -> Result<Exit, Error> {
    let status = Command::new(&words[0]).args(&words[1..]).status();
    let status = status.with_context(|| format!("cannot run {}", words[0]))?;
    Ok(if status.success() {
        Exit::DONE
    } else {
        Exit::REFUSED
    })
}

/// Whether the service manager affirms a question, without its words.
fn holds(words: &[String]) -> bool {
    let answer = Command::new(&words[0]).args(&words[1..]).output();
    answer.is_ok_and(|it| it.status.success())
}

fn words(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}

/// A path for a file of the service manager, which has a syntax of its own.
fn text(path: &Path) -> anyhow::Result<&str> {
    let text = path.to_str().filter(|it| !it.contains(char::is_control));
    text.with_context(|| format!("the path {} cannot be used in a service", path.display()))
}
