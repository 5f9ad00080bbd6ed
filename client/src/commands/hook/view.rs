//! Tells whether the person has a session's terminal in view, by asking tmux.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::input::read_all;
use crate::system::env::Env;

/// How long tmux may take; the hook has a second in all.
const PATIENCE: Duration = Duration::from_millis(200);

/// For how many seconds after a key press a client counts as attended. Terminals stay open for hours.
const ATTENDED: u64 = 60;

/// Whether the pane of this process is the active one of a focused tmux client in which a key was pressed recently.
/// `false` without tmux, or if tmux does not answer.
pub(super) fn is_watched(env: &Env) -> bool {
    let pane = env.var("TMUX_PANE").and_then(|pane| pane.to_str());
    let (Some(pane), Some(_)) = (pane, env.var("TMUX")) else {
        return false;
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default().as_secs();
    clients().is_some_and(|all| all.lines().any(|client| shows(client, pane, now)))
}

/// The clients of the tmux server that `TMUX` names, one a line.
fn clients() -> Option<String> {
    let mut tmux = Command::new("tmux")
        .args([
            "list-clients",
            "-F",
            "#{client_flags} #{client_activity} #{pane_id}",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let output = tmux.stdout.take().map(OwnedFd::from).map(File::from);
    let listed = output.and_then(|output| read_all(output, Instant::now() + PATIENCE));
    // End a tmux that has not answered in time; one that has answered ends by itself.
    if listed.is_none() {
        let _ = tmux.kill();
    }
    let _ = tmux.wait();
    String::from_utf8(listed?).ok()
}

fn shows(client: &str, pane: &str, now: u64) -> bool {
    let mut parts = client.split(' ');
    let (Some(flags), Some(pressed), Some(shown)) = (parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let pressed: Option<u64> = pressed.parse().ok();
    flags.split(',').any(|flag| flag == "focused")
        && shown == pane
        && pressed.is_some_and(|at| now.saturating_sub(at) <= ATTENDED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pane_is_watched_in_a_focused_client_with_a_recent_key() {
        let client = "attached,focused,UTF-8 1000 %7";
        assert!(shows(client, "%7", 1000 + ATTENDED));
        assert!(
            !shows(client, "%7", 1001 + ATTENDED),
            "the person may have left"
        );
        assert!(!shows(client, "%70", 1000), "another pane");
        assert!(
            !shows("attached,UTF-8 1000 %7", "%7", 1000),
            "another window has the focus"
        );
        assert!(!shows("attached,focused", "%7", 1000), "an old tmux");
    }

    #[test]
    fn a_pane_outside_tmux_is_not_watched() {
        let env = Env::of(std::path::Path::new("/"), &[("TMUX_PANE", "%7")]);
        assert!(!is_watched(&env));
    }
}
