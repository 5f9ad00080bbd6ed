//! The service on Linux: two units of the systemd user manager, of which one listens on the hub's sockets.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::{Place, Service, text, words};
use crate::error::Error;
use crate::identity::Context;

const SERVICE: &str = include_str!("hubd.service");
const SOCKET: &str = include_str!("hubd.socket");

pub(super) fn service(place: &Place, context: &Context) -> Result<Service, Error> {
    let units = context.env.path("XDG_CONFIG_HOME");
    let units = units.or_else(|| Some(context.env.path("HOME")?.join(".config")));
    let units = units.ok_or_else(|| anyhow::anyhow!("HOME is not set"))?;
    let units = units.join("systemd/user");
    let command = place.command()?.into_iter().map(unit_word);
    let command = command.collect::<Vec<_>>().join(" ");
    let socket = place.state_dir.join("hub.sock");
    let socket = escaped(text(&socket)?);
    let port = place.listen.rsplit(':').next().unwrap_or_default();
    Ok(Service {
        files: vec![
            (
                units.join("hubd.service"),
                SERVICE.replace("@HUBD@", &command),
            ),
            (units.join("hubd.socket"), socket_unit(&socket, port)),
        ],
        start: vec![
            words("systemctl --user daemon-reload"),
            words("systemctl --user enable --quiet hubd.service"),
            words("systemctl --user start hubd.socket"),
            words("systemctl --user restart hubd.service"),
        ],
        stop: vec![words(
            "systemctl --user disable --quiet --now hubd.service hubd.socket",
        )],
        is_used: ["is-enabled", "is-active"]
            .map(|it| words(&format!("systemctl --user {it} hubd.service hubd.socket")))
            .into(),
        forget: vec![words("systemctl --user daemon-reload")],
        status: words("systemctl --user status --no-pager hubd.service hubd.socket"),
        logs: words("journalctl --user --unit hubd.service"),
        hint: "it runs while you are logged in; `loginctl enable-linger` keeps it running",
    })
}

/// The units of a package: their names and texts, for programs in /usr/bin and the default settings.
pub fn packaged_units() -> [(&'static str, String); 2] {
    [
        ("hubd.service", SERVICE.replace("@HUBD@", "/usr/bin/hubd")),
        (
            "hubd.socket",
            socket_unit("%h/.local/state/hub/hub.sock", "4782"),
        ),
    ]
}

/// The socket unit. With port 0 the hub chooses its port at each start, so systemd cannot listen on it.
fn socket_unit(socket: &str, port: &str) -> String {
    let mut listen = format!("ListenStream={socket}");
    if port != "0" {
        for address in ["127.0.0.1", "[::1]"] {
            // Writing to a String cannot fail.
            let _ = write!(listen, "\nListenStream={address}:{port}");
        }
    }
    SOCKET.replace("@LISTEN@", &listen)
}

/// Whether the service runs the hub of this state directory: the manager puts its processes into a group of its name.
pub(in crate::commands) fn runs(state_dir: &Path) -> bool {
    let pid = fs::read_to_string(state_dir.join("lock")).unwrap_or_default();
    let groups = fs::read_to_string(format!("/proc/{}/cgroup", pid.trim()));
    groups.is_ok_and(|it| it.lines().any(|line| line.ends_with("/hubd.service")))
}

/// A word of a command line in a unit.
pub fn unit_word(word: &str) -> String {
    let word = word
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('$', "$$");
    format!("\"{}\"", escaped(&word))
}

/// `text` without specifiers, which begin with a percent sign.
fn escaped(text: &str) -> String {
    text.replace('%', "%%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_keeps_its_characters_in_a_unit() {
        assert_eq!(unit_word(r#"/a "b"\%h/$c"#), r#""/a \"b\"\\%%h/$$c""#);
    }

    #[test]
    fn a_hub_that_chooses_its_port_binds_it_itself() {
        assert!(!socket_unit("/s", "0").contains("127.0.0.1"));
        assert!(socket_unit("/s", "4782").contains("ListenStream=[::1]:4782\n"));
    }
}
