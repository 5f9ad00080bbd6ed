//! `hubctl hooks`: hooks in the settings of agents.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::Value;

use crate::support::{Call, Done, Place, json};

struct Home(Place);

impl Home {
    fn new() -> Self {
        Self(Place::new())
    }

    fn hooks(&self, line: &str) -> Call {
        self.0.hubctl(&["hooks"]).args(&words(line))
    }

    fn run(&self, line: &str) -> Done {
        self.hooks(line).run()
    }

    fn read(&self, file: &str) -> Value {
        json(&fs::read_to_string(self.0.path(file)).unwrap())
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn names(&self, dir: &str) -> Vec<String> {
        let entries = fs::read_dir(self.0.path(dir)).unwrap();
        let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    /// Returns the backups of settings in the state directory.
    fn backups(&self) -> Vec<String> {
        let mut names = self.names("state/settings");
        names.retain(|name| name.ends_with(".backup"));
        let read = |name| fs::read_to_string(self.0.path("state/settings").join(name)).unwrap();
        names.iter().map(read).collect()
    }

    fn states(&self, agent: &str) -> Vec<(String, String, bool)> {
        let found = self.run(&format!("status {agent} --json")).json();
        let text = |it: &Value, name: &str| it[name].as_str().unwrap().to_owned();
        let one = |it: &Value| {
            (
                text(it, "scope"),
                text(it, "state"),
                it["duplicate"] == true,
            )
        };
        found["hooks"].as_array().unwrap().iter().map(one).collect()
    }
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn state(scope: &str, state: &str) -> (String, String, bool) {
    (scope.into(), state.into(), false)
}

const SETTINGS: &str = ".claude/settings.json";

#[test]
fn they_are_installed_once_and_the_install_says_what_is_left_to_do() {
    let home = Home::new();
    let done = home.run("install claude").ok();
    assert!(done.stdout.contains("left to do: restart"), "{done:?}");
    assert!(done.stdout.contains("hub.sock"), "{done:?}");
    let command = home.read(SETTINGS)["hooks"]["Stop"][0]["hooks"][0]["command"].clone();
    let command = command.as_str().unwrap();
    assert!(
        command.starts_with('/') && command.ends_with("/hubctl hook claude --rewake"),
        "{command}"
    );
    assert!(
        home.run("install claude")
            .ok()
            .stdout
            .contains("nothing to change")
    );
    assert_eq!(home.states("claude")[0], state("user", "installed"));
    home.run("uninstall claude").ok();
    assert!(!home.0.path(SETTINGS).exists(), "the install made it");
    assert_eq!(home.states("claude")[0], state("user", "absent"));
}

#[test]
fn help_print_status_and_a_dry_run_change_nothing() {
    let home = Home::new();
    for line in [
        "--help",
        "install --help",
        "install claude --help",
        "uninstall claude --help",
        "install claude --dry-run",
        "uninstall claude --dry-run",
        "print claude",
        "status",
    ] {
        home.run(line).ok();
        assert!(!home.0.path(".claude").exists(), "{line}");
    }
    let shown = home.run("install claude --dry-run").ok().stdout;
    let printed = home.run("print claude").ok().stdout;
    assert!(shown.ends_with(&printed), "{shown}");
}

#[test]
fn malformed_settings_are_refused_and_unchanged() {
    let home = Home::new();
    for text in [
        "{\"hooks\":",
        "// mine\n{}",
        "[]",
        "{\"hooks\":{\"Stop\":1}}",
        "{\"a\":1,\"a\":2}",
    ] {
        home.write(SETTINGS, text);
        for action in ["install", "uninstall"] {
            let done = home.run(&format!("{action} claude"));
            if action == "install" || done.code != Some(0) {
                assert_eq!(done.code, Some(1), "{text}: {done:?}");
                assert!(
                    done.stderr.contains("settings.json") && done.stderr.contains("hooks print"),
                    "{done:?}"
                );
            }
        }
        assert_eq!(fs::read_to_string(home.0.path(SETTINGS)).unwrap(), text);
        assert!(!home.0.path("state/settings").exists());
    }
}

#[test]
fn links_modes_and_the_previous_content_are_kept() {
    let home = Home::new();
    home.write("dotfiles/claude.json", "{\n\t\"model\": \"x\"\n}");
    let target = home.0.path("dotfiles/claude.json");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir(home.0.path(".claude")).unwrap();
    symlink(&target, home.0.path(SETTINGS)).unwrap();
    home.run("install claude").ok();
    assert!(
        fs::symlink_metadata(home.0.path(SETTINGS))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(
        fs::metadata(&target).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let text = fs::read_to_string(&target).unwrap();
    assert!(
        text.starts_with("{\n\t\"model\": \"x\",\n\t\"hooks\": {\n\t\t\""),
        "{text}"
    );
    assert_eq!(
        home.backups(),
        ["{\n\t\"model\": \"x\"\n}"],
        "in the state directory"
    );
    assert_eq!(home.names("dotfiles"), ["claude.json"]);
    home.run("uninstall claude").ok();
    assert_eq!(
        fs::read_to_string(&target).unwrap(),
        "{\n\t\"model\": \"x\"\n}"
    );
}

#[test]
fn the_commands_of_the_instructions_are_allowed_and_uninstall_keeps_other_rules() {
    let home = Home::new();
    let mine = r#"{
  "permissions": {
    "allow": [
      "Bash(hubctl ask:*)"
    ]
  },
  "hooks": {}
}"#;
    home.write(SETTINGS, mine);
    for _ in 0..2 {
        home.run("install claude").ok();
        // Hooks of another hubctl, so that the second install has to change the file.
        let text = fs::read_to_string(home.0.path(SETTINGS)).unwrap();
        home.write(SETTINGS, &text.replace("/hubctl hook", "/old/hubctl hook"));
    }
    let rules = home.read(SETTINGS)["permissions"]["allow"].clone();
    let instructions = home.0.hubctl(&["instructions"]).run().ok().stdout;
    for command in ["ask", "wait", "notify", "answer"] {
        assert!(instructions.contains(&format!("hubctl {command}")));
        let rule = format!("Bash(hubctl {command}:*)");
        assert!(rules.as_array().unwrap().contains(&rule.into()), "{rules}");
    }
    home.run("uninstall claude").ok();
    assert_eq!(fs::read_to_string(home.0.path(SETTINGS)).unwrap(), mine);
}

#[test]
fn without_a_record_of_the_install_rules_stay_and_uninstall_says_so() {
    let home = Home::new();
    home.run("install claude").ok();
    fs::remove_dir_all(home.0.path("state")).unwrap();
    let done = home.run("uninstall claude").ok();
    assert!(done.stdout.contains("left to do: "), "{done:?}");
    let left = home.read(SETTINGS);
    assert!(left["hooks"].is_null(), "{left}");
    assert_eq!(left["permissions"]["allow"].as_array().unwrap().len(), 4);
}

#[test]
fn line_ends_and_a_byte_order_mark_survive() {
    let home = Home::new();
    let before =
        "\u{feff}{\r\n  \"model\": \"x\",\r\n  \"env\": {\r\n    \"A\": \"1\"\r\n  }\r\n}\r\n";
    home.write(SETTINGS, before);
    home.run("install claude").ok();
    let text = fs::read_to_string(home.0.path(SETTINGS)).unwrap();
    assert!(text.starts_with("\u{feff}{\r\n"), "{text:?}");
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    assert!(text.contains("hubctl hook claude"), "{text}");
    assert_eq!(home.states("claude")[0], state("user", "installed"));
    home.run("uninstall claude").ok();
    assert_eq!(fs::read_to_string(home.0.path(SETTINGS)).unwrap(), before);
}

#[test]
fn a_workspaces_hooks_name_its_session_and_hub() {
    let home = Home::new();
    let workspace = home.0.path("it's a \"work\" space");
    fs::create_dir(&workspace).unwrap();
    let state_dir = home.0.path("its $tate");
    fs::create_dir(&state_dir).unwrap();
    let call = home.hooks("install claude --session w1").args(&[
        "--dir",
        workspace.to_str().unwrap(),
        "--state-dir",
        state_dir.to_str().unwrap(),
    ]);
    call.run().ok();
    let text = fs::read_to_string(workspace.join(".claude/settings.local.json")).unwrap();
    let command = json(&text)["hooks"]["Stop"][0]["hooks"][0]["command"].clone();
    // A shell that runs the command calls hubctl with exactly these arguments.
    let shown = command
        .as_str()
        .unwrap()
        .replace("hook claude --rewake", "config --json");
    let config = home.0.sh(&shown).run().json();
    assert_eq!(config["session"]["value"], "w1");
    assert_eq!(config["state_dir"]["value"], state_dir.to_str().unwrap());
    let status = home
        .hooks("status claude --json --dir")
        .args(&[workspace.to_str().unwrap()]);
    assert_eq!(status.run().json()["hooks"][2]["state"], "installed");
    let refused = home.run("install claude --user --session w1");
    assert_eq!(refused.code, Some(64), "{refused:?}");
}

#[test]
fn hooks_of_another_hubctl_are_outdated_and_two_files_are_a_problem() {
    let home = Home::new();
    home.run("install claude").ok();
    let old = fs::read_to_string(home.0.path(SETTINGS)).unwrap();
    let hubctl = env!("CARGO_BIN_EXE_hubctl");
    home.write(SETTINGS, &old.replace(hubctl, "/gone/hubctl"));
    assert_eq!(home.states("claude")[0], state("user", "outdated"));
    let shown = home.run("status claude").ok().stdout;
    assert!(shown.contains("/gone/hubctl does not exist"), "{shown}");
    home.run("install claude").ok();
    assert_eq!(fs::read_to_string(home.0.path(SETTINGS)).unwrap(), old);
    let second = home.run("install claude --project").ok();
    assert!(second.stdout.contains("installed twice"), "{second:?}");
    let states = home.states("claude");
    assert!(states[0].2 && states[1].2 && !states[2].2, "{states:?}");
}

#[test]
fn every_agent_has_its_settings_file() {
    let home = Home::new();
    for (agent, user, project) in [
        ("codex", ".codex/hooks.json", ".codex/hooks.json"),
        ("gemini", ".gemini/settings.json", ".gemini/settings.json"),
        (
            "opencode",
            ".config/opencode/plugin/hub.js",
            ".opencode/plugin/hub.js",
        ),
        (
            "copilot",
            ".copilot/hooks/hub.json",
            ".github/hooks/hub.json",
        ),
        ("cursor", ".cursor/hooks.json", ".cursor/hooks.json"),
    ] {
        home.run(&format!("install {agent}")).ok();
        let text = fs::read_to_string(home.0.path(user)).unwrap();
        assert!(text.contains(&format!("hubctl hook {agent}")), "{text}");
        home.run(&format!("install {agent} --project")).ok();
        assert!(home.0.path("work").join(project).exists(), "{agent}");
        home.run(&format!("uninstall {agent} --project")).ok();
        assert_eq!(
            home.states(agent)[..2],
            [state("user", "installed"), state("project", "absent")]
        );
        let refused = home.run(&format!("install {agent} --local"));
        assert_eq!(refused.code, Some(64), "{refused:?}");
    }
    let codex = home.run("install codex --project").ok().stdout;
    assert!(codex.contains("trust"), "{codex}");
}

#[test]
fn a_plugin_of_another_author_is_not_changed() {
    let home = Home::new();
    let plugin = ".config/opencode/plugin/hub.js";
    home.write(plugin, "export const Mine = 1\n");
    for action in ["install", "uninstall"] {
        let done = home.run(&format!("{action} opencode"));
        assert_eq!(done.code, Some(1), "{done:?}");
        assert!(done.stderr.contains("not installed by hubctl"), "{done:?}");
    }
    assert_eq!(
        fs::read_to_string(home.0.path(plugin)).unwrap(),
        "export const Mine = 1\n"
    );
}

#[test]
fn opencodes_shells_get_their_session_unless_it_is_already_set() {
    const ASKS: &str = r#"
        import { Hub } from "./hub.mjs"
        const plugin = await Hub({ client: {}, directory: "." })
        const output = { env: {} }
        await plugin["shell.env"]({ cwd: ".", sessionID: "ses_1" }, output)
        console.log(JSON.stringify([output.env, process.pid]))"#;
    let home = Home::new();
    home.run("install opencode").ok();
    let plugin = fs::read(home.0.path(".config/opencode/plugin/hub.js")).unwrap();
    fs::write(home.0.path("work/hub.mjs"), plugin).unwrap();
    fs::write(home.0.path("work/asks.mjs"), ASKS).unwrap();
    for (session, mark, given) in [
        ("", "", false),
        ("lead", "", true),
        ("above", "7:above", false),
        ("w1", "7:above", true),
    ] {
        let call = home.0.sh("exec env ${SESSION:+HUB_SESSION=$SESSION} ${MARK:+HUB_SESSION_PID=$MARK} node asks.mjs");
        let shown = call.env("SESSION", session).env("MARK", mark).run().json();
        let expected = format!("{}:ses_1", shown[1]);
        let env = &shown[0];
        if given {
            assert_eq!(*env, serde_json::json!({}), "{session}");
        } else {
            assert_eq!(env["HUB_SESSION"], "ses_1", "{session}");
            assert_eq!(env["HUB_SESSION_PID"], expected, "{session}");
        }
    }
}

#[test]
fn instructions_differ_by_role() {
    let place = Place::new();
    let text = |args: &[&str]| place.hubctl(&["instructions"]).args(args).run().ok().stdout;
    assert!(text(&["--role", "primary"]).contains("You are the primary"));
    assert!(text(&[]).contains("You are a worker"));
    for word in [
        "hubctl notify",
        "hubctl wait",
        "HUB_STATUS_FILE",
        "not instructions",
    ] {
        assert!(text(&[]).contains(word), "{word}");
    }
}
