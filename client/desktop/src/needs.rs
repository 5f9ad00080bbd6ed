//! The reasons to call the person: the hub's needs, and urgent notifications in the same form.

use hub_protocol::{Alert, Need, NeedKind, Notification, Seq};

use crate::feed::Snapshot;

/// The number of characters of an urgent notification that are shown.
const MAX_BODY: usize = 240;

/// All needs of a snapshot. An urgent message calls when it arrives, and is shown once.
pub(crate) fn needs_of(hub: &Snapshot) -> Vec<Need> {
    let is_urgent = |id: Seq| hub.urgent.iter().any(|urgent| urgent.id == id);
    let is_shown = |it: &&Need| {
        let twice = it.alert == Some(Alert::Blocked) && it.notification.is_some_and(is_urgent);
        it.is_open() && it.kind != NeedKind::Urgent && !twice
    };
    let needs = hub.needs.iter().filter(is_shown).cloned();
    needs.chain(hub.urgent.iter().map(of_urgent)).collect()
}

fn of_urgent(urgent: &Notification) -> Need {
    let text = match &urgent.title {
        Some(title) => format!("{title}\n{}", urgent.msg),
        None => urgent.msg.clone(),
    };
    let name = urgent.from_name.as_deref();
    Need {
        id: urgent.id.to_string(),
        kind: NeedKind::Urgent,
        since: urgent.ts,
        project: urgent.project.clone(),
        name: name.unwrap_or(urgent.from.as_str()).to_owned(),
        session: urgent.session.clone(),
        notification: Some(urgent.id),
        priority: urgent.priority,
        title: "sends an urgent message".into(),
        brief: truncate(&text),
        ..Need::default()
    }
}

fn truncate(text: &str) -> String {
    if text.chars().count() <= MAX_BODY {
        return text.to_owned();
    }
    text.chars().take(MAX_BODY - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::select;
    use hub_protocol::{AnswerPost, Timestamp};
    use serde_json::{Value, from_value, json};

    /// Each case of the fixture is also one of `tests/web/alerts.test.js`.
    #[test]
    fn the_needs_that_are_shown_are_those_of_the_dashboard() {
        let cases: Vec<Value> =
            serde_json::from_str(include_str!("../../../tests/fixtures/alerts.json")).unwrap();
        assert!(!cases.is_empty());
        for case in cases {
            let hub = snapshot(&case);
            let needs = needs_of(&hub);
            let (shown, _) = select(&hub.preferences, &needs);
            let tags: Vec<&str> = shown.iter().map(|it| it.id.as_str()).collect();
            assert_eq!(json!(tags), case["show"], "{}", case["name"]);
            for need in shown {
                let alerts = case["alerts"].as_array().unwrap().iter();
                let mut alerts = alerts.filter(|it| it["tag"] == need.id.as_str());
                let expected = alerts.next().unwrap();
                assert_eq!(plain(need), *expected, "{}", case["name"]);
            }
        }
    }

    fn snapshot(case: &Value) -> Snapshot {
        let part = |name: &str| case[name].clone();
        Snapshot {
            needs: from_value(part("needs")).unwrap(),
            urgent: from_value(part("urgent")).unwrap(),
            preferences: from_value(part("preferences")).unwrap(),
            focused: false,
        }
    }

    fn plain(need: &Need) -> Value {
        let answers = need.quick.iter().map(|it| words(&it.answer));
        let answers: Vec<String> = answers.collect();
        let mut plain =
            json!({ "tag": need.id, "state": need.alert, "text": need.brief, "answers": answers });
        if let Some(id) = need.notification {
            plain["id"] = id.into();
        }
        plain
    }

    fn words(post: &AnswerPost) -> String {
        post.answer().expect("an answer").to_string()
    }

    #[test]
    fn a_long_urgent_message_is_cut_between_characters() {
        let urgent = json!({"id": 1, "ts": Timestamp::default(), "from": "a", "type": "message", "msg": "é".repeat(500),
            "project": "p", "priority": "urgent", "expires_at": Timestamp::default()});
        let need = of_urgent(&from_value(urgent).unwrap());
        assert_eq!((need.brief.chars().count(), need.alert), (MAX_BODY, None));
    }
}
