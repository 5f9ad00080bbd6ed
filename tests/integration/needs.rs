//! `/needs`: what the person has to do, when it ends, and who may say so.

use std::time::Duration;

use hub_harness::{Client, each};
use hub_protocol::Timestamp;
use serde_json::{Value, json};

use crate::{hub_with, memory_hub};

/// The open needs.
async fn needs(client: &Client) -> Value {
    let list = client.read("/needs").await["needs"].take();
    let all = list.as_array().expect("a list").iter();
    all.filter(|it| it["settled"].is_null()).cloned().collect()
}

/// The kind of each need, in their order.
async fn kinds(client: &Client) -> Value {
    each(&needs(client).await, "kind")
}

async fn stop(client: &Client, session: &str, words: &str) {
    let prompt = json!({ "hook_event_name": "UserPromptSubmit", "prompt": "go" });
    client.hook("", session, prompt).await;
    let stop = json!({ "hook_event_name": "Stop", "last_assistant_message": words });
    client.hook("", session, stop).await;
}

async fn close(client: &Client, id: &Value, how: &str, body: Value) -> u16 {
    let path = format!("/needs/{}/{how}", id.as_str().expect("an id"));
    client.post_json(&path, body).await.status
}

/// Lets a session wait at its inbox, so that a message reaches it.
async fn waits(client: &Client, session: &'static str) -> tokio::task::JoinHandle<Value> {
    let waiting = client.clone();
    let path = format!("/wait?session={session}&timeout=20");
    let waits = tokio::spawn(async move { waiting.read(&path).await });
    while client.session(session).await["waiter"].is_null() {
        tokio::task::yield_now().await;
    }
    waits
}

#[tokio::test]
async fn reading_ends_no_need_and_each_ends_when_it_is_met() {
    let (hub, client) = memory_hub();
    stop(&client, "w1", "Which database shall I use?").await;
    let question = client.asks("w2").await;
    let failed = json!({ "from": "w3", "session": "w3", "type": "error", "msg": "No disk" });
    client.notify(failed).await;
    let urgent =
        json!({ "from": "ci", "msg": "main is red", "to": "person", "priority": "urgent" });
    client.notify(urgent).await;
    let all = json!(["urgent", "question", "error", "turn"]);
    assert_eq!(kinds(&client).await, all);
    let everything = json!({ "up_to": client.head().await, "seen": true });
    client.post_json("/seen", everything).await.expect(200);
    assert_eq!(kinds(&client).await, all, "after `Mark all read`");
    client.answer(question, "yes").await.expect(201);
    assert_eq!(kinds(&client).await, json!(["urgent", "error", "turn"]));
    let open = needs(&client).await;
    assert_eq!(close(&client, &open[0]["id"], "done", json!({})).await, 204);
    assert_eq!(close(&client, &open[1]["id"], "done", json!({})).await, 204);
    assert_eq!(kinds(&client).await, json!(["turn"]));
    let reply = json!({ "to": "w1", "type": "message", "from": "person", "msg": "SQLite" });
    let _waits = waits(&client, "w1").await;
    hub.person().await.notify(reply).await;
    assert_eq!(kinds(&client).await, json!([]), "after a reply");
}

#[tokio::test]
async fn a_need_has_the_whole_words_and_a_brief_beginning() {
    let (_hub, client) = memory_hub();
    let words = format!(
        "Done.\n\n{}\n\nShall I **push**?",
        "A long line. ".repeat(60)
    );
    stop(&client, "w1", &words).await;
    let need = needs(&client).await[0].clone();
    assert_eq!(
        (&need["title"], &need["complete"]),
        (&json!("has stopped"), &json!(false))
    );
    let brief = need["brief"].as_str().expect("a text");
    assert!(
        brief.starts_with("Done.\n\nA long line.") && brief.ends_with('…'),
        "{brief}"
    );
    assert_eq!(need["text"], Value::Null);
    let path = format!("/needs/{}", need["id"].as_str().expect("an id"));
    assert_eq!(client.read(&path).await["text"], words.trim());
    let event = json!({ "hook_event_name": "PermissionRequest", "tool_name": "Bash",
        "tool_input": { "command": "git push" } });
    let mut events = client.events("?kinds=need").await;
    let asker = client.clone();
    let held = tokio::spawn(async move { asker.hook("", "w1", event).await });
    let need = loop {
        let need = events.next_of("need").await.data["needs"][0].clone();
        if need["kind"] == "permission" {
            break need;
        }
    };
    held.abort();
    assert_eq!(need["title"], "wants to run a command");
    assert_eq!(
        (&need["brief"], &need["complete"]),
        (&json!("Bash: git push"), &json!(true))
    );
}

#[tokio::test]
async fn done_can_be_taken_back_and_a_snooze_ends_unless_the_session_has_gone_on() {
    let (_hub, client) = memory_hub();
    stop(&client, "w1", "Done").await;
    let id = needs(&client).await[0]["id"].clone();
    let phase = async || client.session("w1").await["phase"].clone();
    assert_eq!(
        (&phase().await["name"], &phase().await["need"]),
        (&json!("your_turn"), &id)
    );
    assert_eq!(close(&client, &id, "done", json!({})).await, 204);
    assert_eq!(
        (kinds(&client).await, &phase().await["name"]),
        (json!([]), &json!("done"))
    );
    let path = format!("/needs/{}/done", id.as_str().expect("an id"));
    client.delete(&path).await.expect(204);
    assert_eq!(needs(&client).await[0]["id"], id);
    let soon = json!({ "until": Timestamp::now().plus_millis(300) });
    assert_eq!(close(&client, &id, "snooze", soon).await, 204);
    assert_eq!(kinds(&client).await, json!([]));
    let mut events = client.events("?kinds=need").await;
    while events.next_of("need").await.data["needs"][0]["id"] != id {}
    let late = json!({ "until": "2020-01-01T00:00:00Z" });
    assert_eq!(close(&client, &id, "snooze", late).await, 422);
    stop(&client, "w1", "Again").await;
    assert_eq!(
        close(&client, &id, "done", json!({})).await,
        404,
        "another turn"
    );
    client.delete(&path).await.expect(404);
    assert_eq!(kinds(&client).await, json!(["turn"]));
}

#[tokio::test]
async fn every_change_of_the_needs_is_an_event_with_the_whole_list() {
    let (_hub, client) = memory_hub();
    let mut events = client.events("?kinds=need").await;
    assert_eq!(events.next_of("need").await.data["needs"], json!([]));
    stop(&client, "w1", "Shall I push?").await;
    let list = events.next_of("need").await.data;
    assert_eq!(each(&list["needs"], "brief"), json!(["Shall I push?"]));
    let mut later = client.events("?kinds=need").await;
    assert_eq!(later.next_of("need").await.data, list, "at first");
    let id = &list["needs"][0]["id"];
    assert_eq!(close(&client, id, "done", json!({})).await, 204);
    for stream in [&mut events, &mut later] {
        assert_eq!(stream.next_of("need").await.data["needs"], json!([]));
    }
    drop((events, later));
    stop(&client, "w2", "And now?").await;
    let mut again = client.events("?kinds=need").await;
    while again.next_of("need").await.data["needs"][0]["brief"] != "And now?" {}
}

#[tokio::test]
async fn a_question_ends_only_by_its_answer_and_a_message_cannot_be_put_off() {
    let (_hub, client) = memory_hub();
    client.asks("w1").await;
    let urgent = json!({ "from": "ci", "msg": "red", "to": "person", "priority": "urgent" });
    client.notify(urgent).await;
    let open = needs(&client).await;
    let later = json!({ "until": Timestamp::now().plus_millis(60_000) });
    assert_eq!(
        close(&client, &open[0]["id"], "snooze", later.clone()).await,
        422
    );
    let code = async |need: &Value, how: &str, body: Value| {
        let path = format!("/needs/{}/{how}", need["id"].as_str().expect("an id"));
        client.post_json(&path, body).await.expect(422).code()
    };
    assert_eq!(code(&open[1], "done", json!({})).await, "ends_by_answer");
    assert_eq!(code(&open[1], "snooze", later).await, "ends_by_answer");
    let reply = json!({ "reply": "on it" });
    assert_eq!(code(&open[0], "answer", reply).await, "no_reader");
    assert_eq!(close(&client, &json!("s999"), "done", json!({})).await, 404);
    assert_eq!(kinds(&client).await, json!(["urgent", "question"]));
}

/// The request of a session that is held for the person's answer.
async fn held(
    client: &Client,
    session: &'static str,
    event: Value,
) -> (Value, tokio::task::JoinHandle<Value>) {
    let mut events = client.events("?kinds=need").await;
    let asker = client.clone();
    let held = tokio::spawn(async move { asker.hook("", session, event).await });
    loop {
        let list = events.next_of("need").await.data["needs"].take();
        let mut all = list.as_array().expect("a list").iter();
        if let Some(it) = all.find(|it| it["session"] == session && it["quick"].is_array()) {
            return (it.clone(), held);
        }
    }
}

fn bash(command: &str) -> Value {
    json!({ "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": { "command": command } })
}

#[tokio::test]
async fn a_permission_is_answered_by_the_button_that_the_hub_offers() {
    let (hub, client) = memory_hub();
    let (need, held) = held(&client, "w1", bash("git push --force")).await;
    assert_eq!(each(&need["quick"], "label"), json!(["Approve", "Deny"]));
    let path = format!("/needs/{}/answer", need["id"].as_str().expect("an id"));
    let mut answer = need["quick"][1]["answer"].clone();
    answer["revision"] = json!(need["revision"].as_u64().expect("a number") + 1);
    let person = hub.person().await;
    person.post_json(&path, &answer).await.expect(422);
    answer["revision"] = need["revision"].clone();
    person.post_json(&path, &answer).await.expect(201);
    let told = held.await.expect("a reply");
    assert_eq!(told["hookSpecificOutput"]["decision"]["behavior"], "deny");
    let id = need["notification"].as_u64().expect("a number");
    assert_eq!(
        client.question(id).await["request"]["risks"],
        json!(["force-push"])
    );
}

#[tokio::test]
async fn a_need_has_the_request_the_controls_and_the_words_before() {
    let (_hub, client) = memory_hub();
    stop(&client, "w1", "The tests are green. Next I push.").await;
    let (need, held) = held(&client, "w1", bash("git push --force")).await;
    let only = ["text", "context", "request", "controls"];
    assert!(only.iter().all(|it| need[*it].is_null()), "{need}");
    let path = format!("/needs/{}", need["id"].as_str().expect("an id"));
    let whole = client.read(&path).await;
    assert_eq!(whole["context"], "The tests are green. Next I push.");
    assert_eq!(whole["request"]["risks"], json!(["force-push"]));
    assert_eq!(each(&whole["controls"], "type"), json!(["verdict"]));
    assert_eq!(whole["text"], "Bash: git push --force");
    held.abort();
}

#[tokio::test]
async fn an_answered_question_stays_until_the_agent_has_the_answer() {
    let (hub, client) = memory_hub();
    let (need, held) = held(&client, "w1", bash("make")).await;
    assert!(
        need["until"].is_string() && need["answerable"] == true,
        "{need}"
    );
    let path = format!("/needs/{}", need["id"].as_str().expect("an id"));
    let mut events = client.events("?kinds=need").await;
    let person = hub.person().await;
    let answer = need["quick"][0]["answer"].clone();
    person
        .post_json(&format!("{path}/answer"), &answer)
        .await
        .expect(201);
    held.await.expect("a reply");
    let mut settled = async |delivery: &str| loop {
        let need = events.next_of("need").await.data["needs"][0].take();
        if need["settled"]["delivery"] == delivery {
            break need;
        }
    };
    let need = settled("delivered").await;
    let how =
        json!({ "state": "answered", "by": "person", "answer": "allow", "delivery": "delivered" });
    assert_eq!(need["settled"], how);
    assert_eq!(
        (&need["counts"], &need["answerable"]),
        (&json!(false), &json!(false))
    );
    let event = json!({ "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": { "command": "make" } });
    client.hook("", "w1", event).await;
    while client.read(&path).await["settled"]["delivery"] != "taken" {}
    while events.next_of("need").await.data["needs"] != json!([]) {}
    assert_eq!(
        client.read(&path).await["settled"]["answer"],
        "allow",
        "after it left the list"
    );
}

#[tokio::test]
async fn a_reply_to_a_turn_is_the_persons_message_and_ends_it() {
    let (hub, client) = memory_hub();
    stop(&client, "w1", "Which database?").await;
    let need = needs(&client).await[0].clone();
    let path = format!("/needs/{}", need["id"].as_str().expect("an id"));
    assert_eq!(
        client.read(&path).await["controls"],
        json!([{ "type": "reply" }])
    );
    let path = format!("{path}/answer");
    let person = hub.person().await;
    let reply = |revision: u64| json!({ "reply": "SQLite", "revision": revision });
    let revision = need["revision"].as_u64().expect("a number");
    person
        .post_json(&path, reply(revision + 1))
        .await
        .expect(422);
    person
        .post_json(&path, json!({ "verdict": "allow" }))
        .await
        .expect(422);
    assert_eq!(kinds(&client).await, json!(["turn"]));
    let waits = waits(&client, "w1").await;
    person.post_json(&path, reply(revision)).await.expect(201);
    assert_eq!(kinds(&client).await, json!([]));
    let got = waits.await.expect("a reply");
    let got = &got["notifications"][0];
    assert_eq!(
        (&got["msg"], &got["from"]),
        (&json!("SQLite"), &json!("person"))
    );
    person.post_json(&path, reply(revision)).await.expect(404);
}

/// Waits until the only need is like this.
async fn until_need(client: &Client, is_it: impl Fn(&Value) -> bool) -> Value {
    let mut events = client.events("?kinds=need").await;
    loop {
        let list = events.next_of("need").await.data["needs"].take();
        let [need] = &list.as_array().expect("a list")[..] else {
            continue;
        };
        if is_it(need) {
            return need.clone();
        }
    }
}

#[tokio::test]
async fn a_reply_that_nothing_delivers_is_the_persons_turn_again_and_says_why() {
    let (hub, client) = memory_hub();
    stop(&client, "w1", "Which database?").await;
    let need = needs(&client).await[0].clone();
    let id = need["id"].as_str().expect("an id").to_owned();
    let path = format!("/needs/{id}");
    let reply = json!({ "reply": "SQLite" });
    let person = hub.person().await;
    let answer = format!("{path}/answer");
    person.post_json(&answer, &reply).await.expect(201);
    let untaken = |it: &Value| it["untaken"] == true && it["title"] == "has not taken your message";
    let need = until_need(&client, untaken).await;
    assert_eq!(
        (&need["id"], &need["kind"], &need["counts"]),
        (&json!(id), &json!("turn"), &json!(true))
    );
    let whole = client.read(&path).await;
    let text = whole["text"].as_str().expect("a text");
    assert!(
        text.starts_with("Your message was not taken: nothing can wake w1: "),
        "{text}"
    );
    assert!(text.contains("Type in its terminal"), "{text}");
    assert!(text.ends_with("Your message: SQLite"), "{text}");
    assert_eq!(whole["context"], "Which database?");
    assert_eq!(close(&client, &json!(id), "done", json!({})).await, 204);
    assert_eq!(kinds(&client).await, json!([]), "it is closed");
    let old = json!({ "reply": "again", "revision": 1 });
    person.post_json(&answer, &old).await.expect(404);
    // What the session ends without comes up again.
    stop(&client, "w1", "And now?").await;
    let ended = json!({ "hook_event_name": "SessionEnd", "reason": "other" });
    let last = json!({ "to": "w1", "type": "message", "from": "person", "msg": "Push" });
    person.notify(last).await;
    client.hook("", "w1", ended).await;
    let need = until_need(&client, untaken).await;
    let brief = need["brief"].as_str().expect("a text");
    assert!(brief.contains("session w1 ended at "), "{brief}");
    assert_eq!(need["answerable"], false);
    assert_eq!(close(&client, &need["id"], "done", json!({})).await, 204);
    assert_eq!(kinds(&client).await, json!([]));
}

#[tokio::test]
async fn a_message_on_its_way_is_an_answered_turn_until_the_session_has_it() {
    let (hub, client) = memory_hub();
    stop(&client, "w1", "The tests are green.").await;
    let prompt = json!({ "hook_event_name": "UserPromptSubmit", "prompt": "go" });
    client.hook("", "w1", prompt).await;
    assert_eq!(client.read("/needs").await["needs"], json!([]));
    let message = json!({ "to": "w1", "type": "message", "from": "person", "msg": "and push" });
    hub.person().await.notify(message).await;
    let need = until_need(&client, |it| it["settled"].is_object()).await;
    let how =
        json!({ "state": "answered", "by": "person", "answer": "and push", "delivery": "stored" });
    assert_eq!((&need["kind"], &need["settled"]), (&json!("turn"), &how));
    assert_eq!(
        (&need["brief"], &need["counts"]),
        (&json!("go"), &json!(false)),
        "after the last words of its conversation"
    );
    let used = |id: &str| json!({ "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": id });
    client.hook("", "w1", used("t1")).await;
    until_need(&client, |it| it["settled"]["delivery"] == "delivered").await;
    client.hook("", "w1", used("t2")).await;
    while client.read("/needs").await["needs"] != json!([]) {}
}

#[tokio::test]
async fn a_request_of_which_parts_are_left_out_is_never_whole() {
    let (_hub, client) = memory_hub();
    let mut request = bash("make");
    request["hub_cut"] = "4000000 bytes".into();
    let (asker, mut events) = (client.clone(), client.events("?kinds=need").await);
    let held = tokio::spawn(async move { asker.hook("", "w1", request).await });
    let need = loop {
        let list = events.next_of("need").await.data;
        let need = &list["needs"][0];
        if need["kind"] == "permission" {
            break need.clone();
        }
    };
    assert_eq!(
        (&need["complete"], &need["quick"]),
        (&json!(false), &Value::Null)
    );
    let path = format!("/needs/{}", need["id"].as_str().expect("an id"));
    let whole = client.read(&path).await;
    assert_eq!(whole["controls"][0]["allow"], false, "{whole}");
    assert_eq!(whole["text"], "Bash: make");
    let id = need["notification"].as_u64().expect("a number");
    assert_eq!(client.question(id).await["data"]["cut"], "4000000 bytes");
    held.abort();
}

#[tokio::test]
async fn a_permission_whose_text_is_not_whole_has_no_button() {
    let (_hub, client) = memory_hub();
    for command in [
        "x".repeat(300),
        "a\n\n\n\nb".into(),
        "rm \u{202e}txt.a".into(),
    ] {
        let asker = client.clone();
        let held = tokio::spawn(async move { asker.hook("", "w1", bash(&command)).await });
        let mut events = client.events("?kinds=need").await;
        let need = loop {
            let need = events.next_of("need").await.data["needs"][0].clone();
            let id = need["notification"].as_u64();
            let Some(id) = id else { continue };
            if client.question(id).await["held_until"].is_string() {
                break need;
            }
        };
        assert_eq!(
            (&need["complete"], &need["quick"]),
            (&json!(false), &Value::Null),
            "{need}"
        );
        held.abort();
    }
}

#[tokio::test]
async fn a_muted_session_calls_nobody_and_only_its_questions_count() {
    let (hub, client) = memory_hub();
    stop(&client, "w1", "Done").await;
    client.asks("w2").await;
    let failed = json!({ "from": "w3", "session": "w3", "type": "error", "msg": "No disk", "priority": "urgent" });
    client.notify(failed).await;
    let mutes = ["w1", "w2", "w3"].map(|it| json!({ "project": "default", "session": it }));
    let person = hub.person().await;
    let preferences = json!({ "mutes": mutes });
    person
        .put_json("/preferences", preferences)
        .await
        .expect(200);
    let all = needs(&client).await;
    assert_eq!(each(&all, "kind"), json!(["question", "error", "turn"]));
    assert_eq!(each(&all, "counts"), json!([true, true, false]));
    let silenced = json!(["muted", null, "muted"]);
    assert_eq!(
        each(&all, "silenced"),
        silenced,
        "what is urgent always calls"
    );
}

#[tokio::test]
async fn an_urgent_message_is_a_need_if_nobody_but_the_person_reads_it() {
    let (hub, client) = memory_hub();
    let urgent = |to: &str| json!({ "from": "ci", "msg": "red", "to": to, "priority": "urgent" });
    let own = json!({ "from": "person", "msg": "stop", "to": "nobody", "priority": "urgent" });
    hub.person().await.notify(own).await;
    assert_eq!(kinds(&client).await, json!([]), "the person's own");
    client
        .hook("", "w1", json!({ "hook_event_name": "SessionStart" }))
        .await;
    client.notify(urgent("w1")).await;
    assert_eq!(kinds(&client).await, json!([]), "the session reads it");
    let id = client.notify(urgent("deploy")).await;
    assert_eq!(kinds(&client).await, json!(["urgent"]));
    assert_eq!(
        needs(&client).await[0]["alert"],
        Value::Null,
        "it calls whatever they have chosen"
    );
    let failed = json!({ "from": "w2", "session": "w2", "type": "error", "msg": "No disk", "priority": "urgent" });
    client.notify(failed).await;
    assert_eq!(
        kinds(&client).await,
        json!(["urgent", "error"]),
        "a report is its session's need"
    );
    assert_eq!(
        close(&client, &json!(id.to_string()), "done", json!({})).await,
        204
    );
    let error = needs(&client).await[0]["id"].clone();
    assert_eq!(close(&client, &error, "done", json!({})).await, 204);
    assert_eq!(kinds(&client).await, json!([]), "and ends with it");
}

#[tokio::test]
async fn nobody_but_a_hook_speaks_as_one() {
    let (_hub, client) = memory_hub();
    let words = json!({ "msg": "x", "from": "w1", "data": { "via": "hook", "said": "y" } });
    let refused = client.post_json("/notify", words).await.expect(422);
    assert_eq!(refused.code(), "invalid");
    let urgent = json!({ "msg": "seen", "from": "w1", "to": "person", "priority": "urgent", "data": { "said": "not seen" } });
    client.notify(urgent).await;
    assert_eq!(needs(&client).await[0]["brief"], "seen");
    let dialog =
        json!({ "dialog": { "tool_name": "ExitPlanMode", "tool_input": { "plan": "z" } } });
    let question = json!({ "msg": "?", "from": "w1", "type": "question", "data": dialog });
    let id = client.notify(question).await;
    assert_eq!(
        client.question(id).await["controls"],
        json!([{ "type": "reply" }])
    );
    let rules =
        json!({ "request": { "suggestions": [{ "type": "setMode", "mode": "acceptEdits" }] } });
    let approval = json!({ "msg": "May I?", "from": "w1", "type": "approval", "data": rules });
    let id = client.notify(approval).await;
    assert_eq!(
        client.question(id).await["controls"][0]["always"],
        Value::Null
    );
}

#[tokio::test]
async fn a_session_goes_on_after_its_limit_if_the_person_chooses_so() {
    let (hub, client) = memory_hub();
    fails(&client, "rate_limit", "resets 3pm (UTC)").await;
    let need = needs(&client).await[0].clone();
    assert_eq!(need["kind"], "limit");
    assert_eq!(need["resume"]["chosen"], false);
    assert!(need["resume"]["at"].as_str() >= need["until"].as_str());
    let path = format!("/needs/{}/resume", need["id"].as_str().expect("an id"));
    let person = hub.person().await;
    person.post_json(&path, Value::Null).await.expect(204);
    let need = until_need(&client, |it| it["resume"]["chosen"] == true).await;
    assert_eq!(need["title"], "goes on when its limit ends");
    person.delete(&path).await.expect(204);
    until_need(&client, |it| it["resume"]["chosen"] == false).await;
    stop(&client, "w1", "Done.").await;
    person.post_json(&path, Value::Null).await.expect(404);
}

#[tokio::test]
async fn every_session_goes_on_after_its_limit_if_the_configuration_says_so() {
    let (_hub, client) = hub_with(&["resume_after_limit=true"]);
    let soon = Timestamp::now().as_millis() / 1000 + 2;
    fails(
        &client,
        "rate_limit",
        &format!("Claude AI usage limit reached|{soon}"),
    )
    .await;
    // A machine under load may need longer for the report than the limit lasts: then the limit ends a minute later.
    let wait = client.get("/wait?session=w1&timeout=90");
    let batch = wait.patience(Duration::from_secs(120)).send().await.json();
    let told = &batch["notifications"][0];
    assert_eq!((&told["from"], &told["to"]), (&json!("hub"), &json!("w1")));
    assert_eq!(
        told["msg"],
        "Your usage limit has ended: go on with what you were doing."
    );
    assert_eq!(needs(&client).await[0]["resume"]["chosen"], false);
}

#[tokio::test]
async fn a_failed_session_needs_the_person_at_once_unless_it_is_at_a_limit() {
    for (error, words, kind) in [
        ("rate_limit", "You have hit your limit", "limit"),
        ("overloaded", "API Error: Repeated 529 Overloaded", "limit"),
        ("unknown", "API Error: 429 Too Many Requests", "limit"),
        ("server_error", "resets 3pm (UTC)", "limit"),
        (
            "server_error",
            "API Error: 500 Internal server error",
            "error",
        ),
        ("max_output_tokens", "The answer is too long", "error"),
        ("unknown", "API Error: Connection error.", "error"),
    ] {
        let (_hub, client) = memory_hub();
        fails(&client, error, words).await;
        assert_eq!(needs(&client).await[0]["kind"], kind, "{error}: {words}");
    }
}

/// Lets the model of w1 fail.
async fn fails(client: &Client, error: &str, words: &str) {
    let prompt = json!({ "hook_event_name": "UserPromptSubmit", "prompt": "go" });
    client.hook("", "w1", prompt).await;
    let failed = json!({ "hook_event_name": "StopFailure", "error": error,
        "last_assistant_message": words });
    client.hook("", "w1", failed).await;
}
