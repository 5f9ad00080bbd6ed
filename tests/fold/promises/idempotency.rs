//! A request with an Idempotency-Key is applied once.

use super::*;

fn keyed(key: &str, digest: &str) -> Command {
    Command::Notify {
        drafts: vec![said("w1", Kind::Complete); 2],
        once: Some(once(key, digest)),
    }
}

fn repeats(hub: &Hub, command: &Command) -> Result<Option<Vec<Seq>>, Refusal> {
    let decision = hub
        .state
        .decide(command, hub.now, &|_, _, _| false, &hub.rules)?;
    Ok(match decision {
        Decision::Repeat(ids) => Some(ids),
        Decision::Records(_) => None,
    })
}

#[test]
fn a_repeat_returns_the_first_ids_and_another_request_with_the_key_is_refused() {
    let mut hub = Hub::new();
    hub.run(&keyed("k", "same"));
    assert_eq!(repeats(&hub, &keyed("k", "same")), Ok(Some(vec![1, 2])));
    assert_eq!(repeats(&hub, &keyed("k", "other")), Err(Refusal::KeyReused));
}

#[test]
fn a_repeated_hook_returns_the_question_that_it_asked() {
    let mut hub = Hub::new();
    let mut asks = hook("w1", asks("A or B?"));
    asks.once = Some(once("k", "same"));
    let asks = Command::Hook(Box::new(asks));
    hub.run(&asks);
    let question = hub.open_question(0);
    assert_eq!(repeats(&hub, &asks), Ok(Some(vec![question])));
}

#[test]
fn a_key_is_kept_for_a_day() {
    let mut hub = Hub::new();
    hub.run(&keyed("k", "same"));
    hub.pass(DAY - 1);
    assert_eq!(repeats(&hub, &keyed("k", "same")), Ok(Some(vec![1, 2])));
    hub.pass(1);
    assert_eq!(repeats(&hub, &keyed("k", "other")), Ok(None));
}

#[test]
fn the_last_hundred_thousand_keys_are_kept() {
    let mut hub = Hub::new();
    for n in 0..=100_000 {
        hub.run(&Command::Notify {
            drafts: vec![said("w1", Kind::Progress)],
            once: Some(once(&n.to_string(), "same")),
        });
    }
    assert_eq!(repeats(&hub, &keyed("0", "same")), Ok(None));
    assert_eq!(repeats(&hub, &keyed("1", "same")), Ok(Some(vec![3])));
}

#[test]
fn keys_older_than_a_day_take_no_space() {
    let mut hub = Hub::new();
    hub.run(&keyed("old", "same"));
    let before = serde_json::to_string(&hub.state).unwrap();
    hub.pass(DAY);
    hub.run(&keyed("new", "same"));
    let after = serde_json::to_string(&hub.state).unwrap();
    assert!(before.contains(r#""key":"old""#) && !after.contains(r#""key":"old""#));
}
