//! Questions and permissions of agents other than Claude Code: the person sees them, answers them from the hub where the agent
//! takes an answer, and a decision in the terminal closes them while the command still runs.

use hub_harness::model::{Reply, rules};
use hub_harness::{Hub, until};
use serde_json::{Value, json};

use crate::each::WHICH;
use crate::support::{InstalledHub, Terminal, Vendor};

const PROMPT: &str = "Choose a database";
const ANSWER: &str = "duckdb, says the hub";

/// A command that makes the file `runs`, and ends when the test makes the file `go-on`.
const RUNS: &str = "python3 -c \"import os, time; open('runs', 'w').close(); all(time.sleep(0.05) is None for _ in iter(lambda: os.path.exists('go-on'), True))\"";

fn answer(hub: &InstalledHub, question: &Value, text: &str) {
    let done = hub.try_hubctl(&["answer", &question["id"].to_string(), text]);
    assert!(done.status.success(), "{done:?}");
}

fn file(hub: &InstalledHub, name: &str) {
    let path = hub.project().join(name);
    until(&format!("the file {name} is there"), || {
        path.exists().then_some(())
    });
}

/// A call of a tool with its input as JSON.
fn call((tool, input): (&str, &str)) -> Reply {
    Reply::tool(tool, serde_json::from_str(input).expect("JSON"))
}

/// Answers the question that the agent asks; the model must get the answer.
pub(crate) fn is_answered_from_the_hub(vendor: &Vendor) {
    let hub = InstalledHub::without_hooks(Hub::builder());
    let model = vendor.install(&hub, rules([(PROMPT, call(vendor.tools.asks))]));
    let terminal = vendor.open(&hub, model);
    is_asked_in(&hub, &terminal);
}

fn is_asked_in(hub: &InstalledHub, terminal: &Terminal) {
    let _dashboard = hub.dashboard();
    terminal.submit(PROMPT);
    let asked = is_asked_and_answered(hub);
    terminal.model.until_received(ANSWER);
    hub.published(" completed");
    is_taken(hub, &asked);
}

/// Answers a question that the agent asks in a session, and interrupts its next turn: that is no completion, and the end of the one
/// after it is.
pub(crate) fn is_answered_from_the_hub_and_tells_an_interruption(vendor: &Vendor) {
    let hub = InstalledHub::without_hooks(Hub::builder());
    let sleep = json!({ "command": "touch runs; sleep 100", "description": "Run it" });
    let script = [
        (PROMPT, call(vendor.tools.asks)),
        ("Sleep", Reply::tool(vendor.tools.shell, sleep)),
        ("Wake up", Reply::text("I am awake.")),
    ];
    let model = vendor.install(&hub, rules(script));
    let terminal = vendor.open(&hub, model);
    is_asked_in(&hub, &terminal);
    terminal.submit("Sleep");
    file(&hub, "runs");
    let is_told = |_: &str| !hub.find_published("Agent main was interrupted").is_empty();
    terminal
        .pane
        .press_until("Escape", "it is interrupted", is_told);
    terminal.submit("Wake up");
    hub.published("Agent main completed: I am awake.");
    completes(&hub, 2);
}

/// Waits until an event of the agent told that it used the answer.
fn is_taken(hub: &InstalledHub, asked: &Value) {
    hub.step(asked["id"].as_u64().expect("an id"), "taken");
}

fn is_asked_and_answered(hub: &InstalledHub) -> Value {
    let question = hub.question();
    let text = question["msg"].as_str().expect("a text");
    assert!(text.contains(" asks: Which db?"), "{text}");
    assert_eq!(question["options"], json!(["postgres", "sqlite"]));
    answer(hub, &question, ANSWER);
    question
}

#[test]
fn a_question_of_codex_is_answered_from_the_hub() {
    let hub = InstalledHub::without_hooks(Hub::builder());
    hub.hubctl(&["hooks", "install", "codex"]);
    let script = rules([(PROMPT, call(("request_user_input", WHICH)))]);
    let allowed = [
        "--no-daemon",
        "-c",
        "features.default_mode_request_user_input=true",
    ];
    let codex = hub.codex_terminal(&allowed, script);
    let _dashboard = hub.dashboard();
    codex.submit(PROMPT);
    is_asked_and_answered(&hub);
    codex.model.until_received(ANSWER);
    hub.published(" completed");
}

/// Opens a session that asks for a permission for a command.
fn needs_permission(vendor: &Vendor, command: &str) -> (InstalledHub, Terminal) {
    let (hub, vendor) = (InstalledHub::without_hooks(Hub::builder()), vendor.asking());
    let input = json!({ "command": command, "description": "Do it" });
    let run = Reply::tool(vendor.tools.shell, input);
    let model = vendor.install(&hub, rules([(PROMPT, run)]));
    let terminal = vendor.open(&hub, model);
    (hub, terminal)
}

/// Waits for the question whether the file `granted` may be made.
fn asks_for_file(hub: &InstalledHub) -> Value {
    let asked = hub.question();
    let text = asked["msg"].as_str().expect("a text");
    assert!(text.contains("touch granted"), "{text}");
    asked
}

/// Allows a command from the hub.
pub(crate) fn is_allowed_from_the_hub(vendor: &Vendor) {
    let (hub, terminal) = needs_permission(vendor, "touch granted");
    let _dashboard = hub.dashboard();
    terminal.submit(PROMPT);
    let asked = asks_for_file(&hub);
    answer(&hub, &asked, "allow");
    file(&hub, "granted");
    hub.published(" completed");
    is_taken(&hub, &asked);
}

/// Lets one session ask for permissions, because some agents need longer to start than for all of these decisions.
pub(crate) fn asks_for_permissions(vendor: &Vendor) {
    let (hub, vendor) = (InstalledHub::without_hooks(Hub::builder()), vendor.asking());
    let run = |command: &str| {
        let input = json!({ "command": command, "description": "Run it" });
        Reply::tool(vendor.tools.shell, input)
    };
    let script = [
        ("Do it here", run("touch here")),
        ("Send a subagent", call(vendor.tools.delegates)),
        ("Go and look", run("touch granted")),
        ("Do it once", run("touch granted")),
        ("Do it always", run("touch granted")),
        ("Do it again", run("touch granted")),
    ];
    let model = vendor.install(&hub, rules(script));
    let terminal = vendor.open(&hub, model);
    is_allowed_in_the_terminal(&hub, &terminal, vendor.tools.shell);
    denies_a_subagent(&hub, &terminal, vendor.tools.denied);
    allows_once(&hub, &terminal);
    runs_again_what_is_always_allowed(&hub, &terminal, vendor.tools.always);
}

/// Waits until so many turns have ended.
fn completes(hub: &InstalledHub, turns: usize) {
    hub.all_published("Agent main completed", turns);
}

/// The person decides in the agent's own dialog.
fn is_allowed_in_the_terminal(hub: &InstalledHub, terminal: &Terminal, shell: &str) {
    terminal.submit("Do it here");
    let question = hub.question();
    let text = format!("Agent main needs a permission: {shell}: touch here");
    assert_eq!(question["msg"], text, "{question}");
    let made = hub.project().join("here");
    until("it is allowed", || {
        terminal.pane.press(&["Enter"]);
        made.exists().then_some(())
    });
    completes(hub, 1);
    until("the question is closed", || {
        hub.open_questions().is_empty().then_some(())
    });
}

/// A subagent asks, and its model must read why the person denied it.
fn denies_a_subagent(hub: &InstalledHub, terminal: &Terminal, denied: &str) {
    terminal.submit("Send a subagent");
    let asked = asks_for_file(hub);
    answer(hub, &asked, "deny: not so, says the hub");
    terminal.model.until_received(denied);
    completes(hub, 2);
    is_taken(hub, &asked);
    assert!(hub.open_questions().is_empty());
    assert!(!hub.project().join("granted").exists());
}

fn allows_once(hub: &InstalledHub, terminal: &Terminal) {
    let _dashboard = hub.dashboard();
    terminal.submit("Do it once");
    let asked = asks_for_file(hub);
    answer(hub, &asked, "allow");
    file(hub, "granted");
    completes(hub, 3);
    is_taken(hub, &asked);
}

/// Allows a command always, as the agent offers it; the same command must run again without a question.
fn runs_again_what_is_always_allowed(hub: &InstalledHub, terminal: &Terminal, always: &str) {
    terminal.submit("Do it always");
    let asked = asks_for_file(hub);
    assert_eq!(asked["controls"][0]["always"], always, "{asked}");
    answer(hub, &asked, "allow always");
    completes(hub, 4);
    is_taken(hub, &asked);
    let asked = hub.find_published("needs a permission");
    std::fs::remove_file(hub.project().join("granted")).expect("it was made");
    terminal.submit("Do it again");
    completes(hub, 5);
    file(hub, "granted");
    assert_eq!(hub.find_published("needs a permission"), asked);
}

/// Allows a command in the terminal; the question must be closed while the command runs, and the stop be told.
pub(crate) fn closes_a_permission_before_the_command_ends(vendor: &Vendor) {
    let (hub, terminal) = needs_permission(vendor, RUNS);
    terminal.submit(PROMPT);
    hub.question();
    terminal
        .pane
        .until("the dialog is shown", |it| it.contains(vendor.dialog));
    terminal.pane.press(&["Enter"]);
    file(&hub, "runs");
    until("the question is closed", || {
        hub.open_questions().is_empty().then_some(())
    });
    std::fs::write(hub.project().join("go-on"), "").expect("a file");
    hub.published(" completed");
}

#[test]
fn a_permission_of_codex_is_settled_when_the_person_decides() {
    let hub = InstalledHub::without_hooks(Hub::builder());
    hub.hubctl(&["hooks", "install", "codex"]);
    let asked = json!({ "cmd": RUNS, "sandbox_permissions": "require_escalated", "justification": "to test", "yield_time_ms": 30_000 });
    let codex = hub.codex_terminal(&[], rules([(PROMPT, Reply::tool("exec_command", asked))]));
    codex.submit(PROMPT);
    hub.question();
    let dialog = "Would you like to run the following command?";
    codex
        .pane
        .until("the dialog is shown", |it| it.contains(dialog));
    codex.pane.press(&["y"]);
    file(&hub, "runs");
    until("the question is closed", || {
        hub.open_questions().is_empty().then_some(())
    });
    assert_eq!(hub.session("main")["evidence"], "Codex's app-server");
    std::fs::write(hub.project().join("go-on"), "").expect("a file");
    hub.published(" completed");
}
