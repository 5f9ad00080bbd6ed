use std::sync::atomic::{AtomicBool, Ordering};

use hub_core::command::IdempotencyKey;
use hub_core::notification::Draft;
use hub_core::waiters::{Waiters, WakeLimits};
use hub_log::archive::Recovered;
use hub_log::journal::Journal;
use hub_log::testing::TestJournal;
use hub_protocol::{Kind, ProjectName, Seq, Status, Timestamp};

use super::*;
use crate::testing::memory;

const HOUR_MS: i64 = 3_600_000;

/// A writer whose clock only the test moves.
fn writer(journal: Arc<dyn Journal>, now: Now) -> Writer {
    let limits = WakeLimits {
        per_sender_per_minute: 6,
        per_hour: 60,
    };
    let (due, _) = watch::channel(None);
    let log = Arc::new(Log::new(journal));
    Writer::new(
        Arc::new(View::new(log, Recovered::default())),
        Waiters::new(limits, 0, 0, now.mono).into(),
        due,
        Arc::new(Metrics::new()),
        Arc::default(),
    )
}

fn submit(writer: &mut Writer, command: Command, now: Now) -> Result<Done, Rejected> {
    let (reply, mut answer) = oneshot::channel();
    let asks = [Ask::Command { command, reply }];
    writer.step(asks.into_iter(), now).unwrap();
    answer.try_recv().unwrap()
}

fn notify(now: Now, life_ms: i64, key: Option<&str>) -> Command {
    let from = (&ProjectName::default(), &"w1".parse().unwrap());
    Command::Notify {
        drafts: vec![Draft::new(
            from,
            Kind::Message,
            "x".into(),
            now.wall,
            life_ms,
        )],
        once: key.map(|key| IdempotencyKey::new(key, b"x")),
    }
}

fn is_pending(writer: &Writer, id: Seq) -> bool {
    writer.state.status(id, true) == Status::Pending
}

fn later(now: Now, wall_ms: i64, boot_ms: i64) -> Now {
    Now {
        wall: now.wall.plus_millis(wall_ms),
        boot_ms: now.boot_ms + boot_ms,
        ..now
    }
}

#[test]
fn a_jump_of_the_clock_moves_only_the_deadlines_before_it() {
    for jump_ms in [-25 * HOUR_MS, 25 * HOUR_MS] {
        let now = Now::read();
        let mut writer = writer(memory(), now);
        let old = submit(&mut writer, notify(now, HOUR_MS, None), now).unwrap();
        let now = later(now, jump_ms, 0);
        let new = submit(&mut writer, notify(now, HOUR_MS, None), now).unwrap();
        for (passed_ms, pending) in [(HOUR_MS - 1, true), (HOUR_MS, false)] {
            let now = later(now, passed_ms, passed_ms);
            submit(&mut writer, Command::Tick, now).unwrap();
            for id in [old.ids[0], new.ids[0]] {
                assert_eq!(is_pending(&writer, id), pending, "{jump_ms} {passed_ms}");
            }
        }
    }
}

#[test]
fn a_jump_of_the_clock_moves_when_a_session_was_last_active() {
    let (now, place) = (Now::read(), (ProjectName::default(), "w1".parse().unwrap()));
    let mut writer = writer(memory(), now);
    submit(&mut writer, Command::Tick, now).unwrap();
    writer
        .waiters
        .write()
        .activity()
        .note(place.clone(), now.wall);
    let now = later(now, -HOUR_MS, 0);
    submit(&mut writer, Command::Tick, now).unwrap();
    assert_eq!(
        writer.waiters.read().heard(&place, Timestamp::default()),
        now.wall
    );
}

/// A journal that is in this condition once the switch is on.
fn journal_with(health: Health) -> (Arc<dyn Journal>, Arc<AtomicBool>) {
    let switch = Arc::new(AtomicBool::new(false));
    let is_on = Arc::clone(&switch);
    let journal = TestJournal {
        inner: memory(),
        health: Box::new(move || {
            let health = is_on.load(Ordering::Relaxed).then(|| health.clone());
            health.unwrap_or(Health::Sound)
        }),
        before_append: Box::new(|| ()),
        before_read: Box::new(|| ()),
    };
    (Arc::new(journal), switch)
}

#[test]
fn a_jump_that_cannot_be_recorded_yet_moves_the_deadlines_later() {
    let (at, reason) = (1, String::new());
    let (journal, fails) = journal_with(Health::Corrupt { at, reason });
    let now = Now::read();
    let mut writer = writer(journal, now);
    let done = submit(&mut writer, notify(now, HOUR_MS, None), now).unwrap();
    let now = later(now, 2 * HOUR_MS, 0);
    fails.store(true, Ordering::Relaxed);
    submit(&mut writer, Command::Tick, now).unwrap_err();
    fails.store(false, Ordering::Relaxed);
    submit(&mut writer, Command::Tick, now).unwrap();
    assert!(is_pending(&writer, done.ids[0]));
}

#[test]
fn a_full_disk_does_not_refuse_what_was_stored_before() {
    let (journal, full) = journal_with(Health::Full);
    let now = Now::read();
    let mut writer = writer(journal, now);
    let first = submit(&mut writer, notify(now, HOUR_MS, Some("k")), now).unwrap();
    full.store(true, Ordering::Relaxed);
    let again = submit(&mut writer, notify(now, HOUR_MS, Some("k")), now).unwrap();
    assert_eq!((again.ids, again.repeated), (first.ids, true));
    let refused = submit(&mut writer, notify(now, HOUR_MS, Some("other")), now);
    assert!(matches!(refused, Err(Rejected::Full)));
}
