//! A permission of a real agent is given by a press of a button on the page, in a real browser.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

use hub_harness::model::{Reply, rules};
use hub_harness::{Hub, until};
use serde_json::json;

use crate::each::OPENCODE_1;
use crate::support::InstalledHub;

const PROMPT: &str = "Make the file";
const COMMAND: &str = "touch granted";

/// A browser that shows the page, and presses a button there. It ends with its stdin.
struct Person {
    browser: Child,
    says: BufReader<ChildStdout>,
}

impl Person {
    /// Opens the page, and waits until it is connected to the hub.
    fn at(hub: &InstalledHub, button: &str) -> Self {
        let link = hub.hubctl(&["dashboard", "--print"]);
        let script = format!(
            "{}/../tests/browser/support/click.js",
            env!("CARGO_MANIFEST_DIR")
        );
        let mut command = hub.command(Path::new("node"), &[&script, link.trim(), button]);
        if let Some(target) = std::env::var_os("CARGO_TARGET_DIR") {
            command.env("CARGO_TARGET_DIR", target);
        }
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut browser = command.spawn().expect("node");
        let says = BufReader::new(browser.stdout.take().expect("a pipe"));
        let mut person = Self { browser, says };
        person.until_said("open");
        person
    }

    fn until_said(&mut self, word: &str) {
        let mut lines = self.says.by_ref().lines().map_while(Result::ok);
        assert!(
            lines.any(|it| it == word),
            "the browser ended before {word}"
        );
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        drop(self.browser.stdin.take());
        let _ = self.browser.wait();
    }
}

/// The agent must go on with what the button allows, and the hub learn that it did.
fn goes_on(hub: &InstalledHub, mut person: Person) {
    let asked = hub.question();
    person.until_said("pressed");
    let made = hub.project().join("granted");
    until("the command ran", || made.exists().then_some(()));
    hub.published(" completed");
    let steps = hub.trace(asked["id"].as_u64().expect("an id"));
    let settled = steps.iter().any(|it| it["state"] == "delivered");
    assert!(settled, "{steps:?}");
}

#[test]
fn a_permission_of_claude_code_is_given_on_the_page() {
    let hub = InstalledHub::new();
    let claude = hub.claude(rules([(PROMPT, Reply::bash(COMMAND))])).start();
    hub.waiter("primary", "rewake");
    let person = Person::at(&hub, "Approve, main");
    claude.submit(PROMPT);
    goes_on(&hub, person);
}

#[test]
fn a_permission_of_codex_is_given_on_the_page() {
    let hub = InstalledHub::without_hooks(Hub::builder());
    hub.hubctl(&["hooks", "install", "codex"]);
    let asks = json!({ "cmd": COMMAND, "sandbox_permissions": "require_escalated", "justification": "to test" });
    let script = rules([(PROMPT, Reply::tool("exec_command", asks))]);
    let codex = hub.codex_terminal(&[], script);
    let person = Person::at(&hub, "Approve, main");
    codex.submit(PROMPT);
    goes_on(&hub, person);
}

#[test]
fn a_permission_of_opencode_is_given_on_the_page() {
    let hub = InstalledHub::without_hooks(Hub::builder());
    let asks = json!({ "command": COMMAND, "description": "Make it" });
    let script = rules([(PROMPT, Reply::tool("bash", asks))]);
    let vendor = OPENCODE_1.asking();
    let model = vendor.install(&hub, script);
    let terminal = vendor.open(&hub, model);
    let person = Person::at(&hub, "Approve, main");
    terminal.submit(PROMPT);
    goes_on(&hub, person);
}
