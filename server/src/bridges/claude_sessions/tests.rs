use super::*;

fn session(since: i64, dialog: Option<i64>) -> Active {
    Active {
        place: (ProjectName::default(), "s1".parse().unwrap()),
        process: own_process(),
        since: Timestamp::from_millis(since),
        dialog: dialog.map(Timestamp::from_millis),
    }
}

fn own_process() -> Process {
    let pid = std::process::id();
    Process {
        pid,
        started: start_of(pid),
        boot_id: boot_id(),
    }
}

fn told(status: &str, updated: i64) -> Told {
    Told {
        pid: 1,
        proc_start: None,
        status: status.into(),
        status_updated_at: updated,
    }
}

#[test]
fn an_idle_status_newer_than_the_turn_is_an_interruption() {
    let known = &mut Known::default();
    let turn = session(100, None);
    assert_eq!(happened(&turn, &told("busy", 90), known), None);
    assert_eq!(happened(&turn, &told("waiting", 110), known), None);
    let interrupted = happened(&turn, &told("idle", 120), known);
    assert_eq!(interrupted, Some(AgentEvent::Interrupted));
}

#[test]
fn an_older_idle_status_is_believed_only_if_it_stays() {
    let turn = session(100, None);
    let known = &mut Known::default();
    assert_eq!(happened(&turn, &told("idle", 90), known), None);
    let long_ago = Instant::now().checked_sub(SETTLED).unwrap();
    known.idle = Some((turn.since, long_ago));
    assert!(happened(&turn, &told("idle", 90), known).is_some());
    known.idle = Some((Timestamp::from_millis(50), long_ago));
    assert_eq!(
        happened(&turn, &told("idle", 90), known),
        None,
        "another turn"
    );
}

#[test]
fn a_session_that_works_again_has_left_its_dialog() {
    let known = &mut Known::default();
    let dialog = session(100, Some(100));
    assert_eq!(happened(&dialog, &told("busy", 90), known), None);
    assert_eq!(happened(&dialog, &told("waiting", 110), known), None);
    let worked = happened(&dialog, &told("busy", 120), known);
    assert_eq!(worked, Some(AgentEvent::Worked));
    let turn = session(100, None);
    assert_eq!(happened(&turn, &told("busy", 120), known), None);
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
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &file,
        rustix::fs::FileType::Fifo,
        Mode::RUSR,
        0,
    )
    .unwrap();
    assert!(read(dir.path(), &process).is_none(), "a pipe");
}
