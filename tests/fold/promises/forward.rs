//! The positions of forwards.

use hub_core::record::ForwardNoted;
use hub_protocol::Seq;

use super::*;

fn note(up_to: Option<Seq>, answer: Option<&str>) -> Command {
    Command::Forwarded {
        name: "phone".into(),
        up_to,
        answer: answer.map(str::to_owned),
    }
}

#[test]
fn a_position_outlives_a_restart_and_the_reset_of_a_project() {
    let mut hub = Hub::new();
    assert_eq!(hub.state.forwards.get("phone"), None);
    hub.run(&note(Some(7), None));
    hub.run(&note(None, Some("m1")));
    hub.run(&reset(true));
    hub.restart();
    let cursor = hub.state.forwards.get("phone").unwrap();
    assert_eq!((cursor.up_to, cursor.answer.as_deref()), (7, Some("m1")));
}

#[test]
fn a_position_never_goes_back_and_one_that_is_known_records_nothing() {
    let mut hub = Hub::new();
    assert_eq!(hub.run(&note(Some(0), None)).len(), 1);
    assert_eq!(hub.run(&note(Some(7), None)).len(), 1);
    for known in [note(Some(7), None), note(Some(3), None), note(None, None)] {
        assert_eq!(hub.run(&known), []);
    }
    assert_eq!(hub.state.forwards.get("phone").unwrap().up_to, 7);
}

#[test]
fn a_position_has_the_bytes_of_format_1() {
    let at = noon();
    for (up_to, answer, payload) in [
        (
            Some(7),
            None,
            r#"{"name":"phone","up_to":7,"at":"2026-11-21T12:00:00.000Z"}"#,
        ),
        (
            None,
            Some("m1".into()),
            r#"{"name":"phone","answer":"m1","at":"2026-11-21T12:00:00.000Z"}"#,
        ),
    ] {
        let name = "phone".into();
        let record = Record::ForwardNoted(ForwardNoted {
            name,
            up_to,
            answer,
            at,
        });
        assert_eq!(record.encode(), (96, payload.into()));
        assert_eq!(Record::decode(96, &payload.into()).unwrap(), record);
    }
}
