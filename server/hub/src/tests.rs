use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use hub_core::record::kinds;
use hub_core::sync::lock;
use hub_log::journal::Health;
use hub_log::testing::TestJournal;
use hub_protocol::{ProjectName, SessionInfo};

use super::*;
use crate::testing::{held_question, hub, memory, memory_hub};

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

#[tokio::test]
async fn a_refused_registration_begins_no_session() {
    let hub = memory_hub();
    let register = |title: String| Command::Register {
        project: ProjectName::default(),
        session: "w1".parse().unwrap(),
        info: Box::new(SessionInfo {
            title: Some(title),
            ..SessionInfo::default()
        }),
        runs: false,
    };
    hub.submit(register("t".repeat(40_000))).await.unwrap_err();
    assert!(futures_util::poll!(pin!(hub.session_began())).is_pending());
    hub.submit(register("t".into())).await.unwrap();
    hub.session_began().await;
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
        runs: false,
    };
    let registered = std::thread::spawn(move || own.submit_blocking(register));
    has_begun.recv().unwrap();
    let sessions = || {
        hub.read(|state, _| state.sessions.iter(None).count())
            .unwrap()
    };
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
