//! A line pasted into the session's tmux pane: the last way, for sessions that allow it.
//!
//! Keys reach whatever reads them: a shell, a dialog, a half-typed prompt. So the conditions are facts of the kernel, of
//! tmux and of the agent's hooks, checked right before the paste. The line is always the same; the answer to the hook of
//! the prompt delivers the notifications, and proves the way.

use std::io;
use std::time::Duration;

use hub_core::fold::{Session, SessionKey};
use hub_engine::tmux::{Glance, Pane};
use hub_engine::{Hub, wake_text};
use hub_protocol::{SessionInfo, Timestamp, Way};

use super::{PushSession, why_not_idle};

/// The pane of one session, for one paste.
#[derive(Clone)]
pub(super) struct PastePane {
    hub: Hub,
    key: SessionKey,
    info: SessionInfo,
}

impl PastePane {
    /// The pane of a session that allows it. Fails with the reason why the hub does not use it.
    pub(super) fn of(hub: &Hub, candidate: &PushSession) -> Result<Self, String> {
        if !candidate.pane_delivery {
            return Err(
                "it has not allowed the hub to paste into its pane: start it with `hubctl run --pane` or HUB_PANE_DELIVERY=1".into(),
            );
        }
        if !candidate.agent.facts().has(Way::Pane) {
            let agent = candidate.agent;
            return Err(format!(
                "no hook of {agent} delivers with a prompt, so nothing would prove a paste"
            ));
        }
        if candidate.unproven_paste {
            return Err(
                "a line was pasted before, and no hook has proved that it arrived: the person's next prompt delivers".into(),
            );
        }
        Ok(Self {
            hub: hub.clone(),
            key: candidate.key.clone(),
            info: SessionInfo {
                pane: candidate.pane.clone(),
                process: candidate.process.clone(),
                ..SessionInfo::default()
            },
        })
    }

    /// Whether a paste would reach the agent now; if not, notes why.
    pub(super) async fn is_ready(&self) -> bool {
        let refused = self.ready().await.err();
        note(&self.hub, &self.key, refused.as_deref());
        refused.is_none()
    }

    /// Checks that a paste would reach the input line of the idle agent, and nothing else. Fails with the reason.
    async fn ready(&self) -> Result<Pane, String> {
        let (project, key) = &self.key;
        let prompted = self.hub.read(|state, _| {
            let session = state.sessions.get(project, key);
            let alive = session.filter(|it| it.is_alive()).ok_or("it has ended")?;
            why_not_idle(alive).map_or_else(|| Ok(last_prompt(alive)), Err)
        });
        let prompted = prompted.map_err(|error| error.to_string())??;
        let pane = Pane::find(self.info.clone());
        let pane = pane.await.map_err(|why| why.to_string())?;
        let glance = pane.glance().await.map_err(|why| why.to_string())?;
        let (now, quiet) = (Timestamp::now(), self.hub.rules().pane_quiet);
        let id = pane.id();
        if !pane.is_read_by_session() {
            return Err(format!("another program is in the foreground of pane {id}"));
        }
        match why_in_use(&glance, prompted, now, quiet) {
            Some(why) => Err(format!("pane {id} {why}")),
            None => Ok(pane),
        }
    }

    /// Pastes the line and submits it.
    pub(super) async fn wake(&self) -> io::Result<()> {
        let pane = self.ready().await.map_err(io::Error::other)?;
        let submitted = pane.submit(wake_text::PASTED).await;
        submitted.map_err(io::Error::other)
    }

    /// Presses Enter, under the conditions of a paste.
    pub(super) async fn press_enter(&self) -> io::Result<()> {
        let pane = self.ready().await.map_err(io::Error::other)?;
        pane.press_enter().await.map_err(io::Error::other)
    }
}

/// When the session's last turn began, or the session.
fn last_prompt(session: &Session) -> Timestamp {
    let began = session.registered.as_ref().map(|it| it.since);
    session.worked.or(began).unwrap_or_default()
}

/// Why keys of others may reach a pane now, or be in its input line, after the agent's last prompt.
fn why_in_use(
    glance: &Glance,
    prompted: Timestamp,
    now: Timestamp,
    quiet: Duration,
) -> Option<String> {
    let seconds = |at: Timestamp| at.as_millis().div_euclid(1000);
    let silence = u64::try_from(seconds(now) - glance.last_key).unwrap_or_default();
    let why = if glance.is_in_mode {
        "is in copy mode or another mode of tmux"
    } else if glance.is_synchronized {
        "sends its keys to other panes too (synchronize-panes)"
    } else if glance.ignores_input {
        "takes no input (select-pane -d)"
    } else if glance.is_controlled {
        "has a client in control mode (tmux -C), whose keys tmux does not count"
    } else if silence <= quiet.as_secs() {
        let quiet = quiet.as_secs();
        return Some(format!(
            "is in use: a key was pressed in its tmux session within the last {quiet} s"
        ));
    } else if glance.last_key_here > Some(seconds(prompted)) {
        "may contain a draft: a terminal shows it, where a key was pressed after the session's last prompt"
    } else {
        return None;
    };
    Some(why.into())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pane_is_free_a_minute_after_the_last_key_unless_it_may_contain_a_draft() {
        let minute = Duration::from_secs(60);
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1000);
        let why = |last_key, last_key_here, prompted, now| {
            let glance = Glance {
                last_key,
                last_key_here,
                ..Glance::default()
            };
            why_in_use(&glance, at(prompted), at(now), minute).unwrap_or_default()
        };
        assert!(why(100, None, 50, 160).contains("within the last 60 s"));
        assert_eq!(why(100, None, 50, 161), "");
        assert!(why(100, None, 50, 90).contains("within"), "a clock jumped");
        assert!(why(100, Some(100), 99, 1000).contains("a draft"));
        assert_eq!(why(100, Some(100), 100, 1000), "");
    }

    #[test]
    fn a_pane_whose_keys_tmux_reads_shares_ignores_or_does_not_count_is_not_free() {
        let all = [
            (
                Glance {
                    is_in_mode: true,
                    ..Glance::default()
                },
                "copy mode",
            ),
            (
                Glance {
                    is_synchronized: true,
                    ..Glance::default()
                },
                "synchronize-panes",
            ),
            (
                Glance {
                    ignores_input: true,
                    ..Glance::default()
                },
                "takes no input",
            ),
            (
                Glance {
                    is_controlled: true,
                    ..Glance::default()
                },
                "control mode",
            ),
        ];
        for (glance, reason) in all {
            let now = Timestamp::from_millis(1_000_000);
            let why = why_in_use(&glance, now, now, Duration::ZERO).unwrap_or_default();
            assert!(why.contains(reason), "{why}");
        }
    }
}
