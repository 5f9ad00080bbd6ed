//! The tmux pane in which a session runs. tmux is asked by its command line program.

use std::path::Path;

use hub_protocol::SessionInfo;

mod located;
mod server;

use located::Located;
use server::Tmux;

/// Why a session's pane cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unreachable(String);

impl Unreachable {
    fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }

    fn not_understood() -> Self {
        Self::new("tmux gave an answer that the hub does not understand")
    }
}

/// The pane of a session. Its process runs in it.
pub struct Pane {
    id: String,
    tmux: Tmux,
    located: Located,
    /// The first process of the pane.
    first: u32,
}

/// A pane at one moment, as its tmux server knows it.
#[derive(Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // each is a fact of its own
pub struct Glance {
    /// Whether tmux reads the keys itself, as in copy mode.
    pub is_in_mode: bool,
    /// Whether keys are copied to other panes (`synchronize-panes`).
    pub is_synchronized: bool,
    /// Whether tmux ignores keys for it (`select-pane -d`).
    pub ignores_input: bool,
    /// Whether a client in control mode (`tmux -C`) is attached to a tmux session of the pane. tmux does not count its keys.
    pub is_controlled: bool,
    /// When a key was last pressed in a tmux session of the pane, also by a client that has left; or when a client
    /// attached. In seconds since 1970.
    pub last_key: i64,
    /// The same for the clients that show the pane now; `None` if none does.
    pub last_key_here: Option<i64>,
}

impl Glance {
    const FLAGS: &str = "#{?pane_in_mode,1,0}#{?pane_synchronized,1,0}#{?pane_input_off,1,0}";
    const SESSIONS: &str = "session #{pane_id} #{session_id} #{session_activity}";
    const CLIENTS: &str =
        "client #{pane_id} #{session_id} #{client_activity} #{client_control_mode}";

    /// Parses the flags of the pane `id`, the sessions of each pane, and the clients with the pane that each shows.
    fn parse(id: &str, text: &str) -> Option<Self> {
        let mut lines = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let flags = lines.next()?;
        let [mode, synchronized, off] = flags.first()?.as_bytes() else {
            return None;
        };
        let mut glance = Self {
            is_in_mode: *mode != b'0',
            is_synchronized: *synchronized != b'0',
            ignores_input: *off != b'0',
            ..Self::default()
        };
        let mut sessions = Vec::new();
        for line in lines {
            match line[..] {
                ["session", pane, session, at] if pane == id => {
                    sessions.push(session.to_owned());
                    glance.last_key = glance.last_key.max(at.parse().ok()?);
                }
                ["client", _, session, _, "1"] => {
                    glance.is_controlled |= sessions.iter().any(|it| it == session);
                }
                ["client", pane, _, at, _] if pane == id => {
                    glance.last_key_here = glance.last_key_here.max(Some(at.parse().ok()?));
                }
                _ => {}
            }
        }
        (!sessions.is_empty()).then_some(glance)
    }
}

impl Pane {
    /// Finds the pane that a session reported, and checks that the session's process runs in it.
    pub async fn find(info: SessionInfo) -> Result<Self, Unreachable> {
        // An id of a pane is a percent sign and a number. Other texts would be targets of tmux with another meaning.
        let is_pane = |it: &String| {
            let number = it.strip_prefix('%').unwrap_or_default();
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        };
        let id = info.pane.filter(is_pane);
        let id = id.ok_or_else(|| Unreachable::new("it reported no tmux pane"))?;
        let process = info.process.filter(|it| it.started.is_some());
        let process = process.ok_or_else(|| Unreachable::new("it reported no process"))?;
        let located = tokio::task::spawn_blocking(move || Located::find(&process));
        let located = located.await.ok().flatten().ok_or_else(|| {
            Unreachable::new(
                "its process has ended, or runs on another machine, as another user or outside of tmux",
            )
        })?;
        let tmux = Tmux::connect(Path::new(&located.socket), &located.ancestors).await?;
        let first = tmux
            .ask(&["display-message", "-p", "-t", &id, "#{pane_pid}"])
            .await?;
        if !located.ancestors.contains(&first) {
            let why = format!("pane {id} runs another program now");
            return Err(Unreachable::new(why));
        }
        Ok(Self {
            id,
            tmux,
            located,
            first,
        })
    }

    /// The pane's id, such as `%7`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Makes it the active one of its session, and of the client that the person used last, unless a client already shows
    /// that session. Returns whether a client shows it.
    pub async fn show(&self) -> Result<bool, Unreachable> {
        self.tmux.show(&self.id).await
    }

    /// The command that shows it in a new terminal.
    pub fn attach_command(&self) -> String {
        self.tmux.attach_command(&self.id)
    }

    /// Whether the session's process reads the keys of this pane: it runs, its process group is in the foreground, and its
    /// terminal is the pane's.
    pub fn is_read_by_session(&self) -> bool {
        self.located.is_in_foreground_of(self.first)
    }

    /// Reads its state in one step.
    pub async fn glance(&self) -> Result<Glance, Unreachable> {
        let id = self.id.as_str();
        let flags = ["display-message", "-p", "-t", id, Glance::FLAGS, ";"];
        let sessions = ["list-panes", "-a", "-F", Glance::SESSIONS, ";"];
        let clients = ["list-clients", "-F", Glance::CLIENTS];
        let command = [&flags[..], &sessions, &clients].concat();
        let text = self.tmux.run(&command).await?;
        Glance::parse(id, &text).ok_or_else(Unreachable::not_understood)
    }

    /// Pastes a text, in brackets if the program in the pane knows them (`\x1b[200~`), and presses Enter.
    pub async fn submit(&self, text: &str) -> Result<(), Unreachable> {
        // The name is free, because each hub pastes one text at a time into a pane.
        let buffer = format!("hub-{}", self.id.trim_start_matches('%'));
        let load = ["load-buffer", "-b", &buffer, "-", ";"];
        let paste = [
            "paste-buffer",
            "-p",
            "-d",
            "-b",
            &buffer,
            "-t",
            &self.id,
            ";",
        ];
        let command = [&load[..], &paste, &self.enter()].concat();
        self.tmux.run_with(&command, text.as_bytes()).await?;
        Ok(())
    }

    /// Presses Enter.
    pub async fn press_enter(&self) -> Result<(), Unreachable> {
        self.tmux.run(&self.enter()).await.map(drop)
    }

    fn enter(&self) -> [&str; 4] {
        ["send-keys", "-t", &self.id, "Enter"]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glance_has_the_keys_of_each_session_and_client_of_the_pane() {
        let sessions = "session %7 $0 100\nsession %8 $0 100\nsession %7 $1 300\nsession %9 $2 900";
        let glance = |clients: &str| Glance::parse("%7", &format!("010\n{sessions}\n{clients}"));
        let alone = Glance {
            is_synchronized: true,
            last_key: 300,
            ..Glance::default()
        };
        assert_eq!(glance("client %9 $2 900 1\nclient %8 $0 90 0"), Some(alone));
        let shown = glance("client %7 $0 80 0\nclient %7 $1 200 0").unwrap();
        assert_eq!(shown.last_key_here, Some(200));
        assert!(glance("client %8 $0 90 1").unwrap().is_controlled);
        for strange in [
            "",
            "010",
            "010\nsession %8 $0 100",
            "010\nsession %7 $0 soon",
        ] {
            assert_eq!(Glance::parse("%7", strange), None, "{strange:?}");
        }
    }
}
