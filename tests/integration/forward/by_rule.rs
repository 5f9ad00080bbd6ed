//! Notifications that a rule passes to a forward by its name, although the forward's own settings exclude them.

use std::path::Path;

use hub_harness::{Hub, Ntfy, until};
use serde_json::json;

use super::{Forwarding, builder, phone};

/// A rule that passes what `deploy` sends to the forward `phone`.
const DEPLOYS: &str = "[[on]]\nname='deploys'\nfrom=['deploy']\nforward='phone'\ncooldown='0s'\n";

impl Forwarding {
    async fn deploys(&self, text: &str) -> u64 {
        let post = json!({ "msg": text, "from": "deploy", "type": "message" });
        self.client.notify(post).await
    }
}

/// Starts a hub whose forward `phone` includes errors of `ci` only, with these further lines and rules.
fn with_rules(lines: &str, rules: &str) -> Forwarding {
    let ntfy = Ntfy::start();
    let lines = format!("types=['error']\nfrom=['ci']\n{lines}");
    let text = format!("{}{rules}", phone(&ntfy.url(), &lines));
    Forwarding::with(ntfy, &text)
}

#[tokio::test]
async fn a_rule_passes_on_what_the_filter_excludes_once_and_to_no_other_forward() {
    let ntfy = Ntfy::start();
    let other = format!(
        "[[forward]]\nname='other'\nkind='webhook'\nurl='{}/other'\n",
        ntfy.url()
    );
    // Two rules match each notification, and the filter includes the one of `ci` too.
    let all = "[[on]]\nname='all'\nfrom=['*']\nforward='phone'\nmute=true\ncooldown='0s'\n";
    let filter = phone(&ntfy.url(), "types=['error']\nfrom=['ci']");
    let it = Forwarding::with(ntfy, &format!("{filter}{other}{DEPLOYS}{all}"));
    let id = it.deploys("out").await;
    it.fails("red").await;
    it.deploys("last").await;
    it.expect(&["out", "red", "last"]);
    assert_eq!(it.until_sent(3).await["error"], json!(null));
    it.expect(&["out", "red", "last"]);
    let steps = it.client.read(&format!("/notifications/{id}/trace")).await["steps"].to_string();
    for rule in ["rule 'deploys': forward", "rule 'all': mute, forward"] {
        assert!(steps.contains(rule), "{steps}");
    }
    // The other forward excludes what a rule mutes, and no rule names it.
    let info = it.client.read("/hub").await["forwards"][1].clone();
    assert_eq!((&info["name"], &info["sent"]), (&json!("other"), &json!(0)));
}

#[tokio::test]
async fn a_rule_that_passes_on_waits_for_a_target_that_is_down_also_over_restarts() {
    let mut it = with_rules("", DEPLOYS);
    let port = it.ntfy.port();
    drop(std::mem::replace(&mut it.ntfy, Ntfy::start()));
    let failures = |hub: &Hub| hub.log().matches("a forward fails").count();
    it.deploys("first").await;
    it.deploys("second").await;
    until("an attempt fails", || {
        (failures(&it.hub) == 1).then_some(())
    });
    it.hub.crash();
    it.client = it.hub.client();
    until("an attempt fails again", || {
        (failures(&it.hub) == 2).then_some(())
    });
    it.ntfy = Ntfy::start_at(port);
    it.expect(&["first", "second"]);
    it.until_sent(2).await;
    it.hub.restart();
    it.client = it.hub.client();
    it.deploys("third").await;
    it.until_sent(1).await;
    it.expect(&["first", "second", "third"]);
}

#[tokio::test]
async fn a_rule_passes_on_at_once_but_keeps_to_the_quiet_hours() {
    let hour = hub_protocol::Timestamp::now().as_millis() / 3_600_000;
    let (from, to) = (hour % 24, (hour + 2) % 24);
    let lines = format!("after='10m'\nquiet_hours='{from:02}:00-{to:02}:00'");
    let it = with_rules(&lines, DEPLOYS);
    it.deploys("quiet").await;
    let urgent = json!({ "msg": "urgent", "from": "deploy", "priority": "urgent" });
    it.client.notify(urgent).await;
    it.expect(&["urgent"]);
}

/// Returns why a hub with this configuration does not start.
fn refused(dir: &Path, text: &str) -> String {
    let hub = builder(dir, text).memory();
    hub.try_start().expect_err(text).stderr
}

#[test]
fn a_rule_that_names_an_unknown_forward_is_refused_with_its_line_and_the_fix() {
    let dir = tempfile::tempdir().unwrap();
    let rules = format!(
        "[[on]]\nname='ok'\nfrom=['x']\nforward='phone'\n\n# Releases\n{}",
        DEPLOYS.replace("'phone'", "'phon'")
    );
    let known = format!("{}{rules}", phone("https://ntfy.example", "token='s3cret'"));
    let error = refused(dir.path(), &known);
    let expected = "config.toml: line 16: [[on]] 'deploys': forward: there is no [[forward]] with the name 'phon': use phone, or add one (docs/how-to/forward.md)\n";
    assert!(error.ends_with(expected), "{error}");
    assert!(!error.contains("s3cret"), "{error}");
    let error = refused(dir.path(), &rules.replace("'phon'", "'phone'"));
    let expected = "config.toml: line 4: [[on]] 'ok': forward: there is no [[forward]] with the name 'phone': add one (docs/how-to/forward.md)\n";
    assert!(error.ends_with(expected), "{error}");
    let hub = builder(dir.path(), "").set("on=[{name='n',from=['x'],forward='phone'}]");
    let error = hub.try_start().unwrap_err().stderr;
    assert!(error.contains(" --set: [[on]] 'n': forward: "), "{error}");
}
