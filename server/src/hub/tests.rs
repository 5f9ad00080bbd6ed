use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use hub_protocol::{Epoch, ProjectName, SessionInfo};

use super::*;
use crate::core::answer::AnswerKind;
use crate::core::command::{AgentEvent, HeldHook, Hook, IdempotencyKey};
use crate::core::record::kinds;
use crate::core::sync::lock;
use crate::log::journal::Health;
use crate::log::journal::memory::MemoryJournal;
use crate::log::journal::testing::TestJournal;

fn memory() -> Arc<MemoryJournal> {
    Arc::new(MemoryJournal::new(Epoch(7)))
}

/// Starts a hub without sockets on a journal in memory.
pub(crate) fn memory_hub() -> Hub {
    hub(memory())
}

fn hub(journal: Arc<dyn Journal>) -> Hub {
    let (hub, _) = Hub::start(HubParts {
        journal,
        recovered: Recovered::default(),
        reload: Box::new(|| Ok(State::default())),
        leases: LeaseKey::new(b"secret"),
        offered: 0,
        limits: WakeLimits {
            per_sender_per_minute: 6,
            per_hour: 60,
        },
        rules: Rules::default(),
        rule_set: Arc::default(),
        wake_files: WakeFiles::new("/dev/null/wake".into()),
        queue: 64,
        streams: 64,
        shutdown: CancellationToken::new(),
    });
    hub
}

/// A question of the session `w1`, whose hook is held.
pub(crate) fn held_question() -> Command {
    Command::Hook(Box::new(Hook {
        project: ProjectName::default(),
        given: None,
        id: "w1".parse().unwrap(),
        info: SessionInfo::default(),
        other: None,
        shares_process: false,
        subagent: None,
        happened: AgentEvent::Asks {
            text: "Which?".into(),
            options: Vec::new(),
            data: serde_json::Value::Null,
        },
        event: "PermissionRequest".into(),
        watched: false,
        held: Some(HeldHook {
            within_ms: 60_000,
            takes: AnswerKind::Text,
            delays: false,
        }),
        once: Some(IdempotencyKey::new("k", b"claude")),
        derived_at: None,
        acted: None,
        wordless: false,
        used: None,
    }))
}

/// Asks [`held_question`] and answers it. The hook does not get the answer, as if the hub had died; returns the question.
pub(crate) async fn lost_answer(hub: &Hub) -> Seq {
    let done = hub.submit(held_question()).await.unwrap();
    let post = hub_protocol::Post {
        msg: "this one".into(),
        from: Some("person".parse().unwrap()),
        kind: Some(hub_protocol::Kind::Answer),
        reply_to: Some(done.ids[0]),
        ..hub_protocol::Post::default()
    };
    let context = draft::Context::new(hub).by_person(true);
    let drafts = vec![draft::prepare(post, &context).unwrap()];
    let answer = Command::Notify { drafts, once: None };
    hub.submit(answer).await.unwrap();
    done.ids[0]
}

#[tokio::test]
async fn a_question_is_held_from_its_commit_until_its_request_ends_and_again_when_it_is_repeated() {
    let hub = memory_hub();
    let done = hub.submit(held_question()).await.unwrap();
    let (id, time) = (done.ids[0], done.held.as_ref().unwrap().time());
    assert!(hub.waiters().read().is_held(id));
    drop(done);
    assert!(!hub.waiters().read().is_held(id));
    let again = hub.submit(held_question()).await.unwrap();
    assert_eq!((&again.ids, again.held.unwrap().time()), (&vec![id], time));
    hub.stop();
}

#[test]
fn a_query_reads_what_is_durable_and_does_not_wait_for_a_commit() {
    let ((began, has_begun), (permit, permits)) = (channel(), channel());
    let permits = Mutex::new(permits);
    let hub = hub(Arc::new(TestJournal {
        inner: memory(),
        health: Box::new(|| Health::Sound),
        before_append: Box::new(move || {
            began.send(()).unwrap();
            lock(&permits).recv().unwrap();
        }),
        before_read: Box::new(|| ()),
    }));
    let own = hub.clone();
    let register = Command::Register {
        project: ProjectName::default(),
        session: "w1".parse().unwrap(),
        info: Box::default(),
    };
    let registered = std::thread::spawn(move || own.submit_blocking(register));
    has_begun.recv().unwrap();
    let sessions = || hub.read(|state, _| state.sessions(None).count()).unwrap();
    assert_eq!(sessions(), 0);
    permit.send(()).unwrap();
    assert!(registered.join().unwrap().is_ok());
    assert_eq!(sessions(), 1);
    hub.stop();
}

#[test]
fn a_hub_that_ceased_to_be_the_active_one_refuses_nothing() {
    let looks = AtomicUsize::new(0);
    let hub = hub(Arc::new(TestJournal {
        inner: memory(),
        // It is active when the command is decided, and not any more before the answer.
        health: Box::new(move || match looks.fetch_add(1, Ordering::Relaxed) {
            0 => Health::Sound,
            _ => Health::Standby,
        }),
        before_append: Box::new(|| ()),
        before_read: Box::new(|| ()),
    }));
    let withdrawn = hub.submit_blocking(Command::Withdraw { ids: vec![7] });
    assert!(matches!(withdrawn, Err(Rejected::NoActiveHub)));
    hub.stop();
}

#[tokio::test]
async fn a_term_begins_and_the_clock_moves_in_one_commit() {
    let (journal, commits) = (memory(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&commits);
    let hub = hub(Arc::new(TestJournal {
        inner: Arc::clone(&journal),
        health: Box::new(|| Health::Sound),
        before_append: Box::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        }),
        before_read: Box::new(|| ()),
    }));
    assert_eq!(hub.lead("b", Some(86_400_000)).await.unwrap(), 1);
    let found: Vec<u8> = journal
        .read(1, 10_000)
        .unwrap()
        .iter()
        .map(|it| it.kind)
        .collect();
    assert_eq!(found, [kinds::LED, kinds::CLOCK_MOVED]);
    assert_eq!(commits.load(Ordering::Relaxed), 1);
    hub.stop();
}
