use super::session_file::Status;
use super::*;

const NOW: i64 = 1_000;

fn session(since: i64, dialog: Option<i64>) -> KnownSession {
    KnownSession {
        key: (ProjectName::default(), "s1".parse().unwrap()),
        process: Process::running(std::process::id()),
        seq: 1,
        since: Timestamp::from_millis(since),
        in_turn: dialog.is_none(),
        blocked: dialog.is_some(),
        form_until: None,
        dialog: dialog.map(Timestamp::from_millis),
    }
}

fn idle_session(since: i64) -> KnownSession {
    KnownSession {
        in_turn: false,
        ..session(since, None)
    }
}

fn file(status: Status, updated: i64) -> SessionFile {
    SessionFile {
        pid: 1,
        proc_start: None,
        session_id: None,
        messaging_socket_path: None,
        status,
        waiting_for: None,
        status_updated_at: updated,
    }
}

fn waiting(what: &str, updated: i64) -> SessionFile {
    SessionFile {
        waiting_for: Some(what.into()),
        ..file(Status::Waiting, updated)
    }
}

/// The event when the file is read for the first time, and when it says the same after all delays.
fn events(session: &KnownSession, file: &SessionFile) -> (Option<AgentEvent>, Option<AgentEvent>) {
    let now = Timestamp::from_millis(NOW);
    let mut difference = None;
    let first = unreported_event(session, file, now, &mut difference);
    if let Some(difference) = &mut difference {
        let long_ago = difference.noticed.checked_sub(evidence::OLDER_DELAY);
        difference.noticed = long_ago.unwrap();
    }
    (first, unreported_event(session, file, now, &mut difference))
}

fn permission() -> AgentEvent {
    AgentEvent::Permission {
        text: String::new(),
        data: None,
    }
}

#[test]
fn an_idle_status_newer_than_the_turn_is_an_interruption() {
    let turn = session(100, None);
    assert_eq!(events(&turn, &file(Status::Busy, 90)), (None, None));
    assert_eq!(events(&turn, &file(Status::Busy, 120)), (None, None));
    let interrupted = (None, Some(AgentEvent::Interrupted));
    assert_eq!(events(&turn, &file(Status::Idle, 120)), interrupted);
    let ended = idle_session(100);
    assert_eq!(events(&ended, &file(Status::Idle, 120)), (None, None));
}

#[test]
fn a_status_that_is_older_or_of_the_future_is_believed_only_if_it_stays() {
    let interrupted = (None, Some(AgentEvent::Interrupted));
    for updated in [90, 100, NOW + 1] {
        let turn = session(100, None);
        assert_eq!(events(&turn, &file(Status::Idle, updated)), interrupted);
        let asks = waiting("permission prompt", updated);
        assert_eq!(events(&turn, &asks), (None, Some(permission())));
    }
}

#[test]
fn each_report_of_a_hook_starts_the_delay_again() {
    let now = Timestamp::from_millis(NOW);
    let old = file(Status::Idle, 90);
    let mut turn = session(100, None);
    let mut difference = None;
    unreported_event(&turn, &old, now, &mut difference);
    let noticed = &mut difference.as_mut().unwrap().noticed;
    *noticed = noticed.checked_sub(evidence::OLDER_DELAY).unwrap();
    turn.seq += 1;
    assert_eq!(unreported_event(&turn, &old, now, &mut difference), None);
}

#[test]
fn a_session_that_works_again_has_left_its_dialog() {
    let dialog = session(100, Some(100));
    assert_eq!(events(&dialog, &file(Status::Busy, 90)), (None, None));
    assert_eq!(
        events(&dialog, &file(Status::Busy, 120)).0,
        Some(AgentEvent::Worked)
    );
    assert_eq!(
        events(&dialog, &file(Status::Idle, 120)).1,
        Some(AgentEvent::Interrupted)
    );
}

#[test]
fn a_dialog_that_no_hook_reports_is_believed_after_a_delay() {
    let (turn, idle) = (session(100, None), idle_session(100));
    let asked = (None, Some(permission()));
    for words in ["permission prompt", "sandbox request", "worker request"] {
        assert_eq!(events(&turn, &waiting(words, 120)), asked);
        assert_eq!(events(&idle, &waiting(words, 120)), asked);
        let known = session(100, Some(110));
        assert_eq!(events(&known, &waiting(words, 120)), (None, None));
    }
    let asks = |event| matches!(event, Some(AgentEvent::Asks { .. }));
    assert!(asks(events(&turn, &waiting("input needed", 120)).1));
    // A form with a question of the hub, also while it closes.
    let form_until = Some(Timestamp::from_millis(130));
    let own = KnownSession {
        form_until,
        ..turn.clone()
    };
    assert_eq!(events(&own, &waiting("input needed", 120)), (None, None));
    assert!(asks(events(&own, &waiting("input needed", 140)).1));
    assert!(asks(events(&turn, &waiting("dialog open", 120)).1));
    for its_own in ["dialog open", "a word of a later version", ""] {
        assert_eq!(events(&idle, &waiting(its_own, 120)), (None, None));
    }
}

#[test]
fn an_unknown_status_is_ignored() {
    let parsed = |status: &str| {
        let text = format!(r#"{{"pid":1,"status":"{status}","statusUpdatedAt":120}}"#);
        let file: SessionFile = serde_json::from_str(&text).unwrap();
        events(&session(100, None), &file).1
    };
    assert_eq!(parsed("sleeping"), None);
    assert_eq!(parsed("shell"), Some(AgentEvent::Interrupted));
    assert_eq!(parsed("idle"), Some(AgentEvent::Interrupted));
}

#[test]
fn only_a_small_own_file_of_this_very_process_is_believed() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = dir.path().join("sessions");
    std::fs::create_dir(&sessions).unwrap();
    let process = Process::running(std::process::id());
    let path = sessions.join(format!("{}.json", process.pid));
    let started = process.started.unwrap().to_string();
    let write = |pid: u32, started: &str, more: &str| {
        let text = format!(
            r#"{{"pid":{pid},"procStart":"{started}","status":"idle","statusUpdatedAt":7{more}}}"#
        );
        std::fs::write(&path, text).unwrap();
    };
    let ignored = || match session_file::read(dir.path(), &process) {
        Ok(_) => "read".into(),
        Err(why) => why.to_string(),
    };
    assert_eq!(ignored(), "it is not current", "nothing there");
    write(process.pid, &started, "");
    assert_eq!(ignored(), "read");
    write(process.pid, "1", "");
    assert_eq!(ignored(), "it is not current", "of a process before");
    write(1, &started, "");
    assert_eq!(ignored(), "it is not current", "of another process");
    write(process.pid, &started, "x");
    assert_eq!(ignored(), "it is not current", "maybe half written");
    let minute_ago = std::time::SystemTime::now() - Duration::from_secs(60);
    std::fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(minute_ago)
        .unwrap();
    assert!(ignored().contains("line 1 column"), "{}", ignored());
    write(
        process.pid,
        &started,
        &format!(r#","x":"{}""#, "x".repeat(70_000)),
    );
    assert_eq!(ignored(), "it is larger than 65536 bytes");
    write(process.pid, &started, "");
    let real = dir.path().join("real.json");
    std::fs::rename(&path, &real).unwrap();
    std::os::unix::fs::symlink(&real, &path).unwrap();
    assert_eq!(ignored(), "it is a symbolic link");
    std::fs::remove_file(&path).unwrap();
    let (fifo, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
    rustix::fs::mknodat(rustix::fs::CWD, &path, fifo, mode, 0).unwrap();
    assert_eq!(ignored(), "it is no regular file");
    std::fs::remove_dir_all(&sessions).unwrap();
    std::os::unix::fs::symlink(dir.path(), &sessions).unwrap();
    assert_ne!(ignored(), "it is not current", "the directory is a link");
}
