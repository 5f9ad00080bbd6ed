//! What an agent may not take from the person that another session has for them.

use hub_harness::{request, session_process};
use hub_protocol::Kind;
use serde_json::{Value, json};

use super::{said_to_agent, socket};
use crate::support::Place;

/// A session `victim` of another process, which has an approval and a message for the person.
struct Victim {
    place: Place,
    process: std::process::Child,
    approval: u64,
    message: u64,
}

impl Victim {
    fn new() -> Self {
        let place = Place::with_hub();
        let process = session_process(&socket(&place), "victim");
        let mut it = Self {
            place,
            process,
            approval: 0,
            message: 0,
        };
        it.place.sh(&it.hook("SessionStart", &json!({}))).ok();
        for kind in ["approval", "message"] {
            let says = json!({ "from": "victim", "to": "person", "type": kind, "priority": "urgent", "key": kind });
            it.place.sh(&it.says(says)).ok();
        }
        it.approval = it.place.questions()[0].id;
        let sent = it.place.history("");
        let sent = sent.iter().find(|it| it.kind == Kind::Message);
        it.message = sent.expect("a message").id;
        it
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> String {
        request(&socket(&self.place), method, path, body)
    }

    /// A hook event of the session.
    fn hook(&self, event: &str, more: &Value) -> String {
        let mut body = json!({ "hook_event_name": event, "session_id": "victim" });
        let more = more.as_object().expect("an object").clone();
        body.as_object_mut().expect("an object").extend(more);
        self.call("POST", "/hooks/claude?project=default", &body)
    }

    fn says(&self, mut body: Value) -> String {
        let body_map = body.as_object_mut().expect("an object");
        body_map.insert("project".into(), "default".into());
        body_map.insert("msg".into(), "x".into());
        self.call("POST", "/notify", &body)
    }

    /// What the agent `me` runs to end a session.
    fn ends(&self, name: &str) -> String {
        let path = format!("/sessions/{name}?project=default&quiet=true");
        self.call("DELETE", &path, &json!({}))
    }

    /// Calls the tool `notify` as this session.
    fn tells_by_mcp(&self, name: &str) -> String {
        let path = format!("/mcp?project=default&client=a&session={name}");
        let arguments = json!({ "message": "x", "type": "progress" });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "notify", "arguments": arguments } });
        self.call("POST", &path, &call)
    }

    fn has_approval(&self) -> bool {
        let open = self.place.questions();
        open.iter().any(|it| it.id == self.approval)
    }

    /// Lets the agent `me` try something; returns whether it was refused.
    fn refuses(&self, command: &str) -> bool {
        let said = said_to_agent(&self.place, command);
        said.contains("needs_person") || said.contains("not_yours")
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn an_agent_withdraws_nothing_that_another_session_has_for_the_person() {
    let victim = Victim::new();
    let withdraws = |path: &str| victim.call("DELETE", path, &json!({}));
    let (approval, message) = (victim.approval, victim.message);
    for asked in [
        victim.call(
            "POST",
            &format!("/questions/{approval}/withdraw"),
            &json!({ "by": "victim" }),
        ),
        withdraws(&format!("/notifications/{approval}")),
        withdraws(&format!("/notifications/{message}")),
        withdraws("/notifications?project=default&key=approval"),
        withdraws("/notifications?project=default&key=message"),
        victim.ends("victim"),
        victim.ends("victi"),
    ] {
        assert!(victim.refuses(&asked), "{asked}");
        assert!(victim.has_approval(), "{asked}");
    }
    let kept = victim.call("GET", &format!("/notifications/{message}"), &json!({}));
    let kept = victim.place.sh(&kept).ok().stdout;
    assert!(kept.contains("\"status\":\"pending\""), "{kept}");
}

#[test]
fn an_agent_ends_no_approval_of_another_session_by_what_it_reports() {
    let victim = Victim::new();
    let spooled = victim.says(json!({ "from": "victim", "type": "complete" }));
    for says in [
        victim.says(json!({ "session": "victim", "type": "working" })),
        victim.says(json!({ "from": "victim", "type": "progress" })),
        victim.says(
            json!({ "from": "victim", "to": "nobody", "key": "approval", "type": "question" }),
        ),
        victim.says(json!({ "from": "victim", "to": "person", "key": "approval" })),
        format!("{spooled} -H 'hub-spooled: 1'"),
        victim.tells_by_mcp("victim"),
    ] {
        said_to_agent(&victim.place, &says);
        assert!(victim.has_approval(), "{says}");
    }
    let progress = victim.says(json!({ "from": "victim", "type": "progress" }));
    victim.place.sh(&progress).ok();
    assert!(!victim.has_approval(), "a person runs it");
}

#[test]
fn an_agent_ends_no_dialog_of_another_session_by_its_hooks() {
    let victim = Victim::new();
    let asks = json!({ "tool_name": "AskUserQuestion", "tool_input": {
        "questions": [{ "question": "Which?", "options": [{ "label": "a" }, { "label": "b" }] }] } });
    victim.place.sh(&victim.hook("PreToolUse", &asks)).ok();
    let of_victim = || {
        let open = victim.place.questions();
        let own = open.iter().filter(|it| it.from.as_str() == "victim");
        own.count()
    };
    let edit = json!({ "tool_name": "Bash", "tool_input": { "command": "make" } });
    let prompt = json!({ "prompt": "go" });
    let stop = victim.hook("Stop", &json!({}));
    // A command of an agent is no second process of another session, also when its own session has ended.
    let start = json!({ "hook_event_name": "SessionStart", "session_id": "victim" });
    let joins = victim.call("POST", "/hooks/claude?project=default&pid=@PID@", &start);
    let leaves = victim.ends("me");
    for asked in [
        format!("{joins}; {}", victim.hook("UserPromptSubmit", &prompt)),
        victim.hook("UserPromptSubmit", &prompt),
        victim.hook("PostToolUse", &edit),
        victim.hook("PermissionRequest", &edit),
        stop.clone(),
        victim.hook("SessionEnd", &json!({})),
        format!("{leaves}; {joins}; {stop}"),
    ] {
        assert!(victim.refuses(&asked), "{asked}");
        assert_eq!(of_victim(), 2, "{asked}");
    }
    victim
        .place
        .sh(&victim.hook("UserPromptSubmit", &prompt))
        .ok();
    assert_eq!(of_victim(), 1, "a person types for it");
}
