//! `hubctl dashboard`: open the dashboard in a browser, signed in.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path as FilePath, PathBuf};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use super::up::detach;
use crate::env::Env;
use crate::error::{Error, Exit};
use crate::here::Here;
use crate::hub::{Hub, Path, Request};
use crate::out::{println, say};
use crate::process::host;
use crate::settings::{Address, HubUrl};
use crate::text::{json_line, line};

/// A launcher that has not failed by now has a browser: some run until it is closed.
const LAUNCH: Duration = Duration::from_secs(2);
/// How often to look whether the launcher has ended.
const LOOK: Duration = Duration::from_millis(20);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The link signs in one browser, once, within 30 seconds; a session lasts 12 hours. Where there is no browser the link is
printed. To a hub on another machine, forward its port under the same number (ssh -L 4782:127.0.0.1:4782 HOST), run
`hubctl dashboard --print` there, and open the link here.

Examples:
  hubctl dashboard
  hubctl dashboard --print
  ssh -t -L 4782:127.0.0.1:4782 mill 'hubctl dashboard --print; exec $SHELL'")]
/// How.
pub(crate) struct Args {
    /// Print the link, and open nothing
    #[arg(long)]
    print: bool,
    /// Print the link and what was done as JSON
    #[arg(long)]
    json: bool,
}

/// What the hub says to a wish for a code.
#[derive(Deserialize)]
struct Made {
    code: String,
    url: String,
    expires_at: String,
}

/// The dashboard, and the link that signs in there.
struct Link {
    base: HubUrl,
    url: String,
}

/// Why no browser was opened.
#[derive(Debug, PartialEq, Eq)]
enum NotOpened {
    Asked,
    Ssh,
    NoScreen,
    NoLauncher,
    /// The hub's address leads to something else from here.
    Elsewhere,
    Failed(String),
}

pub(crate) async fn run(args: &Args, here: &Here) -> Result<Exit, Error> {
    let hub = here.hub()?;
    let wish = Request::new(Method::POST, Path::new("/login/code"));
    let made: Made = hub.json(&wish).await?;
    let link = Link::of(&made, &here.settings.address.value)?;
    let opened = if args.print {
        Err(NotOpened::Asked)
    } else {
        open(&link, &hub, &here.env).await
    };
    if args.json {
        let shown = json!({
            "url": link.url,
            "expires_at": made.expires_at,
            "opened": opened.is_ok(),
        });
        println(json_line(&shown.to_string()))?;
    } else if opened.is_err() {
        println(&link.url)?;
    }
    match opened {
        Ok(launcher) => say(format_args!(
            "opened {} with {}; if no page comes up: hubctl dashboard --print",
            link.base.base,
            launcher.display()
        )),
        Err(why) => why.tell(&link.base.authority),
    }
    Ok(Exit::DONE)
}

impl Link {
    /// Over TCP the hub is where it was reached, whatever it calls itself.
    fn of(made: &Made, address: &Address) -> Result<Self, Error> {
        let base: HubUrl = match address {
            Address::Url(url) => url.clone(),
            Address::Socket(_) => {
                let (base, _) = made.url.split_once("/#").unwrap_or_default();
                base.parse()
                    .map_err(|_| anyhow::anyhow!("the hub's link is none: {}", line(&made.url)))?
            }
        };
        let url = format!("{}/#code={}", base.base, line(&made.code));
        Ok(Self { base, url })
    }
}

async fn open(link: &Link, hub: &Hub, env: &Env) -> Result<PathBuf, NotOpened> {
    let launcher = launcher(env)?;
    // Whoever listens there would be given the code.
    if !hub.is_at(&link.base).await {
        return Err(NotOpened::Elsewhere);
    }
    match launch(&launcher, &link.url).await {
        Ok(()) => Ok(launcher),
        Err(error) => Err(NotOpened::Failed(format!("{error:#}"))),
    }
}

/// What opens a link on this machine, for whoever sits in front of it.
fn launcher(env: &Env) -> Result<PathBuf, NotOpened> {
    let has = |name| env.var(name).is_some();
    if has("SSH_CONNECTION") {
        return Err(NotOpened::Ssh);
    }
    let screen = has("DISPLAY") || has("WAYLAND_DISPLAY");
    // In Windows' Linux the browser is Windows', and needs no display here. Elsewhere `open` is another program.
    let names: &[&str] = match (cfg!(target_os = "macos"), screen) {
        (true, _) => &["open"],
        (false, true) => &["xdg-open", "wslview"],
        (false, false) => &["wslview"],
    };
    let found = names.iter().find_map(|name| on_path(env, name));
    found.ok_or(if screen || cfg!(target_os = "macos") {
        NotOpened::NoLauncher
    } else {
        NotOpened::NoScreen
    })
}

fn on_path(env: &Env, name: &str) -> Option<PathBuf> {
    let runs = |path: &PathBuf| {
        let meta = std::fs::metadata(path);
        meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(env.var("PATH")?)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(runs)
}

/// Starts the browser apart from this process, and sees whether that fails.
async fn launch(launcher: &FilePath, url: &str) -> anyhow::Result<()> {
    let nowhere = OpenOptions::new().write(true).open("/dev/null")?;
    let mut child = detach::start(launcher, &[OsString::from(url)], &nowhere)?;
    let enough = Instant::now() + LAUNCH;
    while Instant::now() < enough {
        if let Some(status) = child.try_wait()? {
            anyhow::ensure!(status.success(), "{} failed: {status}", launcher.display());
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

impl NotOpened {
    /// Says on stderr why the link is printed, and what to do with it.
    fn tell(&self, authority: &str) {
        let port = authority.rsplit_once(':').map_or("80", |(_, port)| port);
        let forward = format!("ssh -L {port}:127.0.0.1:{port}");
        match self {
            Self::Asked => {}
            Self::Ssh => say(format_args!(
                "this shell came by ssh: on your own machine run {forward} {}, then this again, and open the link there",
                host()
            )),
            Self::NoScreen => say("no browser here: neither DISPLAY nor WAYLAND_DISPLAY is set"),
            Self::NoLauncher => say("no browser here: no xdg-open, open or wslview on PATH"),
            Self::Elsewhere => say(format_args!(
                "http://{authority} does not lead to that hub from here: run {forward} HOST, then this again"
            )),
            Self::Failed(why) => say(why),
        }
        say("the link signs in one browser, once, within 30 seconds");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with these programs, as PATH.
    fn with(programs: &[&str], vars: &[(&str, &str)]) -> (tempfile::TempDir, Env) {
        let dir = tempfile::tempdir().unwrap();
        for name in programs {
            let path = dir.path().join(name);
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut vars = vars.to_vec();
        vars.push(("PATH", dir.path().to_str().unwrap()));
        let env = Env::of(dir.path(), &vars);
        (dir, env)
    }

    fn found(programs: &[&str], vars: &[(&str, &str)]) -> Result<String, NotOpened> {
        let (_dir, env) = with(programs, vars);
        let name = |path: PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        launcher(&env).map(name)
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_browser_is_opened_only_where_somebody_can_see_it() {
        let all = ["open", "wslview", "xdg-open"];
        let (x, wayland) = (("DISPLAY", ":0"), ("WAYLAND_DISPLAY", "wayland-0"));
        let ssh = ("SSH_CONNECTION", "192.0.2.1 1 192.0.2.2 22");
        for (programs, vars, expected) in [
            (&all[..], &[x][..], Ok("xdg-open")),
            (&all, &[wayland], Ok("xdg-open")),
            (&all, &[], Ok("wslview")),
            (&["wslview"], &[x], Ok("wslview")),
            (&["xdg-open"], &[], Err(NotOpened::NoScreen)),
            (&["xdg-open"], &[("DISPLAY", "")], Err(NotOpened::NoScreen)),
            (&["open"], &[x], Err(NotOpened::NoLauncher)),
            (&all, &[x, ssh], Err(NotOpened::Ssh)),
        ] {
            let expected = expected.map(str::to_owned);
            assert_eq!(found(programs, vars), expected, "{programs:?} {vars:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_no_program_opens_nothing() {
        let (dir, env) = with(&["xdg-open"], &[("DISPLAY", ":0")]);
        let path = dir.path().join("xdg-open");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(launcher(&env), Err(NotOpened::NoLauncher));
    }

    #[test]
    fn the_link_leads_to_where_the_hub_was_reached() {
        let made = |url: &str| Made {
            code: "c0de".into(),
            url: url.into(),
            expires_at: String::new(),
        };
        let socket = Address::Socket("/s".into());
        let link = Link::of(&made("http://127.0.0.1:1/#code=c0de"), &socket).unwrap();
        assert_eq!(link.url, "http://127.0.0.1:1/#code=c0de");
        let tunnel = Address::Url("http://localhost:2".parse().unwrap());
        let link = Link::of(&made("http://127.0.0.1:1/#code=c0de"), &tunnel).unwrap();
        assert_eq!(link.url, "http://localhost:2/#code=c0de");
        for bad in ["", "--help", "https://x/#code=", "http://u:p@x/#code="] {
            assert!(Link::of(&made(bad), &socket).is_err(), "{bad}");
        }
    }
}
