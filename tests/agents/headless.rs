//! Headless sessions: they end as fast as without the hub, and their stop wakes the primary.

use std::path::Path;
use std::time::Duration;

use hub_harness::Model;
use hub_harness::model::{Reply, turns};
use serde_json::json;

use crate::support::{Central, Claude, Desk, installed};

/// The sentence of the instructions that asks a session to keep a waiter running.
const WAIT: &str = "keep one `hubctl wait` running";
const ONE_PROMPT: &str = "You answer one prompt and end";

/// A rewake waiter keeps an Agent SDK's `query()` open for 30 s.
const NO_HANG: Duration = Duration::from_secs(20);

fn answers(text: &str) -> Model {
    Model::start(turns([Reply::text(text)]))
}

/// Starts the primary in a terminal, idle, with its waiter.
fn primary(desk: &Desk, central: &Central<'_>) -> Claude {
    central.install(&[]);
    let primary = desk.claude(Model::start(turns([]))).named("primary");
    let primary = primary.start();
    central.waiter("primary", "rewake");
    primary
}

/// Asserts that the session ended as soon as the model had answered.
fn assert_ended_at_once(model: &Model) {
    let last = model.requests().last().expect("a request").at;
    let took = last.elapsed();
    assert!(took < NO_HANG, "{took:?}");
}

/// Asserts that the stop with `text` woke the primary once, in a turn of its own, and that the headless session was not
/// told to wait.
fn assert_woke(central: &Central<'_>, primary: &Claude, shot: &Model, text: &str) {
    let id = central.said(text);
    let woken = primary.model.until_told(text);
    assert!(woken.tells("<task-notification>") > 0, "{:?}", woken.news);
    let steps = central.trace(id);
    assert!(steps[0]["rides_along"].is_null(), "{steps:?}");
    assert_eq!(central.step(id, "emitted")["way"], "rewake");
    assert_eq!(primary.model.told(text).len(), 1);
    let first = &shot.requests()[0];
    let told = |text: &str| first.body.to_string().matches(text).count();
    assert_eq!((told(WAIT), told(ONE_PROMPT)), (0, 1));
}

#[test]
fn an_agent_sdk_program_ends_at_once_and_its_stop_wakes_the_primary() {
    let desk = Desk::new();
    let central = Central::new(&desk);
    let primary = primary(&desk, &central);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/agents/sdk.mjs");
    let dir = installed::dir().display().to_string();
    let claude = installed::claude().display().to_string();
    for entrypoint in ["sdk-ts", "sdk-py", "from-the-future"] {
        let text = format!("A scripted fig of {entrypoint}.");
        let model = answers(&text);
        let args = [
            &script.display().to_string(),
            &dir,
            &claude,
            entrypoint,
            "Which fruit?",
        ];
        let url = model.url();
        let env = [("ANTHROPIC_BASE_URL", url.as_str())];
        let printed = desk.run(Path::new("node"), &args, &env);
        assert_ended_at_once(&model);
        assert_eq!(printed.trim(), text);
        assert_woke(&central, &primary, &model, &text);
        central.waiter("primary", "rewake");
    }
}

#[test]
fn the_stop_of_a_headless_claude_wakes_the_primary() {
    let desk = Desk::new();
    let central = Central::new(&desk);
    let primary = primary(&desk, &central);
    let (output, model) = desk
        .claude(answers("A scripted quince."))
        .headless("Which fruit?");
    assert!(output.status.success(), "{output:?}");
    assert_ended_at_once(&model);
    assert_woke(&central, &primary, &model, "A scripted quince.");
}

#[test]
fn a_headless_claude_that_ends_with_a_question_wakes_the_primary() {
    let desk = Desk::new();
    let central = Central::new(&desk);
    let primary = primary(&desk, &central);
    let model = answers("Shall I push the medlar?");
    let (_, model) = desk.claude(model).headless("Which fruit?");
    assert_woke(
        &central,
        &primary,
        &model,
        "waiting for input: Shall I push the medlar?",
    );
}

#[test]
fn the_stop_of_codex_exec_wakes_the_primary() {
    let desk = Desk::new();
    let central = Central::new(&desk);
    let primary = primary(&desk, &central);
    central.hubctl(&["hooks", "install", "codex"]);
    for fruit in ["pear", "plum"] {
        let text = format!("A scripted {fruit}.");
        let model = answers(&text);
        let config = format!(
            "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"scripted\"\n\
             base_url = \"{}/v1\"\nwire_api = \"responses\"\nenv_key = \"SCRIPTED_KEY\"\n",
            model.url()
        );
        desk.write_home(".codex/config.toml", &config);
        let args = ["exec", "--dangerously-bypass-hook-trust", "Which fruit?"];
        desk.run(&installed::linked("codex"), &args, &[("SCRIPTED_KEY", "x")]);
        assert_woke(&central, &primary, &model, &text);
        central.waiter("primary", "rewake");
    }
}

#[test]
fn the_stop_of_gemini_with_a_prompt_wakes_the_primary() {
    let desk = Desk::new();
    let central = Central::new(&desk);
    let primary = primary(&desk, &central);
    let settings = json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
        "general": {"enableAutoUpdate": false},
        "privacy": {"usageStatisticsEnabled": false},
    });
    desk.write_home(".gemini/settings.json", &settings.to_string());
    central.hubctl(&["hooks", "install", "gemini"]);
    for fruit in ["pear", "plum"] {
        let text = format!("A scripted {fruit}.");
        let model = answers(&text);
        let url = model.url();
        let env = [
            ("GEMINI_API_KEY", "x"),
            ("GOOGLE_GEMINI_BASE_URL", url.as_str()),
        ];
        let args = [
            "--model=gemini-2.5-pro",
            "--skip-trust",
            "-p",
            "Which fruit?",
        ];
        desk.run(&installed::linked("gemini"), &args, &env);
        assert_woke(&central, &primary, &model, &text);
        central.waiter("primary", "rewake");
    }
}

#[test]
fn a_typed_turn_wakes_the_primary_unless_the_person_has_it_in_view() {
    let desk = Desk::new();
    let central = Central::new(&desk);
    let primary = primary(&desk, &central);
    let [dir] = central.worktrees(["builder"]);
    let worker = desk
        .claude(Model::start(turns([])))
        .named("builder")
        .within(dir);
    let worker = worker.start();
    central.session("builder");

    worker.say("Build it");
    let id = central.said("Agent builder completed");
    primary.model.until_told("Agent builder completed");
    assert!(central.trace(id)[0]["rides_along"].is_null());
    central.waiter("primary", "rewake");

    // From here on a person has the worker's terminal in view, and types there.
    let terminal = worker.pane.attach(&desk.path("terminal"));
    terminal.type_in("Build it again");
    terminal.press(&["Enter"]);
    let again = central.all_said("Agent builder completed", 2)[0];
    let step = &central.trace(again)[0];
    assert_eq!(step["inbox"], "primary");
    assert_eq!(step["rides_along"], "the person has this session in view");
    let trace = central.hubctl(&["trace", &again.to_string()]);
    assert!(
        trace.contains("rides along: the person has this session in view"),
        "{trace}"
    );
    // The stop is delivered with the next wake.
    central.tell("primary", "tester", "something that wakes");
    let woken = primary.model.until_told("something that wakes");
    assert_eq!(woken.tells("Agent builder completed"), 1);
}
