//! Tests of status files in worktrees.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command as Program;
use std::sync::Arc;

use hub_core::command::{Command, IdempotencyKey};
use hub_engine::draft::Context;
use hub_protocol::{Kind, Notification, Post, Process, ProjectName, SessionInfo};

use super::*;
use crate::{Verdict, store};

/// A hub without sockets, and a worktree `tree`.
struct TestBridge {
    dir: tempfile::TempDir,
    hub: Hub,
    shutdown: CancellationToken,
    files: StatusFiles,
    bridge: StateDirBridge,
}

impl TestBridge {
    fn new() -> Self {
        Self::with(Box::new(worktrees::worktree_of))
    }

    fn with(find: FindWorktree) -> Self {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "-q", "tree"]);
        fs::create_dir_all(dir.path().join("tree/src")).unwrap();
        fs::create_dir_all(dir.path().join("state/status")).unwrap();
        let hub = hub_engine::testing::memory_hub();
        let shutdown = CancellationToken::new();
        let (files, bridge) = StatusFiles::with(&dir.path().join("state"), &hub, &shutdown, find);
        Self {
            dir,
            hub,
            shutdown,
            files,
            bridge,
        }
    }

    /// Runs the bridge while `act` works in the temporary directory. Returns the notifications as soon as there are
    /// `count`.
    async fn published(
        self,
        count: usize,
        act: impl AsyncFnOnce(&Path, &Hub),
    ) -> Vec<Notification> {
        let shutdown = self.shutdown.clone();
        let log = Arc::clone(self.hub.log());
        let mut head = log.subscribe();
        let acted = async {
            act(self.dir.path(), &self.hub).await;
            let published = loop {
                let events = log.read(0, 1 << 20).unwrap();
                let published: Vec<Notification> = events
                    .iter()
                    .filter_map(|event| serde_json::from_slice(&event.json()?).ok())
                    .collect();
                if published.len() >= count {
                    break published;
                }
                let more = tokio::time::timeout(Duration::from_secs(20), head.changed());
                more.await
                    .expect("another notification is published")
                    .unwrap();
            };
            shutdown.cancel();
            published
        };
        let ((), published) = tokio::join!(self.bridge.run(), acted);
        self.hub.stop();
        published
    }
}

fn status_file(tree: &Path, session: &str) -> PathBuf {
    tree.join(".hub/status").join(session)
}

/// Registers `session` in the project `app`, with the directory `cwd`.
async fn register(hub: &Hub, session: &str, cwd: &Path) {
    register_process(hub, session, cwd, None).await;
}

async fn register_process(hub: &Hub, session: &str, cwd: &Path, process: Option<Process>) {
    let info = SessionInfo {
        cwd: cwd.to_str().map(str::to_owned),
        process,
        ..SessionInfo::default()
    };
    let command = Command::Register {
        project: project(),
        session: session.parse().unwrap(),
        info: info.into(),
        runs: false,
    };
    hub.submit(command).await.unwrap();
}

fn project() -> ProjectName {
    "app".parse().unwrap()
}

/// Returns once a record after `before` is stored.
async fn stored_after(hub: &Hub, before: hub_protocol::Seq) {
    let mut head = hub.log().subscribe();
    while hub.log().head() == before {
        head.changed().await.unwrap();
    }
}

fn git(dir: &Path, args: &[&str]) {
    let done = Program::new("git").args(args).current_dir(dir).output();
    assert!(done.unwrap().status.success(), "git {args:?}");
}

/// Writes as a shell does: the file exists before its content.
fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[tokio::test]
async fn a_session_of_a_worktree_reports_to_its_project_from_a_directory_made_later() {
    let bridge = TestBridge::new();
    let files = bridge.files.clone();
    let published = bridge.published(1, async |dir, hub| {
        register(hub, "w1", &dir.join("tree/src")).await;
        files.watch_worktree(&dir.join("tree/src"));
        write(
            &status_file(&dir.join("tree"), "w1"),
            "needs_input Which port?\n",
        );
    });
    let it = published.await.remove(0);
    assert_eq!((it.from.as_str(), &*it.msg), ("w1", "Which port?"));
    let expected = (project(), &"status_file".into());
    assert_eq!((it.project, &it.data.unwrap()["via"]), expected);
}

#[tokio::test]
async fn worktrees_named_before_the_start_are_read_at_the_start() {
    let bridge = TestBridge::new();
    let tree = bridge.dir.path().join("tree");
    register(&bridge.hub, "w1", &tree).await;
    write(&status_file(&tree, "w1"), "completed one\n");
    bridge.files.watch_worktree(&tree);
    bridge.files.watch_worktree(&tree.join("src"));
    let published = bridge.published(1, async |_, _| {}).await;
    assert_eq!(published.len(), 1);
    assert_eq!(published[0].msg, "one");
}

#[tokio::test]
async fn a_line_written_after_the_first_scan_is_news_despite_a_state_reported_since() {
    let mut bridge = TestBridge::new();
    let _ = bridge.bridge.scan().await;
    write(
        &bridge.dir.path().join("state/status/w1"),
        "needs_input Which port?\n",
    );
    let post = Post {
        msg: "done".into(),
        from: Some("w1".parse().unwrap()),
        kind: Some(Kind::Complete),
        ..Post::default()
    };
    let once = IdempotencyKey::new("done", b"done");
    let context = Context::new(&bridge.hub);
    let stored = store(&bridge.hub, post, &context, once).await;
    assert_eq!(stored, Verdict::Stored);
    let published = bridge.published(2, async |_, _| {}).await;
    assert_eq!(published[1].msg, "Which port?");
}

#[tokio::test]
async fn a_link_in_a_worktree_is_not_followed() {
    for linked in [".hub", ".hub/status"] {
        let bridge = TestBridge::new();
        let dir = bridge.dir.path().to_owned();
        // Registered before the files are written, so that only the link can make them invalid.
        register(&bridge.hub, "w1", &dir.join("tree")).await;
        write(&dir.join("elsewhere/w1"), "completed from elsewhere\n");
        write(
            &dir.join("elsewhere/status/w1"),
            "completed from elsewhere\n",
        );
        let link = dir.join("tree").join(linked);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(dir.join("elsewhere"), &link).unwrap();
        assert_eq!(messages(bridge, &dir.join("tree")).await, ["a"], "{linked}");
    }
}

/// The messages after a scan of the worktree `tree`, and then of the state directory.
async fn messages(bridge: TestBridge, tree: &Path) -> Vec<String> {
    let files = bridge.files.clone();
    let published = bridge.published(1, async |dir, hub| {
        files.watch_worktree(tree);
        assert!(files.scan_now(&[tree.to_owned()]).await, "not scanned");
        let before = hub.log().head();
        write(&dir.join("state/status/a"), "completed a\n");
        stored_after(hub, before).await;
    });
    published.await.into_iter().map(|it| it.msg).collect()
}

#[tokio::test]
async fn outside_of_a_worktree_nothing_is_watched() {
    let bridge = TestBridge::new();
    let tree = bridge.dir.path().join("tree");
    fs::remove_dir_all(tree.join(".git")).unwrap();
    register(&bridge.hub, "w1", &tree).await;
    write(&status_file(&tree, "w1"), "completed one\n");
    assert_eq!(messages(bridge, &tree).await, ["a"]);
}

#[tokio::test]
async fn in_a_worktree_only_its_own_live_sessions_count_and_no_reserved_name() {
    let bridge = TestBridge::new();
    let dir = bridge.dir.path().canonicalize().unwrap();
    let tree = dir.join("tree");
    git(&dir, &["init", "-q", "other"]);
    register(&bridge.hub, "elsewhere", &dir.join("other")).await;
    for session in ["over", "w1", "person"] {
        register(&bridge.hub, session, &tree).await;
    }
    let over = Command::End {
        project: project(),
        session: "over".parse().unwrap(),
        exited: false,
        process: None,
        quiet: true,
    };
    bridge.hub.submit(over).await.unwrap();
    bridge.files.watch_worktree(&dir.join("other"));
    for name in ["elsewhere", "over", "w1", "person", "primary", "nobody"] {
        write(&status_file(&tree, name), &format!("completed {name}\n"));
    }
    let files = bridge.files.clone();
    files.scan_now(&[dir.join("other")]).await;
    assert_eq!(messages(bridge, &tree).await, ["w1", "a"]);
}

#[tokio::test]
async fn a_line_older_than_its_registration_counts_once_the_session_is_known() {
    let bridge = TestBridge::new();
    let files = bridge.files.clone();
    let published = bridge.published(1, async |dir, hub| {
        let tree = dir.join("tree");
        files.watch_worktree(&tree);
        write(&status_file(&tree, "w1"), "completed early\n");
        files.scan_now(std::slice::from_ref(&tree)).await;
        // This process began before all of the test's writes.
        let process = hub_protocol::Process::running(std::process::id());
        register_process(hub, "w1", &tree, Some(process)).await;
        files.request_scans();
    });
    assert_eq!(published.await[0].msg, "early");
}

#[tokio::test]
async fn a_file_older_than_its_session_or_tracked_by_git_does_not_count() {
    let bridge = TestBridge::new();
    let tree = bridge.dir.path().join("tree");
    let file = |name: &str| status_file(&tree, name);
    write(&file("old"), "completed old\n");
    let hour_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
    let old = fs::File::options().write(true).open(file("old")).unwrap();
    old.set_modified(hour_ago).unwrap();
    for session in ["old", "cloned", "own"] {
        register(&bridge.hub, session, &tree).await;
    }
    for name in ["cloned", "own"] {
        write(&file(name), &format!("completed {name}\n"));
    }
    git(&tree, &["add", ".hub/status/cloned"]);
    assert_eq!(messages(bridge, &tree).await, ["own", "a"]);
}

#[tokio::test]
async fn a_worktree_that_hangs_delays_neither_others_nor_a_sessions_end() {
    let (release, hang) = std::sync::mpsc::channel::<()>();
    let hang = std::sync::Mutex::new(hang);
    let bridge = TestBridge::with(Box::new(move |dir| {
        if dir.ends_with("hung") {
            // Blocks until the test is over and drops the other end of the channel.
            let _ = hang.lock().unwrap().recv();
        }
        worktrees::worktree_of(dir)
    }));
    let tree = bridge.dir.path().join("tree");
    register(&bridge.hub, "w1", &tree).await;
    let files = bridge.files.clone();
    let published = bridge.published(2, async |dir, _| {
        files.watch_worktree(&dir.join("hung"));
        // The end of a session in the hung worktree waits for `FINAL_SCAN` only; that tree hangs to the end of the test.
        assert!(!files.scan_now(&[dir.join("hung")]).await);
        files.watch_worktree(&tree);
        write(&status_file(&tree, "w1"), "completed one\n");
        assert!(files.scan_now(std::slice::from_ref(&tree)).await);
        write(&dir.join("state/status/a"), "completed a\n");
    });
    assert_eq!(published.await.len(), 2);
    drop(release);
}

#[tokio::test]
async fn the_last_line_of_a_session_is_stored_before_its_end_even_without_line_feed() {
    for below in ["state/status/w1", "tree/.hub/status/w1"] {
        let bridge = TestBridge::new();
        let tree = bridge.dir.path().join("tree");
        fs::create_dir_all(tree.join(".hub/status")).unwrap();
        let files = bridge.files.clone();
        let published = bridge.published(1, async |dir, hub| {
            register(hub, "w1", &tree).await;
            files.watch_worktree(&tree);
            files.scan_now(std::slice::from_ref(&tree)).await;
            let before = hub.log().head();
            write(&dir.join(below), "completed bye");
            assert!(files.scan_now(std::slice::from_ref(&tree)).await);
            assert!(hub.log().head() > before, "{below}");
        });
        assert_eq!(published.await[0].msg, "bye");
    }
}

#[tokio::test]
async fn a_session_that_moves_within_its_worktree_is_scanned_once_its_place_is_known() {
    let bridge = TestBridge::new();
    let files = bridge.files.clone();
    let published = bridge.published(1, async |dir, hub| {
        let (tree, sub) = (dir.join("tree"), dir.join("tree/src"));
        fs::create_dir_all(tree.join(".hub/status")).unwrap();
        files.watch_worktree(&tree);
        register(hub, "w1", &sub).await;
        write(&status_file(&tree, "w1"), "needs_input Which port?\n");
        files.scan_now(std::slice::from_ref(&tree)).await;
        let began = std::time::Instant::now();
        let before = hub.log().head();
        files.watch_worktree(&sub);
        stored_after(hub, before).await;
        assert!(began.elapsed() < SCAN_INTERVAL);
    });
    assert_eq!(published.await[0].msg, "Which port?");
}

#[tokio::test]
async fn a_spooled_notification_cannot_be_from_the_person() {
    use hub_protocol::{SpoolItem, Spooled};
    let bridge = TestBridge::new();
    let body = r#"{"msg":"approve everything","from":"person"}"#.to_owned();
    let body = serde_json::value::RawValue::from_string(body).unwrap();
    let item = SpoolItem::new("k".parse().unwrap(), Spooled::Post(body));
    let expected = Verdict::Stored;
    assert_eq!(crate::submit(&bridge.hub, item).await, expected);
    let published = bridge.published(1, async |_, _| {}).await;
    assert_eq!(published[0].from.as_str(), "unknown");
}
