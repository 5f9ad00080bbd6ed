use super::super::json::Document;
use super::super::own::Invocation;
use super::super::scheme::{Content, content, reads_comments};
use super::*;

fn plan(program: &str) -> Plan {
    plan_of(Agent::Claude, program)
}

fn plan_of(agent: Agent, program: &str) -> Plan {
    let invocation = Invocation {
        variables: Vec::new(),
        program: program.into(),
        rewake: agent == Agent::Claude,
        plugin: false,
        status_line: false,
    };
    match content(agent, &invocation) {
        Content::Merged(plan) => plan,
        Content::Whole(_) | Content::Tables(_) => panic!("{agent} has no JSON file"),
    }
}

fn changed(before: &str, change: impl Fn(&CstObject) -> Result<(), String>) -> String {
    let settings = Document::parse(before, true).unwrap();
    change(&settings.top).unwrap();
    settings.text()
}

fn found(text: &str, plan: &Plan, agent: Agent) -> Vec<(String, OwnCommand)> {
    let settings = Document::parse(text, reads_comments(agent)).unwrap();
    let hooks = settings.value()["hooks"].take();
    find(Some(&hooks), agent, plan.shape).unwrap()
}

fn installed(before: &str, program: &str) -> String {
    let plan = plan(program);
    changed(before, |settings| install(settings, Agent::Claude, &plan))
}

/// Uninstalls from `after`, where the settings were `before` the install.
fn uninstalled(after: &str, before: &str) -> String {
    let (plan, before) = (plan("/any/hubctl"), value(before));
    changed(after, |settings| {
        uninstall(settings, Agent::Claude, &plan, Some(&before))
    })
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Settings with hooks of others, in an unusual order and format.
const FOREIGN: &str = r#"{
  "zeta": [1.0,   2e3],
  "permissions": {
    "deny": ["Read(.env)"],
    "allow": [
      "Bash(ls:*)"
    ]
  },
  "hooks": {
    "Stop": [
      {"hooks": [{"command": "notify-send done", "type": "command"}], "matcher": ""}
    ],
    "Custom": [ ]
  },
  "alpha": "\u00e9"
}"#;

#[test]
fn an_install_into_no_settings_has_every_planned_hook_and_rule() {
    let settings = value(&installed("", "/usr/bin/hubctl"));
    let hooks = settings["hooks"].as_object().unwrap();
    assert_eq!(hooks.len(), 14);
    let allowed = &settings["permissions"]["allow"];
    for (n, command) in ["wait", "notify", "ask", "answer"].iter().enumerate() {
        assert_eq!(allowed[n], format!("Bash(hubctl {command}:*)"));
    }
    let pre = &hooks["PreToolUse"][0];
    assert_eq!(
        pre["matcher"],
        "^(?!(?:AskUserQuestion|EnterPlanMode|ExitPlanMode)$)"
    );
    assert_eq!(pre["hooks"][0]["async"], true);
    assert_eq!(hooks["PermissionRequest"][0]["hooks"][0]["timeout"], 3_630);
    for event in ["SessionStart", "Stop"] {
        let handlers = &hooks[event][0]["hooks"];
        assert_eq!(
            handlers[0]["command"],
            "/usr/bin/hubctl hook claude --rewake"
        );
        assert_eq!(handlers[1]["command"], "/usr/bin/hubctl wait --rewake");
        assert_eq!(handlers[1]["asyncRewake"], true);
        assert_eq!(handlers[1]["timeout"], 86_400);
    }
    assert!(hooks["SessionEnd"][0]["hooks"][1].is_null());
}

#[test]
fn an_install_without_rewake_has_no_rewake_hooks() {
    let invocation = Invocation {
        variables: Vec::new(),
        program: "hubctl".into(),
        rewake: false,
        plugin: false,
        status_line: false,
    };
    let Content::Merged(plan) = content(Agent::Claude, &invocation) else {
        panic!("settings");
    };
    let text = changed("", |settings| install(settings, Agent::Claude, &plan));
    assert!(!text.contains("ewake"), "{text}");
}

#[test]
fn hooks_of_others_keep_their_place_and_text() {
    let after = installed(FOREIGN, "/usr/bin/hubctl");
    for line in FOREIGN.lines().filter(|line| line.contains("notify-send")) {
        assert!(after.contains(line.trim()), "{after}");
    }
    let keys: Vec<usize> = [
        "\"zeta\": [1.0,   2e3]",
        "\"deny\": [\"Read(.env)\"]",
        "\"hooks\"",
        "\"Stop\"",
        "\"Custom\": [ ]",
        "\"alpha\": \"\\u00e9\"",
    ]
    .iter()
    .map(|part| {
        after
            .find(part)
            .unwrap_or_else(|| panic!("{part}: {after}"))
    })
    .collect();
    assert!(keys.is_sorted(), "{keys:?}: {after}");
    let settings = value(&after);
    assert_eq!(
        settings["hooks"]["Stop"][0]["hooks"][0]["command"],
        "notify-send done"
    );
    assert_eq!(settings["permissions"]["allow"][0], "Bash(ls:*)");
}

#[test]
fn installing_twice_changes_nothing() {
    for before in ["", "{}", FOREIGN] {
        let once = installed(before, "/usr/bin/hubctl");
        assert_eq!(installed(&once, "/usr/bin/hubctl"), once);
    }
}

#[test]
fn a_hook_that_others_added_after_ours_causes_no_change() {
    let ours = installed("", "/usr/bin/hubctl");
    let mut settings = value(&ours);
    let foreign = serde_json::json!({"hooks": [{"type": "command", "command": "x"}]});
    settings["hooks"]["Stop"]
        .as_array_mut()
        .unwrap()
        .push(foreign);
    let before = settings.to_string();
    assert_eq!(
        value(&installed(&before, "/usr/bin/hubctl")),
        value(&before)
    );
}

#[test]
fn an_uninstall_restores_the_settings_before_the_install() {
    for before in [
        "{}",
        FOREIGN,
        r#"{"permissions":{"allow":["Bash(hubctl ask:*)"]},"hooks":{}}"#,
        r#"{"permissions":{"allow":[]},"hooks":{"Stop":[]}}"#,
        r#"{"permissions":{}}"#,
    ] {
        let after = uninstalled(&installed(before, "/a b/hubctl"), before);
        assert_eq!(value(&after), value(before));
    }
    assert_eq!(value(&uninstalled("{}", "{}")), value("{}"));
}

#[test]
fn rules_stay_if_the_settings_before_the_install_are_unknown() {
    let plan = plan("/any/hubctl");
    let after = changed(&installed("{}", "/usr/bin/hubctl"), |settings| {
        uninstall(settings, Agent::Claude, &plan, None)
    });
    let rules = value(&after)["permissions"]["allow"].clone();
    assert_eq!(rules.as_array().unwrap().len(), 4, "{after}");
    assert!(value(&after)["hooks"].is_null(), "{after}");
}

#[test]
fn a_moved_hubctl_replaces_the_old_one_and_is_found() {
    let moved = installed(&installed(FOREIGN, "/old/hubctl"), "/new place/hubctl");
    assert!(!moved.contains("/old/"), "{moved}");
    let found = found(&moved, &plan(""), Agent::Claude);
    assert_eq!(found.len(), 16);
    assert!(
        found
            .iter()
            .all(|(_, own)| own.program == "/new place/hubctl")
    );
    assert_eq!(value(&uninstalled(&moved, FOREIGN)), value(FOREIGN));
}

#[test]
fn our_hooks_among_others_and_for_events_no_longer_used_are_removed() {
    let before = r#"{"hooks":{"PreCompact":[{"hooks":[{"type":"command","command":"hubctl hook claude"}]}],
        "Stop":[{"hooks":[{"type":"command","command":"mine"},{"type":"command","command":"/x/hubctl hook claude"}]}]}}"#;
    let after = value(&installed(before, "/usr/bin/hubctl"));
    assert!(after["hooks"]["PreCompact"].is_null());
    let stop = &after["hooks"]["Stop"];
    assert_eq!(stop[0]["hooks"].as_array().unwrap().len(), 1);
    assert_eq!(stop[0]["hooks"][0]["command"], "mine");
    assert_eq!(stop.as_array().unwrap().len(), 2);
    let bare = value(&uninstalled(before, "{}"));
    assert_eq!(bare["hooks"].as_object().unwrap().len(), 1);
}

#[test]
fn comments_stay_where_they_are() {
    let before = r#"{
  // the servers that I use
  "mcpServers": {
    "docs": { "command": "docs-server" },
    // "tracker": { "command": "tracker-server" },
    "clock": { "command": "clock-server" }
  },
  /* mine */
  "tools": { "allowed": ["ls"] }, // both
  "hooks": {
    // when it ends
    "AfterAgent": [
      { "hooks": [{ "type": "command", "command": "mine" }] } // only this
    ]
  },
  "ui": { "theme": "GitHub" } /* last */
  // end
}
// after
"#;
    let plan = plan_of(Agent::Gemini, "/o/hubctl");
    let after = changed(before, |settings| install(settings, Agent::Gemini, &plan));
    for comment in before.lines().filter(|line| line.contains("//")) {
        let comment = &comment[comment.find("//").unwrap()..];
        assert!(after.contains(comment), "{comment}: {after}");
    }
    assert_eq!(found(&after, &plan, Agent::Gemini).len(), 6);
    let was = Document::parse(before, true).unwrap().value();
    let left = changed(&after, |settings| {
        uninstall(settings, Agent::Gemini, &plan, Some(&was))
    });
    assert_eq!(left, before);
}

#[test]
fn our_hook_as_a_program_with_arguments_is_replaced_and_removed() {
    let mut settings = value(&installed("", "/usr/bin/hubctl"));
    let handler = &mut settings["hooks"]["Stop"][0]["hooks"][0];
    *handler = serde_json::json!({"type": "command", "command": "/usr/bin/hubctl",
        "args": ["hook", "claude", "--rewake"]});
    let shaped = settings.to_string();
    let once = installed("", "/usr/bin/hubctl");
    assert_eq!(value(&installed(&shaped, "/usr/bin/hubctl")), value(&once));
    assert_eq!(value(&uninstalled(&shaped, "{}")), value("{}"));
}

#[test]
fn settings_of_another_form_are_refused() {
    let plan = plan("/usr/bin/hubctl");
    for (text, why) in [
        (r#"{"hooks":[]}"#, "its hooks is not"),
        (r#"{"hooks":{"Stop":{}}}"#, "its hooks.Stop is not an array"),
        (r#"{"permissions":1}"#, "its permissions is not"),
        (
            r#"{"permissions":{"allow":"x"}}"#,
            "its permissions.allow is not an array",
        ),
        (r#"{"hooks":{"Stop":[],"Stop":[]}}"#, "'Stop' occurs twice"),
    ] {
        let settings = Document::parse(text, false).unwrap();
        let error = install(&settings.top, Agent::Claude, &plan).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn hooks_of_every_agent_with_shared_settings_are_installed_and_removed() {
    let agents = [
        Agent::Codex,
        Agent::Gemini,
        Agent::Qwen,
        Agent::Copilot,
        Agent::Cursor,
    ];
    for agent in agents {
        let plan = plan_of(agent, "/a 'b/hubctl");
        let put_in = changed(FOREIGN, |settings| install(settings, agent, &plan));
        let again = changed(&put_in, |settings| install(settings, agent, &plan));
        assert_eq!(again, put_in, "{agent}");
        let found = found(&put_in, &plan, agent);
        assert_eq!(found.len(), plan.entries.len(), "{agent}");
        let taken_out = changed(&put_in, |settings| {
            uninstall(settings, agent, &plan, Some(&value(FOREIGN)))
        });
        let mut left = value(&taken_out);
        left.as_object_mut().unwrap().remove("version");
        assert_eq!(left, value(FOREIGN), "{agent}");
    }
}
