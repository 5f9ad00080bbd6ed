//! Threads of Codex, which the hub wakes through an app-server that is written here.

use std::process::Child;

use futures_util::{SinkExt as _, StreamExt as _};
use hub_harness::{Client, Hub, PATIENCE, request, requester};
use serde_json::{Value, json};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

use crate::hub_with;

/// An app-server with idle threads, in which none of the hub's hooks run. Its process is one that sleeps.
pub(crate) struct AppServer {
    process: Child,
    _home: tempfile::TempDir,
}

/// Whether a turn begins, given the thread and the prompt.
type Begins = dyn Fn(&str, &str) -> bool + Send + Sync;

impl AppServer {
    /// Starts it with these threads, each a session that the hub knows by its hooks.
    pub(crate) fn start(
        hub: &Hub,
        threads: &[&str],
        begins: impl Fn(&str, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let control = home.path().join("app-server-control");
        std::fs::create_dir(&control).expect("a directory");
        let listener = UnixListener::bind(control.join("app-server-control.sock"));
        tokio::spawn(accept(listener.expect("a socket"), Box::new(begins)));
        let start = |thread: &&str| {
            let event = event(thread, "SessionStart");
            let path = "/hooks/codex?pid=@PID@&app_server=true";
            request(&hub.socket(), "POST", path, &event)
        };
        let starts: Vec<String> = threads.iter().map(start).collect();
        let process = requester(&starts, &[("CODEX_HOME", home.path())]);
        Self {
            process,
            _home: home,
        }
    }
}

impl Drop for AppServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn accept(listener: UnixListener, begins: Box<Begins>) {
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        serve(stream, &*begins).await;
    }
}

async fn serve(stream: UnixStream, begins: &Begins) {
    let hook =
        json!({ "command": "hubctl hook codex", "enabled": true, "trustStatus": "modified" });
    let socket = tokio_tungstenite::accept_async(stream).await;
    let mut socket = socket.expect("a WebSocket");
    while let Some(Ok(Message::Text(text))) = socket.next().await {
        let call: Value = serde_json::from_str(&text).expect("JSON");
        let result = match call["method"].as_str() {
            Some("thread/read") => Some(json!({ "thread": { "status": { "type": "idle" } } })),
            Some("hooks/list") => Some(json!({ "data": [{ "hooks": [hook] }] })),
            Some("turn/start") => {
                let (thread, prompt) = (&call["params"]["threadId"], &call["params"]["input"][0]);
                let [thread, prompt] = [thread, &prompt["text"]].map(|it| it.as_str().unwrap());
                begins(thread, prompt).then(|| json!({}))
            }
            _ => Some(json!({ "data": [] })),
        };
        let answer = match result {
            None => json!({ "id": call["id"], "error": { "message": "not now" } }),
            Some(result) => json!({ "id": call["id"], "result": result }),
        };
        if call["id"].is_number() {
            let sent = socket.send(Message::text(answer.to_string())).await;
            sent.expect("a reader");
        }
    }
}

/// An event of a hook in a thread.
fn event(thread: &str, name: &str) -> Value {
    json!({ "session_id": thread, "hook_event_name": name, "cwd": "/" })
}

async fn report(client: &Client, event: &Value) -> String {
    let path = "/hooks/codex?app_server=true";
    client.post_json(path, event).await.text()
}

async fn report_prompt(client: &Client, thread: &str, prompt: &str) -> String {
    let mut event = event(thread, "UserPromptSubmit");
    event["prompt"] = json!(prompt);
    report(client, &event).await
}

async fn send(client: &Client, to: &str, msg: &str) -> u64 {
    client
        .notify(json!({ "msg": msg, "from": "ci", "to": to }))
        .await
}

#[tokio::test]
async fn news_before_the_first_hook_of_a_turn_that_the_hub_began_is_in_that_hooks_answer() {
    let (hub, client) = hub_with(&["wake.per_sender_per_minute=1000"]);
    let (tell, mut begun) = unbounded_channel();
    let begins =
        move |thread: &str, prompt: &str| tell.send([thread, prompt].map(str::to_owned)).is_ok();
    let _server = AppServer::start(&hub, &["w1", "w2"], begins);
    let mut next = async || {
        timeout(PATIENCE, begun.recv())
            .await
            .expect("a turn begins")
            .expect("it runs")
    };
    send(&client, "w1", "the first").await;
    let [thread, first] = next().await;
    assert!(thread == "w1" && first.contains("the first"), "{first}");
    let second = send(&client, "w1", "the second").await;
    // Turns of another thread, in whose time another one of this thread would have begun.
    for news in ["one", "two", "three"] {
        send(&client, "w2", news).await;
        let [thread, prompt] = next().await;
        assert!(
            thread == "w2" && prompt.contains(news),
            "{thread}: {prompt}"
        );
        report_prompt(&client, "w2", &prompt).await;
        report(&client, &event("w2", "Stop")).await;
    }
    let answer = report_prompt(&client, "w1", &first).await;
    assert!(answer.contains("the second"), "{answer}");
    let steps = client.read(&format!("/notifications/{second}/trace")).await;
    assert_eq!(steps["steps"][1]["way"], "hook", "{steps}");
}
