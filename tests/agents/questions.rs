//! Questions and permissions of agents other than Claude Code: the person sees them, answers them from the hub where the agent
//! takes an answer, and a decision in the terminal closes them while the command still runs.

use hub_harness::model::{Reply, rules};
use hub_harness::{Hub, until};
use serde_json::{Value, json};

use crate::support::{
    COPILOT, InstalledHub, KIMI, OPENCODE_1, OPENCODE_1_ASKING, OPENCODE_2_ASKING, QWEN, Terminal,
    Vendor,
};

const PROMPT: &str = "Choose a database";
const ANSWER: &str = "duckdb, says the hub";

/// The input of the tool with which most agents ask.
fn which() -> Value {
    json!({ "questions": [{
        "id": "db", "header": "Database", "question": "Which db?",
        "options": [{ "label": "postgres", "description": "big" }, { "label": "sqlite", "description": "small" }],
    }] })
}

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

/// Answers the question that this tool asks; the model must get the answer.
fn is_answered(vendor: &Vendor, tool: &str, input: Value) {
    let hub = InstalledHub::without_hooks(Hub::builder());
    let model = vendor.install(&hub, rules([(PROMPT, Reply::tool(tool, input))]));
    let terminal = vendor.open(&hub, model);
    let _dashboard = hub.dashboard();
    terminal.submit(PROMPT);
    let asked = is_asked_and_answered(&hub);
    terminal.model.until_received(ANSWER);
    hub.published(" completed");
    is_taken(&hub, &asked);
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
    let script = rules([(PROMPT, Reply::tool("request_user_input", which()))]);
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

#[test]
fn a_question_of_qwen_code_is_answered_from_the_hub() {
    is_answered(&QWEN, "ask_user_question", which());
}

#[test]
fn a_question_of_kimi_code_is_answered_from_the_hub() {
    let mut input = which();
    // Kimi Code refuses what it does not know.
    let question = input["questions"][0].as_object_mut().expect("a question");
    question.remove("id");
    is_answered(&KIMI, "AskUserQuestion", input);
}

#[test]
fn a_question_of_opencode_1_is_answered_from_the_hub() {
    is_answered(&OPENCODE_1, "question", which());
}

#[test]
fn a_question_of_copilot_cli_is_answered_from_the_hub() {
    let schema = json!({ "type": "object", "required": ["db"],
        "properties": { "db": { "type": "string", "enum": ["postgres", "sqlite"] } } });
    let input = json!({ "message": "Which db?", "requestedSchema": schema });
    is_answered(&COPILOT, "ask_user", input);
}

/// Opens a session that asks for a permission for a command.
fn needs_permission(vendor: &Vendor, tool: &str, command: &str) -> (InstalledHub, Terminal) {
    let hub = InstalledHub::without_hooks(Hub::builder());
    let input = json!({ "command": command, "description": "Do it" });
    let model = vendor.install(&hub, rules([(PROMPT, Reply::tool(tool, input))]));
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
fn is_allowed(vendor: &Vendor, tool: &str) {
    let (hub, terminal) = needs_permission(vendor, tool, "touch granted");
    let _dashboard = hub.dashboard();
    terminal.submit(PROMPT);
    let asked = asks_for_file(&hub);
    answer(&hub, &asked, "allow");
    file(&hub, "granted");
    hub.published(" completed");
    is_taken(&hub, &asked);
}

#[test]
fn a_permission_of_copilot_cli_is_given_from_the_hub() {
    is_allowed(&COPILOT, "bash");
}

#[test]
fn a_permission_of_opencode_1_is_given_from_the_hub() {
    is_allowed(&OPENCODE_1_ASKING, "bash");
}

#[test]
fn a_permission_of_opencode_2_is_given_from_the_hub() {
    is_allowed(&OPENCODE_2_ASKING, "shell");
}

/// Allows a command always, as the agent offers it in these words; the same command must run again without a question.
fn is_allowed_always(vendor: &Vendor, tool: &str, offer: &str) {
    let hub = InstalledHub::without_hooks(Hub::builder());
    let touch = || {
        Reply::tool(
            tool,
            json!({ "command": "touch granted", "description": "Do it" }),
        )
    };
    let script = rules([("First", touch()), ("Second", touch())]);
    let model = vendor.install(&hub, script);
    let terminal = vendor.open(&hub, model);
    terminal.submit("First");
    let asked = asks_for_file(&hub);
    assert_eq!(asked["controls"][0]["always"], offer, "{asked}");
    answer(&hub, &asked, "allow always");
    hub.all_published(" completed", 1);
    is_taken(&hub, &asked);
    std::fs::remove_file(hub.project().join("granted")).expect("it was made");
    terminal.submit("Second");
    hub.all_published(" completed", 2);
    file(&hub, "granted");
    assert_eq!(hub.all_published("needs a permission", 1).len(), 1);
}

#[test]
fn a_command_that_opencode_1_may_run_until_it_ends_is_not_asked_for_again() {
    let offer = "bash(touch *) until OpenCode is restarted";
    is_allowed_always(&OPENCODE_1_ASKING, "bash", offer);
}

#[test]
fn a_command_that_opencode_2_may_run_in_the_project_is_not_asked_for_again() {
    let offer = "shell(touch *) in this project, for good";
    is_allowed_always(&OPENCODE_2_ASKING, "shell", offer);
}

/// Lets a subagent ask for a permission, and denies it; the subagent must get this text.
fn is_denied_to_a_subagent(
    vendor: &Vendor,
    (delegate, input): (&str, Value),
    (tool, told): (&str, &str),
) {
    let hub = InstalledHub::without_hooks(Hub::builder());
    let command = json!({ "command": "touch granted", "description": "Do it" });
    let script = [
        (PROMPT, Reply::tool(delegate, input)),
        ("Go and look", Reply::tool(tool, command)),
    ];
    let model = vendor.install(&hub, rules(script));
    let terminal = vendor.open(&hub, model);
    terminal.submit(PROMPT);
    let asked = asks_for_file(&hub);
    answer(&hub, &asked, "deny: not so, says the hub");
    terminal.model.until_received(told);
    hub.published(" completed");
    is_taken(&hub, &asked);
    assert!(hub.open_questions().is_empty());
    assert!(!hub.project().join("granted").exists());
}

#[test]
fn a_permission_of_a_subagent_of_opencode_1_is_its_sessions() {
    let input =
        json!({ "description": "look", "prompt": "Go and look", "subagent_type": "general" });
    is_denied_to_a_subagent(
        &OPENCODE_1_ASKING,
        ("task", input),
        ("bash", "not so, says the hub"),
    );
}

#[test]
fn a_permission_of_a_subagent_of_opencode_2_is_its_sessions() {
    let input = json!({ "description": "look", "prompt": "Go and look", "agent": "general" });
    is_denied_to_a_subagent(
        &OPENCODE_2_ASKING,
        ("subagent", input),
        ("shell", "Unable to execute command"),
    );
}

/// Allows a command in the terminal; the question must be closed while the command runs, and the stop be told.
fn closes_while_it_runs(vendor: &Vendor, tool: &str, dialog: &str) {
    let (hub, terminal) = needs_permission(vendor, tool, RUNS);
    terminal.submit(PROMPT);
    hub.question();
    terminal
        .pane
        .until("the dialog is shown", |it| it.contains(dialog));
    terminal.pane.press(&["Enter"]);
    file(&hub, "runs");
    until("the question is closed", || {
        hub.open_questions().is_empty().then_some(())
    });
    std::fs::write(hub.project().join("go-on"), "").expect("a file");
    hub.published(" completed");
}

#[test]
fn a_permission_of_qwen_code_is_settled_when_the_command_starts() {
    closes_while_it_runs(&QWEN, "run_shell_command", "Allow execution of");
}

#[test]
fn a_permission_of_kimi_code_is_settled_when_the_person_decides() {
    closes_while_it_runs(&KIMI, "Bash", "Run this command?");
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
