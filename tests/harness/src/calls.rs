//! The requests that most tests send, each as one call.

use std::future::IntoFuture;
use std::pin::Pin;

use hub_protocol::{Answer as Said, AnswerPost};
use serde_json::{Value, from_value, json, to_value};
use tokio::task::JoinHandle;

use crate::{Answer, Ask, Client, Hub};

/// Awaiting a request sends it.
impl IntoFuture for Ask {
    type Output = Answer;
    type IntoFuture = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

impl Ask {
    /// Sends the request in a task of its own.
    pub fn spawn(self) -> JoinHandle<Answer> {
        tokio::spawn(self.send())
    }
}

impl Client {
    /// Publishes one notification; returns the response.
    pub async fn publish(&self, post: Value) -> Value {
        self.post_json("/notify", post).await.expect(201).json()
    }

    /// Returns a batch of pending notifications; `query` begins with `&` or is empty.
    pub async fn take(&self, query: &str) -> Value {
        self.read(&format!("/wait?timeout=0{query}")).await
    }

    /// Asserts that the inbox `primary` offers nothing.
    pub async fn expect_nothing(&self) {
        self.get("/wait?timeout=0").await.expect(204);
    }

    /// Acknowledges in an inbox; `what` has `ids` or a `lease`, as a batch has it.
    pub async fn ack(&self, inbox: &str, mut what: Value) -> Value {
        let batch = what.as_object_mut().expect("an object");
        batch.retain(|name, _| ["ids", "lease", "by"].contains(&name.as_str()));
        let path = format!("/inboxes/{inbox}/ack");
        self.post_json(&path, what).await.expect(200).json()
    }

    /// Returns a notification.
    pub async fn notification(&self, id: u64) -> Value {
        self.read(&format!("/notifications/{id}")).await
    }

    /// Returns the states of a notification's trace.
    pub async fn trace(&self, id: u64) -> Value {
        let trace = self.read(&format!("/notifications/{id}/trace")).await;
        each(&trace["steps"], "state")
    }

    /// Publishes a question; returns its id.
    pub async fn asks(&self, from: &str) -> u64 {
        let ask = json!({ "msg": "?", "from": from, "type": "question" });
        self.notify(ask).await
    }

    /// Returns a question.
    pub async fn question(&self, id: u64) -> Value {
        self.read(&format!("/questions/{id}")).await
    }

    /// Answers a question with the words that a person would type.
    pub async fn answer(&self, id: u64, words: &str) -> Answer {
        let question = self.get(&format!("/questions/{id}")).send().await;
        let controls = match question.status {
            200 => from_value(question.json()["controls"].take()).expect("controls"),
            _ => Vec::new(),
        };
        let post = AnswerPost::new(Said::of_words(words, &controls));
        let post = to_value(post).expect("JSON");
        self.post_json(&format!("/needs/{id}/answer"), post).await
    }

    /// Registers a new session.
    pub async fn register(&self, id: &str, info: Value) -> Value {
        let put = self.put_json(&format!("/sessions/{id}"), info).await;
        put.expect(201).json()
    }

    /// Returns a session.
    pub async fn session(&self, name: &str) -> Value {
        self.read(&format!("/sessions/{name}")).await
    }

    /// Ends a session.
    pub async fn end_session(&self, id: &str) -> Value {
        let end = self.delete(&format!("/sessions/{id}")).await;
        end.expect(200).json()
    }

    /// Posts a hook event of Claude Code's session `id`; returns the reply, `null` if there is none.
    pub async fn hook(&self, query: &str, id: &str, event: Value) -> Value {
        let mut payload = json!({ "session_id": id, "cwd": format!("/r/{id}") });
        let all = payload.as_object_mut().expect("an object");
        all.extend(event.as_object().expect("an object").clone());
        let path = format!("/hooks/claude?{query}");
        let answer = self.post_json(&path, &payload).await;
        match answer.status {
            204 => Value::Null,
            _ => answer.expect(200).json(),
        }
    }

    /// Starts a wait; returns it once the hub has registered its waiter at `inbox`.
    pub async fn waiter(&self, query: &str, inbox: &str) -> JoinHandle<Answer> {
        let mut presence = self.events("?kinds=presence").await;
        let wait = self.get(&format!("/wait?{query}")).spawn();
        presence.until_waiting(inbox).await;
        wait
    }
}

impl Hub {
    /// Kills the hub with SIGKILL, and starts it again.
    pub fn crash(&mut self) {
        self.kill_9();
        self.start_again();
    }
}

/// Returns a member of each element of a list.
#[track_caller]
pub fn each(list: &Value, member: &str) -> Value {
    let list = list.as_array().expect("a list");
    list.iter().map(|it| it[member].clone()).collect()
}
