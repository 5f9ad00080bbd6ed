//! Queries of the feed and of its details.

use hub_harness::{Client, each};
use serde_json::{Value, json};

use crate::memory_hub;

async fn list(client: &Client, query: &str) -> Value {
    client.read(&format!("/notifications?{query}")).await["notifications"].clone()
}

async fn expect(client: &Client, query: &str, ids: &[u64]) {
    assert_eq!(
        each(&list(client, query).await, "id"),
        json!(ids),
        "{query}"
    );
}

async fn reply(client: &Client, to: u64) -> u64 {
    let reply = json!({ "msg": "re", "from": "w", "type": "message", "reply_to": to });
    client.notify(reply).await
}

#[tokio::test]
async fn a_thread_is_complete_from_each_of_its_notifications_and_oldest_first() {
    let (_hub, client) = memory_hub();
    let root = client.say("root").await;
    let first = reply(&client, root).await;
    let stranger = client.say("not of it").await;
    reply(&client, stranger).await;
    let deeper = reply(&client, first).await;
    let second = reply(&client, root).await;
    let thread = [root, first, deeper, second];
    for id in thread {
        expect(&client, &format!("thread={id}"), &thread).await;
    }
    let lone = client.say("\"reply_to\":1").await;
    expect(&client, &format!("thread={lone}"), &[lone]).await;
}

#[tokio::test]
async fn a_thread_includes_the_requested_notification_at_any_limit() {
    let (_hub, client) = memory_hub();
    let root = client.say("root").await;
    let first = reply(&client, root).await;
    let second = reply(&client, first).await;
    reply(&client, second).await;
    let cut = format!("thread={second}&limit=1");
    expect(&client, &cut, &[root, first, second]).await;
    expect(&client, &format!("thread={root}&limit=2"), &[root, first]).await;
}

#[tokio::test]
async fn an_answer_is_in_the_thread_of_its_question_with_both_deliveries() {
    let (_hub, client) = memory_hub();
    let asked = client.asks("w1").await;
    let answer = client.answer(asked, "yes").await.expect(201).json();
    let thread = format!("thread={}", answer["answer_id"]);
    let thread = list(&client, &thread).await;
    for (member, expected) in [
        ("id", json!([asked, answer["answer_id"]])),
        ("type", json!(["question", "answer"])),
        ("status", json!(["answered", "pending"])),
        ("seen", json!([false, false])),
    ] {
        assert_eq!(each(&thread, member), expected);
    }
}

#[tokio::test]
async fn a_feed_is_filtered_by_type_priority_project_session_or_text_and_marks_a_superseded_entry()
{
    let (_hub, client) = memory_hub();
    let build =
        json!({ "msg": "50 %", "key": "build", "from": "w1", "project": "p", "type": "error" });
    let old = client.notify(build.clone()).await;
    let new = client.notify(build).await;
    let look = |msg, priority| json!({ "msg": msg, "priority": priority, "from": "w2", "type": "message" });
    let high = client.notify(look("Look here", "high")).await;
    client.notify(look("low", "low")).await;
    let statuses = each(&list(&client, "project=p").await, "status");
    assert_eq!(statuses, json!(["pending", "superseded"]));
    for (query, expected) in [
        ("types=error", &[new, old][..]),
        ("types=error&limit=1", &[new]),
        (&format!("types=error&before={new}"), &[old]),
        (&format!("types=error&after={old}"), &[new]),
        ("session=w1&project=p", &[new, old]),
        ("min_priority=high", &[high]),
        ("q=look%20HERE", &[high]),
    ] {
        expect(&client, query, expected).await;
    }
}

/// Publishes batches of notifications that go to no inbox.
async fn fill(client: &Client, batches: usize) {
    let posts = vec![json!({ "msg": "x", "from": "f", "type": "progress" }); 1000];
    for _ in 0..batches {
        client.post_json("/notify", json!(posts)).await.expect(201);
    }
}

/// Returns every page from `path` on, following `next`.
async fn pages(client: &Client, path: &str, place: &str) -> Vec<Value> {
    let mut pages = Vec::new();
    let mut ask = path.to_owned();
    loop {
        let page = client.read(&ask).await;
        let next = page["next"].as_u64();
        pages.push(page);
        let Some(next) = next else { return pages };
        let sign = if path.contains('?') { '&' } else { '?' };
        ask = format!("{path}{sign}{place}={next}");
    }
}

#[tokio::test]
async fn the_pages_of_a_long_log_are_complete_and_marked_as_partial() {
    let (_hub, client) = memory_hub();
    let root = client.say("the needle").await;
    let early = reply(&client, root).await;
    let other = client.say("another").await;
    let others = reply(&client, other).await;
    fill(&client, 201).await;
    let late = reply(&client, early).await;
    reply(&client, others).await;
    let latest = reply(&client, late).await;
    let ack = json!({ "ids": [root], "by": "me" });
    client.ack("primary", ack).await;

    let traces = pages(&client, &format!("/notifications/{root}/trace"), "after").await;
    assert!(traces.iter().all(|it| it["status"] == "acked"));
    let steps = traces.iter().filter_map(|it| it["steps"].as_array());
    let states: Vec<&Value> = steps.flatten().map(|step| &step["state"]).collect();
    assert_eq!(states, ["stored", "acked"]);

    for id in [root, latest] {
        let path = format!("/notifications?thread={id}");
        let thread = pages(&client, &path, "after").await;
        assert_eq!(thread[0]["partial"], true);
        let said = thread
            .iter()
            .filter_map(|it| it["notifications"].as_array());
        let ids: Vec<u64> = said.flatten().filter_map(|it| it["id"].as_u64()).collect();
        assert_eq!(ids, [root, early, late, latest], "{id}");
    }

    let search = pages(&client, "/notifications?q=needle", "before").await;
    let (last, before) = search.split_last().expect("a page");
    assert_eq!(last["notifications"][0]["id"], root);
    assert!(!before.is_empty() && before.iter().all(|page| page["partial"] == true));
}

#[tokio::test]
async fn marks_are_set_by_filter_and_undone_exactly() {
    let (_hub, client) = memory_hub();
    let say = |project: &str, kind: &str| {
        let body = json!({ "msg": "m", "from": "w", "project": project, "type": kind });
        client.notify(body)
    };
    let one = say("/a", "progress").await;
    let read = say("/a", "progress").await;
    let other_type = say("/a", "error").await;
    let other_project = say("/b", "progress").await;
    client
        .put(&format!("/notifications/{read}/seen"))
        .send()
        .await
        .expect(200);
    let later = say("/a", "progress").await;
    let body = json!({ "project": "/a", "types": ["progress"], "up_to": later, "seen": true });
    let answer = client.post_json("/seen", body).await.expect(200).json();
    assert_eq!(answer["changed"], 2, "{answer}");
    expect(&client, "seen=false", &[other_project, other_type]).await;
    expect(&client, "seen=true", &[later, read, one]).await;

    let undo = json!({ "undo": answer["undo"] });
    let undone = client.post_json("/seen", undo).await.expect(200).json();
    assert_eq!(
        (&undone["seen"], &undone["changed"]),
        (&json!(false), &json!(2))
    );
    expect(&client, "seen=true", &[read]).await;

    let body = json!({ "up_to": later, "seen": true });
    let all = client.post_json("/seen", body).await.expect(200).json();
    assert_eq!(all["changed"], 4);
    client
        .post_json("/seen", json!({ "undo": all["undo"] }))
        .await
        .expect(200);
    expect(&client, "seen=true", &[read]).await;
    let nothing = client
        .post_json("/seen", json!({ "q": "nowhere", "seen": true }))
        .await
        .expect(200)
        .json();
    assert_eq!(nothing, json!({ "seen": true, "changed": 0 }));
}

#[tokio::test]
async fn marks_by_filter_skip_what_was_marked_before() {
    let (_hub, client) = memory_hub();
    let mut ids = Vec::new();
    for n in 0..40 {
        let body = json!({ "msg": "m", "from": if n % 3 == 0 { "w" } else { "v" } });
        ids.push(client.notify(body).await);
    }
    let body = json!({ "ids": [ids[0], ids[9], ids[30], ids[31]], "seen": true });
    client.post_json("/seen", body).await.expect(200);
    let answer = client
        .post_json("/seen", json!({ "from": "w", "seen": true }))
        .await
        .expect(200)
        .json();
    assert_eq!(answer["changed"], 11);
    let unread = list(&client, "seen=false&limit=100").await;
    assert!(
        each(&unread, "from")
            .as_array()
            .unwrap()
            .iter()
            .all(|from| from == "v"),
        "{unread}"
    );
    assert_eq!(unread.as_array().unwrap().len(), 25);
}

#[tokio::test]
async fn a_request_for_marks_selects_in_one_way() {
    let (_hub, client) = memory_hub();
    let id = client.say("m").await;
    for body in [
        json!({ "seen": true }),
        json!({ "ids": [id], "project": "/a", "seen": true }),
        json!({ "undo": id, "seen": true }),
        json!({ "up_to": 0, "seen": true }),
        json!({ "up_to": id }),
    ] {
        client.post_json("/seen", body).await.expect(422);
    }
    client
        .post_json("/seen", json!({ "undo": id }))
        .await
        .expect(404);
    client
        .post_json("/seen", json!({ "up_to": id + 1, "seen": true }))
        .await
        .expect(404);
}
