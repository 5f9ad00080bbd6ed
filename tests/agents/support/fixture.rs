//! Recorded payloads: `tests/fixtures/hooks/AGENT/NAME.json`.
//!
//! `HUB_TEST_RECORD=1` records them again; otherwise an agent's payloads are compared with them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use super::Sandbox;

/// Keys whose value differs from run to run, each with its placeholder. The same value under other keys is replaced
/// too.
const NEUTRAL: [(&str, &str); 8] = [
    ("session_id", "11111111-1111-4111-8111-111111111111"),
    ("prompt_id", "22222222-2222-4222-8222-222222222222"),
    ("agent_id", "a0000000000000000"),
    ("backgroundTaskId", "b00000000"),
    ("id", "b00000000"),
    ("task_id", "b00000000"),
    ("turn_id", "33333333-3333-4333-8333-333333333333"),
    ("agentId", "a0000000000000000"),
];

/// Panics if a payload differs from the recorded one in its keys, its types, or a value that the hub reads.
pub(crate) fn assert_as_recorded(sandbox: &Sandbox, agent: &str, name: &str, payload: &Value) {
    let path = path(agent, name);
    let neutral = neutral(sandbox, payload);
    if std::env::var_os("HUB_TEST_RECORD").is_some() {
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        let text = serde_json::to_string_pretty(&neutral).expect("JSON");
        std::fs::write(&path, text + "\n").expect("a fixture");
    }
    let recorded = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; HUB_TEST_RECORD=1", path.display()));
    let recorded: Value = serde_json::from_str(&recorded).expect("JSON");
    let hint =
        "if that is right, record it: HUB_TEST_RECORD=1 cargo nextest run -p hubctl --test agents";
    assert_eq!(
        shape(&neutral),
        shape(&recorded),
        "{name} is not as recorded; {hint}"
    );
}

fn path(agent: &str, name: &str) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.join(format!("../tests/fixtures/hooks/{agent}/{name}.json"))
}

/// Returns the payload with the paths and ids of this run replaced.
fn neutral(sandbox: &Sandbox, payload: &Value) -> Value {
    let mut text = payload.to_string();
    for (key, stand_in) in NEUTRAL {
        if let Some(id) = find(payload, key) {
            text = text.replace(&id, stand_in);
        }
    }
    // Claude Code names directories after paths, with dashes for slashes.
    let dirs = [
        ("home", "/home/user"),
        ("project", "/src/project"),
        ("tmp", "/tmp"),
    ];
    for (name, neutral) in dirs {
        let path = sandbox.path(name).display().to_string();
        text = text.replace(&path, neutral);
        let dashed = path.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        text = text.replace(&dashed, &neutral.replace('/', "-"));
    }
    serde_json::from_str(&text).expect("JSON")
}

/// Returns the first string under this key, at any depth.
fn find(value: &Value, key: &str) -> Option<String> {
    match value {
        Value::Object(map) => match map.get(key) {
            Some(Value::String(found)) => Some(found.clone()),
            _ => map.values().find_map(|value| find(value, key)),
        },
        Value::Array(items) => items.iter().find_map(|item| find(item, key)),
        _ => None,
    }
}

/// Returns the type of each path in the payload, and the value of those that the hub reads.
fn shape(payload: &Value) -> BTreeMap<String, String> {
    let mut places = BTreeMap::new();
    walk("", payload, &mut places);
    places
}

fn walk(place: &str, value: &Value, places: &mut BTreeMap<String, String>) {
    const READ: [&str; 8] = [
        ".hook_event_name",
        ".source",
        ".reason",
        ".notification_type",
        ".tool_name",
        ".stop_hook_active",
        ".permission_mode",
        ".error",
    ];
    let kind = match value {
        Value::Object(map) => {
            for (key, value) in map {
                walk(&format!("{place}.{key}"), value, places);
            }
            "object".to_owned()
        }
        Value::Array(items) => {
            for item in items {
                walk(&format!("{place}[]"), item, places);
            }
            "array".to_owned()
        }
        word if READ.contains(&place) => word.to_string(),
        Value::String(_) => "string".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::Bool(_) => "boolean".to_owned(),
        Value::Null => "null".to_owned(),
    };
    places.insert(place.to_owned(), kind);
}
