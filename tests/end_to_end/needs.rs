//! `hubctl needs` and `hubctl done`.

use serde_json::json;

use crate::support::Place;

/// The ids and kinds of the open needs.
fn needs(place: &Place) -> Vec<(String, String)> {
    let all = place.json("needs --json")["needs"].clone();
    let text = |it: &serde_json::Value| it.as_str().expect("a text").to_owned();
    let all = all.as_array().expect("a list").iter();
    let open = all.filter(|it| it["settled"].is_null());
    open.map(|it| (text(&it["id"]), text(&it["kind"])))
        .collect()
}

#[test]
fn a_need_is_listed_until_it_is_done_and_can_be_put_off_or_opened_again() {
    let place = Place::with_hub();
    place.hubctl("needs").ok().warns("no need is open");
    place.register("w1", &json!({}));
    place.ctl("notify --from w1 --type waiting 'Which database?'");
    let listed = place.ctl("needs").stdout;
    for part in ["your turn", "w1", "Which database?"] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    place.ctl("seen --up-to 1");
    let (id, _) = needs(&place).remove(0);
    place.ctl("done w1").prints(&format!("done: {id}"));
    assert_eq!(needs(&place), []);
    place.ctl(format!("done {id} --undo"));
    assert_eq!(needs(&place).len(), 1);
    place.ctl(format!("done {id} --for 1h"));
    assert_eq!(needs(&place), []);
    let none = place.hubctl("done w1").fails(1);
    none.warns("w1 has no open need: `hubctl needs` lists the needs");
    place
        .hubctl("done s9 --undo")
        .fails(1)
        .warns("`hubctl needs` lists them");
}

#[test]
fn a_need_is_shown_with_its_whole_text_and_the_words_before_it() {
    let place = Place::with_hub();
    let long = format!("{}end", "word ".repeat(100));
    let stop = json!({
        "hook_event_name": "Stop", "session_id": "w1", "cwd": place.path("work"), "last_assistant_message": long,
    });
    place.hubctl("hook claude").stdin(stop.to_string()).ok();
    place.ctl(format!("ask --from w1 --option yes '{long}?'"));
    let (id, _) = needs(&place).remove(0);
    let shown = place.ctl(format!("needs {id}")).stdout;
    for part in [
        &format!(": \"{long}?\"  [1] yes"),
        &format!("before: \"{long}\""),
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(place.json(format!("needs {id} --json"))["context"], long);
    let none = place.hubctl("needs s9").fails(1);
    none.warns("`hubctl needs` lists them");
}

/// Reports an event of the session w1 of Claude Code, by another program than `hubctl`: the hub would count the test as a
/// part of the session.
fn reports(place: &Place, event: &serde_json::Value) {
    let mut event = event.clone();
    event["session_id"] = "w1".into();
    event["cwd"] = json!(place.path("work"));
    let curl =
        "curl -sf --unix-socket ../state/hub.sock --data-binary @- http://localhost/hooks/claude";
    place.sh(curl).stdin(event.to_string()).ok();
}

#[test]
fn a_session_at_its_limit_goes_on_at_its_end_or_waits_again() {
    let place = Place::with_hub();
    let soon = hub_protocol::Timestamp::now().as_millis() / 1000 + 3600;
    let limit = format!("Claude AI usage limit reached|{soon}");
    let no_limit = "w1 waits for no limit whose end is known";
    reports(&place, &json!({ "hook_event_name": "Stop" }));
    place.hubctl("resume w1").fails(1).warns(no_limit);
    reports(
        &place,
        &json!({ "hook_event_name": "UserPromptSubmit", "prompt": "go" }),
    );
    reports(
        &place,
        &json!({ "hook_event_name": "StopFailure", "error": "rate_limit", "last_assistant_message": limit }),
    );
    let chosen = || place.json("needs --json")["needs"][0]["resume"]["chosen"].clone();
    let (id, kind) = needs(&place).remove(0);
    assert_eq!((kind.as_str(), chosen()), ("limit", json!(false)));
    let name = place.json("needs --json")["needs"][0]["name"].clone();
    let name = name.as_str().expect("a name");
    place
        .ctl("resume w1")
        .prints(&format!("{name} goes on when its limit ends: {id}"));
    assert_eq!(chosen(), json!(true));
    let undone = place.ctl(format!("resume {id} --undo"));
    undone.prints(&format!("{name} waits for you: {id}"));
    assert_eq!(chosen(), json!(false));
    let refused = place.hubctl("resume w1").env("CLAUDECODE", "1").fails(1);
    refused.warns("person");
    assert_eq!(chosen(), json!(false));
}

#[test]
fn a_question_is_not_done_before_it_is_answered() {
    let place = Place::with_hub();
    place.register("w1", &json!({}));
    place.ctl("ask --from w1 'Which port?'");
    let (id, kind) = needs(&place).remove(0);
    assert_eq!(kind, "question");
    let refused = place.hubctl("done w1").fails(1);
    refused.warns(&format!("w1 asks: `hubctl answer {id} …`"));
    place.ctl(format!("answer {id} 4782"));
    assert!(!needs(&place).iter().any(|it| it.0 == id));
    let none = place.hubctl("done w1").fails(1);
    none.warns("w1 has no open need");
}
