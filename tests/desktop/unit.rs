//! The unit of the systemd user manager.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hub_harness::{Hub, until};

use crate::desktop::{Desktop, Program};
use crate::shown::asks_permission;

/// Runs `hub-desktop` with `option`, with a `systemctl` that records its arguments; returns them.
fn run(hub: &Hub, option: &str) -> String {
    let bin = hub.scratch().join("bin");
    std::fs::create_dir_all(&bin).expect("a directory");
    let log = hub.scratch().join("systemctl.log");
    let script = format!("echo \"$*\" >>{}", log.display());
    // A script that the shell reads, so that no file is executed that is open for writing.
    std::fs::write(bin.join("systemctl.sh"), script).expect("a file");
    let link = bin.join("systemctl");
    if !link.exists() {
        let wrapper = format!(
            "printf '#!/bin/sh\\n. %s\\n' {0}.sh >{0} && chmod 755 {0}",
            link.display()
        );
        assert!(
            Command::new("sh")
                .args(["-c", &wrapper])
                .status()
                .expect("a shell")
                .success()
        );
    }
    let done = Command::new(env!("CARGO_BIN_EXE_hub-desktop"))
        .arg(option)
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        .env("HOME", hub.scratch())
        .env("HUB_STATE_DIR", hub.state_dir())
        .output()
        .expect("hub-desktop starts");
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let said = std::fs::read_to_string(&log).unwrap_or_default();
    let _ = std::fs::remove_file(log);
    said
}

#[tokio::test]
async fn the_unit_is_installed_for_this_hub_and_removed_without_a_trace() {
    let hub = Hub::builder().memory().start();
    let unit = hub
        .scratch()
        .join(".config/systemd/user/hub-desktop.service");
    let said = run(&hub, "--install-unit");
    assert_eq!(
        said,
        "--user daemon-reload\n--user enable --quiet hub-desktop.service\n--user restart hub-desktop.service\n"
    );
    let text = std::fs::read_to_string(&unit).expect("a unit");
    assert!(text.contains("PartOf=graphical-session.target\n"), "{text}");
    let state = hub.state_dir().display().to_string();
    assert!(
        text.contains(&format!("\" \"--state-dir\" \"{state}\"\n")),
        "{text}"
    );
    let verified = Command::new("systemd-analyze")
        .args(["--user", "verify"])
        .arg(&unit)
        .env("XDG_RUNTIME_DIR", hub.scratch())
        .output()
        .expect("systemd is installed");
    let found = String::from_utf8_lossy(&verified.stderr).into_owned();
    assert!(
        verified.status.success() && !found.contains("hub-desktop.service:"),
        "{found}"
    );
    let said = run(&hub, "--uninstall-unit");
    assert_eq!(
        said,
        "--user disable --quiet --now hub-desktop.service\n--user daemon-reload\n"
    );
    assert!(!unit.exists());
}

/// A place in the kernel's groups like that of a user manager of this user; removed when dropped.
struct Manager(PathBuf);

impl Manager {
    /// `None` if no group can be made here, or if the manager exists.
    fn new() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").expect("Linux");
        let unified = mounts.lines().find(|it| it.contains(" cgroup2 "))?;
        let uid = rustix::process::geteuid();
        let group = format!("user.slice/user-{uid}.slice/user@{uid}.service");
        let group = Path::new(unified.split(' ').nth(1)?).join(group);
        if group.exists() {
            return None;
        }
        let groups = [
            "init.scope",
            "app.slice/hub-desktop.service",
            "app.slice/other.service",
        ];
        for it in groups {
            fs::create_dir_all(group.join(it)).ok()?;
        }
        Some(Self(group))
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let below = [
            "init.scope",
            "app.slice/hub-desktop.service",
            "app.slice/other.service",
            "app.slice",
            "",
        ];
        for it in below {
            let group = self.0.join(it);
            // A group is busy until its last process was reaped.
            until("the group is empty", || fs::remove_dir(&group).ok());
        }
        for group in self.0.ancestors().skip(1).take(2) {
            let _ = fs::remove_dir(group);
        }
    }
}

/// Starts `hub-desktop` detached, below a process that is named as systemd is; in these groups, if there are any.
fn detached(desktop: &Desktop, groups: Option<[PathBuf; 2]>) -> Program {
    let systemd = desktop.hub.scratch().join("systemd");
    let copied = Command::new("install")
        .arg("/bin/sh")
        .arg(&systemd)
        .status();
    assert!(copied.expect("coreutils").success());
    let enter = |group: &PathBuf| format!("echo $$ >{}/cgroup.procs;", group.display());
    let [manager, unit] = groups.map_or_else(Default::default, |it| it.each_ref().map(enter));
    let script = format!(
        "{manager} sh -c '{unit} exec setsid setpriv --pdeathsig KILL \"$0\"' \"$0\" & wait"
    );
    let mut command = Command::new(systemd);
    command.args(["-c", &script]).stdin(Stdio::null());
    Program::under(command, &desktop.hub, &desktop.bus)
}

/// Presses Approve, while an agent runs that is older than this `hub-desktop`; returns whether the agent was allowed.
async fn approves(groups: Option<[PathBuf; 2]>) -> bool {
    let mut desktop = Desktop::new().await;
    let mut agent = hub_harness::session_process(&desktop.hub.socket(), "login");
    desktop.program.end();
    desktop.program = detached(&desktop, groups);
    let mut asker = asks_permission(&desktop.client, "make test");
    let note = desktop.daemon.one().await;
    desktop.daemon.press(&note, "Approve").await;
    let refused = desktop.daemon.until("the answer is refused", |it| {
        it.notes
            .iter()
            .any(|it| it.body.contains("Not answered with Approve"))
    });
    let allowed = tokio::select! {
        told = &mut asker => told.expect("a reply")["hookSpecificOutput"]["decision"]["behavior"] == "allow",
        _ = refused => false,
    };
    asker.abort();
    agent.kill().and_then(|()| agent.wait()).expect("it runs");
    allowed
}

/// Where the test cannot make groups, it proves only the refusal. The unit tests of `desktop_unit.rs` prove the rest.
#[tokio::test]
async fn only_the_unit_of_the_user_manager_may_approve_without_a_terminal() {
    assert!(!approves(None).await, "a detached copy");
    let Some(manager) = Manager::new() else {
        eprintln!("no group can be made here");
        return;
    };
    let group = |name: &str| manager.0.join(name);
    let scope = group("init.scope");
    let unit = group("app.slice/hub-desktop.service");
    let other = group("app.slice/other.service");
    assert!(
        approves(Some([scope.clone(), unit.clone()])).await,
        "the unit"
    );
    assert!(
        !approves(Some([scope, other.clone()])).await,
        "another unit"
    );
    assert!(!approves(Some([other, unit])).await, "another parent");
}
