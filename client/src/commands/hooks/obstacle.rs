//! Settings with which an agent runs none of our hooks, though they are installed.

use std::fs;
use std::path::{Path, PathBuf};

use hub_agents::{Agent, Content, Json, Managed};
use serde_json::Value;

use super::json::Document;
use super::scheme::{self, SettingsScope};
use super::{beside, tables};
use crate::system::env::Env;

/// Why an agent runs none of our hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) struct Obstacle {
    /// The setting and its file.
    pub(in crate::commands) what: String,
    /// The remedy.
    pub(in crate::commands) todo: String,
}

/// The switches of managed settings that leave only the hooks of those settings.
const MANAGED_ONLY: [&str; 2] = ["/allowManagedHooksOnly", "/allow_managed_hooks_only"];

/// The obstacle for the agent's sessions in `workspace`, if there is one.
pub(super) fn look(agent: Agent, env: &Env, workspace: &Path) -> Option<Obstacle> {
    let scopes = SettingsScope::ALL.into_iter().rev();
    let own = scopes.filter_map(|scope| {
        let path = scheme::path(agent, scope, env, workspace)?;
        Some(beside::path(agent, &path).unwrap_or(path))
    });
    let managed = agent.settings().managed.as_ref();
    let managed = managed.map_or_else(Vec::new, |it| in_order(it, env));
    judge(agent, &managed, &own.collect::<Vec<_>>())
}

/// The files of the machine's administrator, the first of which wins.
fn in_order(managed: &Managed, env: &Env) -> Vec<PathBuf> {
    let default = if cfg!(target_os = "macos") {
        managed.mac
    } else {
        managed.linux
    };
    let named = managed.variable.and_then(|it| env.path(it));
    let file = named.unwrap_or_else(|| default.into());
    let mut all = managed
        .parts
        .map_or_else(Vec::new, |parts| files_in(&file.with_file_name(parts)));
    all.push(file);
    all
}

/// The files in a directory, of which a later name wins, the winner first.
fn files_in(dir: &Path) -> Vec<PathBuf> {
    let parts = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = parts.map(|it| it.path()).collect();
    all.sort_by(|a, b| b.cmp(a));
    all
}

/// Judges the `managed` settings and the agent's `own`, the first of which wins.
fn judge(agent: Agent, managed: &[PathBuf], own: &[PathBuf]) -> Option<Obstacle> {
    let is_managed = |path: &PathBuf| managed.contains(path);
    let all: Vec<(&PathBuf, Value)> = managed
        .iter()
        .chain(own)
        .filter_map(|path| Some((path, read(path)?)))
        .collect();
    let flag = |name: &'static str| {
        let mut set = all.iter();
        set.find_map(|(path, it)| Some((*path, name, it.pointer(name)?.as_bool()?)))
    };
    let only = MANAGED_ONLY.into_iter().filter_map(flag);
    if let Some((path, name, _)) = only.into_iter().find(|it| it.2 && is_managed(it.0)) {
        return Some(Obstacle {
            what: format!("{agent} runs only managed hooks ({})", said(path, name)),
            todo: format!(
                "ask the administrator of this machine to add the output of `hubctl hooks print {agent}`"
            ),
        });
    }
    let off = agent.settings().switches.iter();
    let mut off = off.filter_map(|(name, off)| flag(name).filter(|it| it.2 == *off));
    if let Some((path, name, _)) = off.next() {
        return Some(Obstacle {
            what: format!("{agent} runs no hooks ({})", said(path, name)),
            todo: if is_managed(path) {
                "ask the administrator of this machine to change it".into()
            } else {
                format!("remove the setting, and restart the sessions of {agent}")
            },
        });
    }
    let Content::Json(Json {
        name: Some(ours), ..
    }) = &agent.settings().content
    else {
        return None;
    };
    let name = "/hooksConfig/disabled";
    let is_named = |it: &Value| {
        let names = it.pointer(name).and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|it| it == ours))
    };
    let (path, _) = all.iter().find(|(_, it)| is_named(it))?;
    Some(Obstacle {
        what: format!(
            "{agent} does not run the hub's hooks ({})",
            said(path, name)
        ),
        todo: format!("enter `/hooks enable {ours}` in {}", agent.facts().product),
    })
}

/// The setting `name`, a JSON pointer, in the file.
fn said(path: &Path, name: &str) -> String {
    let name = name.trim_start_matches('/').replace('/', ".");
    format!("{name} in {}", path.display())
}

/// The settings in a file; `None` if there are none that can be read.
fn read(path: &Path) -> Option<Value> {
    let text = fs::read_to_string(path).ok()?;
    if path.extension().is_some_and(|it| it == "toml") {
        return tables::value(&text).ok();
    }
    Document::parse(&text, true).ok().map(|it| it.value())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judges settings with these contents: managed, in the workspace, of the user.
    fn judged(agent: Agent, texts: [&str; 3]) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        let kind = if agent == Agent::Codex {
            "toml"
        } else {
            "json"
        };
        let paths: Vec<PathBuf> = ["managed", "workspace", "user"]
            .into_iter()
            .zip(texts)
            .map(|(name, text)| {
                let path = dir.path().join(name).with_extension(kind);
                fs::write(&path, text).unwrap();
                path
            })
            .collect();
        judge(agent, &paths[..1], &paths[1..]).map(|it| it.what)
    }

    #[test]
    fn settings_that_switch_hooks_off_are_named() {
        use Agent::{Claude, Codex, Gemini, Kimi, Qwen};
        let off = r#"{"disableAllHooks": true}"#;
        let on = r#"{"disableAllHooks": false}"#;
        let config = r#"{"hooksConfig": {"enabled": false}} // mine"#;
        let only = r#"{"allowManagedHooksOnly": true}"#;
        let named = r#"{"hooksConfig": {"disabled": ["hub"]}}"#;
        let feature = "[features]\nhooks = false\n";
        let required = "allow_managed_hooks_only = true\n";
        for (agent, texts, said) in [
            (Claude, ["", "", off], Some("disableAllHooks in ")),
            (Claude, ["", on, off], None),
            (Claude, [off, on, ""], Some("disableAllHooks in ")),
            (Claude, [only, "", ""], Some("only managed hooks")),
            (Claude, ["", only, only], None),
            (Claude, ["{", "", config], None),
            (Qwen, ["", off, ""], Some("disableAllHooks in ")),
            (Qwen, ["", "", config], Some("hooksConfig.enabled in ")),
            (Gemini, ["", "", config], Some("hooksConfig.enabled in ")),
            (Gemini, ["", named, ""], Some("hooksConfig.disabled in ")),
            (Gemini, ["", "", off], None),
            (Codex, ["", feature, ""], Some("features.hooks in ")),
            (Codex, ["", "features.hooks = true", feature], None),
            (Codex, [required, "", ""], Some("only managed hooks")),
            (Kimi, ["", "", off], None),
        ] {
            let found = judged(agent, texts);
            let is_right = match said {
                Some(said) => found.as_ref().is_some_and(|it| it.contains(said)),
                None => found.is_none(),
            };
            assert!(is_right, "{agent} {texts:?}: {found:?}");
        }
    }

    #[test]
    fn the_last_of_claudes_managed_files_wins() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("managed-settings.d")).unwrap();
        for name in ["10.json", "20.json"] {
            fs::write(dir.path().join("managed-settings.d").join(name), "{}").unwrap();
        }
        let file = dir.path().join("managed-settings.json");
        let env = Env::of(dir.path(), &[("SETTINGS", file.to_str().unwrap())]);
        let managed = Managed {
            variable: Some("SETTINGS"),
            ..*Agent::Claude.settings().managed.as_ref().unwrap()
        };
        let found = in_order(&managed, &env);
        let names = found
            .iter()
            .map(|it| it.file_name().unwrap().to_str().unwrap());
        let names: Vec<&str> = names.collect();
        assert_eq!(names, ["20.json", "10.json", "managed-settings.json"]);
    }
}
