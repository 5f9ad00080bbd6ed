use hub_protocol::{AnswerPost, NeedKind, QuestionState, Settled};

use super::*;

fn need(id: &str) -> Need {
    Need {
        id: id.into(),
        kind: NeedKind::Question,
        alert: Some(Alert::NeedsYou),
        brief: "Which port?".into(),
        quick: vec![Quick {
            label: "80".into(),
            answer: AnswerPost::default(),
        }],
        ..Need::default()
    }
}

fn wants(states: &[Alert]) -> Preferences {
    Preferences {
        notify: states.iter().copied().collect(),
        ..Preferences::default()
    }
}

/// Sends all that is due; returns the tags.
fn drain(known: &mut Known, needs: &[Need], preferences: &Preferences) -> Vec<String> {
    let mut tags = Vec::new();
    while let Some(message) = known.next(needs, preferences, true) {
        known.sent(&message, needs);
        let settled = matches!(message, Message::Settled(_));
        tags.push(format!(
            "{}{}",
            if settled { "-" } else { "+" },
            message.tag()
        ));
    }
    tags
}

#[test]
fn a_need_is_shown_once_and_closed_when_it_is_settled() {
    let wanted = wants(&[Alert::NeedsYou]);
    let mut known = Known::default();
    assert_eq!(
        drain(&mut known, &[need("1"), need("2")], &wanted),
        ["+1", "+2"]
    );
    assert!(drain(&mut known, &[need("1"), need("2")], &wanted).is_empty());
    let mut answered = need("1");
    answered.settled = Some(Settled {
        state: QuestionState::Answered,
        ..Settled::default()
    });
    assert_eq!(drain(&mut known, &[answered, need("2")], &wanted), ["-1"]);
    assert_eq!(drain(&mut known, &[], &wanted), ["-2"]);
}

#[test]
fn what_is_settled_before_the_service_takes_it_is_not_sent() {
    let wanted = wants(&[Alert::NeedsYou]);
    let mut known = Known::default();
    assert!(known.next(&[need("1")], &wanted, true).is_some());
    assert!(known.next(&[], &wanted, true).is_none());
}

#[test]
fn only_what_the_person_wants_is_shown_and_it_does_not_come_later() {
    let mut silenced = need("1");
    silenced.silenced = Some("muted".into());
    let mut turn = need("2");
    turn.alert = Some(Alert::YourTurn);
    let wanted = wants(&[Alert::NeedsYou]);
    let mut known = Known::default();
    assert!(drain(&mut known, &[silenced, turn], &wanted).is_empty());
    let all = wants(&[Alert::NeedsYou, Alert::YourTurn]);
    assert!(drain(&mut known, &[need("1"), need("2")], &all).is_empty());
    let mut urgent = need("3");
    urgent.alert = None;
    assert!(drain(&mut known, &[urgent.clone()], &wants(&[])).is_empty());
    urgent.id = "4".into();
    assert_eq!(drain(&mut known, &[urgent], &wanted), ["+4"]);
}

#[test]
fn after_a_restart_what_is_open_is_not_shown_again_and_closes() {
    let wanted = wants(&[Alert::NeedsYou]);
    let mut later = need("2");
    later.since = Timestamp::from_millis(10);
    let needs = [need("1"), later];
    let pushed = BTreeSet::from(["0".into(), "1".into()]);
    let before = |wants| Known::before(&needs, wants, Timestamp::from_millis(5), &pushed);
    let mut known = before(&wanted);
    assert_eq!(drain(&mut known, &needs, &wanted), ["-0", "+2"]);
    assert_eq!(drain(&mut known, &needs[1..], &wanted), ["-1"]);
    let mut unwanted = before(&wants(&[]));
    assert_eq!(drain(&mut unwanted, &[], &wanted), ["-0", "-1"]);
}

#[test]
fn a_need_may_be_shown_from_before_it_is_sent_until_its_end_is_accepted() {
    let wanted = wants(&[Alert::NeedsYou]);
    let mut known = Known::default();
    let one = BTreeSet::from(["1".to_owned()]);
    let message = known.next(&[need("1")], &wanted, true).unwrap();
    assert!(known.shown_after(None).is_empty());
    assert_eq!(known.shown_after(Some(&message)), one);
    known.sent(&message, &[need("1")]);
    let end = known.next(&[], &wanted, true).unwrap();
    assert_eq!(known.shown_after(Some(&end)), one);
    known.sent(&end, &[]);
    assert!(known.shown_after(None).is_empty());
}

#[test]
fn many_needs_that_begin_together_are_counted_until_all_of_them_are_settled() {
    let wanted = wants(&[Alert::NeedsYou]);
    let many: Vec<_> = (0..7).map(|it| need(&it.to_string())).collect();
    assert_eq!(drain(&mut Known::default(), &many[..5], &wanted).len(), 5);
    let mut known = Known::default();
    assert_eq!(drain(&mut known, &many[..1], &wanted), ["+0"]);
    assert_eq!(drain(&mut known, &many, &wanted), ["+more"]);
    assert!(drain(&mut known, &many[..2], &wanted).is_empty());
    assert_eq!(drain(&mut known, &many[..1], &wanted), ["-more"]);
    assert_eq!(drain(&mut known, &[], &wanted), ["-0"]);
}

#[test]
fn a_count_from_before_a_restart_is_closed_with_the_last_need() {
    let wanted = wants(&[Alert::NeedsYou]);
    let many: Vec<_> = (0..6).map(|it| need(&it.to_string())).collect();
    let mut known = Known::default();
    let message = known.next(&many, &wanted, true);
    let pushed = known.shown_after(message.as_ref());
    let mut known = Known::before(&many, &wanted, Timestamp::from_millis(5), &pushed);
    assert!(drain(&mut known, &many[..6], &wanted).is_empty());
    assert_eq!(drain(&mut known, &many[..1], &wanted).len(), 5);
    assert_eq!(drain(&mut known, &[], &wanted), ["-0", "-more"]);
}

#[test]
fn a_device_that_only_reads_gets_no_answers_and_a_long_need_fits() {
    let message = |need: &Need, answers| {
        let message = Known::default().next(
            std::slice::from_ref(need),
            &wants(&[Alert::NeedsYou]),
            answers,
        );
        serde_json::from_slice::<serde_json::Value>(&message.unwrap().json()).unwrap()
    };
    assert!(message(&need("1"), true)["need"]["quick"][0].is_object());
    assert!(message(&need("1"), false)["need"]["quick"].is_null());
    let mut long = need("1");
    long.brief = "\u{1}".repeat(MAX_BYTES);
    let shown = message(&long, true);
    assert_eq!(shown["need"]["id"], "1");
    assert!(shown.to_string().len() < MAX_BYTES);
}
