use super::*;
use crate::bridges::local_sessions::own_process;

fn session(since: i64, dialog: Option<i64>) -> ActiveSession {
    ActiveSession {
        key: (ProjectName::default(), "s1".parse().unwrap()),
        process: own_process(),
        since: Timestamp::from_millis(since),
        dialog: dialog.map(Timestamp::from_millis),
    }
}

fn file(status: &str, updated: i64) -> SessionFile {
    SessionFile {
        pid: 1,
        proc_start: None,
        status: status.into(),
        status_updated_at: updated,
    }
}

/// Returns the event that a status file shows and no hook has reported.
fn event(
    turn: &ActiveSession,
    status: (&str, i64),
    process: &mut TrackedProcess,
) -> Option<AgentEvent> {
    unreported_event(turn, &file(status.0, status.1), process)
}

#[test]
fn an_idle_status_newer_than_the_turn_is_an_interruption() {
    let process = &mut TrackedProcess::default();
    let turn = session(100, None);
    assert_eq!(event(&turn, ("busy", 90), process), None);
    assert_eq!(event(&turn, ("waiting", 110), process), None);
    let interrupted = event(&turn, ("idle", 120), process);
    assert_eq!(interrupted, Some(AgentEvent::Interrupted));
}

#[test]
fn an_older_idle_status_is_believed_only_if_it_stays() {
    let turn = session(100, None);
    let process = &mut TrackedProcess::default();
    assert_eq!(event(&turn, ("idle", 90), process), None);
    let long_ago = Instant::now().checked_sub(IDLE_DELAY).unwrap();
    process.idle = Some((turn.since, long_ago));
    assert!(event(&turn, ("idle", 90), process).is_some());
    process.idle = Some((Timestamp::from_millis(50), long_ago));
    assert_eq!(event(&turn, ("idle", 90), process), None, "another turn");
}

#[test]
fn a_session_that_works_again_has_left_its_dialog() {
    let process = &mut TrackedProcess::default();
    let dialog = session(100, Some(100));
    assert_eq!(event(&dialog, ("busy", 90), process), None);
    assert_eq!(event(&dialog, ("waiting", 110), process), None);
    let worked = event(&dialog, ("busy", 120), process);
    assert_eq!(worked, Some(AgentEvent::Worked));
    let turn = session(100, None);
    assert_eq!(event(&turn, ("busy", 120), process), None);
}

#[test]
fn the_environment_names_the_directory() {
    let dir = |text: &str| dir_of(text).map(|dir| dir.display().to_string());
    assert_eq!(dir("A=b\0HOME=/h\0").as_deref(), Some("/h/.claude"));
    let moved = dir("HOME=/h\0CLAUDE_CONFIG_DIR=/c\0");
    assert_eq!(moved.as_deref(), Some("/c"));
    assert_eq!(dir("HOME=h\0"), None);
    assert_eq!(dir(""), None);
}

#[test]
fn only_a_small_own_file_of_this_very_process_is_believed() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = dir.path().join("sessions");
    std::fs::create_dir(&sessions).unwrap();
    let process = own_process();
    let file = sessions.join(format!("{}.json", process.pid));
    let write = |started: &str, more: &str| {
        let text = format!(
            r#"{{"pid":{},"procStart":"{started}","status":"idle","statusUpdatedAt":7{more}}}"#,
            process.pid
        );
        std::fs::write(&file, text).unwrap();
    };
    let started = process.started.unwrap().to_string();
    assert!(read(dir.path(), &process).is_none(), "nothing there");
    write(&started, "");
    assert_eq!(read(dir.path(), &process).unwrap().status, "idle");
    write("1", "");
    assert!(read(dir.path(), &process).is_none(), "of a process before");
    write(&started, &format!(r#","x":"{}""#, "x".repeat(70_000)));
    assert!(read(dir.path(), &process).is_none(), "too large");
    write(&started, "");
    let real = dir.path().join("real.json");
    std::fs::rename(&file, &real).unwrap();
    std::os::unix::fs::symlink(&real, &file).unwrap();
    assert!(read(dir.path(), &process).is_none(), "a link");
    std::fs::remove_file(&file).unwrap();
    let (fifo, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
    rustix::fs::mknodat(rustix::fs::CWD, &file, fifo, mode, 0).unwrap();
    assert!(read(dir.path(), &process).is_none(), "a pipe");
}
