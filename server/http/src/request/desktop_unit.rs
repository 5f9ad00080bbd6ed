//! Whether a process is the person's `hub-desktop`, started by the service manager of the hub's user. It passes on what the
//! person clicks, but it has no terminal, so its ancestors alone cannot show that no agent started it.
//!
//! Any process can have the name `hub-desktop` and call its parent `systemd`. So the program must be the one beside
//! `hubd`, and the kernel must show that the service manager is its parent and put it into the group of its unit. This
//! recognises what an agent starts in the usual ways: as a child, detached (`setsid`, a double fork), under another name,
//! or with `systemd-run`. It cannot stop a program that runs as the same user and pretends on purpose: such a program
//! may write the unit's file, move itself into the groups of its user's manager, trace `hub-desktop`, or stand in for the
//! notification daemon.

use std::fs;
use std::path::Path;

use super::caller::is_beside_us;

/// The unit that `hub-desktop --install-unit` installs.
const UNIT: &str = "hub-desktop.service";

/// Whether the process `pid` with this parent is `hub-desktop` as a service of the user manager of `uid`.
pub(super) fn is_desktops_service(pid: u32, parent: u32, uid: u32) -> bool {
    let groups = |pid| fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let transient = format!("/run/user/{uid}/systemd/transient/{UNIT}");
    is_unit(&groups(pid), uid)
        && is_manager(&groups(parent), uid)
        && is_beside_us(Path::new(&format!("/proc/{pid}/exe")), "hub-desktop")
        && !Path::new(&transient).exists()
}

/// Whether `/proc/PID/cgroup` shows the process in the unit of the user manager, in any slice but no further group.
fn is_unit(groups: &str, uid: u32) -> bool {
    let place = managed(groups, uid).and_then(|it| it.strip_suffix(UNIT));
    let slices = place.map(|it| it.split_terminator('/'));
    let has_slash = place.is_some_and(|it| it.is_empty() || it.ends_with('/'));
    has_slash && slices.is_some_and(|mut all| all.all(|it| it.strip_suffix(".slice").is_some()))
}

/// Whether `/proc/PID/cgroup` shows the user manager itself.
fn is_manager(groups: &str, uid: u32) -> bool {
    managed(groups, uid) == Some("init.scope")
}

/// The group below that of the user manager. Only the unified hierarchy counts: in the older ones a process may be in
/// several groups.
fn managed(groups: &str, uid: u32) -> Option<&str> {
    let path = groups.lines().find_map(|it| it.strip_prefix("0::"))?;
    path.strip_prefix(&format!("/user.slice/user-{uid}.slice/user@{uid}.service/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANAGER: &str = "/user.slice/user-1000.slice/user@1000.service";

    #[test]
    fn only_the_unit_of_the_users_own_manager_counts() {
        let unit = |groups: &str| is_unit(groups, 1000);
        assert!(unit(&format!("0::{MANAGER}/app.slice/{UNIT}\n")));
        assert!(unit(&format!("0::{MANAGER}/{UNIT}\n")));
        assert!(unit(&format!(
            "1:name=systemd:/x\n0::{MANAGER}/session.slice/a-b.slice/{UNIT}\n"
        )));
        for other in [
            // A terminal, and a command that an agent detached in it.
            "/user.slice/user-1000.slice/session-3.scope".to_owned(),
            format!("{MANAGER}/app.slice/app-org.kde.konsole-42.scope"),
            // systemd-run without and with a name of its own.
            format!("{MANAGER}/app.slice/run-u12.service"),
            format!("{MANAGER}/app.slice/my-{UNIT}"),
            // A group that a process made in the delegated group of its terminal or its service.
            format!("{MANAGER}/app.slice/agent.service/{UNIT}"),
            format!("{MANAGER}/app.slice/agent.scope/{UNIT}"),
            format!("{MANAGER}/app.slice/{UNIT}/agent"),
            // Another user's manager, the system's, a container's, and one outside of the reader's namespace.
            format!("/user.slice/user-1001.slice/user@1001.service/app.slice/{UNIT}"),
            format!("/user.slice/user-1000.slice/user@1001.service/app.slice/{UNIT}"),
            format!("/system.slice/{UNIT}"),
            format!("/machine.slice/a.scope{MANAGER}/app.slice/{UNIT}"),
            format!("/../..{MANAGER}/app.slice/{UNIT}"),
            format!("{MANAGER}/app.slice/../{UNIT}"),
            format!("/{UNIT}"),
            "/".to_owned(),
        ] {
            assert!(!unit(&format!("0::{other}\n")), "{other}");
        }
        for groups in [
            String::new(),
            // An older hierarchy alone, where any process may be in the group.
            format!("1:name=systemd:{MANAGER}/app.slice/{UNIT}\n0::/\n"),
            format!("4:cpu:{MANAGER}/app.slice/{UNIT}\n"),
        ] {
            assert!(!unit(&groups), "{groups}");
        }
    }

    #[test]
    fn only_the_user_manager_is_the_parent_of_a_unit() {
        assert!(is_manager(&format!("0::{MANAGER}/init.scope\n"), 1000));
        for other in [
            format!("{MANAGER}/app.slice/{UNIT}"),
            format!("{MANAGER}/app.slice/init.scope"),
            "/init.scope".to_owned(),
            "/user.slice/user-1000.slice/session-3.scope".to_owned(),
        ] {
            assert!(!is_manager(&format!("0::{other}\n"), 1000), "{other}");
        }
    }

    #[test]
    fn another_program_with_the_name_is_not_ours() {
        let dir = tempfile::tempdir().unwrap();
        let copy = dir.path().join("hub-desktop");
        fs::write(&copy, "").unwrap();
        assert!(!is_beside_us(&copy, "hub-desktop"));
        assert!(!is_beside_us(Path::new("/proc/self/exe"), "hub-desktop"));
        assert!(!is_beside_us(
            Path::new("/nowhere/hub-desktop"),
            "hub-desktop"
        ));
    }
}
