//! The real agents by the Agent Client Protocol, with the hub as their client. Their hooks are installed too, and report
//! nothing twice.

use hub_harness::{Model, Program, until};

use crate::each::{COPILOT, KILO, KIMI, OPENCODE_1, OPENCODE_2, QWEN};
use crate::support::{InstalledHub, installed, no_limits};

mod death;
mod facts;
mod start;
mod turns;

use start::{Agent, Shown, by_link, claude_code, codex_cli, gemini_cli, pi_adapter, run, vendor};

/// Makes tests of each row.
macro_rules! speaks {
    ($($name:ident, asks: $asks:literal, $start:expr $(, $more:literal)*;)+) => {
        $(mod $name {
            use super::*;

            const AGENT: Agent = Agent {
                row: stringify!($name),
                asks: $asks,
                more: &[$($more),*],
                start: $start,
            };

            #[test]
            fn lives_by_the_protocol() {
                lives(&AGENT);
            }

            #[test]
            fn offers_what_is_known_of_it() {
                facts::are_offered(&AGENT);
            }

            #[test]
            fn is_loaded_after_its_death() {
                death::is_survived(&AGENT);
            }
        })+
    };
}

speaks! {
    claude, asks: true, claude_code;
    codex, asks: true, codex_cli;
    gemini, asks: true, gemini_cli;
    opencode_1, asks: true, |hub| vendor(&OPENCODE_1, hub, &["acp"]);
    opencode_2, asks: true, |hub| vendor(&OPENCODE_2, hub, &["acp"]), "--model", "anthropic/claude-sonnet-4-5";
    qwen, asks: true, |hub| by_link(&QWEN, hub, "qwen", "--acp");
    copilot, asks: true, |hub| vendor(&COPILOT, hub, &["--acp"]);
    kimi, asks: true, |hub| by_link(&KIMI, hub, "kimi", "acp");
    kilo, asks: true, |hub| vendor(&KILO, hub, &["acp"]);
    pi, asks: false, pi_adapter;
}

/// Checks the whole life of an agent: a turn, a permission, a wake, a cancel and its end.
fn lives(agent: &Agent) {
    let hub = InstalledHub::without_hooks(no_limits());
    let (model, command, env) = (agent.start)(&hub);
    let model = Shown(model);
    let mut program = run(&hub, agent.more, &command, env);
    answers_a_prompt(&hub, &mut program);
    runs_a_command(&hub, &mut program, agent.asks);
    is_woken(&hub, &model.0);
    is_cancelled(&hub, &mut program, agent.asks);
    assert_eq!(program.ends(), 0);
    until("no process is left", || {
        hub.marker().processes().is_empty().then_some(())
    });
    let sessions = hub.hubctl(&["sessions", "--all", "--json"]);
    assert_eq!(
        sessions.matches("\"phase\":").count(),
        1,
        "one session: {sessions}"
    );
}

fn answers_a_prompt(hub: &InstalledHub, program: &mut Program) {
    program.types("Which fruit?");
    program.until("A scripted fig.");
    hub.published("prompt: Which fruit?");
    hub.published("Agent fig completed: A scripted fig.");
}

/// Lets it run a command, which the hub allows if the agent asks.
fn runs_a_command(hub: &InstalledHub, program: &mut Program, asks: bool) {
    program.types("Make the file");
    if asks {
        let asked = hub.question();
        assert!(
            asked["text"]
                .as_str()
                .is_some_and(|it| it.contains("granted")),
            "{asked}"
        );
        hub.hubctl(&["answer", &asked["id"].to_string(), "allow"]);
    }
    let file = hub.project().join("granted");
    until("the command has run", || file.exists().then_some(()));
    hub.all_published("Agent fig completed", 2);
    assert!(hub.open_questions().is_empty());
}

fn is_woken(hub: &InstalledHub, model: &Model) {
    let id = hub.session("fig")["id"].as_str().expect("an id").to_owned();
    hub.waiter_way(&id, "module");
    let news = hub.send(&id, "tester", "All 42 tests pass");
    model.received_once("\"msg\":\"All 42 tests pass\"");
    hub.step(news, "acked");
    hub.all_published("Agent fig completed", 3);
}

/// Cancels a turn, with its permission open if it asks; the next turn must work.
fn is_cancelled(hub: &InstalledHub, program: &mut Program, asks: bool) {
    program.types("Sleep now");
    let runs = hub.project().join("runs");
    if asks {
        hub.question();
    } else {
        until("it runs", || runs.exists().then_some(()));
    }
    program.interrupt();
    hub.published("Agent fig was interrupted");
    program.types("Wake up");
    program.until("I am awake.");
    hub.all_published("Agent fig completed", 4);
    assert!(hub.open_questions().is_empty());
}

#[test]
fn each_adapter_is_verified_with_the_version_that_the_tests_run() {
    for agent in hub_agents::acp::known() {
        let Some((package, version)) = agent.acp.adapter.and_then(|it| it.rsplit_once('@')) else {
            continue;
        };
        let file = installed::dir()
            .join("node_modules")
            .join(package)
            .join("package.json");
        let text = std::fs::read_to_string(&file).expect("an npm package");
        let found: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(found["version"], version, "{package}");
    }
}
