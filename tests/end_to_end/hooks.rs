//! `hubctl hooks`: hooks in the settings of agents.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use hub_agents::Agent;
use serde_json::Value;

use crate::support::{Call, Done, Place, json};

struct Home(Place);

impl std::ops::Deref for Home {
    type Target = Place;

    fn deref(&self) -> &Place {
        &self.0
    }
}

impl Home {
    fn new() -> Self {
        Self(Place::new())
    }

    fn hooks(&self, line: &str) -> Call {
        self.hubctl(format!("hooks {line}"))
    }

    fn run(&self, line: &str) -> Done {
        self.hooks(line).ok()
    }

    /// Returns the settings of Claude Code.
    fn settings(&self) -> Value {
        json(&self.read(SETTINGS))
    }

    fn names(&self, dir: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(dir)).unwrap();
        let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    /// Returns the backups of settings in the state directory.
    fn backups(&self) -> Vec<String> {
        let mut names = self.names("state/settings");
        names.retain(|name| name.ends_with(".backup"));
        let read = |name| self.read(&format!("state/settings/{name}"));
        names.iter().map(read).collect()
    }

    /// Returns scope, state and `duplicate` of each settings file.
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

fn state(scope: &str, state: &str) -> (String, String, bool) {
    (scope.into(), state.into(), false)
}

const SETTINGS: &str = ".claude/settings.json";

#[test]
fn they_are_installed_once_and_the_install_says_what_is_left_to_do() {
    let home = Home::new();
    let done = home.run("install claude").prints("left to do: restart");
    done.prints("hub.sock");
    let command = home.settings()["hooks"]["Stop"][0]["hooks"][0]["command"].clone();
    let command = command.as_str().unwrap();
    assert!(command.starts_with('/'), "{command}");
    let end = "/hubctl hook claude --rewake";
    assert!(command.ends_with(end), "{command}");
    home.run("install claude").prints("nothing to change");
    assert_eq!(home.states("claude")[0], state("user", "installed"));
    home.run("uninstall claude");
    assert!(!home.has(SETTINGS), "the install made it");
    assert_eq!(home.states("claude")[0], state("user", "absent"));
}

#[test]
fn in_the_home_directory_one_file_is_no_double_install() {
    let home = Home::new();
    home.run("install claude");
    let status = home.hooks("status claude").within(&home.path("."));
    status.ok().prints("installed").hides("installed twice");
}

#[test]
fn the_plugin_alone_is_an_install() {
    let home = Home::new();
    let claude = "#!/bin/sh\nmkdir -p \"$HOME/.claude\"\n\
        echo '{\"enabledPlugins\":{\"hub@hub\":true}}' >\"$HOME/.claude/settings.json\"\n";
    home.write("bin/claude", claude);
    home.chmod("bin/claude", 0o755);
    let path = format!("{}:/usr/bin:/bin", home.path("bin").display());
    let call = |line: &str| home.hooks(line).env("PATH", &path);
    call("install claude --plugin").ok();
    let shown = call("status claude").ok().stdout;
    assert!(shown.contains("plugin   installed"), "{shown}");
    assert!(
        !shown.contains("outdated") && !shown.contains("twice"),
        "{shown}"
    );
    let doctor = home.hubctl("doctor").env("PATH", &path).run();
    doctor
        .prints("claude hooks in")
        .hides("no agent's hooks are installed");
    // A plugin beside the settings does nothing, and is no second install.
    call("install claude").ok();
    call("status claude").ok().hides("installed twice");
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
        home.run(line);
        assert!(!home.has(".claude"), "{line}");
    }
    let shown = home.run("install claude --dry-run").stdout;
    let printed = home.run("print claude").stdout;
    assert!(shown.ends_with(&printed), "{shown}");
}

#[test]
fn malformed_settings_are_refused_and_unchanged() {
    let home = Home::new();
    let repeated = r#"{"a":1,"a":2}"#;
    for text in [
        r#"{"hooks":"#,
        "// mine\n{}",
        "[]",
        r#"{"hooks":{"Stop":1}}"#,
        repeated,
    ] {
        home.write(SETTINGS, text);
        for action in ["install", "uninstall"] {
            let done = home.hooks(&format!("{action} claude")).run();
            if action == "install" || done.code != Some(0) {
                done.exits(1).warns("settings.json").warns("hooks print");
            }
        }
        assert_eq!(home.read(SETTINGS), text);
        assert!(!home.has("state/settings"));
    }
}

#[test]
fn links_modes_and_the_previous_content_are_kept() {
    let home = Home::new();
    let before = "{\n\t\"model\": \"x\"\n}";
    let target = home.write("dotfiles/claude.json", before);
    home.chmod("dotfiles/claude.json", 0o600);
    home.dir(".claude");
    symlink(&target, home.path(SETTINGS)).unwrap();
    home.run("install claude");
    assert!(home.path(SETTINGS).is_symlink());
    let mode = fs::metadata(&target).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = home.read(SETTINGS);
    let start = "{\n\t\"model\": \"x\",\n\t\"hooks\": {\n\t\t\"";
    assert!(text.starts_with(start), "{text}");
    assert_eq!(home.backups(), [before], "in the state directory");
    assert_eq!(home.names("dotfiles"), ["claude.json"]);
    home.run("uninstall claude");
    assert_eq!(home.read("dotfiles/claude.json"), before);
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
        home.run("install claude");
        // Hooks of another hubctl, so that the second install has to change the file.
        let text = home.read(SETTINGS);
        let text = text.replace("/hubctl hook", "/old/hubctl hook");
        home.write(SETTINGS, text);
    }
    let rules = home.settings()["permissions"]["allow"].clone();
    for command in ["ask", "wait", "notify", "answer"] {
        home.ctl("instructions")
            .prints(&format!("hubctl {command}"));
        let rule = format!("Bash(hubctl {command}:*)");
        assert!(rules.as_array().unwrap().contains(&rule.into()), "{rules}");
    }
    home.run("uninstall claude");
    assert_eq!(home.read(SETTINGS), mine);
}

#[test]
fn without_a_record_of_the_install_rules_stay_and_uninstall_says_so() {
    let home = Home::new();
    home.run("install claude");
    fs::remove_dir_all(home.state()).unwrap();
    home.run("uninstall claude").prints("left to do: ");
    let left = home.settings();
    assert!(left["hooks"].is_null(), "{left}");
    assert_eq!(left["permissions"]["allow"].as_array().unwrap().len(), 4);
}

#[test]
fn line_ends_and_a_byte_order_mark_survive() {
    let home = Home::new();
    let before =
        "\u{feff}{\r\n  \"model\": \"x\",\r\n  \"env\": {\r\n    \"A\": \"1\"\r\n  }\r\n}\r\n";
    home.write(SETTINGS, before);
    home.run("install claude");
    let text = home.read(SETTINGS);
    assert!(text.starts_with("\u{feff}{\r\n"), "{text:?}");
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    assert!(text.contains("hubctl hook claude"), "{text}");
    assert_eq!(home.states("claude")[0], state("user", "installed"));
    home.run("uninstall claude");
    assert_eq!(home.read(SETTINGS), before);
}

#[test]
fn a_workspaces_hooks_name_its_session_and_hub() {
    let home = Home::new();
    let workspace = home.dir("it's a \"work\" space");
    let state_dir = home.dir("its $tate");
    let call = home
        .hooks("install claude --session w1 --dir")
        .args(&[&workspace]);
    call.args(&["--state-dir"]).args(&[&state_dir]).ok();
    let text = fs::read_to_string(workspace.join(".claude/settings.local.json")).unwrap();
    let command = json(&text)["hooks"]["Stop"][0]["hooks"][0]["command"].clone();
    // A shell that runs the command calls hubctl with exactly these arguments.
    let shown = command.as_str().unwrap();
    let shown = shown.replace("hook claude --rewake", "config --json");
    let config = home.sh(&shown).json();
    assert_eq!(config["session"]["value"], "w1");
    assert_eq!(config["state_dir"]["value"], state_dir.to_str().unwrap());
    let status = home.hooks("status claude --json --dir").args(&[workspace]);
    assert_eq!(status.json()["hooks"][2]["state"], "installed");
    home.hooks("install claude --user --session w1").fails(64);
}

#[test]
fn hooks_of_another_hubctl_are_outdated_and_two_files_are_a_problem() {
    let home = Home::new();
    home.run("install claude");
    let old = home.read(SETTINGS);
    let hubctl = env!("CARGO_BIN_EXE_hubctl");
    home.write(SETTINGS, old.replace(hubctl, "/gone/hubctl"));
    assert_eq!(home.states("claude")[0], state("user", "outdated"));
    home.run("status claude")
        .prints("/gone/hubctl does not exist");
    home.run("install claude");
    assert_eq!(home.read(SETTINGS), old);
    home.run("install claude --project")
        .prints("installed twice");
    let states = home.states("claude");
    assert!(states[0].2 && states[1].2 && !states[2].2, "{states:?}");
}

#[test]
fn the_command_that_renews_outdated_hooks_keeps_their_options() {
    let home = Home::new();
    let (elsewhere, state_dir) = (home.dir("else where"), home.dir("its $tate"));
    let options = "--session w1 --no-rewake --state-dir";
    for (dir, looks) in [
        (home.path("work"), &["hooks status claude", "doctor"][..]),
        (elsewhere, &["hooks status claude --dir"]),
    ] {
        home.hooks(&format!("install claude {options}"))
            .args(&[state_dir.as_path(), "--dir".as_ref(), &dir])
            .ok();
        let path = dir.join(".claude/settings.local.json");
        let installed = fs::read_to_string(&path).unwrap();
        for look in looks {
            let hubctl = env!("CARGO_BIN_EXE_hubctl");
            fs::write(&path, installed.replace(hubctl, "/gone/hubctl")).unwrap();
            let last = look.ends_with("--dir").then_some(&dir);
            let shown = home.hubctl(*look).args(last.as_slice()).run().stdout;
            let mut lines = shown.lines();
            let renew = lines.find_map(|it| it.split_once("hubctl hooks install claude --local"));
            let (_, flags) = renew.expect(&shown);
            home.sh(&format!("{hubctl} hooks install claude --local{flags}"))
                .ok();
            assert_eq!(fs::read_to_string(&path).unwrap(), installed, "{shown}");
        }
    }
}

#[test]
fn every_agent_has_its_settings_file() {
    let home = Home::new();
    for agent in Agent::ALL {
        let files = &agent.settings().files;
        // Those of Claude Code and Kimi Code have tests of their own.
        let (Some(project), None) = (files.project, files.local) else {
            continue;
        };
        let user = format!("{}/{}", files.home, files.user);
        home.run(&format!("install {agent}"));
        let text = home.read(&user);
        assert!(text.contains(&format!("hubctl hook {agent}")), "{text}");
        home.run(&format!("install {agent} --project"));
        assert!(home.path("work").join(project).exists(), "{agent}");
        home.run(&format!("uninstall {agent} --project"));
        let expected = [state("user", "installed"), state("project", "absent")];
        assert_eq!(home.states(agent.as_str())[..2], expected);
        home.hooks(&format!("install {agent} --local")).fails(64);
    }
    home.run("install codex --project").prints("trust");
}

#[test]
fn tables_of_our_own_are_added_to_a_toml_file_and_removed_from_it() {
    let home = Home::new();
    let (path, text) = (".kimi-code/config.toml", "theme = \"dark\"\n");
    home.write(path, text);
    home.run("install kimi");
    let installed = home.read(path);
    assert!(installed.starts_with(text) && installed.contains("[[hooks]]"));
    home.run("install kimi").prints("nothing to change");
    assert_eq!(home.states("kimi"), [state("user", "installed")]);
    home.hooks("install kimi --project").fails(64);
    home.run("uninstall kimi");
    assert_eq!(home.read(path), text);
}

#[test]
fn the_status_tells_with_which_version_an_agent_was_verified() {
    let home = Home::new();
    home.run("status gemini").prints("; verified with 0.");
    home.run("status cursor").prints("; experimental: not run");
    home.run("status cursor --json")
        .prints(r#""verified":null"#);
    let help = home.hooks("install --help").ok();
    help.prints("Cursor (experimental: not run)");
}

#[test]
fn a_plugin_of_another_author_is_not_changed() {
    let home = Home::new();
    let (plugin, text) = (".config/opencode/plugin/hub.js", "export const Mine = 1\n");
    home.write(plugin, text);
    for action in ["install", "uninstall"] {
        let done = home.hooks(&format!("{action} opencode")).fails(1);
        done.warns("not installed by hubctl");
    }
    assert_eq!(home.read(plugin), text);
}

#[test]
fn opencodes_shells_get_their_session_unless_it_is_already_set() {
    const ASKS: &str = r#"
        import hub from "./hub.mjs"
        const plugin = await hub.server({ client: {}, directory: "." })
        const output = { env: {} }
        await plugin["shell.env"]({ cwd: ".", sessionID: "ses_1" }, output)
        console.log(JSON.stringify([output.env, process.pid]))"#;
    let home = Home::new();
    home.run("install opencode");
    home.write("work/hub.mjs", home.read(".config/opencode/plugin/hub.js"));
    home.write("work/asks.mjs", ASKS);
    let variables = "${SESSION:+HUB_SESSION=$SESSION} ${MARK:+HUB_SESSION_PID=$MARK}";
    for (session, mark, given) in [
        ("", "", false),
        ("lead", "", true),
        ("above", "7:above", false),
        ("w1", "7:above", true),
    ] {
        let call = home.sh(&format!("exec env {variables} node asks.mjs"));
        let shown = call.env("SESSION", session).env("MARK", mark).json();
        let mark = format!("{}:ses_1", shown[1]);
        let expected = if given {
            serde_json::json!({})
        } else {
            serde_json::json!({"HUB_SESSION": "ses_1", "HUB_SESSION_PID": mark})
        };
        assert_eq!(shown[0], expected, "{session}");
    }
}

#[test]
fn instructions_differ_by_role() {
    let place = Place::new();
    let primary = place.ctl("instructions --role primary");
    primary.prints("You are the primary");
    let worker = place.ctl("instructions").prints("You are a worker");
    let worker = worker.prints("hubctl notify").prints("hubctl wait");
    worker.prints("HUB_STATUS_FILE").prints("not instructions");
}
