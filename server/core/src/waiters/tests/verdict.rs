//! The verdict about each item agrees with what the waiter got.

use super::*;

/// The circumstances of one item.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // every combination is tried
struct Case {
    waiter: bool,
    wakes: bool,
    matches: bool,
    barrier: bool,
    settles: bool,
    limited: bool,
    leased: bool,
}

impl Case {
    fn all() -> impl Iterator<Item = Self> {
        (0..1 << 7).map(|bits: u32| {
            let is = |n: u32| bits & 1 << n != 0;
            Self {
                waiter: is(0),
                wakes: is(1),
                matches: is(2),
                barrier: is(3),
                settles: is(4),
                limited: is(5),
                leased: is(6),
            }
        })
    }

    fn spec(self) -> WaitSpec {
        let mut spec = agent();
        if !self.matches {
            spec.filter.kinds = Some(vec![Kind::Error]);
        }
        spec.barrier = self.barrier.then(|| Barrier {
            all: vec![name("w9")],
            ..Barrier::default()
        });
        if self.settles {
            spec.settle = Duration::from_secs(1);
        }
        spec
    }

    /// Whether the item ends the wait at once.
    fn is_delivered(self) -> bool {
        let free = self.waiter && self.wakes && self.matches && !self.leased;
        free && !self.barrier && !self.settles && !self.limited
    }

    fn expected(self) -> &'static str {
        match self {
            Self { leased: true, .. } => "leased",
            Self { wakes: false, .. } => "rides",
            Self { waiter: false, .. } => "unattended",
            Self { matches: false, .. } => "filtered",
            Self { barrier: true, .. } => "barrier",
            Self { limited: true, .. } => "held",
            Self { settles: true, .. } => "settling",
            _ => "leased",
        }
    }
}

fn word(verdict: &WakeVerdict) -> &'static str {
    match verdict {
        WakeVerdict::Shown(..) => "shown",
        WakeVerdict::Leased { .. } => "leased",
        WakeVerdict::RidesAlong => "rides",
        WakeVerdict::Filtered(_) => "filtered",
        WakeVerdict::Barrier(..) => "barrier",
        WakeVerdict::Tried(..) => "tried",
        WakeVerdict::Settling(..) => "settling",
        WakeVerdict::Held(_) => "held",
        WakeVerdict::Wakes(_) => "wakes",
        WakeVerdict::Unattended => "unattended",
    }
}

/// Says a note, and returns its verdict and whether the waiter got it.
fn outcome(case: Case) -> (&'static str, bool) {
    let mut place = Place::new();
    place.register("boss", None);
    for _ in 0..if case.limited {
        LIMITS.per_sender_per_minute
    } else {
        0
    } {
        let mut answer = place.wait(agent());
        place.say(&Say { from: "ci", ..DONE });
        let ids = ids(&batch(&mut answer));
        place.ack(&ids);
    }
    let say = Say {
        from: "ci",
        kind: Kind::Message,
        wakes: case.wakes,
        ..DONE
    };
    let mut answer = None;
    if case.leased {
        place.say(&say);
        let mut spec = spec(&["primary"]);
        (spec.drain, spec.name) = (true, Some("other".into()));
        batch(&mut place.wait(spec));
    }
    if case.waiter {
        answer = Some(place.wait(case.spec()));
    }
    if !case.leased {
        place.say(&say);
    }
    let (project, primary) = (ProjectName::default(), name("primary"));
    let item = place.state.inboxes.get(&project, &primary).unwrap();
    let item = item.get(place.state.head()).unwrap();
    let at = (&project, &primary);
    let verdict = place.presence.verdict(&place.state, at, item, place.now);
    let delivered = answer.is_some_and(|mut it| matches!(it.try_recv(), Ok(Outcome::Batch(_))));
    (word(&verdict), delivered)
}

#[test]
fn in_every_combination_an_item_has_one_verdict_and_it_agrees_with_the_wake() {
    for case in Case::all() {
        let (verdict, delivered) = outcome(case);
        assert_eq!(delivered, case.is_delivered(), "{case:?}");
        assert_eq!(verdict, case.expected(), "{case:?}");
    }
}
