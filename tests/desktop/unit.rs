//! The unit of the systemd user manager.

use std::process::Command;

use hub_harness::Hub;

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
