//! The property: every stop of a turn is told to somebody, or its trace names the person, the parent or the newer turn that
//! makes telling needless.

use std::collections::BTreeMap;

use hub_core::command::{AgentEvent, Command, Decision, Hook};
use hub_core::fold::{RideAlong, State};
use hub_core::notification::{Draft, tail_of};
use hub_core::record::{Notified, Record, Turn, TurnCause};
use hub_core::rule::RuleSet;
use hub_protocol::{InboxName, Kind, ProjectName, Seq, SessionInfo, SessionState, Timestamp};
use proptest::prelude::*;
use proptest::sample::select;

use super::property::config;

const MINUTE: i64 = 60 * 1000;
/// More than the deadlines that any case leaves.
const MANY: usize = 1000;

type Key = (ProjectName, InboxName);

/// The state of a session's turn by the records.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Told {
    /// It goes on.
    No,
    /// It goes on, and a notification says how it ends.
    Yes,
    /// It stopped at this record, and background work goes on: a newer turn or a later notification must follow.
    Later(Seq),
}

/// Returns the stops that nobody was told of: those whose turn no notification has reported by then, and those that were
/// put off and that nothing has followed.
fn untold<'a>(log: impl IntoIterator<Item = &'a Record>) -> Vec<Seq> {
    let mut turns: BTreeMap<Key, Told> = BTreeMap::new();
    let mut missing = Vec::new();
    for (seq, record) in (1..).zip(log) {
        match record {
            Record::Notified(it) => {
                let Some((name, state)) = &it.route.session else {
                    continue;
                };
                let key = (it.route.project.clone(), name.clone());
                if *state == SessionState::Ended {
                    turns.remove(&key);
                } else if *state != SessionState::Working && is_told(it, name) {
                    match turns.get_mut(&key) {
                        Some(Told::Later(_)) => drop(turns.remove(&key)),
                        Some(told) => *told = Told::Yes,
                        None => {}
                    }
                }
            }
            Record::TurnNoted(it) => {
                let key = (it.project.clone(), it.session.clone());
                match &it.turn {
                    // The hub's own waiter asked the agent to start it again. That is no turn that anybody waits for.
                    Turn::Failed { .. }
                    | Turn::Attributed { .. }
                    | Turn::Resumes { .. }
                    | Turn::Began {
                        by: TurnCause::Timeout,
                        ..
                    } => {}
                    Turn::Began { .. } => drop(turns.insert(key, Told::No)),
                    Turn::Stopped { silent, .. } => match turns.get(&key) {
                        Some(Told::Yes) => drop(turns.remove(&key)),
                        Some(Told::No) if !silent => {
                            turns.insert(key, Told::Later(seq));
                        }
                        Some(Told::No) => {
                            turns.remove(&key);
                            missing.push(seq);
                        }
                        Some(Told::Later(_)) | None => {}
                    },
                }
            }
            Record::SessionEnded(it) => {
                turns.remove(&(it.project.clone(), it.session.clone()));
            }
            _ => {}
        }
    }
    let later = turns.into_values().filter_map(|told| match told {
        Told::Later(seq) => Some(seq),
        Told::No | Told::Yes => None,
    });
    missing.extend(later);
    missing
}

/// Whether a notification tells somebody else of a session's stop, or its trace names a person who knows it.
fn is_told(it: &Notified, session: &InboxName) -> bool {
    let mut targets = it.route.targets.iter();
    let names_person = RideAlong::without_inbox(it).is_some_and(|why| why.contains("person"));
    targets.any(|target| target.inbox != *session) || names_person
}

#[derive(Debug, Clone)]
enum Step {
    Hook {
        id: InboxName,
        parent: Option<InboxName>,
        watched: bool,
        happened: AgentEvent,
    },
    Notify(Box<Draft>),
    Primary(InboxName),
    End(InboxName, bool),
    Pass(i64),
    /// Advances the clock to the next deadline.
    Due,
}

struct Fold {
    state: State,
    log: Vec<Record>,
    now: Timestamp,
}

impl Fold {
    fn run(&mut self, step: &Step) {
        let project = ProjectName::default();
        let command = match step.clone() {
            Step::Hook {
                id,
                parent,
                watched,
                happened,
            } => Command::Hook(Box::new(Hook {
                info: SessionInfo {
                    parent,
                    ..SessionInfo::default()
                },
                watched,
                ..crate::hook(&id, happened)
            })),
            Step::Notify(mut draft) => {
                let it = &mut draft.body;
                (it.ts, it.expires_at) = (self.now, self.now.plus_millis(60 * MINUTE));
                draft.tail = Some(tail_of(&draft.body));
                Command::Notify {
                    drafts: vec![*draft],
                    once: None,
                }
            }
            Step::Primary(session) => Command::TakePrimary { project, session },
            Step::End(session, exited) => Command::End {
                project,
                session,
                exited,
                process: None,
                quiet: false,
            },
            Step::Pass(ms) => {
                self.now = self.now.plus_millis(ms);
                Command::Tick
            }
            Step::Due => {
                let due = self.state.next_deadline();
                self.now = due.map_or(self.now, |due| due.max(self.now));
                Command::Tick
            }
        };
        let leased = |_: &ProjectName, _: &InboxName, _| false;
        let rules = RuleSet::default();
        // A refused command changes nothing.
        if let Ok(Decision::Records(records)) =
            self.state.decide(&command, self.now, &leased, &rules)
        {
            for record in records {
                self.log.push(record);
                let seq = self.log.len() as Seq;
                self.state.apply(seq, &self.log[self.log.len() - 1]);
            }
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (agent(), prop::option::weighted(0.3, agent()), any::<bool>(), happened()).prop_map(
            |(id, parent, watched, happened)| Step::Hook {
                parent: parent.filter(|it| *it != id),
                id,
                watched,
                happened,
            }
        ),
        4 => draft().prop_map(|it| Step::Notify(it.into())),
        1 => agent().prop_map(Step::Primary),
        1 => (agent(), any::<bool>()).prop_map(|(id, exited)| Step::End(id, exited)),
        2 => select(vec![1000, MINUTE, 10 * MINUTE]).prop_map(Step::Pass),
        1 => Just(Step::Due),
    ]
}

fn agent() -> impl Strategy<Value = InboxName> {
    select(&["w1", "w2", "w3"][..]).prop_map(|name| name.parse().unwrap())
}

fn happened() -> impl Strategy<Value = AgentEvent> {
    use TurnCause::{Peer, Person, Task, Timeout, Wake};
    let text = || String::from("go");
    let task = select(vec!["build", "server"]).prop_map(str::to_owned);
    prop_oneof![
        4 => select(vec![Person, Person, Peer, Wake, Task, Timeout])
            .prop_map(|by| AgentEvent::Prompt { by, text: "go".into() }),
        3 => Just(AgentEvent::Worked),
        5 => (prop::collection::vec(task, 0..3), select(vec!["Done.", "Which one?"])).prop_map(
            |(tasks, text)| AgentEvent::Stopped { text: text.into(), tasks, continues: false }
        ),
        1 => Just(AgentEvent::Started),
        1 => Just(AgentEvent::Interrupted),
        1 => Just(AgentEvent::Idle { text: text() }),
        1 => any::<bool>().prop_map(|permanent| AgentEvent::failed("no model", permanent)),
        1 => Just(AgentEvent::Asks {
            text: "Which?".into(),
            options: Vec::new(),
            data: serde_json::Value::Null,
        }),
        1 => Just(AgentEvent::Ended),
        1 => Just(AgentEvent::Exited),
    ]
}

fn draft() -> impl Strategy<Value = Draft> {
    let to = select(&["primary", "person", "w1", "w2", "w3", "all"][..]);
    let from = select(&["w1", "w2", "w3", "ci"][..]);
    let about = prop::option::weighted(0.2, agent());
    let how = (
        any::<bool>(),
        select(vec![0, 9_u32]),
        prop::option::weighted(0.2, Just("build")),
    );
    (
        from,
        prop::option::weighted(0.4, to),
        about,
        select(Kind::ALL.to_vec()),
        how,
    )
        .prop_map(|(from, to, about, kind, (explicit, hops, key))| {
            let (project, from) = (ProjectName::default(), from.parse().unwrap());
            let ts = Timestamp::default();
            let mut draft = Draft::new((&project, &from), kind, "m".into(), ts, 0);
            draft.explicit_kind = explicit;
            let it = &mut draft.body;
            (it.to, it.session, it.hops) = (to.map(|it| it.parse().unwrap()), about, hops);
            it.key = key.map(str::to_owned);
            draft
        })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_stop_of_a_turn_is_told_or_its_trace_says_who_knows_it(
        steps in prop::collection::vec(step(), 1..64)
    ) {
        let now = "2026-11-21T12:00:00Z".parse().unwrap();
        let mut fold = Fold { state: State::default(), log: Vec::new(), now };
        for step in &steps {
            fold.run(step);
        }
        for _ in 0..MANY {
            if fold.state.next_deadline().is_none() {
                break;
            }
            fold.run(&Step::Due);
        }
        let missing = untold(&fold.log);
        let shown: Vec<_> = (1..).zip(&fold.log).map(|(seq, it): (Seq, _)| format!("{seq}: {it:?}")).collect();
        prop_assert!(missing.is_empty(), "{missing:?} of\n{}", shown.join("\n"));
    }
}
