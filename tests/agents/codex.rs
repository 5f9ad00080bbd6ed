//! Codex in a terminal: the hub wakes its idle threads through its app-server, and answers nothing for the person.

use std::collections::BTreeMap;

use hub_agents::Agent;
use hub_harness::model::{Reply, rules, turns};
use hub_harness::until;
use serde_json::{Value, json};

use crate::support::{Codex, InstalledHub, Series, installed, no_limits};

fn installed() -> InstalledHub {
    let hub = InstalledHub::without_hooks(no_limits());
    hub.hubctl(&["hooks", "install", "codex"]);
    hub
}

/// Sends the first prompt, because Codex reports a session no earlier.
fn greet(hub: &InstalledHub, codex: &Codex) {
    codex.submit("Hello");
    hub.state("main", "complete");
}

/// The states of a notification's deliveries, each with its way.
fn steps(hub: &InstalledHub, id: u64) -> Vec<String> {
    let step = |it: &Value| match it["way"].as_str() {
        Some(way) => format!("{} {way}", it["state"].as_str().expect("a state")),
        None => it["state"].as_str().expect("a state").to_owned(),
    };
    hub.trace(id).iter().map(step).collect()
}

const BY_APP_SERVER: [&str; 3] = ["stored", "emitted app_server", "acked"];
const BY_HOOK: [&str; 3] = ["stored", "emitted hook", "acked"];

/// A command that runs until the test creates the file `go-on`; it creates `go-on-waits`.
fn works(hub: &InstalledHub) -> Reply {
    let go_on = hub.project().join("go-on").display().to_string();
    let command = format!("touch {go_on}-waits; until [ -e {go_on} ]; do sleep 0.05; done");
    Reply::tool(
        "exec_command",
        json!({"cmd": command, "yield_time_ms": 30_000}),
    )
}

/// Waits until the command of [`works`] runs. Codex counts a turn as active and lists it only from its first item on.
fn until_it_works(hub: &InstalledHub) {
    until("the command runs", || {
        hub.project().join("go-on-waits").exists().then_some(())
    });
}

/// Waits until the session shows that the hub cannot wake it, for a reason that contains `why`.
fn until_unreachable(hub: &InstalledHub, why: &str) {
    until(&format!("the session is unreachable: {why}"), || {
        let session = hub.session("main");
        let found = session["unreachable"].as_str().map(str::to_owned);
        found.filter(|it| it.contains(why)).map(drop)
    });
    let listed = hub.hubctl(&["sessions"]);
    assert!(
        listed.contains("the hub cannot wake main: ") && listed.contains(why),
        "{listed}"
    );
}

#[test]
fn an_idle_session_is_woken_by_one_turn_for_many_notifications() {
    let hub = installed();
    let codex = hub.codex_terminal(&[], turns([]));
    greet(&hub, &codex);
    hub.waiter_way("primary", "app_server");
    let texts: Vec<String> = (0..5).map(|n| format!("news number {n}.")).collect();
    let ids = hub.send_all("primary", "builder", &texts);
    let woken = codex.model.until_received(&texts[0]);
    for (id, text) in ids.iter().zip(&texts) {
        hub.step(*id, "acked");
        assert_eq!(steps(&hub, *id), BY_APP_SERVER);
        assert_eq!(woken.count_new(text), 1, "{:?}", woken.new_texts);
        assert_eq!(codex.requests_with(text), 1);
    }
    codex.pane.until("the wake is shown", |it| {
        it.contains("Notifications from the hub")
    });
    hub.published("woken");
}

#[test]
fn a_busy_session_gets_a_notification_once_from_its_hook() {
    let hub = installed();
    let codex = hub.codex_terminal(&[], rules([("Dig a tunnel", works(&hub))]));
    greet(&hub, &codex);
    codex.submit("Dig a tunnel");
    hub.state("main", "working");
    until_it_works(&hub);
    let id = hub.send("primary", "builder", "news in between");
    std::fs::write(hub.project().join("go-on"), "").expect("a file");
    codex.model.until_received("news in between");
    hub.step(id, "acked");
    assert_eq!(steps(&hub, id), BY_HOOK);
    assert_eq!(codex.requests_with("news in between"), 1);
}

#[test]
fn a_session_that_the_person_interrupted_is_paused_and_says_so() {
    let hub = installed();
    let codex = hub.codex_terminal(&[], rules([("Dig a tunnel", works(&hub))]));
    greet(&hub, &codex);
    codex.submit("Dig a tunnel");
    until_it_works(&hub);
    codex.pane.press(&["Escape"]);
    until_unreachable(&hub, "paused: the person interrupted the last turn");
    let id = hub.send("primary", "builder", "news after Escape");
    let step = hub.step(id, "unreachable");
    let why = step["why"].as_str().expect("a reason");
    assert!(why.contains("paused"), "{why}");
    let told = hub.try_hubctl(&["wake-test", "primary", "--patience", "1s"]);
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("not woken: paused"), "{told}");
    assert_eq!(codex.requests_with("news after Escape"), 0);
    codex.submit("Dig no more");
    hub.step(id, "acked");
    assert_eq!(steps(&hub, id), BY_HOOK);
    assert_eq!(codex.requests_with("news after Escape"), 1);
    hub.waiter_way("primary", "app_server");
}

#[test]
fn a_thread_that_no_app_server_has_loaded_is_unreachable_and_says_so() {
    let hub = installed();
    let codex = hub.codex_terminal(&["--no-daemon"], turns([]));
    greet(&hub, &codex);
    until_unreachable(&hub, "app-server does not run");
    // The app-server of another terminal does not have the thread either.
    let _other = hub.codex_pane("other", &[], &[]);
    codex.submit("Hello again");
    until_unreachable(&hub, "not loaded in Codex's app-server");
}

#[test]
fn an_open_permission_is_left_to_the_person() {
    let hub = installed();
    let asked = json!({"cmd": "touch granted", "sandbox_permissions": "require_escalated", "justification": "to test"});
    let script = [("Grant a file", Reply::tool("exec_command", asked))];
    let codex = hub.codex_terminal(&[], rules(script));
    greet(&hub, &codex);
    codex.submit("Grant a file");
    let dialog = "Would you like to run the following command?";
    codex
        .pane
        .until("the dialog is shown", |it| it.contains(dialog));
    let id = hub.send("primary", "builder", "news during a dialog");
    until("the hub has considered it", || {
        (hub.session("main")["state"] == "blocked").then_some(())
    });
    assert!(codex.pane.text().contains(dialog), "{}", codex.pane.text());
    assert!(!hub.project().join("granted").exists());
    assert_eq!(codex.requests_with("news during a dialog"), 0);
    codex.pane.press(&["y"]);
    hub.step(id, "acked");
    assert!(hub.project().join("granted").exists());
    assert_eq!(codex.requests_with("news during a dialog"), 1);
}

/// Waits until the session needs this of the person, because a turn failed; returns the need.
fn needs_after(hub: &InstalledHub, kind: &str, why: &str) -> Value {
    let need = until(&format!("it needs {kind}"), || {
        let list: Value = serde_json::from_str(&hub.hubctl(&["needs", "--json"])).expect("JSON");
        let mut all = list["needs"].as_array().expect("a list").iter();
        all.find(|it| it["kind"] == kind).cloned()
    });
    let brief = need["brief"].as_str().expect("a text");
    assert!(brief.contains(why), "{brief}");
    need
}

/// Lets the model's API refuse a turn with this HTTP status, and then take another one.
fn assert_blocked(args: &[&str], status: u16, (kind, why): (&str, &str)) {
    let hub = installed();
    let fails = Reply::Fails(status, "scripted_error".into());
    // What the model has not answered is in its next request too.
    let again = Reply::text("dug");
    let script = rules([("Dig with care", again), ("Dig a tunnel", fails)]);
    let codex = hub.codex_terminal(args, script);
    greet(&hub, &codex);
    codex.submit("Dig a tunnel");
    needs_after(&hub, kind, why);
    assert_eq!(hub.session("main")["phase"]["name"], "blocked", "{status}");
    codex.submit("Dig with care");
    hub.state("main", "complete");
    let needs = hub.hubctl(&["needs"]);
    assert!(!needs.contains(kind), "{needs}");
}

#[test]
fn a_turn_at_a_rate_limit_blocks_the_session_until_it_works_again() {
    assert_blocked(&[], 429, ("limit", "429 Too Many Requests"));
}

#[test]
fn a_turn_that_the_models_api_fails_is_an_error_at_once_also_without_an_app_server() {
    assert_blocked(&["--no-daemon"], 500, ("error", "internal_server_error"));
}

#[test]
fn a_turn_that_a_retry_would_not_help_is_an_error() {
    assert_blocked(&[], 401, ("error", "401"));
}

#[test]
fn a_session_whose_turn_failed_is_woken() {
    let hub = installed();
    let fails = Reply::Fails(429, "scripted_error".into());
    let answers = Reply::text("dug");
    let script = rules([("news after", answers), ("Dig a tunnel", fails)]);
    let codex = hub.codex_terminal(&[], script);
    greet(&hub, &codex);
    codex.submit("Dig a tunnel");
    needs_after(&hub, "limit", "429");
    let id = hub.send("primary", "builder", "news after a failure");
    codex.model.until_received("news after a failure");
    hub.step(id, "acked");
    assert_eq!(steps(&hub, id), BY_APP_SERVER);
    assert_eq!(codex.requests_with("news after a failure"), 1);
}

#[test]
fn sessions_that_share_an_app_server_are_woken_apart() {
    let hub = installed();
    let codex = hub.codex_terminal(&[], turns([]));
    greet(&hub, &codex);
    let other = hub.codex_pane("other", &[], &[]);
    other.type_in("Greetings");
    until("the other session is known", || {
        other.press(&["Enter"]);
        hub.find("main-2")
    });
    let session = hub.session("main-2");
    hub.waiter_way(session["id"].as_str().expect("an id"), "app_server");
    let id = hub.send("main-2", "builder", "news for the other");
    hub.step(id, "acked");
    other.until("the wake is shown", |it| it.contains("news for the other"));
    assert!(!codex.pane.text().contains("news for the other"));
}

#[test]
fn a_series_of_wakes_by_the_app_server_loses_and_doubles_none() {
    let package = installed::package("@openai/codex");
    let Some(series) = Series::of(Agent::Codex, package, "app_server") else {
        return;
    };
    let hub = installed();
    let codex = hub.codex_terminal(&[], turns([]));
    greet(&hub, &codex);
    series.run(&hub, &codex.model, ("primary", "1s"));
}

#[test]
fn notifications_at_any_moment_reach_the_model_once() {
    let hub = installed();
    let codex = hub.codex_terminal(&[], turns([]));
    greet(&hub, &codex);
    let texts: Vec<String> = (0..30).map(|n| format!("moment number {n}.")).collect();
    let mut ids = BTreeMap::new();
    for (n, text) in texts.iter().enumerate() {
        ids.insert(hub.send("primary", &format!("sender-{n}"), text), text);
        // Primes spread the moments over idle times, starts and ends of turns.
        std::thread::sleep(std::time::Duration::from_millis((n as u64 * 37) % 211));
    }
    // The hook of a prompt proves its arrival before the model is asked.
    for (id, text) in &ids {
        hub.step(*id, "acked");
        codex.model.until_received(text);
    }
    hub.waiter_way("primary", "app_server");
    for (id, text) in ids {
        assert_eq!(codex.requests_with(text), 1, "{text}: {:#?}", hub.trace(id));
    }
}

#[test]
fn doctor_reports_hooks_that_the_person_has_not_trusted() {
    let hub = installed();
    let doctor = || hub.try_hubctl(&["doctor"]);
    let report =
        |output: std::process::Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let before = report(doctor());
    let all = "codex runs only 0 of the hub's 9 hooks: not trusted are 9";
    assert!(before.contains(all), "{before}");
    let _codex: Codex = hub.codex_terminal(&[], turns([]));
    let after = report(doctor());
    assert!(after.contains("codex trusts the hub's 9 hooks"), "{after}");
}
