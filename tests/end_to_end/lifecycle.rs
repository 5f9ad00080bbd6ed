//! Which session an agent's process runs, and when it ends: as the kernel and the agents' own events say.

use std::io::{BufRead, BufReader, Write};
use std::process::ChildStdout;

use hub_protocol::PhaseName;
use serde_json::{Value, json};

use crate::call::Running;
use crate::support::{Place, until};

/// A process that reports hook events as an agent does: hubctl is its child.
struct Agent {
    kind: &'static str,
    process: Running,
    done: BufReader<ChildStdout>,
}

/// Reports each line of its input, and then prints hubctl's answer and a line with a dot.
const REPORT: &str =
    r#"while IFS= read -r event; do printf %s "$event" | hubctl hook $0; echo; echo .; done"#;

impl Agent {
    /// Starts a process with the name of the agent `kind`.
    fn start(place: &Place, kind: &'static str) -> Self {
        let name = place.path(&format!("agents/{kind}"));
        if !name.exists() {
            place.dir("agents");
            std::os::unix::fs::symlink("/bin/sh", &name).expect("a link");
        }
        let call = place.sh("exec \"$0\" -c \"$1\" \"$2\"");
        let call = call.args(&[name.to_str().expect("UTF-8"), REPORT, kind]);
        // Programs that only read Claude Code's settings set no variable of it.
        let mut process = call.env("CLAUDECODE", "1").spawn();
        let done = process.stdout();
        Self {
            kind,
            process,
            done,
        }
    }

    /// Reports an event of the session `id`; returns hubctl's answer.
    fn says(&mut self, id: &str, event: &str, more: &Value) -> String {
        let mut payload = json!({ "hook_event_name": event, "session_id": id, "sessionId": id });
        let fields = payload.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        let events = self.process.child().stdin.as_mut().expect("a pipe");
        writeln!(events, "{payload}").expect("it reads");
        let mut answer = String::new();
        while !answer.ends_with("\n.\n") {
            let read = self.done.read_line(&mut answer).expect("a line");
            assert!(read > 0, "the agent ended: {answer}");
        }
        answer
    }

    fn starts(&mut self, id: &str, source: &str) {
        self.says(id, "SessionStart", &json!({ "source": source }));
    }

    fn ends(&mut self, id: &str, reason: &str) {
        self.says(id, "SessionEnd", &json!({ "reason": reason }));
    }

    fn prompts(&mut self, id: &str) -> String {
        let event = if self.kind == "gemini" {
            "BeforeAgent"
        } else {
            "UserPromptSubmit"
        };
        self.says(id, event, &json!({ "prompt": "go" }))
    }

    /// A turn from its prompt to its end.
    fn works(&mut self, id: &str) {
        self.prompts(id);
        self.says(id, "Stop", &json!({ "last_assistant_message": "ok" }));
    }

    fn dies(mut self) {
        self.process.kill();
    }
}

/// The ids of the living sessions.
fn alive(place: &Place) -> Vec<String> {
    let sessions = place.json("sessions --all-projects --json");
    let all = sessions["sessions"].as_array().expect("a list").iter();
    let alive = all.filter(|it| it["gone"] != true);
    let mut ids: Vec<String> = alive
        .map(|it| it["id"].as_str().expect("an id").to_owned())
        .collect();
    ids.sort();
    ids
}

fn errors(place: &Place) -> Vec<String> {
    let said = place.said().into_iter();
    said.filter(|it| it.contains("died") || it.contains("is gone"))
        .collect()
}

#[test]
fn a_process_that_resumes_another_session_leaves_the_one_before() {
    for kind in ["claude", "gemini", "codex", "qwen"] {
        let place = Place::with_hub();
        let mut first = Agent::start(&place, kind);
        first.starts("old", "startup");
        first.works("old");
        first.ends("old", "prompt_input_exit");
        first.dies();
        let mut second = Agent::start(&place, kind);
        second.starts("new", "startup");
        let name = place.session("new").name;
        // Codex reports no end of the session that it leaves.
        if kind != "codex" {
            second.ends("new", "resume");
        }
        second.starts("old", "resume");
        assert_eq!(alive(&place), ["old"], "{kind}");
        place.ctl(format!("notify --to {name} hello"));
        assert!(second.prompts("old").contains("hello"), "{kind}");
        assert_eq!(errors(&place), [""; 0]);
    }
}

#[test]
fn a_session_that_is_cleared_goes_on_under_its_new_id() {
    for kind in ["claude", "gemini", "codex"] {
        let place = Place::with_hub();
        let mut agent = Agent::start(&place, kind);
        agent.starts("one", "startup");
        agent.works("one");
        place.ctl("notify --to one before");
        if kind != "codex" {
            agent.ends("one", "clear");
        }
        agent.starts("two", "clear");
        place.ctl("notify --to two after");
        let told = agent.prompts("two");
        assert!(told.contains("before") && told.contains("after"), "{told}");
        assert_eq!(alive(&place), ["one"], "{kind}");
    }
}

#[test]
fn a_fork_is_a_session_of_its_own_and_its_parent_lives_on() {
    // Claude Code names the parent at the start of a fork in another terminal; other starts name the fork.
    for (started_as, source) in [("parent", "resume"), ("parent", "fork"), ("fork", "fork")] {
        let place = Place::with_hub();
        let mut parent = Agent::start(&place, "claude");
        parent.starts("parent", "startup");
        parent.works("parent");
        let mut fork = Agent::start(&place, "claude");
        fork.starts(started_as, source);
        fork.prompts("fork");
        assert_eq!(alive(&place), ["fork", "parent"], "{started_as} {source}");
        place.ctl("notify --to parent 'for the parent'");
        let told = fork.says("fork", "PostToolUse", &json!({ "tool_name": "Bash" }));
        assert!(!told.contains("for the parent"), "{told}");
        fork.dies();
        until("the fork has ended", || alive(&place) == ["parent"]);
        assert!(parent.prompts("parent").contains("for the parent"));
        let expected = ["Agent fork died unfinished: its process is gone"];
        assert!(
            errors(&place).len() == expected.len(),
            "{:?}",
            errors(&place)
        );
    }
}

#[test]
fn a_fork_in_the_same_process_replaces_its_parent() {
    let place = Place::with_hub();
    let mut agent = Agent::start(&place, "claude");
    agent.starts("parent", "startup");
    agent.works("parent");
    agent.starts("fork", "fork");
    agent.works("fork");
    assert_eq!(alive(&place), ["fork"]);
    agent.dies();
    until("the fork has ended", || alive(&place).is_empty());
}

#[test]
fn a_session_in_two_terminals_ends_with_the_last_of_them() {
    let place = Place::with_hub();
    let mut first = Agent::start(&place, "claude");
    first.starts("s", "startup");
    first.works("s");
    let mut second = Agent::start(&place, "claude");
    second.starts("s", "resume");
    second.works("s");
    let mut third = Agent::start(&place, "claude");
    third.starts("s", "resume");
    third.works("s");
    third.ends("s", "prompt_input_exit");
    third.dies();
    second.dies();
    first.works("s");
    assert_eq!(alive(&place), ["s"]);
    first.dies();
    until("it has ended", || alive(&place).is_empty());
    assert_eq!(errors(&place).len(), 1);
}

#[test]
fn what_is_reported_after_the_end_changes_nothing() {
    let late = [
        (
            "PreToolUse",
            json!({ "tool_name": "Bash", "tool_use_id": "t1" }),
        ),
        (
            "PostToolUse",
            json!({ "tool_name": "Bash", "tool_use_id": "t1" }),
        ),
        ("Stop", json!({ "last_assistant_message": "late" })),
        ("SubagentStop", json!({ "agent_id": "a1" })),
        (
            "Notification",
            json!({ "notification_type": "idle_prompt" }),
        ),
        ("SessionEnd", json!({ "reason": "resume" })),
    ];
    let place = Place::with_hub();
    let mut agent = Agent::start(&place, "claude");
    for (n, (event, more)) in late.into_iter().enumerate() {
        let id = &format!("s{n}");
        agent.starts(id, "resume");
        agent.works(id);
        agent.ends(id, "prompt_input_exit");
        let before = place.said();
        agent.says(id, event, &more);
        assert_eq!(place.said(), before, "{event}");
        assert_eq!(alive(&place), [""; 0], "{event}");
    }
    // Nor does the end of a session that the hub does not know.
    agent.ends("unknown", "other");
    agent.dies();
    assert!(!place.said().iter().any(|it| it.contains("unknown")));
    assert_eq!(errors(&place), [""; 0]);
}

#[test]
fn what_is_reported_while_the_hub_stands_still_counts_in_its_order() {
    let place = Place::with_hub();
    let mut agent = Agent::start(&place, "claude");
    agent.starts("s", "startup");
    for n in 0..4 {
        agent.prompts("s");
        place.pause(true);
        let done = format!("done {n}");
        agent.says("s", "Stop", &json!({ "last_assistant_message": done }));
        agent.says(
            "s",
            "UserPromptSubmit",
            &json!({ "prompt": format!("again {n}") }),
        );
        place.pause(false);
        let told = |what: &str| place.said().iter().any(|it| it.ends_with(what));
        until("both are told", || {
            told(&done) && told(&format!("again {n}"))
        });
        assert_eq!(
            place.session("s").phase.name,
            PhaseName::Working,
            "round {n}"
        );
        agent.says(
            "s",
            "Stop",
            &json!({ "last_assistant_message": "again done" }),
        );
    }
}
