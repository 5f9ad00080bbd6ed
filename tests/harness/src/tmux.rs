//! Terminals for interactive programs, in a separate tmux server.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::{PATIENCE, registration, until, within};

/// How long a key may take to have its effect before it is pressed again. Some programs want two of Escape soon after each other.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
/// The same for Enter: the second of two can allow a command, in a dialog that the first one led to.
const ENTER_PAUSE: Duration = Duration::from_secs(10);

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
        tmux.args("new-session -d -x 160 -y 50 -P -F #{pane_id} -s".split(' '));
        tmux.arg(name).arg("-c").arg(dir);
        for (name, value) in env {
            tmux.arg("-e").arg(format!("{name}={value}"));
        }
        let id = run(tmux.arg("--").args(command)).trim().into();
        let socket = self.socket.clone();
        Pane { socket, id }
    }

    /// Starts a program in a directory that registers itself and its pane as the session `id` of the hub at `socket`, and
    /// prints `NAME is here`; returns its terminal.
    pub fn session(&self, name: &str, dir: &Path, (socket, id): (&Path, &str)) -> Pane {
        let info = json!({ "pane": "@PANE@" });
        let register = registration(socket, id, &info);
        let register = register.replace("s/@PID@/$$/", "\"s/@PID@/$$/;s/@PANE@/$TMUX_PANE/\"");
        let script = format!("{register} >/dev/null; echo {name} is here; exec sleep 600");
        let pane = self.start(name, dir, &[], &["sh", "-c", &script].map(str::to_owned));
        pane.until("the program has started", |text| text.contains("is here"));
        pane
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
        let socket = self.socket.display();
        let attach = format!("env -u TMUX tmux -u -S {socket} attach -t {}", self.id);
        let attach: Vec<String> = attach.split(' ').map(str::to_owned).collect();
        let pane = tmux.start("person", dir, &[], &attach);
        until("somebody is attached", || {
            self.visible().contains(&self.id).then_some(())
        });
        Attached { pane, _tmux: tmux }
    }

    /// Returns the ids of the panes of this server that other terminals show.
    pub fn visible(&self) -> Vec<String> {
        let clients = self.tmux("list-clients -F #{pane_id}", &[]);
        clients.lines().map(str::to_owned).collect()
    }

    /// Returns the terminal's content, with wrapped lines joined.
    pub fn text(&self) -> String {
        self.tmux("capture-pane -p -J -t", &[&self.id])
    }

    /// Gives the terminal another size.
    pub fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let size = [self.id.as_str(), "-x", &columns, "-y", &rows];
        self.tmux("resize-window -t", &size);
    }

    /// Waits until `shown` accepts the terminal's content; panics with the content.
    pub fn until(&self, what: &str, mut shown: impl FnMut(&str) -> bool) {
        let seen = within(PATIENCE, || shown(&self.text()).then_some(()));
        let text = self.text();
        assert!(seen.is_some(), "still waiting until {what}:\n{text}");
    }

    /// Presses keys, by tmux's names: `Enter`, `Escape`, `C-c`.
    pub fn press(&self, keys: &[&str]) {
        self.tmux("send-keys -t", &[&[self.id.as_str()], keys].concat());
    }

    /// Presses a key until `is_done` accepts the terminal's content; panics with the content after [`PATIENCE`]. A program may
    /// ignore a key, as a dialog does in the moment when it appears. Each pause is twice the last one, so that a slow program
    /// gets few keys too many: to some, two of Escape mean something else.
    pub fn press_until(&self, key: &str, what: &str, mut is_done: impl FnMut(&str) -> bool) {
        let mut pause = match key {
            "Enter" => ENTER_PAUSE,
            _ => FIRST_PAUSE,
        };
        while pause < PATIENCE {
            self.press(&[key]);
            if within(pause, || is_done(&self.text()).then_some(())).is_some() {
                return;
            }
            pause *= 2;
        }
        panic!("still waiting until {what}:\n{}", self.text());
    }

    /// Types a text, and waits until the program has echoed it, ignoring line breaks and blanks. A program that reads a
    /// key together with an Escape before it takes both for one key, so a line without its beginning is typed again.
    pub fn type_in(&self, text: &str) {
        self.type_at("", text);
    }

    /// Types a text as [`Pane::type_in`] does, and as all that follows a prompt: what the program left there is cleared.
    pub fn type_at(&self, prompt: &str, text: &str) {
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        let wanted = bare(&[prompt, text].concat());
        let is_typed = |shown: &str| bare(shown).contains(&wanted);
        let write = || self.tmux("send-keys -t", &[&self.id, "-l", "--", text]);
        write();
        if within(PATIENCE / 8, || is_typed(&self.text()).then_some(())).is_none() {
            self.press(&["C-u"]);
            write();
        }
        self.until(&format!("{text:?} is typed"), is_typed);
    }

    /// Returns the exit code of an ended program; -1 if tmux knows none, as after a signal.
    pub fn exit_code(&self) -> Option<i32> {
        let format = "#{pane_dead}:#{pane_dead_status}";
        let said = self.tmux("display-message -p -t", &[&self.id, format]);
        let (dead, status) = said.trim().split_once(':')?;
        (dead == "1").then(|| status.parse().unwrap_or(-1))
    }

    /// Waits until the program has ended; returns its exit code.
    pub fn until_ended(&self) -> i32 {
        let code = until("the program has ended", || self.exit_code());
        // tmux may learn the exit code after the end of the output, or never.
        let later = || self.exit_code().filter(|code| *code >= 0);
        within(Duration::from_secs(1), later).unwrap_or(code)
    }

    /// Runs a command of tmux with more arguments; returns its stdout.
    pub fn tmux(&self, command: &str, more: &[&str]) -> String {
        run(tmux(&self.socket).args(command.split(' ')).args(more))
    }
}

fn tmux(socket: &Path) -> Command {
    let mut tmux = Command::new("tmux");
    tmux.arg("-u").arg("-S").arg(socket);
    tmux
}

fn run(tmux: &mut Command) -> String {
    let output = tmux.output().expect("tmux starts: install it");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tmux: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
