//! Headless sessions: they end as fast as without the hub, and their stop wakes the primary.

use std::collections::BTreeSet;
use std::path::Path;

use hub_harness::Model;
use hub_harness::model::{Reply, Request, turns};
use serde_json::Map;

use crate::support::{Claude, InstalledHub, installed};

/// The sentence of the instructions that asks a session to keep a waiter running.
const WAIT: &str = "keep one `hubctl wait` running";
const ONE_PROMPT: &str = "You answer one prompt and end";
/// The words for a session that a program runs: a program that sends one prompt looks like one that sends several.
const HOSTED: &str = "As long as it keeps you running, the hub wakes you";

fn answers(text: &str) -> impl Fn(&Request) -> Reply + use<> {
    turns([Reply::text(text)])
}

/// Starts the primary in a terminal, idle, with its waiter.
fn primary(hub: &InstalledHub) -> Claude {
    let primary = hub.claude(turns([])).named("primary").start();
    hub.waiter("primary", "rewake");
    primary
}

/// Runs a headless session with this model; returns what `run` does. Asserts that its stop with `text` woke the primary once,
/// in a turn of its own, and that the session was told `how` it is woken, neither was told to wait nor had a waiter, which would
/// keep an Agent SDK's `query()` open for 30 s.
fn wakes<T>(
    hub: &InstalledHub,
    primary: &Claude,
    (text, how): (&str, &str),
    run: impl FnOnce() -> (T, Model),
) -> T {
    let mut presence = hub.presence();
    let (done, shot) = run();
    let id = hub.published(text);
    primary.woken_by(text);
    let steps = hub.trace(id);
    assert!(steps[0]["rides_along"].is_null(), "{steps:?}");
    assert_eq!(hub.step(id, "emitted")["way"], "rewake");
    primary.model.received_once(text);
    let first = &shot.requests()[0];
    let told = |text: &str| first.body.to_string().matches(text).count();
    assert_eq!((told(WAIT), told(how)), (0, 1));
    hub.waiter("primary", "rewake");
    assert_eq!(
        hub.waited_in_vain(&mut presence, "primary"),
        BTreeSet::new()
    );
    done
}

#[test]
fn an_agent_sdk_program_ends_at_once_and_its_stop_wakes_the_primary() {
    let hub = InstalledHub::new();
    let primary = primary(&hub);
    let script = format!("{}/../tests/agents/sdk.mjs", env!("CARGO_MANIFEST_DIR"));
    let dir = installed::dir().display().to_string();
    let claude = installed::claude().display().to_string();
    for entrypoint in ["sdk-ts", "sdk-py", "from-the-future"] {
        let text = format!("A scripted fig of {entrypoint}.");
        let printed = wakes(&hub, &primary, (&text, HOSTED), || {
            let model = Model::start(answers(&text));
            let args = [&*script, &dir, &claude, entrypoint, "Which fruit?"];
            let url = model.url();
            let env = [("ANTHROPIC_BASE_URL", url.as_str())];
            (hub.run(Path::new("node"), &args, &env), model)
        });
        assert_eq!(printed.trim(), text);
    }
}

#[test]
fn the_stop_of_a_headless_claude_wakes_the_primary_also_with_a_question() {
    let hub = InstalledHub::new();
    let primary = primary(&hub);
    for (answer, text) in [
        ("A scripted quince.", "A scripted quince."),
        ("Shall I push it?", "waiting for input: Shall I push it?"),
    ] {
        let output = wakes(&hub, &primary, (text, ONE_PROMPT), || {
            hub.claude(answers(answer)).headless("Which fruit?")
        });
        assert!(output.status.success(), "{output:?}");
    }
}

/// Lets a headless agent answer twice.
fn each_stop_wakes(agent: &str, run: impl Fn(&InstalledHub, &Model) -> String) {
    let hub = InstalledHub::new();
    let primary = primary(&hub);
    hub.gemini_settings(&Map::new());
    hub.hubctl(&["hooks", "install", agent]);
    for fruit in ["pear", "plum"] {
        let text = format!("A scripted {fruit}.");
        wakes(&hub, &primary, (&text, ONE_PROMPT), || {
            let model = Model::start(answers(&text));
            (run(&hub, &model), model)
        });
    }
}

#[test]
fn the_stop_of_codex_exec_wakes_the_primary() {
    each_stop_wakes("codex", |hub, model| hub.codex(model, &[], "Which fruit?"));
}

#[test]
fn the_stop_of_gemini_with_a_prompt_wakes_the_primary() {
    each_stop_wakes("gemini", |hub, model| {
        hub.gemini(model, &[], "Which fruit?")
    });
}

#[test]
fn a_typed_turn_wakes_the_primary_unless_the_person_has_it_in_view() {
    let hub = InstalledHub::new();
    let primary = primary(&hub);
    let [dir] = hub.worktrees(["builder"]);
    let worker = hub.claude(turns([])).named("builder").within(dir).start();
    hub.session("builder");

    worker.submit("Build it");
    let id = hub.published("Agent builder completed");
    primary.model.until_received("Agent builder completed");
    assert!(hub.trace(id)[0]["rides_along"].is_null());
    hub.waiter("primary", "rewake");

    // From here on a person has the worker's terminal in view, and types there.
    let terminal = worker.pane.attach(&hub.path("terminal"));
    terminal.type_in("Build it again");
    terminal.press(&["Enter"]);
    let again = hub.all_published("Agent builder completed", 2)[0];
    let step = &hub.trace(again)[0];
    assert_eq!(step["inbox"], "primary");
    assert_eq!(step["rides_along"], "the person has this session in view");
    let trace = hub.hubctl(&["trace", &again.to_string()]);
    let reason = "rides along: the person has this session in view";
    assert!(trace.contains(reason), "{trace}");
    // The stop is delivered with the next wake.
    hub.send("primary", "tester", "something that wakes");
    let woken = primary.model.until_received("something that wakes");
    assert_eq!(woken.count_new("Agent builder completed"), 1);
}
