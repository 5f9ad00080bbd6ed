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
        let hook =
            json!([{"hooks": [{"type": "command", "command": command, "timeout": timeout}]}]);
        let events = events.iter().map(|&event| (event.to_owned(), hook.clone()));
        let events = events.collect();
        Self {
            dir,
            events,
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
        let groups = settings["hooks"]
            .as_object_mut()
            .expect("hooks")
            .entry(event)
            .or_insert_with(|| json!([]));
        let groups = groups.as_array_mut().expect("a list");
        groups.push(json!({"hooks": [hook]}));
        settings
    }

    /// Returns all payloads so far, oldest first.
    pub(crate) fn all(&self) -> Vec<Value> {
        let files = std::fs::read_dir(&self.dir).expect("a directory").flatten();
        let mut files: Vec<PathBuf> = files.map(|file| file.path()).collect();
        files.retain(|file| file.extension().is_some_and(|it| it == "json"));
        files.sort();
        let read = |file| std::fs::read_to_string(file).expect("a payload");
        let parsed = files
            .iter()
            .map(|file| serde_json::from_str(&read(file)).expect("JSON"));
        parsed.collect()
    }

    /// Returns the payloads of one event.
    pub(crate) fn of(&self, event: &str) -> Vec<Value> {
        let mut all = self.all();
        all.retain(|payload| payload["hook_event_name"] == event);
        all
    }

    /// Waits for the `count`th payload of an event (from 1).
    pub(crate) fn nth(&self, event: &str, count: usize) -> Value {
        until(&format!("{event} has fired {count} times"), || {
            self.of(event).get(count - 1).cloned()
        })
    }

    /// Waits for the first payload of an event.
    pub(crate) fn first(&self, event: &str) -> Value {
        self.nth(event, 1)
    }
}
