//! Sessions, listeners and questions over HTTP.

use hub_harness::{Client, each, session_process};
use serde_json::{Value, json};

use crate::{assert_fields, disk_hub, hub_with, memory_hub};

async fn state(client: &Client, session: &str, kind: &str) -> u64 {
    let post = json!({ "msg": "x", "from": session, "type": kind });
    client.notify(post).await
}

/// Takes and acknowledges what an inbox offers.
async fn drain(client: &Client, inbox: &str) -> Vec<Value> {
    let answer = client.get(&format!("/wait?inbox={inbox}&timeout=0")).await;
    if answer.status == 204 {
        return Vec::new();
    }
    let batch = answer.expect(200).json();
    client.ack(inbox, batch.clone()).await;
    batch["notifications"].as_array().expect("a list").clone()
}

/// Listens: returns the response, 201 for a new listener.
async fn listen(client: &Client, path: &str, status: u16) -> Value {
    client.put(path).await.expect(status).json()
}

/// Removes a listener; returns whether there was one.
async fn unlisten(client: &Client, path: &str) -> Value {
    client.delete(path).await.expect(200).json()["removed"].clone()
}

#[tokio::test]
async fn a_session_is_found_by_id_name_and_prefix_and_an_unknown_name_has_a_hint() {
    let (_hub, client) = memory_hub();
    let info = json!({ "name": "login form" });
    let made = client.register("0b1c2d", info).await;
    assert_eq!(made["name"], "login-form");
    let info = json!({ "name": "login-form" });
    client.register("77aa", info).await;
    for (name, id) in [
        ("0b1c2d", "0b1c2d"),
        ("0b1", "0b1c2d"),
        ("login-form", "0b1c2d"),
        ("login-form-2", "77aa"),
    ] {
        assert_eq!(client.session(name).await["id"], id, "{name}");
    }
    let slip = client.get("/sessions/login-from").await;
    assert_eq!(slip.expect(404).json()["nearest"], "login-form");
    let body = json!({ "title": "t" });
    let known = client.put_json("/sessions/77aa", body).await;
    assert_eq!(known.expect(200).json()["title"], "t");
}

#[tokio::test]
async fn a_short_name_resolves_to_the_session_of_its_own_project() {
    let (_hub, client) = memory_hub();
    for project in ["a", "b"] {
        let id = format!("id-{project}?project={project}");
        client.register(&id, json!({ "name": "make" })).await;
        let post = json!({ "msg": project, "to": "make", "project": project });
        client.notify(post).await;
    }
    for project in ["b", "a"] {
        let query = format!("&session=make&project={project}");
        let got = client.take(&query).await;
        assert_eq!(got["notifications"][0]["msg"], project, "{got}");
    }
}

#[tokio::test]
async fn a_listener_fires_once_and_a_repeat_is_no_error() {
    let (_hub, client) = memory_hub();
    state(&client, "worker", "progress").await;
    let path = "/sessions/worker/listeners/manager";
    let first = listen(&client, path, 201).await;
    assert_fields(&first, json!({ "created": true, "fired": false }));
    assert_eq!(listen(&client, path, 200).await["created"], false);
    let cause = state(&client, "worker", "complete").await;
    state(&client, "worker", "progress").await;
    state(&client, "worker", "complete").await;
    let told = drain(&client, "manager").await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["data"]["cause"], cause);
    assert_eq!(unlisten(&client, path).await, false);
}

#[tokio::test]
async fn listening_to_an_unknown_session_or_to_oneself_is_refused() {
    let (_hub, client) = memory_hub();
    let stranger = client.put("/sessions/nobody/listeners/me").await;
    assert_eq!(stranger.expect(404).code(), "unknown_session");
    state(&client, "me", "progress").await;
    let own = client.put("/sessions/me/listeners/me").await;
    assert_eq!(own.expect(422).code(), "invalid");
    let later = listen(&client, "/sessions/nobody/listeners/me?within=60", 201).await;
    assert_eq!(later["created"], true);
}

#[tokio::test]
async fn a_question_is_answered_once_and_the_asker_gets_the_answer() {
    let (_hub, client) = memory_hub();
    let ask =
        json!({ "msg": "Port?", "from": "worker", "type": "question", "options": ["1", "2"] });
    let id = client.notify(ask).await;
    let open = client.read("/questions").await;
    assert_eq!(open["questions"][0]["id"], id);
    let path = format!("/questions/{id}/claim");
    let claim = client.post_json(&path, json!({ "by": "me" })).await;
    assert_eq!(claim.expect(200).json()["state"], "claimed");
    let own = json!({ "reply": "1", "session": "worker" });
    let own = client.post_json(&format!("/needs/{id}/answer"), own).await;
    assert_eq!(own.expect(403).code(), "not_yours");
    let answered = client.answer(id, "2").await.expect(201).json();
    assert_fields(&answered, json!({ "state": "answered", "answer": "2" }));
    let late = client.answer(id, "2").await.expect(409).json();
    assert_fields(&late, json!({ "question": id, "state": "answered" }));
    let got = drain(&client, "worker").await;
    assert_fields(&got[0], json!({ "type": "answer", "reply_to": id }));
    assert!(
        drain(&client, "primary").await.is_empty(),
        "it is settled everywhere"
    );
}

#[tokio::test]
async fn a_caller_that_waits_for_an_answer_gets_it_at_once() {
    let (_hub, client) = memory_hub();
    let id = client.asks("worker").await;
    let waits = client.get(&format!("/questions/{id}?timeout=60")).spawn();
    let answer = json!({ "msg": "yes", "from": "boss", "type": "answer", "reply_to": id });
    client.notify(answer).await;
    let question = waits.await.expect("an answer").expect(200).json();
    assert_fields(&question, json!({ "answer": "yes", "by": "boss" }));
    let withdraw = format!("/questions/{id}/withdraw");
    client.post_json(&withdraw, json!({})).await.expect(409);
}

#[tokio::test]
async fn only_a_person_gives_an_approval_and_a_claimed_name_does_not_count() {
    let (hub, client) = memory_hub();
    let id = state(&client, "worker", "approval").await;
    let path = format!("/needs/{id}/answer");
    let notify = json!({ "msg": "allow", "from": "person", "type": "answer", "reply_to": id });
    for (path, claim) in [
        (&*path, json!({ "verdict": "allow", "session": "other" })),
        (&path, json!({ "verdict": "allow" })),
        (&path, json!({ "verdict": "allow", "by": "me" })),
        ("/notify", notify),
    ] {
        let refused = client.post_json(path, &claim).await.expect(403);
        assert_eq!(refused.code(), "not_yours", "{claim}");
    }
    assert_eq!(client.question(id).await["state"], "open");
    let allowed = hub.person().await.answer(id, "allow").await;
    assert_eq!(allowed.expect(201).json()["by"], "person");
}

#[tokio::test]
async fn with_agents_may_approve_any_client_gives_an_approval() {
    let (_hub, client) = hub_with(&["agents_may_approve=true"]);
    let id = state(&client, "worker", "approval").await;
    let allow = json!({ "verdict": "allow", "session": "other" });
    let path = format!("/needs/{id}/answer");
    client.post_json(&path, &allow).await.expect(201);
}

#[tokio::test]
async fn what_a_person_decides_is_not_taken_from_their_sight() {
    let (hub, client) = memory_hub();
    let approval = json!({ "from": "w1", "type": "approval", "msg": "rm -rf build" });
    let id = client.notify(approval).await;
    for what in ["withdraw", "claim"] {
        let path = format!("/questions/{id}/{what}");
        for by in [json!({}), json!({ "by": "w2" }), json!({ "by": "hub" })] {
            let refused = client.post_json(&path, by).await;
            assert_eq!(refused.expect(403).code(), "not_yours", "{what}");
        }
    }
    assert_eq!(client.question(id).await["state"], "open");
    let own = json!({ "by": "w1" });
    let path = format!("/questions/{id}/withdraw");
    client.post_json(&path, own).await.expect(200);

    // What the hub asks about these attempts is the person's too.
    let told = client.read("/notifications?from=hub").await;
    let told = told["notifications"][0]["id"].as_u64().unwrap();
    let path = format!("/notifications/{told}");
    assert_eq!(
        client.delete(&path).await.expect(403).code(),
        "needs_person"
    );
    hub.person().await.delete(&path).await.expect(200);
}

#[tokio::test]
async fn attempts_under_ever_new_names_leave_room_for_the_questions_of_agents() {
    let (_hub, client) = memory_hub();
    let approval = json!({ "from": "w1", "type": "approval", "msg": "rm -rf build" });
    let id = client.notify(approval).await;
    for number in 0..40 {
        let body = json!({ "verdict": "allow", "by": format!("x{number}") });
        let path = format!("/needs/{id}/answer");
        client.post_json(&path, body).await.expect(403);
    }
    let open = client.read("/questions").await;
    let of_hub = each(&open["questions"], "from");
    let of_hub = of_hub.as_array().unwrap().iter().filter(|it| **it == "hub");
    assert_eq!(of_hub.count(), 20);
}

#[tokio::test]
async fn a_session_with_the_primary_role_reads_primary_but_not_its_own_notifications() {
    let (_hub, client) = memory_hub();
    client.register("boss", json!({})).await;
    let taken = client.post("/sessions/boss/primary").await;
    assert_eq!(taken.expect(200).json()["primary"], true);
    client.notify(json!({ "msg": "own", "from": "boss" })).await;
    let post = json!({ "msg": "theirs", "from": "worker" });
    client.notify(post).await;
    let got = client.take("&session=boss").await;
    assert_eq!(each(&got["notifications"], "msg"), json!(["theirs"]));
}

#[tokio::test]
async fn a_session_can_be_ended_and_senders_without_a_session_are_sources() {
    let (_hub, client) = memory_hub();
    client.register("run-1", json!({ "agent": "run" })).await;
    assert_eq!(client.end_session("run-1").await["state"], "ended");
    let all = client.read("/sessions?all=true").await;
    assert_eq!(each(&all["sessions"], "id"), json!(["run-1"]));
    let alive = client.read("/sessions").await;
    assert_eq!(alive["sessions"], json!([]));
    let post = json!({ "msg": "backup done", "from": "cron" });
    client.notify(post).await;
    let sources = client.read("/sources").await;
    assert_eq!(sources["sources"][0]["name"], "cron");
}

#[tokio::test]
async fn a_process_that_dies_at_work_is_one_error() {
    let (hub, client) = disk_hub();
    let mut child = session_process(&hub.socket(), "run-1");
    state(&client, "run-1", "progress").await;
    let waits = client.get("/wait?types=error&timeout=60").spawn();
    child.kill().expect("kill");
    child.wait().expect("reap");
    let told = waits.await.expect("an answer").expect(200).json();
    assert_eq!(told["notifications"][0]["from"], "run-1");
    let gone = client.session("run-1").await;
    assert_fields(&gone, json!({ "gone": true, "state": "error" }));
}

#[tokio::test]
async fn an_expected_name_does_not_match_a_session_with_a_longer_name() {
    let (_hub, client) = memory_hub();
    state(&client, "build-2", "progress").await;
    let path = "/sessions/build/listeners/me";
    let fresh = format!("{path}?within=60&fresh=true");
    assert_eq!(listen(&client, &fresh, 201).await["target"], "build");
    state(&client, "build-2", "complete").await;
    assert!(drain(&client, "me").await.is_empty());
    state(&client, "build", "complete").await;
    assert_eq!(drain(&client, "me").await.len(), 1);
    listen(&client, &fresh, 201).await;
    state(&client, "build-2", "progress").await;
    let beside = "/sessions/build-2/listeners/me";
    listen(&client, beside, 201).await;
    assert_eq!(unlisten(&client, path).await, true);
    assert_eq!(unlisten(&client, beside).await, true);
}

#[tokio::test]
async fn a_listener_between_names_is_found_by_their_later_ids() {
    let (_hub, client) = memory_hub();
    listen(&client, "/sessions/later/listeners/lead?within=60", 201).await;
    client.register("77aa", json!({ "name": "later" })).await;
    client.register("88bb", json!({ "name": "lead" })).await;
    let by_id = "/sessions/77aa/listeners/88bb";
    assert_eq!(listen(&client, by_id, 200).await["created"], false);
    assert_eq!(unlisten(&client, by_id).await, true);
}

#[tokio::test]
async fn a_barrier_waits_for_the_sessions_that_had_its_names_at_the_start() {
    let (_hub, client) = memory_hub();
    for (id, name) in [("id-1", "w1"), ("id-2", "w2")] {
        client.register(id, json!({ "name": name })).await;
    }
    let wait = client.waiter("timeout=5&all=w1,w2", "primary").await;
    state(&client, "w1", "complete").await;
    client.end_session("w1").await;
    client.register("id-3", json!({ "name": "w1" })).await;
    state(&client, "w2", "complete").await;
    let woken = wait.await.expect("an answer").expect(200).json();
    assert_eq!(woken["barrier"], json!({ "met": true }), "{woken}");
    client.say("told with what is missing").await;
    let waited = client.read("/wait?timeout=1&all=w2,id-3,w9").await;
    assert_eq!(waited["barrier"]["missing"], json!(["w1", "w9"]));
}

#[tokio::test]
async fn the_phase_of_a_session_shows_what_it_does_and_what_it_said_last() {
    let (_hub, client) = hub_with(&["approvals=false"]);
    let phase = async || client.read("/sessions/w1").await["phase"].clone();
    let tool = |event: &str, id: &str, command: &str| {
        json!({ "hook_event_name": event, "tool_name": "Bash",
        "tool_use_id": id, "tool_input": { "command": command } })
    };
    let prompt = json!({ "hook_event_name": "UserPromptSubmit", "prompt": "fix the  build" });
    client.hook("", "w1", prompt).await;
    let working = phase().await;
    assert_eq!(
        (&working["name"], &working["text"]),
        (&json!("working"), &json!("fix the build"))
    );
    client
        .hook("", "w1", tool("PreToolUse", "t1", "cargo\n test"))
        .await;
    let tool_call = phase().await["tool"].clone();
    assert_eq!(
        (&tool_call["name"], &tool_call["on"]),
        (&json!("Bash"), &json!("cargo test"))
    );
    client
        .hook("", "w1", tool("PostToolUse", "t1", "cargo test"))
        .await;
    assert_eq!(phase().await["tool"], Value::Null);
    client
        .hook("", "w1", tool("PermissionRequest", "t2", "rm x"))
        .await;
    let asks = phase().await;
    assert_eq!(
        (&asks["name"], &asks["text"]),
        (&json!("needs_you"), &json!("Bash: rm x"))
    );
    assert_eq!(
        asks["question"],
        client.read("/questions").await["questions"][0]["id"]
    );
    client
        .hook("", "w1", tool("PostToolUse", "t2", "rm x"))
        .await;
    let stop = json!({ "hook_event_name": "Stop", "last_assistant_message": "All tests pass." });
    client.hook("", "w1", stop).await;
    let stopped = phase().await;
    assert_eq!(
        (&stopped["name"], &stopped["text"]),
        (&json!("your_turn"), &json!("All tests pass."))
    );
    let all = client.read("/sessions").await["sessions"][0]["phase"].clone();
    assert_eq!(all, stopped);
    assert_eq!(
        client.read("/stats").await["phases"],
        json!({ "your_turn": 1 })
    );
    let limit = json!({ "hook_event_name": "StopFailure", "error": "rate_limit",
        "last_assistant_message": "You have hit your limit · resets 3pm (UTC)" });
    client.hook("", "w1", limit).await;
    let blocked = phase().await;
    assert_eq!(blocked["name"], "blocked");
    assert_eq!(
        blocked["text"],
        "rate_limit: You have hit your limit · resets 3pm (UTC)"
    );
    assert!(
        blocked["until"]
            .as_str()
            .expect("a time")
            .contains("T15:00:00"),
        "{blocked}"
    );
}

/// The open questions of the hub itself.
async fn of_the_hub(client: &Client) -> Vec<Value> {
    let open = client.read("/questions").await;
    let open = open["questions"].as_array().unwrap().iter();
    open.filter(|it| it["from"] == "hub").cloned().collect()
}

#[tokio::test]
async fn a_refused_attempt_is_an_urgent_question_to_the_person_and_a_loop_is_one() {
    let (hub, client) = memory_hub();
    let ask = json!({ "msg": "Bash: rm -rf /", "from": "worker-3", "type": "approval" });
    let id = client.notify(ask).await;
    let path = format!("/needs/{id}/answer");
    for _ in 0..20 {
        let own = json!({ "verdict": "allow", "session": "worker-3" });
        client.post_json(&path, own).await.expect(403);
    }
    let notify = json!({ "msg": "allow", "from": "worker-3", "type": "answer", "reply_to": id });
    client.post_json("/notify", notify).await.expect(403);
    let told = of_the_hub(&client).await;
    assert_eq!(told.len(), 1, "{told:?}");
    let msg = "an unknown program that calls itself worker-3 tried to answer 'allow' to its own request, and the hub refused it: \
        Bash: rm -rf /";
    assert_fields(
        &told[0],
        json!({ "msg": msg, "to": "person", "complete": true }),
    );
    let record = client
        .read(&format!("/notifications/{}", told[0]["id"]))
        .await;
    assert_fields(
        &record,
        json!({ "priority": "urgent", "key": format!("refused:worker-3:{id}") }),
    );

    // Another session's attempt is another need.
    let other = json!({ "verdict": "allow", "session": "worker-4" });
    client.post_json(&path, other).await.expect(403);
    assert_eq!(of_the_hub(&client).await.len(), 2);

    // No agent settles what is for the person.
    let told = &told[0]["id"];
    let dismiss = json!({ "reply": "Understood", "session": "worker-3" });
    client
        .post_json(&format!("/needs/{told}/answer"), dismiss)
        .await
        .expect(403);
    let withdraw = json!({ "session": "worker-3" });
    client
        .post_json(&format!("/questions/{told}/withdraw"), withdraw)
        .await
        .expect(403);
    let person = hub.person().await;
    person
        .answer(told.as_u64().unwrap(), "Understood")
        .await
        .expect(201);

    // A refusal that concerns no person is none.
    let plain = client
        .notify(json!({ "msg": "?", "from": "worker-3", "type": "question" }))
        .await;
    let own = json!({ "reply": "x", "session": "worker-3" });
    client
        .post_json(&format!("/needs/{plain}/answer"), own)
        .await
        .expect(403);
    assert!(
        !of_the_hub(&client)
            .await
            .iter()
            .any(|it| it["msg"].as_str().unwrap().contains('?'))
    );
}

#[tokio::test]
async fn an_answer_carries_what_the_hub_observed_of_its_giver() {
    let (hub, client) = memory_hub();
    let evidence = async |id: u64| {
        let answer = client.question(id).await["answer_id"].clone();
        client.read(&format!("/notifications/{answer}")).await["evidence"].clone()
    };
    let id = client.asks("worker").await;
    client.answer(id, "yes").await.expect(201);
    assert_eq!(
        evidence(id).await,
        Value::Null,
        "over TCP nothing is observed"
    );

    let id = client.asks("worker").await;
    hub.unix().answer(id, "yes").await.expect(201);
    let seen = evidence(id).await;
    assert_eq!(seen["pid"], std::process::id());
    assert!(seen["programs"].as_array().unwrap().len() > 1, "{seen}");

    let id = client.asks("worker").await;
    let notify = json!({ "msg": "yes", "from": "me", "type": "answer", "reply_to": id });
    hub.unix().notify(notify).await;
    assert_eq!(evidence(id).await["pid"], std::process::id());

    let id = client.asks("worker").await;
    hub.person().await.answer(id, "yes").await.expect(201);
    let devices = client.read("/login/devices").await;
    assert_eq!(evidence(id).await["device"], devices["devices"][0]["id"]);
}
