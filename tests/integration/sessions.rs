//! Sessions, listeners and questions over HTTP.

use hub_harness::{Client, Hub};
use serde_json::{Value, json};

use crate::{assert_fields, memory_hub};

async fn sessions(client: &Client) -> Vec<Value> {
    let list = client.get("/sessions?all=true").send().await;
    list.expect(200).json()["sessions"]
        .as_array()
        .expect("a list")
        .clone()
}

async fn state(client: &Client, session: &str, kind: &str) -> u64 {
    client
        .notify(json!({ "msg": "x", "from": session, "type": kind }))
        .await
}

async fn register(client: &Client, id: &str, info: Value) -> Value {
    let put = client.put(&format!("/sessions/{id}")).json(&info);
    put.send().await.expect(201).json()
}

async fn drain(client: &Client, inbox: &str) -> Vec<Value> {
    let path = format!("/wait?inbox={inbox}&timeout=0");
    let answer = client.get(&path).send().await;
    if answer.status == 204 {
        return Vec::new();
    }
    let batch = answer.expect(200).json();
    let lease = json!({ "lease": batch["lease"] });
    client
        .post_json(&format!("/inboxes/{inbox}/ack"), &lease)
        .await
        .expect(200);
    batch["notifications"].as_array().expect("a list").clone()
}

#[tokio::test]
async fn a_session_is_found_by_id_name_and_prefix_and_an_unknown_name_has_a_hint() {
    let (_hub, client) = memory_hub();
    let made = register(&client, "0b1c2d", json!({ "name": "login form" })).await;
    assert_eq!(made["name"], "login-form");
    register(&client, "77aa", json!({ "name": "login-form" })).await;
    for name in ["0b1c2d", "0b1", "login-form"] {
        let found = client.get(&format!("/sessions/{name}")).send().await;
        assert_eq!(found.expect(200).json()["id"], "0b1c2d", "{name}");
    }
    let second = client.get("/sessions/login-form-2").send().await;
    assert_eq!(second.expect(200).json()["id"], "77aa");
    let slip = client.get("/sessions/login-from").send().await;
    assert_eq!(slip.expect(404).json()["nearest"], "login-form");
    let known = client.put("/sessions/77aa").json(&json!({ "title": "t" }));
    assert_eq!(known.send().await.expect(200).json()["title"], "t");
}

#[tokio::test]
async fn a_notification_to_a_sessions_name_is_in_its_inbox() {
    let (_hub, client) = memory_hub();
    register(&client, "0b1c", json!({ "name": "login" })).await;
    client.notify(json!({ "msg": "hi", "to": "login" })).await;
    let got = client.get("/wait?session=0b1c&timeout=0").send().await;
    assert_eq!(got.expect(200).json()["notifications"][0]["msg"], "hi");
}

#[tokio::test]
async fn a_short_name_resolves_to_the_session_of_its_own_project() {
    let (_hub, client) = memory_hub();
    for project in ["a", "b"] {
        let put = client
            .put(&format!("/sessions/id-{project}?project={project}"))
            .json(&json!({ "name": "make" }));
        put.send().await.expect(201);
        let msg = format!("for {project}");
        client
            .notify(json!({ "msg": msg, "to": "make", "project": project }))
            .await;
    }
    for project in ["b", "a"] {
        let path = format!("/wait?session=make&project={project}&timeout=0");
        let got = client.read(&path).await;
        assert_eq!(
            got["notifications"][0]["msg"],
            format!("for {project}"),
            "{got}"
        );
    }
}

#[tokio::test]
async fn a_listener_fires_once_and_a_repeat_is_no_error() {
    let (_hub, client) = memory_hub();
    state(&client, "worker", "progress").await;
    let path = "/sessions/worker/listeners/manager";
    let first = client.put(path).send().await.expect(201).json();
    assert_fields(&first, json!({ "created": true, "fired": false }));
    let again = client.put(path).send().await.expect(200).json();
    assert_eq!(again["created"], false);
    let cause = state(&client, "worker", "complete").await;
    state(&client, "worker", "progress").await;
    state(&client, "worker", "complete").await;
    let told = drain(&client, "manager").await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["data"]["cause"], cause);
    let removed = client.delete(path).send().await.expect(200).json();
    assert_eq!(removed["removed"], false);
}

#[tokio::test]
async fn listening_to_an_unknown_session_or_to_oneself_is_refused() {
    let (_hub, client) = memory_hub();
    let stranger = client.put("/sessions/nobody/listeners/me").send().await;
    assert_eq!(stranger.expect(404).json()["code"], "unknown_session");
    state(&client, "me", "progress").await;
    let own = client.put("/sessions/me/listeners/me").send().await;
    assert_eq!(own.expect(422).json()["code"], "invalid");
    let later = client
        .put("/sessions/nobody/listeners/me?within=60")
        .send()
        .await;
    assert_eq!(later.expect(201).json()["created"], true);
}

#[tokio::test]
async fn a_question_is_answered_once_and_the_asker_gets_the_answer() {
    let (_hub, client) = memory_hub();
    let ask =
        json!({ "msg": "Port?", "from": "worker", "type": "question", "options": ["1", "2"] });
    let id = client.notify(ask).await;
    let open = client.read("/questions").await;
    assert_eq!(open["questions"][0]["id"], id);
    let claim = client
        .post(&format!("/questions/{id}/claim"))
        .json(&json!({ "by": "me" }));
    assert_eq!(claim.send().await.expect(200).json()["state"], "claimed");
    let own = json!({ "answer": "1", "session": "worker" });
    let own = client.post(&format!("/questions/{id}/answer")).json(&own);
    assert_eq!(own.send().await.expect(403).json()["code"], "not_yours");
    let answer = || {
        client
            .post(&format!("/questions/{id}/answer"))
            .json(&json!({ "answer": "2" }))
    };
    let answered = answer().send().await.expect(201).json();
    assert_fields(&answered, json!({ "state": "answered", "answer": "2" }));
    let late = answer().send().await.expect(409).json();
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
    let (hub, client) = memory_hub();
    let id = client
        .notify(json!({ "msg": "?", "from": "worker", "type": "question" }))
        .await;
    let waits = {
        let client = hub.client();
        let path = format!("/questions/{id}?timeout=60");
        tokio::spawn(async move { client.read(&path).await })
    };
    let answer = json!({ "msg": "yes", "from": "boss", "type": "answer", "reply_to": id });
    client.notify(answer).await;
    let question = waits.await.expect("an answer");
    assert_fields(&question, json!({ "answer": "yes", "by": "boss" }));
    client
        .post_json(&format!("/questions/{id}/withdraw"), json!({}))
        .await
        .expect(409);
}

#[tokio::test]
async fn only_a_person_gives_an_approval_and_a_claimed_name_does_not_count() {
    let (hub, client) = memory_hub();
    let ask = json!({ "msg": "rm -rf build?", "from": "worker", "type": "approval" });
    let id = client.notify(ask).await;
    let path = format!("/questions/{id}/answer");
    for claim in [
        json!({ "answer": "allow", "session": "other" }),
        json!({ "answer": "allow" }),
        json!({ "answer": "allow", "by": "me" }),
    ] {
        let refused = client.post_json(&path, &claim).await.expect(403);
        assert_eq!(refused.code(), "not_yours", "{claim}");
    }
    let notify = json!({ "msg": "allow", "from": "person", "type": "answer", "reply_to": id });
    let refused = client.post_json("/notify", &notify).await;
    assert_eq!(refused.expect(403).code(), "not_yours");
    let asked = client.get(&format!("/questions/{id}")).send().await;
    assert_eq!(asked.expect(200).json()["state"], "open");
    let person = hub.person().await;
    let allow = person.post(&path).json(&json!({ "answer": "allow" }));
    assert_eq!(allow.send().await.expect(201).json()["by"], "person");
}

#[tokio::test]
async fn with_agents_may_approve_any_client_gives_an_approval() {
    let hub = Hub::builder()
        .memory()
        .set("agents_may_approve=true")
        .start();
    let client = hub.client();
    let ask = json!({ "msg": "rm -rf build?", "from": "worker", "type": "approval" });
    let id = client.notify(ask).await;
    let allow = json!({ "answer": "allow", "session": "other" });
    let path = format!("/questions/{id}/answer");
    client.post_json(&path, &allow).await.expect(201);
}

#[tokio::test]
async fn a_question_can_be_withdrawn() {
    let (_hub, client) = memory_hub();
    let id = client
        .notify(json!({ "msg": "?", "from": "worker", "type": "question" }))
        .await;
    let withdraw = client
        .post(&format!("/questions/{id}/withdraw"))
        .json(&json!({}));
    assert_eq!(
        withdraw.send().await.expect(200).json()["state"],
        "withdrawn"
    );
    let open = client.read("/questions").await;
    assert_eq!(open["questions"], json!([]));
    let all = client.read("/questions?state=all").await;
    assert_eq!(all["questions"][0]["state"], "withdrawn");
}

#[tokio::test]
async fn a_session_with_the_primary_role_reads_primary_but_not_its_own_notifications() {
    let (_hub, client) = memory_hub();
    register(&client, "boss", json!({})).await;
    let taken = client.post("/sessions/boss/primary").send().await;
    assert_eq!(taken.expect(200).json()["primary"], true);
    client.notify(json!({ "msg": "own", "from": "boss" })).await;
    client
        .notify(json!({ "msg": "theirs", "from": "worker" }))
        .await;
    let got = client.read("/wait?session=boss&timeout=0").await;
    let texts: Vec<&Value> = got["notifications"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| &it["msg"])
        .collect();
    assert_eq!(texts, ["theirs"]);
}

#[tokio::test]
async fn a_session_can_be_ended_and_senders_without_a_session_are_sources() {
    let (_hub, client) = memory_hub();
    register(&client, "run-1", json!({ "agent": "run" })).await;
    let ended = client
        .delete("/sessions/run-1")
        .send()
        .await
        .expect(200)
        .json();
    assert_eq!(ended["state"], "ended");
    assert_eq!(sessions(&client).await.len(), 1);
    let alive = client.read("/sessions").await;
    assert_eq!(alive["sessions"], json!([]));
    client
        .notify(json!({ "msg": "backup done", "from": "cron" }))
        .await;
    let sources = client.read("/sources").await;
    assert_eq!(sources["sources"][0]["name"], "cron");
}

#[tokio::test]
async fn a_process_that_dies_at_work_is_one_error() {
    let hub = Hub::start();
    let client = hub.client();
    let mut child = std::process::Command::new("sleep")
        .arg("600")
        .spawn()
        .expect("sleep");
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("its stat");
    let fields = stat.rsplit_once(')').expect("a name").1;
    let started: u64 = fields
        .split_whitespace()
        .nth(19)
        .expect("a field")
        .parse()
        .expect("a number");
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a boot id");
    let process = json!({ "pid": child.id(), "started": started, "boot_id": boot.trim() });
    register(&client, "run-1", json!({ "process": process })).await;
    state(&client, "run-1", "progress").await;
    let waits = {
        let client = hub.client();
        let path = "/wait?types=error&timeout=60";
        tokio::spawn(async move { client.read(path).await })
    };
    child.kill().expect("kill");
    child.wait().expect("reap");
    let told = waits.await.expect("an answer");
    assert_eq!(told["notifications"][0]["from"], "run-1");
    let gone = client.read("/sessions/run-1").await;
    assert_fields(&gone, json!({ "gone": true, "state": "error" }));
}

#[tokio::test]
async fn a_process_of_an_earlier_boot_of_this_machine_is_gone() {
    let mut hub = Hub::start();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let process =
        json!({ "pid": 1, "started": 1, "boot_id": "00000000-0000-0000-0000-000000000000" });
    let client = hub.client();
    for (id, host) in [
        ("away", Some("elsewhere")),
        ("nowhere", None),
        ("here", Some(host.trim())),
    ] {
        state(&client, id, "progress").await;
        let info = json!({ "process": process, "host": host });
        client.put_json(&format!("/sessions/{id}"), &info).await;
    }
    hub.kill_9();
    hub.start_again();
    let client = hub.client();
    let told = client.get("/wait?types=error&timeout=60").send().await;
    let told = told.expect(200).json()["notifications"].clone();
    assert_eq!((&told[0]["from"], &told[1]), (&json!("here"), &Value::Null));
    let alive = client.read("/sessions").await;
    let alive: Vec<&Value> = alive["sessions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| &it["id"])
        .collect();
    assert_eq!(alive, ["away", "nowhere"]);
}

#[tokio::test]
async fn an_expected_name_does_not_match_a_session_with_a_longer_name() {
    let (_hub, client) = memory_hub();
    state(&client, "build-2", "progress").await;
    let path = "/sessions/build/listeners/me?within=60&fresh=true";
    let made = client.put(path).send().await.expect(201).json();
    assert_eq!(made["target"], "build");
    state(&client, "build-2", "complete").await;
    assert!(drain(&client, "me").await.is_empty());
    state(&client, "build", "complete").await;
    assert_eq!(drain(&client, "me").await.len(), 1);
    client.put(path).send().await.expect(201);
    state(&client, "build-2", "progress").await;
    let beside = "/sessions/build-2/listeners/me";
    client.put(beside).send().await.expect(201);
    let path = "/sessions/build/listeners/me";
    let removed = client.delete(path).send().await.expect(200).json();
    assert_eq!(removed["removed"], true);
    let still = client.delete(beside).send().await.expect(200).json();
    assert_eq!(still["removed"], true);
}

#[tokio::test]
async fn a_listener_between_names_is_found_by_their_later_ids() {
    let (_hub, client) = memory_hub();
    client
        .put("/sessions/later/listeners/lead?within=60")
        .send()
        .await
        .expect(201);
    register(&client, "77aa", json!({ "name": "later" })).await;
    register(&client, "88bb", json!({ "name": "lead" })).await;
    let by_id = "/sessions/77aa/listeners/88bb";
    let again = client.put(by_id).send().await.expect(200).json();
    assert_eq!(again["created"], false, "{again}");
    let removed = client.delete(by_id).send().await.expect(200).json();
    assert_eq!(removed["removed"], true);
}

#[tokio::test]
async fn a_barrier_waits_for_the_sessions_that_had_its_names_at_the_start() {
    let (_hub, client) = memory_hub();
    for (id, name) in [("id-1", "w1"), ("id-2", "w2")] {
        register(&client, id, json!({ "name": name })).await;
    }
    let mut presence = client.events("?kinds=presence").await;
    let wait = client.get("/wait?timeout=5&all=w1,w2");
    let wait = tokio::spawn(async move { wait.send().await });
    presence.until_waiting("primary").await;
    state(&client, "w1", "complete").await;
    client.delete("/sessions/w1").send().await.expect(200);
    register(&client, "id-3", json!({ "name": "w1" })).await;
    state(&client, "w2", "complete").await;
    let woken = wait.await.expect("an answer").expect(200).json();
    assert_eq!(woken["barrier"], json!({ "met": true }), "{woken}");
    client.say("told with what is missing").await;
    let wait = client.get("/wait?timeout=1&all=w2,id-3,w9");
    let waited = wait.send().await.expect(200).json();
    assert_eq!(waited["barrier"]["missing"], json!(["w1", "w9"]));
}
