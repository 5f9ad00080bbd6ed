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
pub(crate) struct Unreachable(String);

impl Unreachable {
    fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// The pane of a session. Its process runs in it.
pub(crate) struct Pane {
    id: String,
    tmux: Tmux,
    located: Located,
    /// The first process of the pane.
    first: u32,
}

/// A pane at one moment.
pub(crate) struct Glance {
    /// Whether tmux reads the keys itself, as in copy mode.
    pub(crate) is_in_mode: bool,
    /// Whether keys are copied to other panes (`synchronize-panes`).
    pub(crate) is_synchronized: bool,
    /// Whether tmux ignores keys for it (`select-pane -d`).
    pub(crate) ignores_input: bool,
    /// Its visible lines, with the escape sequences for attributes.
    pub(crate) screen: String,
}

impl Pane {
    /// Finds the pane that a session reported, and checks that the session's process runs in it.
    pub(crate) async fn find(info: SessionInfo) -> Result<Self, Unreachable> {
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
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Makes it the active one of its session, and of the client that the person used last, unless a client already shows
    /// that session. Returns whether a client shows it.
    pub(crate) async fn show(&self) -> Result<bool, Unreachable> {
        self.tmux.show(&self.id).await
    }

    /// The command that shows it in a new terminal.
    pub(crate) fn attach_command(&self) -> String {
        self.tmux.attach_command(&self.id)
    }

    /// Whether the session's process reads the keys of this pane: it runs, its process group is in the foreground, and its
    /// terminal is the pane's.
    pub(crate) fn is_read_by_session(&self) -> bool {
        self.located.is_in_foreground_of(self.first)
    }

    /// Reads its state and its lines in one step.
    pub(crate) async fn glance(&self) -> Result<Glance, Unreachable> {
        const FLAGS: &str = "#{?pane_in_mode,1,0}#{?pane_synchronized,1,0}#{?pane_input_off,1,0}";
        let id = self.id.as_str();
        let look = ["display-message", "-p", "-t", id, FLAGS, ";"];
        let capture = ["capture-pane", "-p", "-e", "-t", id];
        let text = self.tmux.run(&[&look[..], &capture].concat()).await?;
        let (flags, screen) = text.split_once('\n').unwrap_or_default();
        let flag = |at: usize| flags.as_bytes().get(at) != Some(&b'0');
        Ok(Glance {
            is_in_mode: flag(0),
            is_synchronized: flag(1),
            ignores_input: flag(2),
            screen: screen.to_owned(),
        })
    }

    /// Pastes a text, in brackets if the program in the pane knows them (`\x1b[200~`).
    pub(crate) async fn paste(&self, text: &str) -> Result<(), Unreachable> {
        // The name is free, because each hub pastes one text at a time into a pane.
        let buffer = format!("hub-{}", self.id.trim_start_matches('%'));
        let load = ["load-buffer", "-b", &buffer, "-", ";"];
        let paste = ["paste-buffer", "-p", "-d", "-b", &buffer, "-t", &self.id];
        let command = [&load[..], &paste].concat();
        self.tmux.run_with(&command, text.as_bytes()).await?;
        Ok(())
    }

    /// Presses Enter.
    pub(crate) async fn press_enter(&self) -> Result<(), Unreachable> {
        let press = ["send-keys", "-t", &self.id, "Enter"];
        self.tmux.run(&press).await?;
        Ok(())
    }
}
