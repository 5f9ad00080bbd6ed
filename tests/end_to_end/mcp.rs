//! `hubctl mcp`: an MCP client's stdin and stdout, connected to the hub.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout};

use serde_json::{Value, json};

use crate::support::{Place, Running, until};

mod dialogs;

/// A client that runs `hubctl mcp`.
struct Mcp {
    process: Running,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

#[allow(clippy::needless_pass_by_value)] // shorter calls
impl Mcp {
    fn start(place: &Place, session: &str) -> Self {
        Self::start_with(place, "mcp", session)
    }

    fn start_with(place: &Place, command: &str, session: &str) -> Self {
        let mut process = place.hubctl(command).env("HUB_SESSION", session).spawn();
        let stdin = process.child().stdin.take().expect("a pipe");
        let stdout = process.stdout();
        Self {
            process,
            stdin,
            stdout,
        }
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").expect("it reads");
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a line");
        crate::support::json(&line)
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.write(&json!({ "jsonrpc": "2.0", "id": "a1", "method": method, "params": params }));
        let answer = self.read();
        assert_eq!(answer["id"], "a1", "{answer}");
        answer
    }

    fn initialize(&mut self) {
        self.initialize_with(json!({}));
    }

    fn initialize_with(&mut self, capabilities: Value) {
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client });
        let answer = self.ask("initialize", params);
        assert_eq!(
            answer["result"]["protocolVersion"], "2025-11-25",
            "{answer}"
        );
        self.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    }

    /// Calls a tool; returns the texts of its result.
    fn call(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.ask(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        );
        let content = answer["result"]["content"].as_array();
        let content = content.unwrap_or_else(|| panic!("{answer}")).iter();
        content
            .map(|block| block["text"].as_str().unwrap())
            .collect()
    }

    /// Ends stdin, and waits for the end of hubctl.
    fn end(self) {
        drop(self.stdin);
        let done = self.process.end().ok();
        assert_eq!(done.stderr, "");
    }
}

#[test]
fn tools_act_as_the_session_of_the_process() {
    let place = Place::with_hub();
    let mut mcp = Mcp::start(&place, "w1");
    mcp.initialize();
    let tools = mcp.ask("tools/list", json!({}));
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 7);
    mcp.call("notify", json!({ "message": "tests pass", "to": "boss" }));
    assert_eq!(place.said(), ["tests pass"]);
    place
        .hubctl("notify --from boss --to w1 'well done'")
        .run()
        .ok();
    let told = mcp.call("sessions", json!({}));
    assert!(
        told.contains(r#"You are "w1"."#) && told.contains("well done"),
        "{told}"
    );
    let question = mcp.call("ask", json!({ "question": "Merge?", "to": "boss" }));
    let id = question.split(' ').nth(1).expect("Question ID is stored");
    place.hubctl(format!("answer {id} yes")).run().ok();
    let unknown = mcp.ask("tools/call", json!({ "name": "rm", "arguments": {} }));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    let told = mcp.call("wait", json!({ "seconds": 20 }));
    assert!(told.contains("\"msg\":\"yes\""), "{told}");
    mcp.end();
    assert_eq!(
        place.inbox("w1").pending,
        1,
        "the last result was not acknowledged"
    );
}

#[test]
fn a_client_of_2026_07_28_needs_no_headers() {
    let place = Place::with_hub();
    let mut mcp = Mcp::start(&place, "w1");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = mcp.ask("server/discover", json!({ "_meta": meta }));
    assert_eq!(found["result"]["serverInfo"], Value::Null);
    assert!(
        found["result"]["supportedVersions"]
            .as_array()
            .unwrap()
            .contains(&json!("2026-07-28"))
    );
    let call =
        json!({ "name": "notify", "arguments": { "message": "x", "to": "boss" }, "_meta": meta });
    let called = mcp.ask("tools/call", call);
    assert_eq!(called["result"]["resultType"], "complete", "{called}");
    let mut future = meta.clone();
    future["io.modelcontextprotocol/protocolVersion"] = "2099-01-01".into();
    let refused = mcp.ask("tools/list", json!({ "_meta": future }));
    assert_eq!(refused["error"]["code"], -32022, "{refused}");
    mcp.end();
}

#[test]
fn a_restart_of_the_hub_does_not_end_the_client() {
    let mut place = Place::with_hub();
    let mut mcp = Mcp::start(&place, "w1");
    mcp.initialize();
    place.kill();
    let down = mcp.ask("ping", json!({}));
    let words = down["error"]["message"].as_str().unwrap_or_default();
    assert!(words.contains("hubctl up"), "{down}");
    // A request that finds no hub waits for one.
    mcp.write(&json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }));
    place.start();
    let up = mcp.read();
    assert_eq!((&up["id"], &up["result"]), (&json!(2), &json!({})), "{up}");
    mcp.call("notify", json!({ "message": "after", "to": "boss" }));
    assert_eq!(place.said(), ["after"]);
    mcp.end();
}

#[test]
fn what_is_no_request_gets_an_error_and_what_needs_no_answer_none() {
    let place = Place::with_hub();
    let lines = "nonsense\n[]\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n\
                 {\"jsonrpc\":\"2.0\",\"id\":0,\"method\":7}\n{\"id\":1,\"method\":\"ping\"}\n";
    let done = place
        .hubctl("mcp")
        .env("HUB_SESSION", "w1")
        .stdin(lines)
        .run()
        .ok();
    let answers = done.lines();
    let codes: Vec<_> = answers.iter().map(|it| &it["error"]["code"]).collect();
    assert_eq!(codes, [-32700, -32700, -32700, -32603], "{answers:?}");
    assert_eq!(answers[3]["id"], 1);
}

#[test]
fn a_cancelled_wait_ends_without_an_answer() {
    let place = Place::with_hub();
    let mut mcp = Mcp::start(&place, "w1");
    let wait = json!({ "name": "wait", "arguments": { "seconds": 300 } });
    mcp.write(&json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": wait }));
    until("it waits", || !place.waiters().is_empty());
    let cancelled = json!({ "requestId": 5 });
    mcp.write(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }),
    );
    until("it waits no more", || place.waiters().is_empty());
    assert_eq!(mcp.ask("ping", json!({}))["result"], json!({}));
    mcp.end();
}

#[test]
fn what_a_killed_client_got_is_offered_again() {
    let place = Place::with_hub();
    place
        .hubctl("notify --from boss --to w1 precious")
        .run()
        .ok();
    let mut first = Mcp::start(&place, "w1");
    assert!(first.call("inbox", json!({})).contains("precious"));
    drop(first);
    let mut second = Mcp::start(&place, "w1");
    second.initialize();
    assert!(second.call("sessions", json!({})).contains("precious"));
    second.call("sessions", json!({}));
    assert_eq!(place.inbox("w1").pending, 0);
    second.end();
}

#[test]
fn outside_an_agent_the_sender_is_the_person_by_name() {
    let place = Place::with_hub();
    let call = json!({ "name": "notify", "arguments": { "message": "x", "to": "boss" } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call });
    let done = place.hubctl("mcp").stdin(format!("{call}\n")).run().ok();
    assert_eq!(done.lines()[0]["result"]["isError"], false, "{done:?}");
    let history = place.hubctl("history --json --after 0").run().lines();
    assert!(
        history[0]["from"].as_str().unwrap().contains('@'),
        "{history:?}"
    );
}
