//! The hub's MCP tools, called by the model of a real agent.

use hub_harness::Model;
use hub_harness::model::{Reply, Request, turns};
use serde_json::json;

use crate::support::{InstalledHub, installed};

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
    model.until_received("is stored for boss");
    assert_eq!(sender(hub, "A scripted pear."), sender(hub, "Done."));
}

#[test]
fn claude_code_calls_a_tool_as_its_session() {
    let hub = InstalledHub::new();
    hub.run(
        &installed::claude(),
        &["mcp", "add", "hub", "--", "hubctl", "mcp"],
        &[],
    );
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
