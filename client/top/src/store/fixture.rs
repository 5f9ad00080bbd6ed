//! Sessions and needs for unit tests.

use hub_protocol::{Session, Timestamp};
use serde_json::{Value, json};

use crate::store::{FirstView, Store};

/// The time `seconds` after 1970.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}

/// A session of the project `default` in this phase since `seconds`.
pub(crate) fn session(name: &str, phase: &str, seconds: i64) -> Session {
    serde_json::from_value(session_json(name, phase, seconds, "")).expect("a session")
}

fn session_json(name: &str, phase: &str, seconds: i64, text: &str) -> Value {
    json!({"id": name, "name": name, "project": "default", "primary": false, "pending": 0, "wake": "none",
        "cwd": format!("/src/{name}"), "last": 50 + seconds,
        "phase": {"name": phase, "since": at(seconds), "text": text}})
}

fn need_json(
    id: &str,
    kind: &str,
    session: &str,
    about: u64,
    brief: &str,
    control: &Value,
) -> Value {
    let alert = match kind {
        "turn" => "your_turn",
        "error" => "blocked",
        _ => "needs_you",
    };
    let seconds: i64 = id.trim_start_matches('s').parse().unwrap();
    json!({"id": id, "kind": kind, "since": at(seconds), "project": "default", "name": session, "session": session,
        "notification": about, "revision": about, "alert": alert, "counts": true, "closable": alert != "needs_you",
        "answerable": true, "title": "", "line": brief, "brief": brief, "complete": true, "text": brief, "controls": [control]})
}

/// A store with one need of each kind and a session at work.
pub(crate) fn store() -> Store {
    let which = json!({"type": "choice", "question": "Which db?", "options": [{"label": "postgres"}, {"label": "sqlite"}]});
    let plan = json!({"type": "verdict", "allow": true, "edits": true});
    let once_or_always = json!({"type": "verdict", "allow": true, "always": "Bash"});
    let reply = json!({"type": "reply"});
    let mut push = need_json("25", "permission", "web", 25, "git push", &once_or_always);
    push["request"] = json!({"tool": "Bash", "risks": ["force-push"],
        "parts": [{"name": "command", "text": "git push --force"}, {"name": "description", "text": "Push"}]});
    let mut build = session_json("build", "working", 40, "");
    build["phase"]["tool"] = json!({"name": "Bash", "on": "make all", "since": at(41)});
    let view = json!({
        "hub": {"version": "0", "url": "", "state_dir": "", "host": "mill", "now": at(100), "epoch": "00000000000000ff",
            "head": 9},
        "sessions": {"sessions": [
            session_json("db", "needs_you", 10, ""), session_json("web", "needs_you", 25, ""),
            session_json("ci", "blocked", 20, "failed"), session_json("docs", "your_turn", 28, "The page is written."),
            session_json("api", "needs_you", 30, ""), build]},
        "needs": [
            need_json("10", "question", "db", 10, "Which db?", &which), need_json("s20", "error", "ci", 70, "main is red", &reply),
            push, need_json("s28", "turn", "docs", 78, "The page is written.", &reply),
            need_json("30", "plan", "api", 30, "A plan", &plan)],
        "wholes": [],
        "preferences": {"mutes": [], "notify": [], "sound": []},
    });
    let mut store = Store::default();
    let view: FirstView = serde_json::from_value(view).expect("a first view");
    store.load(view, at(100));
    store
}
