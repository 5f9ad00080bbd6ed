use hub_core::record::{
    NeedClosed, Notified, SessionEnded, SessionSet, Target, Turn, TurnCause, TurnNoted,
};
use hub_protocol::{Kind, SessionState};

use super::*;
use hub_core::testing::route;

/// A log of one session, folded with its timeline.
#[derive(Default)]
struct Folded {
    state: State,
    timeline: Timeline,
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + second * 1000)
}

fn key() -> SessionKey {
    (ProjectName::default(), "w1".parse().unwrap())
}

impl Folded {
    fn add(&mut self, record: &Record) -> Seq {
        let seq = self.state.head() + 1;
        self.state.apply(seq, record);
        self.timeline.note(&self.state, record);
        seq
    }

    fn register(&mut self, second: i64) {
        let (project, session) = key();
        self.add(&Record::SessionSet(SessionSet {
            hooks: true,
            ..SessionSet::of((&project, &session), at(second))
        }));
    }

    fn works(&mut self, second: i64) {
        let (project, session) = key();
        self.add(&Record::TurnNoted(TurnNoted {
            project,
            session,
            turn: Turn::Began {
                by: TurnCause::Person,
                first: None,
            },
            evidence: String::new(),
            at: at(second),
        }));
    }

    fn reports(&mut self, second: i64, kind: Kind, state: SessionState) -> Seq {
        let mut route = route("w1", kind, at(second));
        route.session = Some((key().1, state));
        route.targets = vec![Target {
            inbox: "person".parse().unwrap(),
            wakes: false,
        }];
        let json = b"{}".as_slice().into();
        self.add(&Record::Notified(Notified { route, json }))
    }

    fn phases(&self, since: i64, until: i64) -> Vec<(i64, PhaseName)> {
        let range = (at(since), at(until), at(until));
        let segments = self
            .timeline
            .segments(&key(), &self.state, at(until), range);
        let seconds = |it: &Segment| (it.start.as_millis() - at(0).as_millis()) / 1000;
        segments.iter().map(|it| (seconds(it), it.phase)).collect()
    }
}

#[test]
fn a_lane_has_the_phase_of_its_session_at_every_time() {
    let mut log = Folded::default();
    log.register(0);
    log.works(10);
    log.reports(60, Kind::Complete, SessionState::Complete);
    let (project, session) = key();
    log.add(&Record::NeedClosed(NeedClosed {
        project,
        session,
        until: None,
        at: at(90),
    }));
    log.works(100);
    log.add(&Record::SessionEnded(SessionEnded {
        project: key().0,
        session: key().1,
        at: at(200),
        ended: false,
    }));
    let all = [
        (0, PhaseName::Done),
        (10, PhaseName::Working),
        (60, PhaseName::YourTurn),
        (90, PhaseName::Done),
        (100, PhaseName::Working),
        (200, PhaseName::Gone),
    ];
    assert_eq!(log.phases(0, 300), all);
    assert_eq!(log.phases(70, 95), all[2..4], "a part of it");
    assert_eq!(log.phases(250, 300), all[5..]);
}

#[test]
fn an_earlier_time_than_the_last_one_does_not_reorder_a_lane() {
    let mut log = Folded::default();
    log.register(0);
    log.works(100);
    log.reports(50, Kind::Waiting, SessionState::Waiting);
    let phases = log.phases(0, 300);
    assert!(phases.is_sorted_by_key(|it| it.0), "{phases:?}");
    assert_eq!(phases.last(), Some(&(100, PhaseName::YourTurn)));
}

#[test]
fn old_segments_and_old_sessions_are_forgotten() {
    let mut log = Folded::default();
    log.register(0);
    let turns = i64::try_from(2 * MAX_SEGMENTS).unwrap();
    for turn in 0..turns {
        log.works(10 * turn);
        log.reports(10 * turn + 5, Kind::Waiting, SessionState::Waiting);
    }
    let lane = &log.timeline.lanes[&key()];
    assert_eq!(lane.segments.len(), MAX_SEGMENTS);
    log.works(1_000_000);
    assert_eq!(log.timeline.lanes[&key()].segments.len(), 2);
    for session in 0..2 * MAX_LANES {
        let mut route = route(&format!("s{session}"), Kind::Waiting, at(2_000_000));
        route.session = Some((route.from.clone(), SessionState::Waiting));
        let json = b"{}".as_slice().into();
        log.add(&Record::Notified(Notified { route, json }));
    }
    assert_eq!(log.timeline.lanes.len(), MAX_LANES);
}
