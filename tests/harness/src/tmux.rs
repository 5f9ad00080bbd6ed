//! Terminals for programs that want one: a tmux server of the test's own.

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

/// A dead pane stays, so that what the program said last can be read.
const CONFIG: &str =
    "set -g remain-on-exit on\nset -g default-terminal tmux-256color\nset -g status off\n";

impl Tmux {
    /// Starts nothing yet: tmux's server comes with the first program. It knows only these variables, and so does what
    /// runs in it.
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

    /// Starts a program in a directory, with further variables; `name` is the tmux session's.
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
    /// Its tmux id, which is what `TMUX_PANE` says in it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What the terminal shows, wrapped lines as one.
    pub fn text(&self) -> String {
        let shown = run(tmux(&self.socket).args(["capture-pane", "-p", "-J", "-t", &self.id]));
        String::from_utf8_lossy(&shown.stdout).into_owned()
    }

    /// Waits until it shows what is wanted; panics with what it shows instead.
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

    /// Types a text, and waits until the program has echoed it. Line ends and blanks may be shown in any way.
    pub fn type_in(&self, text: &str) {
        run(tmux(&self.socket).args(["send-keys", "-t", &self.id, "-l", "--", text]));
        let wanted = bare(text);
        self.until(&format!("{text:?} is typed"), |shown| {
            bare(shown).contains(&wanted)
        });
    }

    /// The exit code of the program, if it has ended; -1 if a signal ended it.
    pub fn exit_code(&self) -> Option<i32> {
        let format = "#{pane_dead}:#{pane_dead_status}";
        let said = run(tmux(&self.socket).args(["display-message", "-p", "-t", &self.id, format]));
        let said = String::from_utf8_lossy(&said.stdout);
        let (dead, status) = said.trim().split_once(':')?;
        (dead == "1").then(|| status.parse().unwrap_or(-1))
    }

    /// Waits until the program has ended; its exit code.
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
