//! `hubctl tunnel`: lets another machine use this machine's hub.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io::BufRead;
use std::time::Duration;

use anyhow::{bail, ensure};
use hub_protocol::{Listed, SpoolListing, Timestamp};

use super::ssh::{Script, keep_connected};
use crate::error::Error;
use crate::exit_code::Exit;
use crate::identity::Context;
use crate::output::say;
use crate::settings::Address;
use crate::spool::Spool;

/// Clears the place of the socket. Prints the directory, or `own` if the machine has a hub.
const PREPARE: &str = r#"umask 077; d="${XDG_STATE_HOME:-$HOME/.local/state}/hub"; if [ -e "$d/token" ]; then echo own; exit; fi; mkdir -p "$d/spool" && chmod 700 "$d" "$d/spool" && rm -f "$d/hub.sock" && printf "%s\n" "$d""#;

/// Runs while the socket is forwarded. At `list` it prints a listing as [`SpoolListing`] reads it, of 1,000 files and
/// about a mebibyte at most; links are left out. At `rm` and `aside` it removes the file with that number in the listing, or
/// moves it to `rejected`. Removes the socket at the end.
const SERVE: &str = r#"LC_ALL=C; umask 077; cd "$1" || exit; if [ -h spool ]; then echo link; exit; fi; cd spool || exit; echo ready; while read -r act n; do case $act in list) set --; t=0; for f in *; do if [ -h "$f" ]; then continue; fi; if [ -f "$f" ]; then if [ $# -ge 1000 ] || [ $t -ge 1048576 ]; then break; fi; set -- "$@" "$f"; t=$((t + $(head -c 1048577 <"$f" | wc -c))); printf "%s\000" "$f"; head -c 1048577 <"$f" | tr -d "\000"; printf "\000"; fi; done; printf "\000";; rm) eval "f=\${$n}"; rm -f -- "$f";; aside) eval "f=\${$n}"; if [ -h rejected ]; then continue; fi; mkdir -p rejected && mv -f -- "$f" rejected;; esac; done; rm -f ../hub.sock"#;

/// How often the spool of the other machine is listed. It grows only while the connection is broken.
const LIST: Duration = Duration::from_secs(10);

/// The pause after a listing that had items.
const NEXT: Duration = Duration::from_millis(100);

/// How long a listing may take: for a mebibyte or two, even over a slow line.
const PATIENCE: Duration = Duration::from_secs(300);

/// The most different messages about the other machine's spool that are shown for one connection.
const MAX_COMPLAINTS: usize = 20;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The hub's socket is forwarded to HOST, where hubctl and the agents' hooks find it by themselves, in the state \
directory $XDG_STATE_HOME/hub (~/.local/state/hub), which only you can read. Install hubctl and the hooks there; \
nothing listens on the network. What HOST publishes while the connection is broken is kept there and sent afterwards. \
The command runs until it is ended, and connects again by itself: use a key that ssh can use without a question. \
Commands on HOST cannot approve permissions: hubctl cannot tell there whether a person or an agent runs them.

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
    fn connect(&self, works: &mut bool) -> anyhow::Result<Infallible> {
        let dir = Script::start(self.host, &[], PREPARE, "")?.line()?;
        if dir == "own" {
            bail!("it has a hub of its own; hubctl there uses that one");
        }
        let options = [
            // A shared connection may have this forward already, from an earlier tunnel whose socket is gone.
            "-oControlPath=none".to_owned(),
            "-oControlMaster=no".to_owned(),
            "-oExitOnForwardFailure=yes".to_owned(),
            "-R".to_owned(),
            forward(&format!("{dir}/hub.sock"), &self.socket)?,
        ];
        let mut script = Script::start(self.host, &options, SERVE, &dir)?;
        match &*script.line()? {
            "ready" => {}
            "link" => bail!("{dir}/spool is a link: remove it there"),
            _ => bail!("the other machine does not answer"),
        }
        *works = true;
        say(format!("{} is connected to the hub", self.host));
        let mut complaints = Complaints::new(self.host);
        loop {
            // Requests that nothing reads here stay there.
            let done = if self.spool.is_full() {
                complaints.add("its spool waits, because the one here is full".into());
                0
            } else {
                self.bring(&mut script, &mut complaints)?
            };
            // A listing may have left files out, so another one follows.
            script.wait(if done == 0 { LIST } else { NEXT })?;
        }
    }

    /// Moves the items of a listing of the other machine's spool to the one here; has the other files set aside there.
    /// Returns how many are gone.
    fn bring(&self, script: &mut Script, complaints: &mut Complaints<'_>) -> anyhow::Result<usize> {
        script.write_line("list")?;
        let complain = |text| complaints.add(text);
        let acts = take_in(script.output_within(PATIENCE), &self.spool, complain)?;
        for act in &acts {
            script.write_line(act)?;
        }
        Ok(acts.len())
    }
}

/// Keeps the items of a listing in the spool here. Returns what the other machine shall do with each file that is done.
fn take_in(
    listing: impl BufRead,
    spool: &Spool,
    mut complain: impl FnMut(String),
) -> anyhow::Result<Vec<String>> {
    let mut acts = Vec::new();
    let mut listing = SpoolListing::new(listing, Timestamp::now());
    let mut number = 0;
    while let Some(file) = listing.next_file()? {
        number += 1;
        match file {
            // The hub reads it from the spool; a repeated key is stored once.
            Listed::Item(item) => match spool.keep(&item) {
                Ok(()) => acts.push(format!("rm {number}")),
                Err(error) => complain(format!("its spool waits: {error:#}")),
            },
            Listed::Refused { name, why } => {
                complain(format!("the file '{name}' in its spool is refused: {why}"));
                acts.push(format!("aside {number}"));
            }
        }
    }
    Ok(acts)
}

/// The argument of ssh's -R that forwards the socket `there` to the socket `here`. ssh gives a meaning to some characters;
/// above all it replaces `${NAME}` by a variable of this machine, which the other one would read in the socket's name.
fn forward(there: &str, here: &str) -> anyhow::Result<String> {
    for socket in [there, here] {
        let plain = |c: char| c.is_alphanumeric() || "/._-+@=,~ ".contains(c);
        ensure!(
            socket.starts_with('/') && socket.chars().all(plain) && socket.len() < 108,
            "ssh cannot forward the socket '{}': its path must be absolute, of less than 108 bytes, and of letters, digits \
             and /._-+@=,~",
            socket.chars().take(108).collect::<String>()
        );
    }
    Ok(format!("{there}:{here}"))
}

/// What was said about the other machine's spool on one connection, so that it cannot fill the terminal.
struct Complaints<'a> {
    host: &'a str,
    said: BTreeSet<String>,
}

impl<'a> Complaints<'a> {
    fn new(host: &'a str) -> Self {
        Self {
            host,
            said: BTreeSet::new(),
        }
    }

    fn add(&mut self, text: String) {
        if self.said.contains(&text) || self.said.len() > MAX_COMPLAINTS {
            return;
        }
        if self.said.len() == MAX_COMPLAINTS {
            say(format!(
                "{}: further messages about its spool are not shown",
                self.host
            ));
        } else {
            say(format!("{}: {text}", self.host));
        }
        self.said.insert(text);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use hub_protocol::{SpoolItem, SpoolKey, is_unprintable};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::settings::{HubLocation, Settings};
    use crate::system::env::Env;

    /// A file of a listing: mostly an item with its own name, else any name, content or both.
    fn file() -> impl Strategy<Value = Vec<u8>> {
        let key = prop_oneof![
            4 => "[0-9a-z-]{1,12}",
            1 => Just("../outside".to_owned()),
            1 => Just("/outside".to_owned()),
            1 => Just("rejected".to_owned()),
            1 => Just(".draft.tmp".to_owned()),
            1 => any::<String>(),
        ];
        let content = |key: String| {
            let post = format!(r#"{{"v":1,"key":"{key}","post":{{"msg":"a"}}}}"#);
            let hook = format!(
                r#"{{"v":1,"key":"{key}","hook":{{"agent":"pi","query":"","ts":1,"body":{{}}}}}}"#
            );
            let any = vec(any::<u8>(), 0..40);
            prop_oneof![4 => Just(post.into()), 1 => Just(hook.into()), 1 => any]
        };
        (key.prop_flat_map(move |key| (Just(key.clone()), content(key))))
            .prop_map(|(key, content)| [key.as_bytes(), b"\0", &content, b"\0"].concat())
    }

    /// A listing of some files, of which some bytes are replaced, removed or doubled, and the end may be missing.
    fn listing() -> impl Strategy<Value = Vec<u8>> {
        let change = (any::<prop::sample::Index>(), any::<u8>(), 0..3u8);
        let mutated = (vec(file(), 0..6), vec(change, 0..4)).prop_map(|(files, changes)| {
            let mut bytes = [files.concat(), vec![0]].concat();
            for (place, byte, how) in changes {
                let at = place.index(bytes.len());
                match how {
                    0 => bytes[at] = byte,
                    1 if bytes.len() > 1 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, bytes[at]),
                }
            }
            bytes
        });
        prop_oneof![1 => vec(any::<u8>(), 0..200), 8 => mutated]
    }

    /// The files below a directory, with their contents.
    fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
        let mut found = Vec::new();
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(files(&path));
            } else {
                found.push((path.display().to_string(), fs::read(&path).unwrap()));
            }
        }
        found
    }

    proptest! {
        #[test]
        fn a_listing_of_the_other_machine_is_written_only_as_items_of_the_spool(
            bytes in listing()
        ) {
            let place = tempfile::tempdir().unwrap();
            let state = place.path().join("state");
            let env = Env::of(place.path(), &[("HUB_STATE_DIR", state.to_str().unwrap())]);
            let mut settings = Settings::resolve(&HubLocation::default(), &env).unwrap();
            settings.state_dir.source = "default";
            let mut said = Vec::new();
            let acts = take_in(&*bytes, &Spool::of(&settings), |text| said.push(text));
            let prefix = format!("{}/", state.join("spool").display());
            let mut kept = 0;
            for (path, content) in files(place.path()) {
                let key: Option<SpoolKey> = path.strip_prefix(&prefix).and_then(|it| it.parse().ok());
                prop_assert!(key.is_some(), "{path}");
                prop_assert!(SpoolItem::parse(&key.unwrap(), &content).is_ok(), "{path}");
                kept += 1;
            }
            for text in said {
                prop_assert!(!text.chars().any(is_unprintable), "{text:?}");
            }
            if let Ok(acts) = &acts {
                let removed = acts.iter().filter(|it| it.starts_with("rm ")).count();
                prop_assert!(removed >= kept, "{acts:?}");
            }
            for act in acts.unwrap_or_default() {
                let number = act.strip_prefix("rm ").or(act.strip_prefix("aside "));
                prop_assert!(number.is_some_and(|it| it.parse::<usize>().is_ok()), "{act}");
            }
        }
    }

    #[test]
    fn only_a_plain_path_is_given_to_ssh() {
        let here = "/home/é a/.local/state/hub/hub.sock";
        assert_eq!(
            forward("/home/far/hub/hub.sock", here).unwrap(),
            format!("/home/far/hub/hub.sock:{here}")
        );
        let long = format!("/{}", "a".repeat(108));
        for bad in [
            "a",
            "/a:/b",
            "/${HOME}",
            "/$HOME",
            "/%h",
            "/a\\b",
            "/[a]",
            "/a\u{1b}[2J",
            "/a\nb",
            "/\"",
            &long,
        ] {
            let error = forward(bad, here).unwrap_err().to_string();
            assert!(
                error.contains("cannot forward") && error.len() < 500,
                "{error}"
            );
            assert!(forward(here, bad).is_err());
        }
    }

    #[test]
    fn the_scripts_survive_every_login_shell() {
        for script in [PREPARE, SERVE] {
            assert!(!script.contains(['\'', '!', '\n']));
        }
    }
}
