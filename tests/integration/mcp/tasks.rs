//! The tool wait as a task, for clients that take tasks.

use std::time::Instant;

use hub_harness::{Client, PATIENCE};
use serde_json::{Value, json};

use super::{Mcp, message, notifications, pending, texts};
use crate::memory_hub;

/// A client of 2026-07-28 that takes tasks. Its messages have no headers, as those of `hubctl mcp`.
struct Tasks(Mcp);

impl Tasks {
    fn new(client: &Client, name: &str) -> Self {
        Self(Mcp::new(client, &format!("session=w1&client={name}")))
    }

    async fn ask(&self, method: &str, mut params: Value) -> Value {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {
                "extensions": { "io.modelcontextprotocol/tasks": {} },
            },
        });
        self.0.send(method, params).await.json()
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        self.ask("tools/call", params).await["result"].clone()
    }

    /// Begins a wait; returns the task's id.
    async fn begin(&self, arguments: Value) -> String {
        let task = self.call("wait", arguments).await;
        assert_eq!(
            (&task["resultType"], &task["status"]),
            (&json!("task"), &json!("working")),
            "{task}"
        );
        task["taskId"].as_str().expect("an id").to_owned()
    }

    async fn get(&self, id: &str) -> Value {
        self.ask("tasks/get", json!({ "taskId": id })).await
    }

    async fn cancel(&self, id: &str) {
        let answer = self.ask("tasks/cancel", json!({ "taskId": id })).await;
        assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    }

    /// The texts of the task's result, which it must have.
    async fn end(&self, id: &str) -> Vec<String> {
        let task = self.get(id).await["result"].clone();
        assert_eq!(task["status"], "completed", "{task}");
        texts(&task["result"])
    }
}

/// Waits until w1's inbox has a waiter, or none.
async fn waiter(client: &Client, present: bool) {
    let give_up = Instant::now() + PATIENCE;
    loop {
        let inboxes = client.read("/inboxes").await;
        let mut all = inboxes["inboxes"].as_array().unwrap().iter();
        if all.any(|it| it["name"] == "w1" && it["waiter"].is_object()) == present {
            return;
        }
        assert!(Instant::now() < give_up, "{inboxes}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_wait_is_a_task_whose_result_the_next_call_acknowledges() {
    let (_hub, client) = memory_hub();
    let worker = Tasks::new(&client, "a");
    let id = worker.begin(json!({})).await;
    let arrive = async {
        waiter(&client, true).await;
        message(&client, "w1", "wake up").await;
    };
    let (told, ()) = tokio::join!(worker.end(&id), arrive);
    assert_eq!(notifications(&told)[0]["msg"], "wake up", "{told:?}");
    // The same result again, for a client that lost the answer.
    assert_eq!(worker.end(&id).await, told);
    assert_eq!(pending(&client, "w1").await, 1);
    worker.begin(json!({})).await;
    assert_eq!(pending(&client, "w1").await, 0);
}

#[tokio::test]
async fn a_wait_that_ends_at_once_is_no_task() {
    let (_hub, client) = memory_hub();
    let worker = Tasks::new(&client, "a");
    message(&client, "w1", "early").await;
    for (arguments, words) in [
        (json!({}), "1 notification arrived."),
        (json!({ "seconds": 0 }), "Nothing arrived within 0 s."),
        (json!({ "seconds": 99_999 }), "Refused (invalid)"),
    ] {
        let result = worker.call("wait", arguments).await;
        assert_eq!(result["resultType"], "complete", "{result}");
        let told = texts(&result);
        assert!(told[0].starts_with(words), "{told:?}");
    }
}

#[tokio::test]
async fn a_client_without_tasks_gets_a_plain_call() {
    let (_hub, client) = memory_hub();
    let worker = Mcp::new(&client, "session=w1&client=a");
    let long = worker.refusal("wait", json!({ "seconds": 571 })).await;
    assert!(long.contains("at most 570"), "{long}");
    let told = worker.call("wait", json!({ "seconds": 1 })).await;
    assert!(told[0].starts_with("Nothing arrived"), "{told:?}");
}

#[tokio::test]
async fn a_client_that_goes_away_ends_its_task_and_loses_nothing() {
    let (_hub, client) = memory_hub();
    let worker = Tasks::new(&client, "a");
    let id = worker.begin(json!({})).await;
    tokio::select! {
        task = worker.get(&id) => panic!("{task}"),
        () = waiter(&client, true) => {}
    }
    waiter(&client, false).await;
    message(&client, "w1", "precious").await;
    assert_eq!(notifications(&worker.end(&id).await)[0]["msg"], "precious");
    // Its successor begins, because the result did not reach the model.
    let successor = Tasks::new(&client, "b");
    successor.ask("server/discover", json!({})).await;
    let told = texts(&successor.call("sessions", json!({})).await);
    assert_eq!(notifications(&told)[0]["msg"], "precious", "{told:?}");
}

#[tokio::test]
async fn a_cancelled_task_stops_waiting_and_gives_back_what_it_got() {
    let (_hub, client) = memory_hub();
    let worker = Tasks::new(&client, "a");
    let id = worker.begin(json!({})).await;
    let cancel = async {
        waiter(&client, true).await;
        worker.cancel(&id).await;
        waiter(&client, false).await;
    };
    tokio::join!(worker.get(&id), cancel);
    assert_eq!(worker.get(&id).await["result"]["status"], "cancelled");
    let id = worker.begin(json!({})).await;
    message(&client, "w1", "precious").await;
    worker.end(&id).await;
    worker.cancel(&id).await;
    let told = texts(&worker.call("sessions", json!({})).await);
    assert_eq!(notifications(&told)[0]["msg"], "precious", "{told:?}");
}

#[tokio::test]
async fn a_later_wait_ends_the_earlier_task_of_its_client() {
    let (_hub, client) = memory_hub();
    let worker = Tasks::new(&client, "a");
    let first = worker.begin(json!({})).await;
    let second = worker.begin(json!({})).await;
    let told = worker.end(&first).await;
    assert!(told[0].starts_with("A later wait"), "{told:?}");
    message(&client, "w1", "wake up").await;
    let told = worker.end(&second).await;
    assert_eq!(notifications(&told)[0]["msg"], "wake up", "{told:?}");
}

#[tokio::test]
async fn two_requests_for_one_task_get_the_same_end() {
    let (_hub, client) = memory_hub();
    let worker = Tasks::new(&client, "a");
    let id = worker.begin(json!({})).await;
    let arrive = async {
        waiter(&client, true).await;
        message(&client, "w1", "once").await;
    };
    let (one, other, ()) = tokio::join!(worker.end(&id), worker.end(&id), arrive);
    assert_eq!(notifications(&one)[0]["msg"], "once", "{one:?}");
    assert_eq!(one, other);
}

#[tokio::test]
async fn after_a_restart_a_task_is_unknown_and_its_notification_pending() {
    let mut hub = hub_harness::Hub::start();
    let client = hub.client();
    let worker = Tasks::new(&client, "a");
    let waiting = worker.begin(json!({})).await;
    message(&client, "w1", "precious").await;
    worker.end(&waiting).await;
    hub.restart();
    let client = hub.client();
    let worker = Tasks::new(&client, "a");
    let unknown = worker.get(&waiting).await["result"].clone();
    assert_eq!(unknown["status"], "failed", "{unknown}");
    let words = unknown["error"]["message"].as_str().unwrap();
    assert!(words.contains("call wait again"), "{words}");
    worker.cancel(&waiting).await;
    let told = texts(&worker.call("wait", json!({})).await);
    assert_eq!(notifications(&told)[0]["msg"], "precious", "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_has_sixteen_tasks_and_those_that_ended_go_first() {
    let (_hub, client) = memory_hub();
    let clients: Vec<Tasks> = (0..17)
        .map(|n| Tasks::new(&client, &format!("c{n}")))
        .collect();
    let mut ids = Vec::new();
    for it in &clients[..16] {
        ids.push(it.begin(json!({})).await);
    }
    let refused = clients[16].call("wait", json!({})).await;
    assert_eq!(refused["isError"], true, "{refused}");
    let told = texts(&refused).concat();
    assert!(told.contains("Refused (too_many_tasks)"), "{told}");
    clients[3].cancel(&ids[3]).await;
    clients[16].begin(json!({})).await;
    let forgotten = clients[3].get(&ids[3]).await["result"]["status"].clone();
    assert_eq!(forgotten, "failed");
    let many: Vec<String> = (0..65).map(|n| format!("s{n}")).collect();
    let refused = clients[0].call("wait", json!({ "all": many })).await;
    assert!(texts(&refused).concat().contains("at most 64"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_sessions_have_a_thousand_tasks() {
    let (_hub, client) = memory_hub();
    let of = |n: usize| Tasks(Mcp::new(&client, &format!("session=s{n}&client=a")));
    let clients: Vec<Tasks> = (0..=1000).map(of).collect();
    for some in clients[..1000].chunks(100) {
        let begun = some.iter().map(|it| it.begin(json!({ "seconds": 86400 })));
        futures_util::future::join_all(begun).await;
    }
    let refused = clients[1000].call("wait", json!({})).await;
    assert!(
        texts(&refused).concat().contains("too_many_tasks"),
        "{refused}"
    );
}
