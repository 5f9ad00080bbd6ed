//! Hooks that only record their payloads.

use std::path::PathBuf;

use hub_harness::until;
use serde_json::{Map, Value, json};

use super::Sandbox;

/// Renames each payload into a file of its own, so that no reader sees a partial one. The file's name begins with the
/// time in ns.
const SCRIPT: &str = r#"#!/bin/sh
cat >"$1/part.$$" && mv "$1/part.$$" "$1/$(date +%s%N)-$$.json"
"#;

/// The payloads of recording hooks.
pub(crate) struct Hooks {
    dir: PathBuf,
    /// Hook settings by event.
    pub(crate) events: Map<String, Value>,
    /// The rule of commands that Claude Code may run.
    pub(super) allow: &'static str,
}

impl Hooks {
    /// Creates a recording hook for each event and installs none. `timeout` is in the agent's unit, which differs
    /// between agents.
    pub(crate) fn new(sandbox: &Sandbox, events: &[&str], timeout: u32) -> Self {
        let dir = sandbox.path("hooks");
        std::fs::create_dir(&dir).expect("a directory");
        let script = sandbox.path("record.sh");
        std::fs::write(&script, SCRIPT).expect("a script");
        let command = format!("sh {} {}", script.display(), dir.display());
        let hook = json!({"type": "command", "command": command, "timeout": timeout});
        let settings = |event: &&str| ((*event).to_owned(), json!([{"hooks": [hook]}]));
        Self {
            dir,
            events: events.iter().map(settings).collect(),
            allow: "",
        }
    }

    /// Returns Claude Code's settings with these hooks.
    pub(super) fn settings(&self) -> Value {
        json!({"hooks": self.events, "permissions": {"allow": [self.allow]}})
    }

    /// Returns the settings with one more hook on an event.
    pub(crate) fn settings_with(&self, event: &str, hook: &Value) -> Value {
        let mut settings = self.settings();
        let groups = settings["hooks"][event].as_array_mut();
        groups
            .expect("a recording hook")
            .push(json!({"hooks": [hook]}));
        settings
    }

    /// Returns all payloads so far, oldest first.
    pub(crate) fn all(&self) -> Vec<Value> {
        let files = std::fs::read_dir(&self.dir).expect("a directory").flatten();
        let mut files: Vec<PathBuf> = files.map(|file| file.path()).collect();
        files.retain(|file| file.extension().is_some_and(|it| it == "json"));
        files.sort();
        let read = |file: &PathBuf| std::fs::read(file).expect("a payload");
        let parse = |file| serde_json::from_slice(&read(file)).expect("JSON");
        files.iter().map(parse).collect()
    }

    /// Waits for the `count`th payload of an event (from 1).
    pub(crate) fn nth(&self, event: &str, count: usize) -> Value {
        until(&format!("{event} has fired {count} times"), || {
            let all = self.all().into_iter();
            { all }
                .filter(|it| it["hook_event_name"] == event)
                .nth(count - 1)
        })
    }

    /// Waits for the first payload of an event.
    pub(crate) fn first(&self, event: &str) -> Value {
        self.nth(event, 1)
    }
}
