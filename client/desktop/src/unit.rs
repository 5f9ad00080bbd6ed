//! The unit of the systemd user manager.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;
use hubctl::{Connection, Error, HubLocation, unit_word};

use crate::output::say;

const UNIT: &str = include_str!("../hub-desktop.service");
const NAME: &str = "hub-desktop.service";

/// The unit of a package: its name and text, for a program in /usr/bin and the default settings.
pub fn packaged_unit() -> (&'static str, String) {
    (NAME, UNIT.replace("@HUB_DESKTOP@", "/usr/bin/hub-desktop"))
}

/// Writes the unit for this program and this hub, and starts it in a graphical session.
pub(crate) fn install(location: &HubLocation) -> Result<(), Error> {
    let program = std::env::current_exe()?;
    let words = [
        vec![program.into_os_string()],
        Connection::open(location)?.flags(),
    ]
    .concat();
    let words = words.iter().map(|word| {
        let word = word.to_str().filter(|it| !it.contains(char::is_control));
        word.map(unit_word)
            .context("a path cannot be used in a unit")
    });
    let words = words.collect::<anyhow::Result<Vec<_>>>()?;
    let path = path()?;
    fs::create_dir_all(path.parent().unwrap_or(&path))?;
    fs::write(&path, UNIT.replace("@HUB_DESKTOP@", &words.join(" ")))?;
    say(format_args!("wrote {}", path.display()));
    systemctl(&["daemon-reload"])?;
    systemctl(&["enable", "--quiet", NAME])?;
    systemctl(&["restart", NAME])
}

/// Stops the unit and removes it.
pub(crate) fn uninstall() -> Result<(), Error> {
    let path = path()?;
    if !path.exists() {
        say("no unit is installed");
        return Ok(());
    }
    systemctl(&["disable", "--quiet", "--now", NAME])?;
    fs::remove_file(&path)?;
    say(format_args!("removed {}", path.display()));
    systemctl(&["daemon-reload"])
}

fn path() -> anyhow::Result<PathBuf> {
    let config = |name: &str| {
        std::env::var_os(name)
            .filter(|it| !it.is_empty())
            .map(PathBuf::from)
    };
    let config = config("XDG_CONFIG_HOME").or_else(|| Some(config("HOME")?.join(".config")));
    Ok(config
        .context("HOME is not set")?
        .join("systemd/user")
        .join(NAME))
}

fn systemctl(args: &[&str]) -> Result<(), Error> {
    let status = Command::new("systemctl").arg("--user").args(args).status();
    let status = status.context("cannot run systemctl")?;
    if status.success() {
        return Ok(());
    }
    Err(anyhow::anyhow!("`systemctl --user {}` failed", args.join(" ")).into())
}
