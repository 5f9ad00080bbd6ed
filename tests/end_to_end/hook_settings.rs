//! `hubctl hooks` in the settings of agents: it respects the file and the agent's own rules.

use serde_json::{Value, json as value};

use crate::support::{Call, Place, hubctl, json};

const CLAUDE: &str = ".claude/settings.json";
const CODEX: &str = ".codex/config.toml";
const GEMINI: &str = ".gemini/settings.json";
const KIMI: &str = ".kimi-code/config.toml";

fn hooks(place: &Place, line: &str) -> Call {
    place.hubctl(format!("hooks {line}"))
}

/// Returns the state of the first settings file of the agent.
fn state(place: &Place, agent: &str) -> Value {
    place.json(format!("hooks status {agent} --json"))["hooks"][0].take()
}

#[test]
fn settings_come_back_as_they_were() {
    let comments =
        "{\n  // mine\n  \"a\": 1, /* one */\n  // \"b\": 2,\n  \"c\": [1,  2] // last\n}\n// end";
    for (agent, path, text) in [
        ("gemini", GEMINI, comments),
        ("gemini", GEMINI, "// only a comment\n{}"),
        ("qwen", ".qwen/settings.json", comments),
        ("claude", CLAUDE, ""),
        (
            "claude",
            CLAUDE,
            "\u{feff}{\"a\": {\"b\":1},  \"c\": []}\r\n",
        ),
        ("claude", CLAUDE, "{\"hooks\":{\"Stop\":[{\"hooks\":[]}]}}"),
        ("kimi", KIMI, ""),
        (
            "kimi",
            KIMI,
            "\u{feff}# mine\r\na = 1 # one\r\n\r\n[b]\r\n# end\r\n",
        ),
        (
            "kimi",
            KIMI,
            "theme = \"dark\"\nhooks = []\n\n[loop]\nsteps = 1\n",
        ),
        ("kimi", KIMI, "theme = \"\"\"\nhooks = no key\n\"\"\"\n"),
        (
            "kimi",
            KIMI,
            "[[ hooks ]]\nevent = \"Stop\"\ncommand = \"mine\"\n",
        ),
    ] {
        let place = Place::new();
        place.write(path, text);
        hooks(&place, &format!("install {agent}")).ok();
        assert_eq!(state(&place, agent)["state"], "installed", "{text}");
        let again = hooks(&place, &format!("install {agent}")).ok();
        again.prints("nothing to change");
        hooks(&place, &format!("uninstall {agent}")).ok();
        assert!(place.has(path), "{text}");
        assert_eq!(place.read(path), text);
    }
}

#[test]
fn kimis_hooks_are_known_after_it_has_dropped_the_comments_of_an_earlier_version() {
    let place = Place::new();
    hooks(&place, "install kimi").ok();
    let marks = [
        "# The hooks of hubctl begin here; `hubctl hooks uninstall` removes them.\n",
        "# The hooks of hubctl end here.\n",
    ];
    let tables = place.read(KIMI);
    let mine = "\n[providers.work]\napi_key = \"mine\"\n";
    for old in [
        format!("{}{tables}{}{mine}", marks[0], marks[1]),
        format!("{}{tables}{mine}", marks[0]),
        format!("{tables}{mine}"),
    ] {
        place.write(KIMI, old);
        assert_eq!(state(&place, "kimi")["hubctl"], hubctl().to_str().unwrap());
        hooks(&place, "install kimi").ok();
        assert_eq!(place.read(KIMI).matches("hook kimi").count(), 12);
        hooks(&place, "uninstall kimi").ok();
        assert_eq!(place.read(KIMI), mine);
    }
}

#[test]
fn hooks_that_cannot_take_ours_are_refused_with_what_to_do() {
    let place = Place::new();
    for text in [
        "[hooks]\na = 1\n",
        "hooks.a = 1\n",
        "hooks = 1\n",
        "a = [\n",
    ] {
        place.write(KIMI, text);
        let done = hooks(&place, "install kimi").fails(1);
        done.warns("it was not changed").warns("hooks print kimi");
        assert_eq!(place.read(KIMI), text);
    }
}

#[test]
fn our_hook_in_another_shape_is_neither_doubled_nor_left_behind() {
    let place = Place::new();
    let hubctl = hubctl().display();
    for handler in [
        value!({"command": hubctl.to_string(), "args": ["hook", "claude", "--rewake"]}),
        value!({"command": format!("test -x {hubctl} && {hubctl} hook claude || true")}),
    ] {
        let stop = value!({"hooks": {"Stop": [{"hooks": [handler]}]}});
        place.write(CLAUDE, stop.to_string());
        assert_eq!(state(&place, "claude")["state"], "outdated");
        hooks(&place, "install claude").ok();
        let installed = json(&place.read(CLAUDE));
        assert_eq!(installed["hooks"]["Stop"].as_array().unwrap().len(), 1);
        place.write(CLAUDE, stop.to_string());
        hooks(&place, "uninstall claude").ok();
        assert!(!place.read(CLAUDE).contains("hubctl"));
    }
}

#[test]
fn a_setting_that_keeps_hooks_from_running_is_said_by_install_status_and_doctor() {
    for (agent, path, text, said) in [
        (
            "claude",
            CLAUDE,
            r#"{"disableAllHooks": true}"#,
            "disableAllHooks in ",
        ),
        (
            "qwen",
            ".qwen/settings.json",
            r#"{"disableAllHooks": true}"#,
            "disableAllHooks in ",
        ),
        (
            "gemini",
            GEMINI,
            r#"{"hooksConfig": {"enabled": false}}"#,
            "hooksConfig.enabled in ",
        ),
        (
            "codex",
            CODEX,
            "[features]\nhooks = false\n",
            "features.hooks in ",
        ),
    ] {
        let place = Place::new();
        place.write(path, text);
        let done = hooks(&place, &format!("install {agent}")).ok();
        done.prints(&format!("left to do: {agent} runs no hooks ({said}"));
        let shown = hooks(&place, &format!("status {agent}")).ok();
        shown.prints(said).prints("remove the setting");
        place
            .hubctl("doctor")
            .run()
            .prints(&format!("PROBLEM  {agent} runs no hooks ({said}"));
    }
}

#[test]
fn geminis_directory_may_be_elsewhere() {
    let place = Place::new();
    let home = place.dir("account");
    hooks(&place, "install gemini")
        .env("GEMINI_CLI_HOME", home)
        .ok();
    assert!(
        place
            .read("account/.gemini/settings.json")
            .contains("hook gemini")
    );
    assert!(!place.has(".gemini"));
}

#[test]
fn codexs_second_file_with_hooks_is_said_and_ours_are_recognised_in_it() {
    let place = Place::new();
    let table = |command: &str| {
        format!(
            "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"{command}\"\n"
        )
    };
    let mine = table("my-notifier");
    place.write(CODEX, &mine);
    hooks(&place, "install codex")
        .ok()
        .prints("config.toml has hooks too");
    hooks(&place, "uninstall codex").ok();
    let ours = table(&format!("{} hook codex", hubctl().display()));
    place.write(CODEX, format!("{mine}{ours}"));
    let found = state(&place, "codex");
    assert_eq!(found["state"], "installed");
    assert!(found["path"].as_str().unwrap().ends_with(CODEX), "{found}");
    hooks(&place, "install codex")
        .ok()
        .prints("nothing to change");
    assert!(!place.has(".codex/hooks.json"), "a second copy");
    hooks(&place, "uninstall codex").ok();
    assert_eq!(place.read(CODEX), mine);
    place.write(CODEX, table("/gone/hubctl hook codex"));
    hooks(&place, "install codex")
        .fails(1)
        .warns("hubctl hooks uninstall codex");
}

#[test]
fn a_tilde_that_no_shell_has_expanded_means_the_home_directory() {
    let place = Place::new();
    let done = hooks(&place, "install claude").env("CLAUDE_CONFIG_DIR", "~/.other");
    done.ok()
        .prints("left to do: CLAUDE_CONFIG_DIR is '~/.other'");
    assert!(place.has(".other/settings.json"));
    assert!(!place.has("work/~"));
}

#[test]
fn hooks_that_would_call_a_cache_of_npx_are_refused() {
    let place = Place::new();
    let cache = ".npm/_npx/3f2a1b/node_modules/.bin";
    place.dir(cache);
    place.install(hubctl(), &format!("{cache}/hubctl"));
    let cached = format!("exec ../{cache}/hubctl hooks install claude");
    let done = place.sh(&cached).fails(64);
    done.warns("in a cache of npx")
        .warns("npm install --global");
    assert!(!place.has(CLAUDE));
}
