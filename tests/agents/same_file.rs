//! Sessions that write the same file: two of Claude Code in two worktrees, and one of each other agent.

use hub_harness::Hub;
use hub_harness::model::{Reply, rules};
use serde_json::{Value, json};

use crate::support::{InstalledHub, Vendor};

#[test]
fn two_sessions_that_write_one_file_in_two_worktrees_are_alerted() {
    let hub = InstalledHub::new();
    let [side] = hub.worktrees(["side"]);
    let dirs = [hub.project(), side];
    hub.hooks_allowing(&[], "Write");
    let settings = dirs[0].join(".claude/settings.json");
    std::fs::create_dir_all(dirs[1].join(".claude")).expect("a directory");
    std::fs::copy(settings, dirs[1].join(".claude/settings.json")).expect("a copy");
    let sessions = ["main", "side"].into_iter().zip(dirs).map(|(name, dir)| {
        let file = dir.join("a.txt").display().to_string();
        let write = Reply::tool("Write", json!({ "file_path": file, "content": name }));
        let claude = hub
            .claude(rules([("Draw a fig", write)]))
            .named(name)
            .within(dir);
        let claude = claude.start();
        claude.submit("Draw a fig");
        hub.published(&format!("Agent {name} completed"));
        claude
    });
    let sessions: Vec<_> = sessions.collect();
    let alerts = [
        "session side also edited a.txt",
        "session main also edited a.txt",
    ];
    for (claude, alert) in sessions.iter().zip(alerts) {
        let id = hub.published(alert);
        claude.submit("Go on");
        claude.model.until_received(alert);
        hub.step(id, "emitted");
    }
}

/// Lets an agent write a file that another session has just edited.
pub(crate) fn alerts_the_other_session_of_its_file(vendor: &Vendor) {
    let hub = InstalledHub::without_hooks(Hub::builder());
    let file = hub.project().join("a.txt").display().to_string();
    let edit = json!({
        "hook_event_name": "PostToolUse", "session_id": "other", "cwd": hub.project(),
        "tool_name": "Edit", "tool_input": { "file_path": file },
    });
    let report = format!("printf %s '{edit}' | CLAUDECODE=1 hubctl hook claude");
    let reported = hub.output(&hub.project(), "sh".as_ref(), &["-c", &report], &[]);
    assert!(reported.status.success(), "{reported:?}");
    let (tool, input) = vendor.tools.writes;
    let input: Value = serde_json::from_str(&input.replace("FILE", &file)).expect("JSON");
    let model = vendor.install(&hub, rules([("Draw a fig", Reply::tool(tool, input))]));
    vendor.ask(&hub, &model, "Draw a fig");
    for session in ["main", "main-2"] {
        hub.published(&format!("session {session} also edited a.txt"));
    }
}
