//! Terminals for interactive programs, in a separate tmux server.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::{PATIENCE, until, within};

/// A tmux server with its socket in a directory of the test; killed when dropped.
#[derive(Debug)]
pub struct Tmux {
    socket: PathBuf,
    config: PathBuf,
    env: Vec<(String, String)>,
}

/// A program in a terminal of 160 columns and 50 rows.
#[derive(Debug)]
pub struct Pane {
    socket: PathBuf,
    id: String,
}

/// Another terminal that shows a pane's program; ended when dropped.
#[derive(Debug)]
pub struct Attached {
    pane: Pane,
    _tmux: Tmux,
}

impl std::ops::Deref for Attached {
    type Target = Pane;

    fn deref(&self) -> &Pane {
        &self.pane
    }
}

/// A dead pane stays, so that the program's last output can be read.
const CONFIG: &str =
    "set -g remain-on-exit on\nset -g default-terminal tmux-256color\nset -g status off\n";

impl Tmux {
    /// Configures tmux, whose server starts with the first program. The server and its programs get only these
    /// variables.
    pub fn new<K: Into<String>, V: Into<String>>(
        dir: &Path,
        env: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let config = dir.join("tmux.conf");
        std::fs::write(&config, CONFIG).expect("tmux.conf");
        let env = env.into_iter().map(|(k, v)| (k.into(), v.into()));
        Self {
            socket: dir.join("tmux"),
            config,
            env: env.collect(),
        }
    }

    /// Starts a program in a directory, with additional variables; `name` is the tmux session's.
    pub fn start(
        &self,
        name: &str,
        dir: &Path,
        env: &[(String, String)],
        command: &[String],
    ) -> Pane {
        let mut tmux = tmux(&self.socket);
        tmux.env_clear().envs(self.env.iter().cloned());
        tmux.arg("-f").arg(&self.config);
        tmux.args(["new-session", "-d", "-x", "160", "-y", "50", "-s", name]);
        tmux.args(["-P", "-F", "#{pane_id}"]);
        tmux.arg("-c").arg(dir);
        for (name, value) in env {
            tmux.arg("-e").arg(format!("{name}={value}"));
        }
        let started = run(tmux.arg("--").args(command));
        Pane {
            socket: self.socket.clone(),
            id: String::from_utf8_lossy(&started.stdout).trim().into(),
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = tmux(&self.socket).arg("kill-server").output();
    }
}

impl Pane {
    /// Returns the pane's tmux id, which its programs see as `TMUX_PANE`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Opens another terminal that shows the session of this pane, focused and with a recent key press. Its tmux server
    /// uses the directory `dir`, which must not exist.
    pub fn attach(&self, dir: &Path) -> Attached {
        std::fs::create_dir(dir).expect("a directory");
        let path = std::env::var("PATH").unwrap_or_default();
        let tmux = Tmux::new(dir, [("PATH", path.as_str()), ("LANG", "C.UTF-8")]);
        let socket = self.socket.display().to_string();
        let attach = [
            "env", "-u", "TMUX", "tmux", "-u", "-S", &socket, "attach", "-t", &self.id,
        ];
        let attach: Vec<String> = attach.map(str::to_owned).into();
        let pane = tmux.start("person", dir, &[], &attach);
        until("somebody is attached", || {
            let clients =
                run(crate::tmux::tmux(&self.socket).args(["list-clients", "-F", "#{pane_id}"]));
            let clients = String::from_utf8_lossy(&clients.stdout).into_owned();
            clients.lines().any(|it| it == self.id).then_some(())
        });
        Attached { pane, _tmux: tmux }
    }

    /// Returns the terminal's content, with wrapped lines joined.
    pub fn text(&self) -> String {
        let shown = run(tmux(&self.socket).args(["capture-pane", "-p", "-J", "-t", &self.id]));
        String::from_utf8_lossy(&shown.stdout).into_owned()
    }

    /// Waits until `shown` accepts the terminal's content; panics with the content.
    pub fn until(&self, what: &str, mut shown: impl FnMut(&str) -> bool) {
        let seen = within(PATIENCE, || shown(&self.text()).then_some(()));
        assert!(
            seen.is_some(),
            "still waiting until {what}:\n{}",
            self.text()
        );
    }

    /// Presses keys, by tmux's names: `Enter`, `Escape`, `C-c`.
    pub fn press(&self, keys: &[&str]) {
        run(tmux(&self.socket)
            .args(["send-keys", "-t", &self.id])
            .args(keys));
    }

    /// Types a text, and waits until the program has echoed it, ignoring line breaks and blanks.
    pub fn type_in(&self, text: &str) {
        run(tmux(&self.socket).args(["send-keys", "-t", &self.id, "-l", "--", text]));
        let wanted = bare(text);
        self.until(&format!("{text:?} is typed"), |shown| {
            bare(shown).contains(&wanted)
        });
    }

    /// Returns the exit code of an ended program; -1 if a signal ended it.
    pub fn exit_code(&self) -> Option<i32> {
        let format = "#{pane_dead}:#{pane_dead_status}";
        let said = run(tmux(&self.socket).args(["display-message", "-p", "-t", &self.id, format]));
        let said = String::from_utf8_lossy(&said.stdout);
        let (dead, status) = said.trim().split_once(':')?;
        (dead == "1").then(|| status.parse().unwrap_or(-1))
    }

    /// Waits until the program has ended; returns its exit code.
    pub fn until_ended(&self) -> i32 {
        until("the program has ended", || self.exit_code())
    }
}

fn bare(text: &str) -> String {
    text.split_whitespace().collect()
}

fn tmux(socket: &Path) -> Command {
    let mut tmux = Command::new("tmux");
    tmux.arg("-u").arg("-S").arg(socket);
    tmux
}

fn run(tmux: &mut Command) -> Output {
    let output = tmux
        .output()
        .unwrap_or_else(|error| panic!("tmux does not start ({error}): install it"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tmux: {said}");
    output
}
