//! A line pasted into the session's tmux pane: the last way, for sessions that allow it.
//!
//! Keys reach whatever reads them: a shell, a dialog, a half-typed prompt. So the conditions are checked right before the
//! paste, and again before Enter. The line announces the notifications and has no text of their senders; the answer to
//! the hook of the prompt delivers them.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use hub_protocol::{Agent, ProjectName, SessionInfo, Way};

use self::input_line::InputLine;
use super::{PushSession, why_not_idle};
use crate::fold::SessionKey;
use crate::hub::{Hub, wake_text};
use crate::tmux::Pane;

mod input_line;

/// How long the agent may take to show a pasted line.
const SHOWN_WITHIN: Duration = Duration::from_secs(2);

/// The interval between two looks at the screen.
const LOOK: Duration = Duration::from_millis(50);

/// The pane of one session, for one paste.
pub(super) struct PastePane {
    hub: Hub,
    key: SessionKey,
    agent: Agent,
    info: SessionInfo,
    /// Makes the line unique.
    number: String,
}

impl PastePane {
    /// The pane of a session that allows it. Fails with the reason why the hub does not use it.
    pub(super) fn of(hub: &Hub, candidate: &PushSession) -> Result<Self, String> {
        if !candidate.pane_delivery {
            return Err(
                "it has not allowed the hub to paste into its pane: start it with `hubctl run --pane` or HUB_PANE_DELIVERY=1".into(),
            );
        }
        if !input_line::is_known(candidate.agent) {
            let agent = candidate.agent;
            return Err(format!("the hub cannot read the input line of {agent}"));
        }
        let mut random = [0u8; 4];
        getrandom::fill(&mut random).map_err(|error| error.to_string())?;
        Ok(Self {
            hub: hub.clone(),
            key: candidate.key.clone(),
            agent: candidate.agent,
            info: SessionInfo {
                pane: candidate.pane.clone(),
                process: candidate.process.clone(),
                ..SessionInfo::default()
            },
            number: format!("{:08x}", u32::from_be_bytes(random)),
        })
    }

    /// The line for these notifications, given as JSON.
    pub(super) fn line(&self, project: &ProjectName, notifications: &[Bytes]) -> String {
        wake_text::pasted(project, notifications, &self.number)
    }

    /// Whether a paste would reach the agent now; if not, notes why.
    pub(super) async fn is_ready(&self) -> bool {
        let refused = self.ready().await.err();
        note(&self.hub, &self.key, refused.as_deref());
        refused.is_none()
    }

    /// Checks that a paste would reach the empty input line of the idle agent, and nothing else. Fails with the reason.
    async fn ready(&self) -> Result<Pane, String> {
        let (project, key) = &self.key;
        let busy = self.hub.read(|state, _| {
            let session = state.session(project, key);
            let alive = session.filter(|it| it.is_alive());
            alive.map_or(Some("it has ended"), why_not_idle)
        });
        if let Some(why) = busy.map_err(|error| error.to_string())? {
            return Err(why.into());
        }
        let pane = Pane::find(self.info.clone());
        let pane = pane.await.map_err(|why| why.to_string())?;
        let glance = pane.glance().await.map_err(|why| why.to_string())?;
        let id = pane.id();
        let why = if !pane.is_read_by_session() {
            format!("another program is in the foreground of pane {id}")
        } else if glance.is_in_mode {
            format!("pane {id} is in copy mode or another mode of tmux")
        } else if glance.is_synchronized {
            format!("pane {id} sends its keys to other panes too (synchronize-panes)")
        } else if glance.ignores_input {
            format!("pane {id} takes no input (select-pane -d)")
        } else {
            match input_line::read(self.agent, &glance.screen) {
                InputLine::Empty => return Ok(pane),
                InputLine::Typed => format!("the input line in pane {id} is not empty"),
                InputLine::Unknown => format!("pane {id} shows no empty input line"),
            }
        };
        Err(why)
    }

    /// Pastes the line, waits until the agent shows it, and presses Enter.
    pub(super) async fn wake(&self, line: &str) -> io::Result<()> {
        let pane = self.ready().await.map_err(io::Error::other)?;
        pane.paste(line).await.map_err(io::Error::other)?;
        let shown = tokio::time::timeout(SHOWN_WITHIN, self.until_shown(&pane)).await;
        shown.map_err(|_| {
            io::Error::other("the agent did not show the pasted line, so it was not submitted")
        })??;
        if !pane.is_read_by_session() {
            return Err(io::Error::other(
                "another program came to the foreground, so the pasted line was not submitted",
            ));
        }
        pane.press_enter().await.map_err(io::Error::other)
    }

    async fn until_shown(&self, pane: &Pane) -> io::Result<()> {
        loop {
            let glance = pane.glance().await.map_err(io::Error::other)?;
            let reaches_agent = !glance.is_in_mode && !glance.is_synchronized;
            if reaches_agent && input_line::shows(&glance.screen, &self.number) {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Notes for people why the hub does not use the pane of a session now, or with `None` that nothing keeps it from that.
pub(super) fn note(hub: &Hub, key: &SessionKey, why: Option<&str>) {
    let is_known = match (hub.waiters().read().unreachable(key), why) {
        (Some((Way::Pane, known)), Some(why)) => known == why,
        (known, None) => known.is_none_or(|(way, _)| way != Way::Pane),
        (_, Some(_)) => false,
    };
    if !is_known {
        let mut waiters = hub.waiters().write();
        let why = why.map(str::to_owned);
        waiters
            .activity()
            .note_unreachable(key.clone(), Way::Pane, why);
    }
}
