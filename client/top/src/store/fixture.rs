//! Sessions and questions for unit tests.

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

fn question_json(id: u64, from: &str, kind: &str, text: &str, control: &Value) -> Value {
    json!({"id": id, "project": "default", "from": from, "type": kind, "ts": at(i64::try_from(id).unwrap()),
        "expires_at": at(9999), "state": "open", "msg": text, "text": text, "complete": true, "controls": [control], "deliverable": true})
}

fn need_json(
    id: &str,
    kind: &str,
    session: &str,
    seconds: i64,
    about: Option<u64>,
    brief: &str,
) -> Value {
    let alert = match kind {
        "turn" => "your_turn",
        "error" => "blocked",
        _ => "needs_you",
    };
    json!({"id": id, "kind": kind, "since": at(seconds), "project": "default", "name": session, "session": session,
        "notification": about, "alert": alert, "counts": true, "closable": alert != "needs_you", "title": "", "brief": brief,
        "complete": true})
}

/// A store with one need of each kind and a session at work.
pub(crate) fn store() -> Store {
    let which = json!({"type": "choice", "question": "Which db?", "options": [{"label": "postgres"}, {"label": "sqlite"}]});
    let plan = json!({"type": "verdict", "allow": true, "edits": true});
    let once_or_always = json!({"type": "verdict", "allow": true, "always": "Bash"});
    let mut push = question_json(25, "web", "approval", "git push", &once_or_always);
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
        "questions": [
            question_json(10, "db", "question", "Which db?", &which), push,
            question_json(30, "api", "question", "1. Build\n2. Test", &plan)],
        "needs": [
            need_json("10", "question", "db", 10, Some(10), "Which db?"), need_json("s20", "error", "ci", 20, Some(70), "main is red"),
            need_json("25", "permission", "web", 25, Some(25), "git push"), need_json("s28", "turn", "docs", 28, Some(78), "The page is written."),
            need_json("30", "plan", "api", 30, Some(30), "A plan")],
        "preferences": {"mutes": [], "notify": [], "sound": []},
    });
    let mut store = Store::default();
    let view: FirstView = serde_json::from_value(view).expect("a first view");
    store.load(view, at(100));
    store
}
