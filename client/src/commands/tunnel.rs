//! `hubctl tunnel`: lets another machine use this machine's hub.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use hub_protocol::SpoolItem;

use super::ssh::{Script, keep_connected};
use crate::error::Error;
use crate::exit_code::Exit;
use crate::identity::Context;
use crate::output::say;
use crate::settings::Address;
use crate::spool::Spool;

/// Clears the place of the socket. Prints the directory, or `own` if the machine has a hub.
const PREPARE: &str = r#"umask 077; d="${XDG_STATE_HOME:-$HOME/.local/state}/hub"; if [ -e "$d/token" ]; then echo own; exit; fi; mkdir -p "$d/spool" && chmod 700 "$d" "$d/spool" && rm -f "$d/hub.sock" && printf "%s\n" "$d""#;

/// Runs while the socket is forwarded. Lists spooled requests when it reads `list`; removes the one that it reads the
/// name of. Removes the socket at the end.
const SERVE: &str = r#"cd "$1/spool" || exit; echo ready; while read -r line; do case $line in list) for f in *; do [ -f "$f" ] && printf "%s %s\n" "$f" "$(cat "$f")"; done;; */*) ;; *) rm -f -- "$line";; esac; done; rm -f ../hub.sock"#;

/// How often the spool of the other machine is listed. It grows only while the connection is broken.
const LIST: Duration = Duration::from_secs(10);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The hub's socket is forwarded to HOST, where hubctl and the agents' hooks find it by themselves, in the state directory
$XDG_STATE_HOME/hub (~/.local/state/hub), which only you can read. Install hubctl and the hooks there; nothing listens on the
network. What HOST publishes while the connection is broken is kept there and sent afterwards. The command runs until it is
ended, and connects again by itself: use a key that ssh can use without a question. Commands on HOST cannot approve
permissions: hubctl cannot tell there whether a person or an agent runs them.

Examples:
  hubctl tunnel devbox
  hubctl tunnel user@build.example.org")]
/// The arguments of `hubctl tunnel`.
pub(crate) struct TunnelArgs {
    /// The other machine, as ssh names it
    host: String,
}

pub(crate) fn run(args: &TunnelArgs, context: &Context) -> Result<Exit, Error> {
    let Address::Socket(socket) = &context.settings.address.value else {
        let reason = "only a hub's socket can be forwarded: unset HUB_URL";
        return Err(Error::Usage(reason.into()));
    };
    let tunnel = Tunnel {
        host: &args.host,
        socket: socket.display().to_string(),
        spool: Spool::of(&context.settings),
    };
    let error = keep_connected(&args.host, |works| match tunnel.connect(works) {
        Ok(never) => match never {},
        Err(error) => error,
    });
    Err(Error::Failed(error))
}

struct Tunnel<'a> {
    host: &'a str,
    socket: String,
    spool: Spool,
}

impl Tunnel<'_> {
    /// Forwards the socket until the connection ends.
    fn connect(&self, works: &mut bool) -> anyhow::Result<std::convert::Infallible> {
        let dir = Script::start(self.host, &[], PREPARE, "")?.line()?;
        if dir == "own" {
            bail!("it has a hub of its own; hubctl there uses that one");
        }
        ensure!(
            dir.starts_with('/') && !dir.contains(':'),
            "'{dir}' cannot have a socket"
        );
        let options = [
            "-o".to_owned(),
            "ExitOnForwardFailure=yes".to_owned(),
            "-R".to_owned(),
            format!("{dir}/hub.sock:{}", self.socket),
        ];
        let mut script = Script::start(self.host, &options, SERVE, &dir)?;
        ensure!(
            script.line()? == "ready",
            "the other machine does not answer"
        );
        *works = true;
        say(format!("{} is connected to the hub", self.host));
        let input = script.process.stdin.take().context("ssh has no input")?;
        let mut input = File::from(OwnedFd::from(input));
        let mut lister = input.try_clone()?;
        std::thread::spawn(move || {
            while lister.write_all(b"list\n").is_ok() {
                sleep(LIST);
            }
        });
        loop {
            let line = script.line()?;
            let (name, item) = line.split_once(' ').unwrap_or_default();
            match SpoolItem::parse(name, item.as_bytes()) {
                // The hub reads it from the spool; a repeated key is stored once.
                Ok(item) => self.spool.keep(&item)?,
                Err(error) => {
                    say(format!("{}: {name} in its spool: {error}", self.host));
                    continue;
                }
            }
            input.write_all(format!("{name}\n").as_bytes())?;
        }
    }
}
