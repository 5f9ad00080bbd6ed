//! `hubctl dashboard`: opens the dashboard in a browser, signed in.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path as FilePath, PathBuf};
use std::time::{Duration, Instant};

use hub_protocol::{Seq, SignInCode};
use reqwest::Method;
use serde_json::json;

use super::up::detach;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Hub, Path, Request, parse};
use crate::identity::Context;
use crate::output::text::{json_line, line};
use crate::output::{println, say};
use crate::settings::{Address, HubUrl};
use crate::system::env::Env;
use crate::system::process::host;

mod devices;

/// How long to wait for a launcher to fail. After that it counts as successful: some launchers run until the browser is
/// closed.
const LAUNCH: Duration = Duration::from_secs(2);
/// How often to check whether the launcher has ended.
const LOOK: Duration = Duration::from_millis(20);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The link signs in one browser, once, within 30 seconds. The browser stays signed in for 12 hours, or until --revoke. \
The browser opens a file in the state directory that redirects to the link; a browser that cannot read that file (a \
snap) needs --print. Without a browser, the link is printed. If the hub runs on another machine, forward its port \
under the same number (ssh -L 4782:127.0.0.1:4782 HOST), run `hubctl dashboard --print` there, and open the link on \
this machine.

Examples:
  hubctl dashboard
  hubctl dashboard --print
  hubctl dashboard --id 42
  hubctl dashboard --devices
  hubctl dashboard --revoke all
  ssh -t -L 4782:127.0.0.1:4782 mill 'hubctl dashboard --print; exec $SHELL'")]
/// The arguments of `hubctl dashboard`.
pub(crate) struct DashboardArgs {
    /// Print the link instead of opening a browser
    #[arg(long)]
    print: bool,
    /// Show this notification in the page
    #[arg(long, value_name = "ID", conflicts_with_all = ["devices", "revoke"])]
    id: Option<Seq>,
    /// List the browsers that are signed in
    #[arg(long, conflicts_with = "print")]
    devices: bool,
    /// Sign a browser of --devices out, or all of them
    #[arg(long, value_name = "ID|all", conflicts_with_all = ["print", "devices"])]
    revoke: Option<String>,
    /// Print the link and whether a browser was opened, or the hub's answer, as JSON
    #[arg(long)]
    json: bool,
}

/// The dashboard's address, and the link that signs in there.
struct Link {
    base: HubUrl,
    url: String,
}

/// Why no browser was opened, so that the link is printed.
#[derive(Debug, PartialEq, Eq)]
enum NotOpened {
    Asked,
    Ssh,
    NoScreen,
    NoLauncher,
    /// From here, the hub's address leads to another program.
    Elsewhere,
    Failed(String),
}

pub(crate) async fn run(args: &DashboardArgs, context: &Context) -> Result<Exit, Error> {
    let hub = context.hub()?;
    if args.devices {
        devices::list(&hub, args.json).await?;
        return Ok(Exit::DONE);
    }
    if let Some(id) = &args.revoke {
        devices::revoke(&hub, id, args.json).await?;
        return Ok(Exit::DONE);
    }
    let wish = Request::new(Method::POST, Path::new("/login/code"));
    let made: SignInCode = parse(&hub.text(&wish).await?)?;
    let link = Link::of(&made, args.id, &context.settings.address.value)?;
    let opened = if args.print {
        Err(NotOpened::Asked)
    } else {
        open(&link, &hub, context).await
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
            "opened {} with {}; if no page appears, run hubctl dashboard --print",
            link.base.base,
            launcher.display()
        )),
        Err(why) => why.report(&link.base.authority),
    }
    Ok(Exit::DONE)
}

impl Link {
    /// Over TCP the link uses the address by which the hub was reached, not the one that the hub reports.
    fn of(made: &SignInCode, id: Option<Seq>, address: &Address) -> Result<Self, Error> {
        let base: HubUrl = match address {
            Address::Url(url) => url.clone(),
            Address::Socket(_) => {
                let (base, _) = made.url.split_once("/#").unwrap_or_default();
                base.parse().map_err(|_| {
                    anyhow::anyhow!("the hub sent an invalid link: {}", line(&made.url))
                })?
            }
        };
        let shown = id.map_or(String::new(), |id| format!("?id={id}"));
        let url = format!("{}/{shown}#code={}", base.base, line(&made.code));
        Ok(Self { base, url })
    }

    /// Writes a page to `dir` that redirects to the link and that only this user can read. In the browser's arguments
    /// every user of the machine could read the link. The page is useless after 30 seconds, and the next call replaces
    /// it.
    fn keep(&self, dir: &FilePath) -> anyhow::Result<PathBuf> {
        let safe = |c: char| c.is_ascii_alphanumeric() || ":/?#=.-[]".contains(c);
        anyhow::ensure!(self.url.chars().all(safe), "the hub sent an invalid link");
        fs::create_dir_all(dir)?;
        let page = dir.join("dashboard.html");
        let fresh = dir.join("dashboard.new");
        let _ = fs::remove_file(&fresh);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&fresh)?;
        let url = &self.url;
        writeln!(
            file,
            "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
             <meta http-equiv=\"refresh\" content=\"0;url={url}\"><a href=\"{url}\">The hub's dashboard</a>"
        )?;
        fs::rename(fresh, &page)?;
        Ok(page)
    }
}

async fn open(link: &Link, hub: &Hub, context: &Context) -> Result<PathBuf, NotOpened> {
    let launcher = launcher(&context.env)?;
    // Without this check, another program on that address would be sent the sign-in code.
    if !hub.is_at(&link.base).await {
        return Err(NotOpened::Elsewhere);
    }
    let opened = async {
        context.settings.demand_state_dir()?;
        let page = link.keep(&context.settings.state_dir.value)?;
        launch(&launcher, &page).await
    };
    match opened.await {
        Ok(()) => Ok(launcher),
        Err(error) => Err(NotOpened::Failed(format!("{error:#}"))),
    }
}

/// The program that opens a link in the browser of the person at this machine.
fn launcher(env: &Env) -> Result<PathBuf, NotOpened> {
    let has = |name| env.var(name).is_some();
    if has("SSH_CONNECTION") {
        return Err(NotOpened::Ssh);
    }
    let screen = has("DISPLAY") || has("WAYLAND_DISPLAY");
    // In WSL the browser runs in Windows and needs no display here. `open` is another program on systems other than
    // macOS.
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

/// Starts the launcher detached from this process, and reports a failure within [`LAUNCH`].
async fn launch(launcher: &FilePath, page: &FilePath) -> anyhow::Result<()> {
    let nowhere = OpenOptions::new().write(true).open("/dev/null")?;
    let mut child = detach::start(launcher, &[page.into()], &nowhere)?;
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
    /// Explains on stderr why the link is printed, and how to use it.
    fn report(&self, authority: &str) {
        let port = authority.rsplit_once(':').map_or("80", |(_, port)| port);
        let forward = format!("ssh -L {port}:127.0.0.1:{port}");
        match self {
            Self::Asked => {}
            Self::Ssh => say(format_args!(
                "this is an ssh session: on your own machine run {forward} {}, run this command again, and open the link there",
                host()
            )),
            Self::NoScreen => {
                say("no browser is available: neither DISPLAY nor WAYLAND_DISPLAY is set");
            }
            Self::NoLauncher => {
                say("no browser is available: no xdg-open, open or wslview on PATH");
            }
            Self::Elsewhere => say(format_args!(
                "http://{authority} does not reach that hub from this machine: run {forward} HOST, then run this command again"
            )),
            Self::Failed(why) => say(why),
        }
        say("the link signs in one browser, once, within 30 seconds");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hub_protocol::Timestamp;

    /// A directory with these programs, and an environment with it as PATH.
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
    fn a_browser_is_opened_only_if_the_person_can_see_it() {
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
    fn a_file_that_is_not_executable_is_not_used_as_a_launcher() {
        let (dir, env) = with(&["xdg-open"], &[("DISPLAY", ":0")]);
        let path = dir.path().join("xdg-open");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(launcher(&env), Err(NotOpened::NoLauncher));
    }

    #[test]
    fn only_its_owner_can_read_the_page_with_the_link() {
        let dir = tempfile::tempdir().unwrap();
        let link = |url: &str| Link {
            base: "http://127.0.0.1:1".parse().unwrap(),
            url: url.into(),
        };
        for code in ["c0de", "c0df"] {
            let page = link(&format!("http://[::1]:1/#code={code}"));
            let page = page.keep(dir.path()).unwrap();
            let mode = page.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            assert!(fs::read_to_string(page).unwrap().contains(code));
        }
        assert!(link("http://x/#code=\"><script>").keep(dir.path()).is_err());
    }

    #[test]
    fn the_link_uses_the_address_by_which_the_hub_was_reached() {
        let made = |url: &str| SignInCode {
            code: "c0de".into(),
            url: url.into(),
            expires_at: Timestamp::default(),
        };
        let socket = Address::Socket("/s".into());
        let link = Link::of(&made("http://127.0.0.1:1/#code=c0de"), Some(7), &socket).unwrap();
        assert_eq!(link.url, "http://127.0.0.1:1/?id=7#code=c0de");
        let tunnel = Address::Url("http://localhost:2".parse().unwrap());
        let link = Link::of(&made("http://127.0.0.1:1/#code=c0de"), None, &tunnel).unwrap();
        assert_eq!(link.url, "http://localhost:2/#code=c0de");
        for bad in ["", "--help", "https://x/#code=", "http://u:p@x/#code="] {
            assert!(Link::of(&made(bad), None, &socket).is_err(), "{bad}");
        }
    }
}
