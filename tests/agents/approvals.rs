//! Permissions, plans and forms of Claude Code, answered from the hub with default settings.

use hub_harness::model::{Reply, Request, rules};
use hub_harness::{pause, until};
use serde_json::json;

use crate::support::{Claude, InstalledHub, installed};

const PERMISSION: &str = "Do you want to proceed";

fn start(hub: &InstalledHub, script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Claude {
    let claude = hub.claude(script).start();
    hub.waiter("primary", "rewake");
    claude
}

/// Waits for the open question; returns its id.
fn asked(hub: &InstalledHub) -> String {
    let question = hub.question();
    assert_eq!(question["delivery"], "waiting", "{question}");
    assert!(question["held_until"].is_string(), "{question}");
    question["id"].to_string()
}

/// Answers a question; the agent must get the answer at once.
fn answer(hub: &InstalledHub, id: &str, text: &str) {
    let done = hub.try_hubctl(&["answer", id, text]);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{done:?}");
    assert!(said.contains("the session has it"), "{said}");
}

/// Waits until the agent has taken the answer to this question.
fn until_taken(hub: &InstalledHub, id: &str) {
    let id: u64 = id.parse().expect("an id");
    hub.step(id, "delivered");
    hub.step(id, "taken");
}

#[test]
fn a_permission_allowed_for_the_session_is_not_asked_for_again() {
    let hub = InstalledHub::new();
    let touch = || Reply::bash("touch there");
    let claude = start(&hub, rules([("First", touch()), ("Second", touch())]));
    claude.submit("First");
    let id = asked(&hub);
    claude.until_shown(PERMISSION);
    answer(&hub, &id, "allow always");
    hub.all_published("Agent main completed", 1);
    until_taken(&hub, &id);
    let there = hub.project().join("there");
    std::fs::remove_file(&there).expect("it was touched");
    hub.waiter("primary", "rewake");
    claude.submit("Second");
    hub.all_published("Agent main completed", 2);
    assert!(there.exists());
    assert_eq!(hub.all_published("needs a permission", 1).len(), 1);
}

#[test]
fn a_permission_given_in_the_terminal_closes_its_question_while_the_tool_runs() {
    let hub = InstalledHub::new();
    let script = rules([("Hello", Reply::bash("touch there; sleep 600"))]);
    let claude = start(&hub, script);
    claude.submit("Hello");
    let id = asked(&hub);
    claude.confirm(PERMISSION);
    hub.state("main", "working");
    let settled = hub.step(id.parse().expect("an id"), "settled");
    assert_eq!(settled["by"], "resumed");
    assert!(hub.open_questions().is_empty());
    let said = hub.refused(&["answer", &id, "deny"]);
    assert!(said.contains("is settled in its terminal"), "{said}");
    until("the tool runs", || {
        hub.project().join("there").exists().then_some(())
    });
}

#[test]
fn a_denial_that_the_agent_did_not_read_before_its_terminal_allowed_the_call_is_not_taken() {
    let hub = InstalledHub::new();
    let claude = start(&hub, rules([("Hello", Reply::bash("touch there"))]));
    claude.submit("Hello");
    let id = asked(&hub);
    claude.until_shown(PERMISSION);
    let hooks = hub.marker().processes().into_iter();
    let mut hooks = hooks.filter(|it| it.command.contains("hook claude"));
    let hook = hooks.next().expect("the held hook");
    pause(hook.pid.try_into().expect("a process"), true);
    answer(&hub, &id, "deny");
    claude.confirm(PERMISSION);
    let id = id.parse().expect("an id");
    until("the terminal has settled it", || {
        let mut steps = hub.trace(id).into_iter();
        steps.any(|it| it["by"] == "resumed").then_some(())
    });
    hub.published("Agent main completed");
    let steps = hub.trace(id);
    assert!(steps.iter().all(|it| it["state"] != "taken"), "{steps:?}");
    assert!(hub.project().join("there").exists());
}

/// A model that plans: it writes the plan, shows it, and shows it again when it is rejected.
fn planner(request: &Request) -> Reply {
    match request.number {
        0 => Reply::tool("EnterPlanMode", json!({})),
        1 => {
            let body = request.body.to_string();
            let at = body.find(".claude/plans/").expect("the plan's file");
            let begin = body[..at].rfind(' ').expect("a word") + 1;
            let end = at + body[at..].find(".md").expect("a name") + 3;
            let plan =
                json!({ "file_path": &body[begin..end], "content": "# The scripted plan\n" });
            Reply::tool("Write", plan)
        }
        2 | 3 => Reply::tool("ExitPlanMode", json!({})),
        _ => Reply::text("Planned."),
    }
}

#[test]
fn a_plan_is_rejected_with_a_reason_and_then_approved_with_its_edits() {
    let hub = InstalledHub::new();
    let claude = start(&hub, planner);
    claude.submit("Plan it");
    let id = asked(&hub);
    let question = hub.question();
    let plan = &question["data"]["dialog"]["tool_input"]["plan"];
    assert_eq!(plan, "# The scripted plan\n", "{question}");
    claude.until_shown("The scripted plan");
    answer(&hub, &id, "reject: add tests");
    claude.model.until_received("add tests");
    let second = until("the plan is shown again", || {
        let mut open = hub.open_questions();
        open.retain(|it| it["state"] == "open");
        open.pop()
    });
    until_taken(&hub, &id);
    let id = second["id"].to_string();
    answer(&hub, &id, "approve: accept edits");
    claude.model.until_received("approved your plan");
    claude.until_shown("accept edits on");
    hub.published("Agent main completed");
    until_taken(&hub, &id);
}

#[test]
fn the_form_of_an_mcp_server_is_answered_while_a_dashboard_is_open() {
    let hub = InstalledHub::new();
    let server = format!("{}/../tests/agents/form.mjs", env!("CARGO_MANIFEST_DIR"));
    let add = ["mcp", "add", "form", "--", "node", server.as_str()];
    hub.run(&installed::claude(), &add, &[]);
    let _dashboard = hub.dashboard();
    let script = rules([("Choose", Reply::tool("mcp__form__choose", json!({})))]);
    let args = ["--allowedTools", "mcp__form__choose"];
    let claude = hub.claude(script).args(&args).start();
    hub.waiter("primary", "rewake");
    claude.submit("Choose");
    let id = asked(&hub);
    assert_eq!(hub.question()["options"], json!(["postgres", "sqlite"]));
    let said = hub.refused(&["answer", &id, "oracle"]);
    assert!(
        said.contains("no value for the form's field 'db'"),
        "{said}"
    );
    answer(&hub, &id, "sqlite");
    let chosen = r#"chosen: {"action":"accept","content":{"db":"sqlite"}}"#;
    claude.model.until_received(chosen);
    hub.published("Agent main completed");
    until_taken(&hub, &id);
}

/// Ways of a command to look as if a person ran it. `$1` is the number of the approval.
const ATTACKS: &str = r#"
clean="env -i PATH=$PATH HOME=$HOME"
say() { "$@"; echo "exit $?"; }
say hubctl answer $1 allow > out.1 2>&1
say $clean hubctl answer $1 allow > out.2 2>&1
say $clean setsid --wait hubctl answer $1 allow > out.3 2>&1
run="sleep 1; hubctl answer $1 allow; echo exit \$?"
$clean setsid --fork sh -c "$run" > out.4 2>&1
$clean sh -c "{ $run; } > out.5 2>&1 &" > /dev/null 2>&1
$clean setsid sh -c "{ $run; } > out.6 2>&1 &" > /dev/null 2>&1
"#;

#[test]
fn no_command_of_an_agent_gives_a_permission() {
    let hub = InstalledHub::new();
    hub.hooks_allowing(&[], "Bash");
    let ask = json!({ "from": "w2", "type": "approval", "msg": "May I push?" });
    let id = hub.post(ask);
    std::fs::write(hub.project().join("attack.sh"), ATTACKS).expect("a script");
    let run = Reply::bash(&format!("sh attack.sh {id}"));
    let claude = start(&hub, rules([("Attack", run)]));
    claude.submit("Attack");
    for number in 1..=6 {
        let file = hub.project().join(format!("out.{number}"));
        let said = until("an attack has ended", || {
            let said = std::fs::read_to_string(&file).ok()?;
            said.contains("exit ").then_some(said)
        });
        assert!(said.contains("exit 1"), "{number}: {said}");
        let why = said.contains("answered by a person")
            || said.contains("only a person speaks as 'person'");
        assert!(why, "{number}: {said}");
    }
    let open = hub.open_questions();
    assert_eq!(open[0]["state"], "open", "{open:?}");
    hub.hubctl(&["answer", &id.to_string(), "allow"]);
}
