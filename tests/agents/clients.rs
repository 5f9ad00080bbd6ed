//! The agents other than Claude Code, Codex CLI and Gemini CLI: each reports its turns, receives what is pending, and is
//! woken if it can be.

use hub_agents::Agent;
use hub_harness::Hub;
use hub_harness::model::{Reply, rules};
use serde_json::{Value, json};

use crate::each;
use crate::support::{InstalledHub, Series, Terminal, Vendor, installed, no_limits};

/// Lets the agent answer one prompt while a notification is pending for it.
pub(crate) fn receives_what_is_pending(vendor: &Vendor) {
    receives(vendor);
}

/// Does that; returns the notification.
fn receives(vendor: &Vendor) -> (InstalledHub, u64) {
    let hub = InstalledHub::without_hooks(Hub::builder());
    let model = vendor.install(
        &hub,
        rules([("Which fruit?", Reply::text("A scripted fig."))]),
    );
    let pending = hub.send("primary", "tester", "news for the primary");
    let printed = vendor.ask(&hub, &model, "Which fruit?");
    assert!(printed.contains("A scripted fig."), "{printed}");
    let sessions = hub.hubctl(&["sessions", "--all", "--json"]);
    let agent = format!("\"agent\":\"{}\"", vendor.agent);
    assert_eq!(sessions.matches(&agent).count(), 1, "{sessions}");
    assert_eq!(model.received("\"msg\":\"news for the primary\""), [0]);
    (hub, pending)
}

/// Also the end of the turn must be told.
pub(crate) fn reports_a_turn_and_receives_what_is_pending(vendor: &Vendor) {
    let (hub, pending) = receives(vendor);
    assert_eq!(hub.step(pending, "acked")["by"], "resumed");
    hub.published("Agent main completed");
}

/// An agent in a terminal, idle after its first turn, whose extension polls the hub.
struct Idle {
    terminal: Terminal,
    hub: InstalledHub,
    /// The command of a turn that waits until this file exists.
    go_on: std::path::PathBuf,
}

impl Idle {
    fn start(vendor: &Vendor) -> Self {
        let hub = InstalledHub::without_hooks(no_limits());
        let go_on = hub.path("go-on");
        let run = |command: &str| {
            Reply::tool(
                vendor.tools.shell,
                json!({"command": command, "description": "Run it"}),
            )
        };
        let wait = format!("until [ -e {} ]; do sleep 0.05; done", go_on.display());
        let script = [
            ("Say it", run("hubctl notify \"said in $HUB_SESSION\"")),
            ("Wait until told", run(&wait)),
        ];
        let model = vendor.install(&hub, rules(script));
        let terminal = vendor.open(&hub, model);
        terminal.submit("Say it");
        hub.published("Agent main completed");
        hub.waiter_way("primary", "module");
        Self {
            terminal,
            hub,
            go_on,
        }
    }

    /// Checks that the session's shell acted as the session, and that its prompt is known.
    fn acts_as_its_session(&self) {
        let id = self.hub.session("main")["id"].clone();
        self.hub
            .published(&format!("said in {}", id.as_str().expect("an id")));
        self.hub.published("prompt: Say it");
    }

    /// Wakes the idle session.
    fn is_woken(&self) {
        let (hub, terminal) = (&self.hub, &self.terminal);
        let id = hub.send("primary", "builder", "All 42 tests pass\nsecond line");
        terminal.model.until_received("second line");
        let text = "Notifications from the hub are pending: 1 × message.";
        terminal
            .pane
            .until("the person sees it", |it| it.contains(text));
        hub.step(id, "acked");
        let steps = hub.trace(id);
        let states: Vec<_> = steps.iter().map(|it| (&it["state"], &it["way"])).collect();
        let (module, hook) = (json!("module"), json!("hook"));
        let wanted = [
            (&json!("stored"), &Value::Null),
            (&json!("emitted"), &module),
            (&json!("emitted"), &hook),
            (&json!("acked"), &Value::Null),
        ];
        assert_eq!(states, wanted);
        terminal.model.received_once("second line");
        hub.published("woken");
    }

    /// Sends notifications during a turn. The model gets each once, and only then they are acknowledged.
    fn receives_in_a_turn(&self) {
        let (hub, model) = (&self.hub, &self.terminal.model);
        self.terminal.submit("Wait until told");
        let texts = ["first news.", "more news.", "last news."];
        let ids = texts.map(|text| hub.send("primary", "tester", text));
        assert!(ids.iter().all(|id| hub.trace(*id)[0]["state"] == "stored"));
        std::fs::write(&self.go_on, "").expect("a file");
        for (id, text) in ids.into_iter().zip(texts) {
            hub.step(id, "acked");
            let json = format!("\"msg\":\"{text}\"");
            model.received_once(&json);
        }
        // The person's prompt interrupted a poll.
        hub.waiter_way("primary", "module");
    }
}

/// Checks the whole life of a session that an extension wakes, and at last a series of wakes. One session, because some agents
/// need longer to start than for all of this.
pub(crate) fn gets_news_in_a_turn_and_a_series_of_wakes_by_the_module_loses_and_doubles_none(
    vendor: &Vendor,
) {
    let Some(series) = Series::of(vendor.agent, vendor.package(), "module") else {
        return;
    };
    let idle = Idle::start(vendor);
    idle.acts_as_its_session();
    idle.is_woken();
    idle.receives_in_a_turn();
    series.run(&idle.hub, &idle.terminal.model, ("primary", "1s"));
}

/// The versions of the programs that the tests run, by their agents.
fn run_here() -> Vec<(Agent, String)> {
    let claude = installed::claude();
    let others = [
        (
            Agent::Claude,
            claude.parent().expect("a package").to_owned(),
        ),
        (Agent::Codex, installed::package("@openai/codex")),
        (Agent::Gemini, installed::package("@google/gemini-cli")),
    ];
    let each = each::ALL.iter().map(|it| (it.agent, it.package()));
    let all = each
        .chain(others)
        .map(|(agent, package)| (agent, installed::version(&package)));
    all.collect()
}

#[test]
fn each_agent_is_verified_with_the_versions_that_the_tests_run() {
    let run = run_here();
    for agent in Agent::ALL {
        let of_agent = run.iter().filter(|it| it.0 == agent);
        let versions: Vec<&str> = of_agent.map(|it| it.1.as_str()).collect();
        let versions = (!versions.is_empty()).then(|| versions.join(" and "));
        assert_eq!(agent.facts().verified(), versions, "{agent}");
    }
}
