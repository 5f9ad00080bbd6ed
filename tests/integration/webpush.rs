//! Web Push: who may subscribe, and for how long a device gets messages. `tests/browser/push.test.js` decrypts them.

use hub_harness::{Client, Hub, PushService, until};
use serde_json::json;

use crate::{disk_hub, memory_hub};

/// Signs in as the person, who wants to be notified of questions.
async fn person(hub: &Hub) -> Client {
    let person = hub.person().await;
    let wanted = json!({ "notify": ["needs_you"] });
    person.put_json("/preferences", wanted).await.expect(200);
    person
}

async fn subscribe(person: &Client, service: &PushService, name: &str) {
    let subscription = service.subscription(name);
    let stored = person.put_json("/login/push", subscription).await;
    stored.expect(204);
}

fn holds(what: &str, holds: impl Fn() -> bool) {
    until(what, || holds().then_some(()));
}

async fn is_subscribed(person: &Client) -> bool {
    person.read("/login/push").await["subscribed"] == true
}

#[tokio::test]
async fn only_a_device_subscribes_and_only_to_a_push_service() {
    let (hub, client) = memory_hub();
    let (service, person) = (PushService::start(), person(&hub).await);
    let good = service.subscription("a");
    for other in [&client, &hub.unix()] {
        let refused = other.put_json("/login/push", &good).await;
        assert_eq!(refused.code(), "invalid");
        assert_eq!(other.delete("/login/push").await.code(), "invalid");
    }
    for endpoint in ["https://127.0.0.1/a", "http://192.0.2.1/a", "a"] {
        let mut bad = good.clone();
        bad["endpoint"] = endpoint.into();
        let refused = person.put_json("/login/push", bad).await;
        assert_eq!(refused.code(), "invalid", "{endpoint}");
    }
    assert!(!is_subscribed(&person).await);
    subscribe(&person, &service, "a").await;
    assert!(is_subscribed(&person).await);
    person.delete("/login/push").await.expect(204);
    assert!(!is_subscribed(&person).await);
}

#[tokio::test]
async fn a_need_is_pushed_when_it_begins_and_when_it_is_settled_also_by_the_next_hub() {
    let (mut hub, client) = disk_hub();
    let (service, person) = (PushService::start(), person(&hub).await);
    let before = client.asks("w1").await.to_string();
    subscribe(&person, &service, "a").await;
    let key = person.read("/login/push").await["key"].clone();
    let id = client.asks("w1").await;
    holds("the need is pushed", || {
        service.topics("a") == [id.to_string()]
    });
    hub.restart();
    assert_eq!(person.read("/login/push").await["key"], key);
    person.answer(id, "yes").await.expect(201);
    let expected = [id.to_string(), id.to_string()];
    holds("its end is pushed", || service.topics("a") == expected);
    assert!(!service.topics("a").contains(&before), "it was in the page");
}

#[tokio::test]
async fn a_device_that_has_subscribed_alerts_the_person_without_a_dashboard() {
    let (hub, client) = memory_hub();
    let (service, person) = (PushService::start(), person(&hub).await);
    let ask = json!({ "msg": "?", "from": "w1", "type": "question", "to": "person" });
    client.notify(ask).await;
    let preferences = json!({ "notify": ["needs_you"] });
    let put = client.put_json("/preferences", preferences).await;
    put.expect(200);
    let why = || client.read("/why/person");
    assert_eq!(why().await["reason"], "no_transport");
    subscribe(&person, &service, "a").await;
    assert_eq!(why().await["reason"], "awaits_person");
}

/// Kills the hub, and starts it again after the question was answered without it: by a hub that knows no device.
async fn is_answered_while_it_is_down(hub: &mut Hub, id: u64) {
    let devices = hub.state_dir().join("devices.json");
    let aside = hub.scratch().join("devices.json");
    hub.kill_9();
    std::fs::rename(&devices, &aside).expect("the devices");
    hub.start_again();
    hub.client().answer(id, "yes").await.expect(201);
    hub.stop();
    std::fs::rename(&aside, &devices).expect("the devices");
    hub.start_again();
}

#[tokio::test]
async fn a_need_that_is_settled_while_the_hub_is_down_is_closed_at_the_next_start() {
    let (mut hub, client) = disk_hub();
    let (service, person) = (PushService::start(), person(&hub).await);
    subscribe(&person, &service, "a").await;
    let id = client.asks("w1").await;
    holds("the need is pushed", || {
        service.topics("a") == [id.to_string()]
    });
    is_answered_while_it_is_down(&mut hub, id).await;
    let expected = [id.to_string(), id.to_string()];
    holds("its end is pushed", || service.topics("a") == expected);
    hub.restart();
    let next = client.asks("w1").await.to_string();
    holds("the next one is pushed", || {
        service.topics("a").contains(&next)
    });
    assert_eq!(service.topics("a")[..2], expected, "it is closed once");
    assert_eq!(service.topics("a").len(), 3);
}

#[tokio::test]
async fn a_need_is_also_closed_if_the_hub_was_killed_before_the_service_accepted_it() {
    let (mut hub, client) = disk_hub();
    let (service, person) = (PushService::start(), person(&hub).await);
    subscribe(&person, &service, "a").await;
    service.answer(503);
    let id = client.asks("w1").await;
    holds("an attempt", || service.count() > 0);
    is_answered_while_it_is_down(&mut hub, id).await;
    service.answer(201);
    holds("its end is pushed", || {
        service.topics("a") == [id.to_string()]
    });
}

#[tokio::test]
async fn a_message_that_the_service_does_not_take_is_sent_again() {
    let (hub, client) = memory_hub();
    let (service, person) = (PushService::start(), person(&hub).await);
    subscribe(&person, &service, "a").await;
    service.answer(503);
    let id = client.asks("w1").await;
    holds("an attempt", || service.count() > 0);
    service.answer(201);
    holds("the need is pushed", || {
        service.topics("a") == [id.to_string()]
    });
}

#[tokio::test]
async fn an_expired_subscription_is_removed() {
    for status in [404, 410] {
        let (hub, client) = disk_hub();
        let (service, person) = (PushService::start(), person(&hub).await);
        subscribe(&person, &service, "a").await;
        service.answer(status);
        client.asks("w1").await;
        holds("an attempt", || service.count() > 0);
        let path = hub.state_dir().join("devices.json");
        holds("it is forgotten", || {
            let stored = std::fs::read_to_string(&path).expect("the devices");
            !stored.contains("endpoint")
        });
        assert!(!is_subscribed(&person).await);
        service.answer(201);
        subscribe(&person, &service, "b").await;
        let id = client.asks("w1").await;
        holds("the new one works", || {
            service.topics("b") == [id.to_string()]
        });
        assert!(service.topics("a").is_empty());
    }
}

#[tokio::test]
async fn a_revoked_device_gets_nothing_more() {
    let (hub, client) = memory_hub();
    let (service, first) = (PushService::start(), person(&hub).await);
    let second = person(&hub).await;
    subscribe(&first, &service, "first").await;
    subscribe(&second, &service, "second").await;
    let id = client.asks("w1").await.to_string();
    holds("both are told", || {
        ["first", "second"].map(|it| service.topics(it)) == [[id.clone()], [id.clone()]]
    });
    let devices = first.read("/login/devices").await;
    let own = devices["devices"][0]["id"].as_str().expect("an id");
    client
        .delete(&format!("/login/devices/{own}"))
        .await
        .expect(200);
    let next = client.asks("w1").await.to_string();
    holds("the other one is told", || {
        service.topics("second").contains(&next)
    });
    assert_eq!(service.topics("first"), [id]);
}

#[tokio::test]
async fn a_browser_that_is_paired_anew_gets_each_message_once() {
    let (hub, client) = memory_hub();
    let (service, old) = (PushService::start(), person(&hub).await);
    subscribe(&old, &service, "same").await;
    let new = person(&hub).await;
    subscribe(&new, &service, "same").await;
    assert!(!is_subscribed(&old).await && is_subscribed(&new).await);
    let (first, second) = (client.asks("w1").await, client.asks("w1").await);
    holds("both are pushed", || service.topics("same").len() >= 2);
    assert_eq!(
        service.topics("same"),
        [first.to_string(), second.to_string()]
    );
}
