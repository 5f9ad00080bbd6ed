//! Settings: built-in defaults, overridden by the configuration file, the environment and flags.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::Deserialize;

pub use forward::{ForwardKind, ForwardSettings, QuietHours};
use hub_core::guarded_file::{self, UnguardedFile};
use hub_core::rule::RuleSet;
use layers::Layers;
pub use layers::{DEFAULTS, SettingSource};
pub use values::{
    Backend, ClusterSettings, Limits, Listen, LogFormat, LogSettings, NotLoopback, Positive,
    RetentionSettings, SnapshotSettings, WakeSettings,
};

mod forward;
mod layers;
pub mod state_dir;
mod values;

/// Settings that have their own environment variable.
const VARIABLES: [(&str, &str); 2] = [("HUB_LISTEN", "listen"), ("HUB_STATE_DIR", "state_dir")];

/// A lookup of environment variables.
pub type Env<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The flags that choose settings.
#[allow(clippy::doc_markdown)] // shown as help
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ConfigArgs {
    /// The loopback address and port to listen on; port 0 picks a free one [default: 127.0.0.1:4782]
    #[arg(long, value_name = "ADDR", global = true)]
    pub listen: Option<String>,
    /// The directory of everything that the hub stores [default: $XDG_STATE_HOME/hub]
    #[arg(long, value_name = "DIR", global = true)]
    pub state_dir: Option<PathBuf>,
    /// The configuration file [default: $XDG_CONFIG_HOME/hub/config.toml]
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Any other setting, for example limits.connections=100
    #[arg(long, value_name = "KEY=VALUE", global = true)]
    pub set: Vec<String>,
}

/// All settings.
#[allow(clippy::struct_excessive_bools)] // each a switch of its own
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The loopback port to listen on.
    pub listen: Listen,
    /// The directory of everything that the hub stores.
    pub state_dir: PathBuf,
    /// Values of the Host header that are accepted besides the loopback names.
    pub allowed_hosts: Vec<String>,
    /// The storage backend of the log.
    pub journal: Backend,
    /// The cluster of a hub with the journal `jetstream`.
    pub cluster: ClusterSettings,
    /// Number of threads that serve connections.
    pub workers: Positive,
    /// Limits on connections, queues and times.
    pub limits: Limits,
    /// Wake limits of agent sessions.
    pub wake: WakeSettings,
    /// Whether an agent's permission request is held for an answer through the hub.
    pub approvals: bool,
    /// Whether an agent may answer another agent's permission request.
    pub agents_may_approve: bool,
    /// Whether two sessions that edit the same file are alerted.
    pub same_file_alerts: bool,
    /// Whether the hub lets a session go on when its usage limit ends.
    pub resume_after_limit: bool,
    /// Whether the log keeps prompts and agents' last messages.
    pub keep_words: bool,
    /// Retention of the log.
    pub retention: RetentionSettings,
    /// When a snapshot is saved.
    pub snapshot: SnapshotSettings,
    /// Level and format of the hub's own logs.
    pub log: LogSettings,
    /// The rules by which the hub acts on notifications.
    pub on: RuleSet,
    /// The services that notifications are passed on to.
    #[serde(deserialize_with = "forward::list")]
    pub forward: Vec<ForwardSettings>,
    /// Every setting's value and source.
    #[serde(skip)]
    layers: Layers,
}

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The configuration file cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// Its path.
        path: PathBuf,
        /// The I/O error, or who could change it.
        source: UnguardedFile,
    },
    /// A setting that does not exist.
    #[error("{origin}: unknown setting '{key}' (run hubd --print-config for the list)")]
    UnknownKey {
        /// The source that names it.
        origin: SettingSource,
        /// The key, with its section.
        key: String,
    },
    /// Invalid TOML, or a value that its setting does not accept.
    #[error("{origin}: {reason}")]
    BadValue {
        /// The source of the value.
        origin: SettingSource,
        /// The parser's message, with the setting's name.
        reason: String,
    },
    /// A path or value that is not UTF-8.
    #[error("'{0}' is not UTF-8")]
    NotUnicode(String),
    /// Neither `XDG_STATE_HOME` nor a home directory is known.
    #[error("no home directory: say where to keep the hub's state with --state-dir")]
    NoHome,
}

impl Config {
    /// Loads the defaults, then overrides them by the file, the environment and the flags.
    pub fn load(args: &ConfigArgs, env: Env) -> Result<Self, ConfigError> {
        let mut layers = Layers::defaults()?;
        let mut text = String::new();
        if let Some(path) = file(args, env) {
            let source = SettingSource::File(path.clone());
            text = guarded_file::read(&path)
                .map_err(|source| ConfigError::Unreadable { path, source })?;
            layers.file(&text, &source)?;
        }
        for (variable, key) in VARIABLES {
            if let Some(value) = env(variable).filter(|value| !value.is_empty()) {
                layers.text(key, &utf8(&value)?, &SettingSource::Env(variable))?;
            }
        }
        flags(&mut layers, args)?;
        let mut config = layers.parse("settings", &SettingSource::Default)?;
        if config.state_dir.as_os_str().is_empty() {
            config.state_dir = state_home(env)?.join("hub");
        }
        config.check_forwards(&layers, &text)?;
        config.layers = layers;
        Ok(config)
    }

    /// Returns the names of the forwards.
    fn forwards(&self) -> Vec<&str> {
        self.forward.iter().map(|it| it.name.as_str()).collect()
    }

    /// Checks that the rules name forwards that exist. Both may come from different sources, so this follows at the end.
    /// `text` is the configuration file's.
    fn check_forwards(&self, layers: &Layers, text: &str) -> Result<(), ConfigError> {
        let origin = layers.source("on").clone();
        let checked = self.on.check_forwards(&self.forwards());
        checked.map_err(|error| ConfigError::BadValue {
            reason: match origin {
                SettingSource::File(_) => error.in_file(text),
                _ => error.to_string(),
            },
            origin,
        })
    }

    /// Every setting: its name, its value as TOML, and its source.
    pub fn sources(&self) -> impl Iterator<Item = (&str, String, &SettingSource)> {
        self.layers.iter()
    }
}

fn flags(layers: &mut Layers, args: &ConfigArgs) -> Result<(), ConfigError> {
    if let Some(listen) = &args.listen {
        layers.text("listen", listen, &SettingSource::Flag("--listen"))?;
    }
    if let Some(dir) = &args.state_dir {
        let dir = utf8(dir.as_os_str())?;
        layers.text("state_dir", &dir, &SettingSource::Flag("--state-dir"))?;
    }
    for setting in &args.set {
        layers.assignment(setting, &SettingSource::Flag("--set"))?;
    }
    Ok(())
}

/// The path of the configuration file. A path that was named is returned even if no file is there, so that reading it
/// fails.
fn file(args: &ConfigArgs, env: Env) -> Option<PathBuf> {
    let named = || env("HUB_CONFIG").filter(|path| !path.is_empty());
    if let Some(path) = args.config.clone().or_else(|| named().map(PathBuf::from)) {
        return Some(path);
    }
    let usual = home(env, "XDG_CONFIG_HOME", ".config")?.join("hub/config.toml");
    usual.exists().then_some(usual)
}

/// The directory in `variable` (XDG ignores relative paths), or `fallback` in the home directory.
fn home(env: Env, variable: &str, fallback: &str) -> Option<PathBuf> {
    let named = env(variable)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let usual = || {
        env("HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    named.or_else(|| {
        usual()
            .or_else(|| etcetera::home_dir().ok())
            .map(|home| home.join(fallback))
    })
}

fn state_home(env: Env) -> Result<PathBuf, ConfigError> {
    home(env, "XDG_STATE_HOME", ".local/state").ok_or(ConfigError::NoHome)
}

fn utf8(text: &std::ffi::OsStr) -> Result<String, ConfigError> {
    text.to_str()
        .map(str::to_owned)
        .ok_or_else(|| ConfigError::NotUnicode(text.to_string_lossy().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(args: &ConfigArgs, env: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let env = |name: &str| {
            let fixed = [("HOME", "/nowhere")];
            let mut all = env.iter().chain(&fixed);
            all.find(|(key, _)| *key == name)
                .map(|(_, value)| value.into())
        };
        Config::load(args, &env)
    }

    fn source(config: &Config, key: &str) -> (String, String) {
        let mut all = config.sources();
        let (_, value, source) = all.find(|(name, ..)| *name == key).unwrap();
        (value, source.to_string())
    }

    fn set(setting: &str) -> ConfigArgs {
        ConfigArgs {
            set: vec![setting.into()],
            ..ConfigArgs::default()
        }
    }

    #[test]
    fn the_defaults_are_complete() {
        let config = load(&ConfigArgs::default(), &[]).unwrap();
        assert_eq!(config.listen.port, 4782);
        assert_eq!(config.state_dir, PathBuf::from("/nowhere/.local/state/hub"));
    }

    #[test]
    fn a_flag_overrides_the_environment_which_overrides_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        let text = "listen = '127.0.0.1:1'
state_dir = '/file'
workers = 2";
        std::fs::write(&path, text).unwrap();
        let args = ConfigArgs {
            listen: Some("localhost:3".into()),
            config: Some(path.clone()),
            ..ConfigArgs::default()
        };
        let env = [("HUB_LISTEN", "[::1]:2"), ("HUB_STATE_DIR", "/env")];
        let config = load(&args, &env).unwrap();
        let expect = |key, value: &str, from: &str| {
            assert_eq!(source(&config, key), (value.into(), from.into()));
        };
        expect("listen", "\"localhost:3\"", "--listen");
        expect("state_dir", "\"/env\"", "HUB_STATE_DIR");
        expect("workers", "2", path.to_str().unwrap());
        expect("limits.queue", "4096", "default");
    }

    #[test]
    fn an_unknown_setting_is_named_in_the_error() {
        let error = load(&set("limits.conections=3"), &[]).unwrap_err();
        assert!(error.to_string().contains("'limits.conections'"), "{error}");
    }

    #[test]
    fn a_bad_value_is_reported_with_its_setting_and_source() {
        for bad in [
            "workers=0",
            "log.format=xml",
            "limits.queue=-1",
            "listen=0.0.0.0:4782",
            "listen=127.0.0.2:4782",
            "listen=[::]:4782",
            "listen=example.org:80",
            "workers=many",
            "workers",
        ] {
            let error = load(&set(bad), &[]).unwrap_err().to_string();
            let key = bad.split('=').next().unwrap();
            let named = error.starts_with("--set: ") && error.contains(key);
            assert!(named, "{error}");
        }
    }

    #[test]
    fn a_missing_file_is_an_error_only_if_it_was_named() {
        assert!(load(&ConfigArgs::default(), &[]).is_ok());
        let error = load(&ConfigArgs::default(), &[("HUB_CONFIG", "/nowhere/c.toml")]).unwrap_err();
        let shown = format!("{:#}", anyhow::Error::from(error));
        assert_eq!(
            shown,
            "cannot read /nowhere/c.toml: No such file or directory (os error 2)"
        );
    }
}
