//! Rules: what a firing records, and what it makes.

use hub_core::command::RuleCommand;
use hub_core::record::RuleAction::{self, Escalate, Mute, Notify, Run};
use hub_core::record::{RuleFired, RuleNote, RuleNoted};
use hub_core::rule;

use super::*;

/// A fold with these rules.
fn with_rules(rules: &str) -> Hub {
    let mut hub = Hub::new();
    hub.rules = rule::parse(rules).unwrap();
    hub
}

fn firings(records: &[Record]) -> Vec<&RuleFired> {
    let fired = records.iter().filter_map(|record| match record {
        Record::RuleFired(it) => Some(it),
        _ => None,
    });
    fired.collect()
}

const ALL: &str = "[[on]]\nname = 'all'\ntype = ['error']\nmute = true\nescalate = '1m'\nrun = ['true']\nnotify = { to = 'person', msg = '{from} {id}' }\n";

#[test]
fn a_firing_is_in_the_commit_of_its_notification_with_all_that_it_does() {
    let mut hub = with_rules(ALL);
    let records = hub.post(said("w1", Kind::Error));
    let [fired] = firings(&records)[..] else {
        panic!("{records:?}");
    };
    assert_eq!(fired.actions, [Mute, Notify, Run, Escalate]);
    assert_eq!((fired.notification, fired.made), (Some(1), Some(2)));
    assert_eq!(hub.reached(), ["person!", "primary"]);
    assert!(hub.json(2).contains(r#""msg":"w1 1""#), "{}", hub.json(2));
    assert_eq!(hub.due(), after(MINUTE));
    hub.restart();
    // A mute has no cooldown; everything else has.
    let records = hub.post(said("w1", Kind::Error));
    assert_eq!(firings(&records)[0].actions, [Mute]);
    assert_eq!(hub.state.rules.tally("all").unwrap().fired, 2);
}

#[test]
fn a_repeated_request_fires_once() {
    let mut hub = with_rules(ALL);
    let drafts = vec![said("w1", Kind::Error)];
    let command = Command::Notify {
        drafts,
        once: Some(once("k", "d")),
    };
    hub.run(&command);
    let again = hub
        .state
        .decide(&command, hub.now, &|_, _, _| false, &hub.rules);
    assert_eq!(again, Ok(Decision::Repeat(vec![1])));
}

#[test]
fn an_escalation_is_settled_by_reading_or_by_the_persons_mark() {
    let rule = "[[on]]\nname = 'e'\ntype = ['error']\nescalate = '1m'\n";
    for how in ["read", "seen", "not"] {
        let mut hub = with_rules(rule);
        let id = hub.say(said("w1", Kind::Error));
        match how {
            "read" => drop(hub.ack("primary", &[id])),
            "seen" => drop(hub.run(&Command::Seen {
                ids: vec![id],
                ranges: vec![],
                seen: true,
            })),
            _ => {}
        }
        hub.pass(MINUTE);
        let records = hub.run(&Command::Tick);
        let made = records.iter().filter(|it| it.is_notification()).count();
        assert_eq!(made, usize::from(how == "not"), "{how}");
        assert_eq!(hub.reached().contains(&"person!".to_owned()), how == "not");
        assert_eq!(hub.run(&Command::Tick), []);
    }
}

#[test]
fn a_stay_fires_once_and_its_program_starts_once() {
    let mut hub =
        with_rules("[[on]]\nname = 's'\nphase = ['blocked']\nfor = '1m'\nrun = ['true']\n");
    let lasted = |since| {
        let (rule, project, session) = ("s".into(), project(), name("w1"));
        let phase = hub_protocol::PhaseName::Blocked;
        Command::Rule(RuleCommand::Lasted {
            rule,
            project,
            session,
            phase,
            since,
        })
    };
    assert_eq!(firings(&hub.run(&lasted(noon()))).len(), 1);
    hub.restart();
    assert_eq!(hub.run(&lasted(noon())), []);
    assert_eq!(hub.run(&lasted(noon().plus_millis(-1))), []);
    assert_eq!(firings(&hub.run(&lasted(noon().plus_millis(1)))).len(), 1);
    let start = Command::Rule(RuleCommand::Start(1));
    assert_eq!(hub.run(&start).len(), 1);
    assert_eq!(hub.ask(&start), Err(Refusal::UnknownId(1)));
    assert_eq!(hub.state.rules.open_runs().count(), 1);
}

#[test]
fn a_rule_about_sessions_fires_once_a_phase_whatever_the_clock_did() {
    for moved in [-HOUR, HOUR] {
        let mut hub =
            with_rules("[[on]]\nname = 's'\nphase = ['your_turn']\nfor = '1m'\nrun = ['true']\n");
        hub.run(&Command::Rule(RuleCommand::Begin(vec!["s".into()])));
        hub.pass(1);
        hub.hook("w1", stop("Done."));
        let fire = |hub: &mut Hub| {
            let (place, session) = ((project(), name("w1")), hub.session("w1"));
            let phase = hub
                .state
                .phase(&place.0, &place.1, session, hub.now, hub.now);
            let is_old = hub.state.rules.began("s").unwrap() > phase.since;
            let age = hub.now.as_millis() - phase.since.as_millis();
            let lasted = Command::Rule(RuleCommand::Lasted {
                rule: "s".into(),
                project: place.0,
                session: place.1,
                phase: phase.name,
                since: phase.since,
            });
            (firings(&hub.run(&lasted)).len(), is_old, age)
        };
        hub.pass(MINUTE);
        assert_eq!(fire(&mut hub), (1, false, MINUTE));
        hub.jump(moved);
        assert_eq!(fire(&mut hub), (0, false, MINUTE), "{moved}");
        hub.hook("w1", prompt(Person));
        hub.hook("w1", stop("Done again."));
        assert_eq!(fire(&mut hub), (1, false, 0), "{moved}");
    }
}

#[test]
fn the_records_of_rules_have_the_bytes_of_format_1() {
    let fired = Record::RuleFired(RuleFired {
        rule: "r".into(),
        project: project(),
        session: name("w1"),
        notification: Some(7),
        stay: None,
        actions: vec![RuleAction::Notify, RuleAction::Escalate],
        forward: None,
        made: Some(8),
        quiet_until: after(MINUTE),
        escalate: Some((noon(), "x".into())),
        at: noon(),
    });
    let payload = r#"{"rule":"r","project":"default","session":"w1","notification":7,"actions":["notify","escalate"],"made":8,"quiet_until":"2026-11-21T12:01:00.000Z","escalate":["2026-11-21T12:00:00.000Z","x"],"at":"2026-11-21T12:00:00.000Z"}"#;
    assert_eq!(fired.encode(), (97, payload.into()));
    assert_eq!(Record::decode(97, &payload.into()).unwrap(), fired);
    let note = RuleNote::Escalated {
        firing: 9,
        notification: 7,
        made: None,
    };
    let noted = Record::RuleNoted(RuleNoted {
        rule: "r".into(),
        note,
        at: noon(),
    });
    let payload = r#"{"rule":"r","what":"escalated","firing":9,"notification":7,"at":"2026-11-21T12:00:00.000Z"}"#;
    assert_eq!(noted.encode(), (98, payload.into()));
    assert_eq!(Record::decode(98, &payload.into()).unwrap(), noted);
}
