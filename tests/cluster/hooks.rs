//! A hook that waits for an answer is held by the next active hub.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};

use hub_harness::Hub;
use serde_json::{Value, json};

use super::handover::hand_over;
use super::nats::Nats;
use super::support::{eventually, pair, until_active};

/// Starts the hook of an agent on the machine of `hub`.
fn ask(hub: &Hub) -> Child {
    let event = json!({ "hook_event_name": "PermissionRequest", "session_id": "s1", "cwd": "/",
        "tool_name": "Bash", "tool_input": { "command": "make" } });
    let mut hook = Command::new(hub_harness::binary("hubctl"));
    hook.arg("--state-dir").arg(hub.state_dir());
    hook.args(["hook", "claude"]).env("CLAUDECODE", "1");
    let pipes = hook.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut hook = pipes.spawn().expect("hubctl starts");
    let mut stdin = hook.stdin.take().expect("a pipe");
    write!(stdin, "{event}").expect("it reads");
    hook
}

/// Waits until a hub holds the hook of the only question, and returns its number.
async fn until_held(hub: &Hub) -> u64 {
    eventually("held", async || {
        let asked = hub.client().get("/questions").await.json();
        let question = &asked["questions"][0];
        let id = question["id"].as_u64();
        let held = id.filter(|_| question["delivery"] == "waiting");
        held.ok_or_else(|| asked.to_string())
    })
    .await
}

#[tokio::test]
async fn the_answer_at_the_next_active_hub_reaches_the_agent_of_either_machine() {
    for hands_over in [true, false] {
        let servers = [Nats::start()];
        let (mut a, b) = pair(&servers).await;
        // Later, the hub takes the test's process for the agent.
        let person = b.person().await;
        // The hook's own hub steps down, or passes the hook on to one that dies.
        let hook = ask(if hands_over { &a } else { &b });
        let id = until_held(&a).await;
        if hands_over {
            hand_over(&a, "b").await;
        } else {
            a.kill_9();
        }
        until_active(&b).await;
        assert_eq!(until_held(&b).await, id);
        person.answer(id, "allow").await.expect(201);
        let told = hook.wait_with_output().expect("its output").stdout;
        let told: Value = serde_json::from_slice(&told).expect("an answer");
        let decision = &told["hookSpecificOutput"]["decision"];
        assert_eq!(*decision, json!({ "behavior": "allow" }));
    }
}
