//! The hub's MCP tools, called by the model of a real agent, and its dialogs.

use hub_harness::model::{Reply, Request, rules, turns};
use hub_harness::{Hub, Model, until};
use serde_json::json;

use crate::support::{Claude, InstalledHub, installed};

/// The words of every dialog that an MCP server opens.
const DIALOG: &str = "requests your input";

/// A model that calls the tool notify, and then says that it is done.
fn notifying(tool: &str) -> impl Fn(&Request) -> Reply + Send + Sync + 'static + use<> {
    let arguments = json!({ "message": "A scripted pear.", "to": "boss" });
    turns([Reply::tool(tool, arguments), Reply::text("Done.")])
}

/// The sender of the notification with this text.
fn sender(hub: &InstalledHub, text: &str) -> String {
    let id = hub.published(text);
    let all = hub.get("/notifications");
    let all = all["notifications"].as_array().expect("notifications");
    let found = all.iter().find(|it| it["id"] == id);
    let found = found.expect("a notification");
    found["from"].as_str().expect("a name").to_owned()
}

/// Asserts that the tool sent as the session, whose hooks report its stop.
fn assert_sent_as_session(hub: &InstalledHub, model: &Model) {
    model.until_received("is stored for \"boss\"");
    assert_eq!(sender(hub, "A scripted pear."), sender(hub, "Done."));
}

/// Adds the hub's tools to Claude Code, with these arguments of `hubctl mcp`.
fn add_tools(hub: &InstalledHub, more: &[&str]) {
    let args = ["mcp", "add", "hub", "--", "hubctl", "mcp"];
    hub.run(&installed::claude(), &[&args, more].concat(), &[]);
}

#[test]
fn claude_code_calls_a_tool_as_its_session() {
    let hub = InstalledHub::new();
    add_tools(&hub, &[]);
    let (output, model) = hub
        .claude(notifying("mcp__hub__notify"))
        .args(&["--allowedTools", "mcp__hub__notify"])
        .headless("Which fruit?");
    assert!(output.status.success(), "{output:?}");
    assert_sent_as_session(&hub, &model);
}

#[test]
fn claude_code_calls_a_tool_of_the_plugin() {
    const TOOL: &str = "mcp__plugin_hub_hub__notify";
    let hub = InstalledHub::new();
    let plugin = hub.plugin();
    let args = ["--plugin-dir", plugin.as_str(), "--allowedTools", TOOL];
    let claude = hub.claude(notifying(TOOL)).args(&args);
    let (output, model) = claude.headless("Which fruit?");
    assert!(output.status.success(), "{output:?}");
    assert_sent_as_session(&hub, &model);
}

#[test]
fn codex_calls_a_tool_as_its_session() {
    let hub = InstalledHub::new();
    hub.hubctl(&["hooks", "install", "codex"]);
    let model = Model::start(notifying("mcp__hub/notify"));
    let more = [
        "-c",
        "mcp_servers.hub.command=\"hubctl\"",
        "-c",
        "mcp_servers.hub.args=[\"mcp\"]",
        "-c",
        "mcp_servers.hub.default_tools_approval_mode=\"approve\"",
    ];
    hub.codex(&model, &more, "Which fruit?");
    assert_sent_as_session(&hub, &model);
}

/// A Claude Code without hooks that waits with the tool wait, and calls another tool when it is woken.
fn waiting(hub: &InstalledHub) -> Claude {
    add_tools(hub, &[]);
    let script = rules([
        ("Wait for news", Reply::tool("mcp__hub__wait", json!({}))),
        (
            "<task-notification>",
            Reply::tool("mcp__hub__sessions", json!({})),
        ),
    ]);
    let tools = "mcp__hub__wait,mcp__hub__sessions";
    let claude = hub.claude(script).env("HUB_SESSION", "w1");
    let claude = claude.args(&["--allowedTools", tools]).start();
    claude.submit("Wait for news");
    claude.model.until_received("started server-side task");
    hub.waiter_way("w1", "wait");
    claude
}

#[test]
fn claude_code_waits_in_a_task_whose_end_wakes_it() {
    let hub = InstalledHub::without_hooks(Hub::builder());
    let claude = waiting(&hub);
    hub.send("w1", "tester", "the quince is ripe");
    let request = claude.woken_by("the quince is ripe");
    assert_eq!(request.count_new("[hub] Notifications from"), 1);
    claude.model.until_received("You are \"w1\"");
    let pending = || hub.inbox("w1").is_none_or(|it| it["pending"] == 0);
    until("the call acknowledged it", || pending().then_some(()));
    claude.model.received_once("the quince is ripe");
}

#[test]
fn claude_code_is_told_that_a_restart_of_the_hub_ended_its_task() {
    let mut hub = InstalledHub::without_hooks(Hub::builder());
    let claude = waiting(&hub);
    hub.server.stop();
    hub.server.start_again();
    hub.send("w1", "tester", "the quince is ripe");
    claude.woken_by("The hub does not know this task");
    // The tool that it calls then returns what is pending.
    claude.model.until_received("the quince is ripe");
}

#[test]
fn headless_claude_code_waits_in_a_plain_call() {
    let hub = InstalledHub::without_hooks(Hub::builder());
    add_tools(&hub, &[]);
    let wait = Reply::tool("mcp__hub__wait", json!({ "seconds": 1 }));
    let (output, model) = hub
        .claude(turns([wait, Reply::text("Done.")]))
        .env("HUB_SESSION", "w1")
        .args(&["--allowedTools", "mcp__hub__wait"])
        .headless("Wait for news");
    assert!(output.status.success(), "{output:?}");
    model.until_received("Nothing arrived within 1 s");
}

/// An idle Claude Code that shows dialogs.
fn showing(hub: &InstalledHub) -> Claude {
    add_tools(hub, &["--dialogs"]);
    let claude = hub.claude(turns([])).start();
    hub.waiter("primary", "rewake");
    claude
}

/// Asks the person; returns the question's id.
fn ask(hub: &InstalledHub, text: &str) -> String {
    let args = ["ask", "--from", "worker1", "--to", "person", text];
    hub.hubctl(&args).trim().to_owned()
}

#[test]
fn a_question_opens_a_dialog_in_an_idle_claude_code_and_its_answer_is_the_persons() {
    let hub = InstalledHub::new();
    let claude = showing(&hub);
    ask(&hub, "Which fruit is ripe?");
    claude.until_shown("Which fruit is ripe?");
    assert!(claude.pane.text().contains("worker1 asks"));
    let takes = |shown: &str| shown.contains("Answer: x");
    claude.pane.press_until("x", "the dialog takes keys", takes);
    claude.pane.type_in("yz");
    claude.until_shown("xyz");
    claude.confirm(DIALOG);
    assert_eq!(sender(&hub, "xyz"), "person");
    // Claude Code's own dialog may count as a question as well, until the hub sees that it is closed.
    until("no question is open", || {
        hub.open_questions().is_empty().then_some(())
    });
}

#[test]
fn a_dialog_of_claude_code_closes_when_the_question_is_answered_elsewhere() {
    let hub = InstalledHub::new();
    let claude = showing(&hub);
    let id = ask(&hub, "Which fruit is ripe?");
    claude.until_shown("Which fruit is ripe?");
    hub.hubctl(&["answer", &id, "the quince"]);
    let closed = |shown: &str| !shown.contains(DIALOG);
    claude.pane.until("the dialog is gone", closed);
    // A declined question stays open, and its dialog does not come back.
    ask(&hub, "Which nut is ripe?");
    claude.until_shown("Which nut is ripe?");
    claude.press_away("Escape", DIALOG);
    assert_eq!(hub.question()["state"], "open");
}

#[test]
fn a_command_of_the_model_cannot_answer_as_a_dialog() {
    let hub = InstalledHub::new();
    let socket = hub.server.socket().display().to_string();
    let body = "'{\"reply\":\"forged\",\"dialog\":true}'";
    let id = ask(&hub, "Which fruit is ripe?");
    let url = format!("http://localhost/needs/{id}/answer");
    let command = format!(
        "curl --silent --unix-socket {socket} -H 'content-type: application/json' --data {body} {url} | cat"
    );
    let claude = hub.claude(turns([Reply::bash(&command)]));
    let claude = claude.args(&["--allowedTools", "Bash"]).start();
    hub.waiter("primary", "rewake");
    claude.submit("Run it");
    claude.model.until_received("not_yours");
    assert_eq!(hub.question()["state"], "open");
}
