//! Status files in worktrees.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use hub_protocol::{Kind, Notification, Post};

use super::*;
use crate::bridges::{Verdict, store};
use crate::command::Once;
use crate::draft::Context;
use crate::hub::Parts;
use crate::lease::LeaseKey;
use crate::presence::WakeLimits;
use crate::storage;

/// A hub without sockets that watches the worktree `tree` for the project `app`.
struct Place {
    dir: tempfile::TempDir,
    hub: Hub,
    files: StatusFiles,
    bridge: Bridge,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("tree/.git")).unwrap();
        fs::create_dir_all(dir.path().join("tree/src")).unwrap();
        fs::create_dir_all(dir.path().join("state/status")).unwrap();
        let parts = storage::memory().unwrap();
        let (hub, _writer) = Hub::start(Parts {
            journal: parts.journal,
            state: parts.state,
            reload: parts.reload,
            leases: LeaseKey::new(b"secret"),
            rules: crate::hub::Rules::default(),
            limits: WakeLimits {
                per_sender_per_minute: 6,
                per_hour: 60,
            },
            queue: 64,
            streams: 64,
            shutdown: CancellationToken::new(),
        });
        let (files, bridge) = StatusFiles::open(&dir.path().join("state"));
        Self {
            dir,
            hub,
            files,
            bridge,
        }
    }

    /// Runs the bridge while `act` does something with a path in the temporary directory, and gives what was said
    /// until `count` notifications are there.
    async fn said(self, count: usize, act: impl AsyncFnOnce(&Path, &Hub)) -> Vec<Notification> {
        let shutdown = CancellationToken::new();
        let log = Arc::clone(self.hub.log());
        let mut head = log.subscribe();
        let acted = async {
            act(self.dir.path(), &self.hub).await;
            let said = loop {
                let events = log.read(0, 1 << 20).unwrap();
                let said: Vec<Notification> = events
                    .iter()
                    .filter_map(|event| serde_json::from_slice(&event.json()?).ok())
                    .collect();
                if said.len() >= count {
                    break said;
                }
                let more = tokio::time::timeout(Duration::from_secs(20), head.changed());
                more.await.expect("something more is said").unwrap();
            };
            shutdown.cancel();
            said
        };
        let ((), said) = tokio::join!(self.bridge.run(&self.hub, &shutdown), acted);
        self.hub.stop();
        said
    }
}

fn project() -> ProjectName {
    "app".parse().unwrap()
}

/// As a shell does it: the file is there before its content.
fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[tokio::test]
async fn a_worktrees_session_speaks_in_its_project_from_a_directory_that_is_made_later() {
    let place = Place::new();
    let files = place.files.clone();
    let said = place.said(1, async |dir, _| {
        files.watch_worktree(&project(), &dir.join("tree/src"));
        write(
            &dir.join("tree/.hub/status/w1"),
            "needs_input Which port?\n",
        );
    });
    let said = said.await;
    assert_eq!(said[0].project, project());
    assert_eq!(
        (said[0].from.as_str(), &*said[0].msg),
        ("w1", "Which port?")
    );
    assert_eq!(said[0].data.as_ref().unwrap()["via"], "status_file");
}

#[tokio::test]
async fn worktrees_named_before_the_start_are_read_at_the_start() {
    let place = Place::new();
    let tree = place.dir.path().join("tree");
    write(&tree.join(".hub/status/w1"), "completed one\n");
    place.files.watch_worktree(&project(), &tree);
    place.files.watch_worktree(&project(), &tree.join("src"));
    let said = place.said(1, async |_, _| {}).await;
    assert_eq!(said.len(), 1);
    assert_eq!(said[0].msg, "one");
}

#[tokio::test]
async fn what_is_written_after_the_first_look_is_news_whatever_else_is_said_until_the_next() {
    let mut place = Place::new();
    place.bridge.take_in(&place.hub).await;
    write(
        &place.dir.path().join("state/status/w1"),
        "needs_input Which port?\n",
    );
    let post = Post {
        msg: "done".into(),
        from: Some("w1".parse().unwrap()),
        kind: Some(Kind::Complete),
        ..Post::default()
    };
    let once = Once::new("done", b"done");
    let context = Context::new(&place.hub);
    let stored = store(&place.hub, post, &context, once).await;
    assert_eq!(stored, Verdict::Stored);
    let said = place.said(2, async |_, _| {}).await;
    assert_eq!(said[1].msg, "Which port?");
}

#[tokio::test]
async fn a_link_in_a_worktree_leads_nowhere() {
    for linked in [".hub", ".hub/status"] {
        let place = Place::new();
        let dir = place.dir.path().to_owned();
        write(&dir.join("elsewhere/w1"), "completed from elsewhere\n");
        write(
            &dir.join("elsewhere/status/w1"),
            "completed from elsewhere\n",
        );
        let link = dir.join("tree").join(linked);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(dir.join("elsewhere"), &link).unwrap();
        place.files.watch_worktree(&project(), &dir.join("tree"));
        // The worktree comes after the state directory: when the second of these is told, it was looked at.
        let said = place.said(2, async |dir, hub| {
            let mut head = hub.log().subscribe();
            write(&dir.join("state/status/a"), "completed a\n");
            head.changed().await.unwrap();
            write(&dir.join("state/status/b"), "completed b\n");
        });
        let said: Vec<String> = said.await.into_iter().map(|it| it.msg).collect();
        assert_eq!(said, ["a", "b"], "{linked}");
    }
}

#[tokio::test]
async fn outside_of_a_worktree_nothing_is_watched() {
    let mut place = Place::new();
    let dir = place.dir.path().to_owned();
    fs::remove_dir(dir.join("tree/.git")).unwrap();
    place.bridge.add(project(), &dir.join("tree"));
    assert_eq!(place.bridge.folders.len(), 1);
    place.hub.stop();
}
