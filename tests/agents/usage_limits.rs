//! Sessions at the usage limit of their model: they go on by themselves when it ends, once, unless the person was first.

use hub_harness::model::{Reply, Request};
use hub_harness::{Model, until};
use hub_protocol::Timestamp;
use serde_json::Value;

use crate::support::{Claude, Codex, InstalledHub, no_limits};

/// The line with which a session goes on.
const LINE: &str = "Your usage limit has ended: go on with what you were doing.";

/// The time that the person has to go on before the hub does, in seconds.
const AHEAD: i64 = 20;

/// An agent in a terminal.
trait Agent {
    fn model(&self) -> &Model;
    fn submits(&self, prompt: &str);
    /// In how many requests of the conversation this text was new.
    fn times_told(&self, text: &str) -> usize;
}

impl Agent for Claude {
    fn model(&self) -> &Model {
        &self.model
    }

    fn submits(&self, prompt: &str) {
        self.submit(prompt);
    }

    fn times_told(&self, text: &str) -> usize {
        self.model.received(text).len()
    }
}

impl Agent for Codex {
    fn model(&self) -> &Model {
        &self.model
    }

    fn submits(&self, prompt: &str) {
        self.submit(prompt);
    }

    fn times_told(&self, text: &str) -> usize {
        self.requests_with(text)
    }
}

/// A model that refuses to dig a tunnel because of a limit, and does all else.
fn is_limited(request: &Request) -> Reply {
    let asked = |text: &str| request.count_new(text) > 0;
    // What the model has not answered is in its next request too.
    if asked("Dig a tunnel") && !asked(LINE) && !asked("Dig with care") {
        return Reply::Limited(Timestamp::now().as_millis() / 1000 + AHEAD);
    }
    Reply::text("dug")
}

/// The time at which the session that has just reached its limit goes on.
fn resumes_at(hub: &InstalledHub) -> Timestamp {
    let need = until("it is at its limit", || limit(hub));
    assert_eq!(need["resume"]["chosen"], true, "{need}");
    let at = need["resume"]["at"].as_str().expect("a time");
    at.parse().expect("a time")
}

/// Checks that the session goes on after its limit, once.
fn goes_on(hub: &InstalledHub, agent: &impl Agent) {
    agent.submits("Dig a tunnel");
    let at = resumes_at(hub);
    agent.model().until_received(LINE);
    assert!(Timestamp::now() >= at, "it went on before the end");
    hub.state("main", "complete");
    assert_eq!(agent.times_told(LINE), 1);
    assert_eq!(limit(hub), None);
}

/// Checks that the session is told nothing if the person goes on before the limit ends.
fn goes_on_with_the_person(hub: &InstalledHub, agent: &impl Agent) {
    agent.submits("Dig a tunnel");
    let at = resumes_at(hub);
    agent.submits("Dig with care");
    hub.published("Agent main completed: dug");
    assert!(Timestamp::now() < at, "the person was first");
    until("the limit is over", || {
        (Timestamp::now() > at).then_some(())
    });
    let later = hub.send("main", "tester", "news after the limit");
    agent.model().until_received("news after the limit");
    hub.step(later, "acked");
    assert_eq!(agent.times_told(LINE), 0);
    assert!(hub.find_published(LINE).is_empty());
}

/// The need of a session at its limit.
fn limit(hub: &InstalledHub) -> Option<Value> {
    let list: Value = serde_json::from_str(&hub.hubctl(&["needs", "--json"])).expect("JSON");
    let mut all = list["needs"].as_array().expect("a list").iter();
    all.find(|it| it["kind"] == "limit").cloned()
}

/// A hub that lets every session go on.
fn resuming(agent: &str) -> InstalledHub {
    let hub = InstalledHub::without_hooks(no_limits().set("resume_after_limit=true"));
    hub.hubctl(&["hooks", "install", agent]);
    hub
}

#[test]
fn claude_goes_on_when_its_limit_ends() {
    let hub = resuming("claude");
    let claude = hub.claude(is_limited).start();
    goes_on(&hub, &claude);
}

#[test]
fn claude_is_told_nothing_if_the_person_goes_on_before() {
    let hub = resuming("claude");
    let claude = hub.claude(is_limited).start();
    goes_on_with_the_person(&hub, &claude);
}

#[test]
fn codex_goes_on_when_its_limit_ends() {
    let hub = resuming("codex");
    let codex = hub.codex_terminal(&[], is_limited);
    goes_on(&hub, &codex);
}

#[test]
fn codex_is_told_nothing_if_the_person_goes_on_before() {
    let hub = resuming("codex");
    let codex = hub.codex_terminal(&[], is_limited);
    goes_on_with_the_person(&hub, &codex);
}
