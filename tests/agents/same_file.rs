//! Two sessions of Claude Code that write the same file in two worktrees.

use hub_harness::model::{Reply, rules};
use serde_json::json;

use crate::support::InstalledHub;

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
