//! Settings by name, each with the source that set it last.

use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use hub_core::rule;
use toml::{Table, Value};

use super::{Config, ConfigError, forward};

/// The setting whose values are tables, and may be secret.
const FORWARD: &str = "forward";

/// The setting whose values are rules.
const RULES: &str = "on";

/// The settings as a configuration file: each with its default and a comment.
pub const DEFAULTS: &str = include_str!("default.toml");

/// The source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingSource {
    /// The built-in default.
    Default,
    /// A configuration file.
    File(PathBuf),
    /// An environment variable, by name.
    Env(&'static str),
    /// A command line flag, by name.
    Flag(&'static str),
}

impl fmt::Display for SettingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Env(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

/// Settings by dotted name. Only names with a default exist.
#[derive(Debug, Clone, Default)]
pub(super) struct Layers {
    values: BTreeMap<String, (Value, SettingSource)>,
}

impl Layers {
    pub(super) fn defaults() -> Result<Self, ConfigError> {
        let mut layers = Self::default();
        for (key, value) in flatten(parse_toml(DEFAULTS, &SettingSource::Default)?) {
            layers.values.insert(key, (value, SettingSource::Default));
        }
        Ok(layers)
    }

    /// Overrides settings by those of a TOML file.
    pub(super) fn file(&mut self, text: &str, source: &SettingSource) -> Result<(), ConfigError> {
        let table = parse_toml(text, source)?;
        if let Some(forward) = table.get(FORWARD) {
            check_forward(forward, source)?;
        }
        if table.contains_key(RULES) {
            // The text has the lines of its rules, which the table no longer has.
            let rules = rule::parse(text);
            rules.map_err(|reason| bad(source, &reason))?;
        }
        for (key, value) in flatten(table) {
            self.set(&key, value, source)?;
        }
        Ok(())
    }

    /// Sets one setting to a string.
    pub(super) fn text(
        &mut self,
        key: &str,
        text: &str,
        source: &SettingSource,
    ) -> Result<(), ConfigError> {
        self.set(key, Value::String(text.into()), source)
    }

    /// Applies `KEY=VALUE`; a value that is not valid TOML is taken as a string.
    pub(super) fn assignment(
        &mut self,
        text: &str,
        source: &SettingSource,
    ) -> Result<(), ConfigError> {
        let refuse = |reason: String| {
            let origin = source.clone();
            Err(ConfigError::BadValue { origin, reason })
        };
        let Some((key, value)) = text.split_once('=') else {
            return refuse(format!("'{text}' is not KEY=VALUE"));
        };
        // Other users can read the arguments of a process.
        if key.split('.').next() == Some(FORWARD) {
            return refuse("forward: write it into the configuration file, as [[forward]]".into());
        }
        let value = format!("value = {value}")
            .parse::<Table>()
            .ok()
            .and_then(|mut table| table.remove("value"))
            .unwrap_or_else(|| Value::String(value.into()));
        self.set(key, value, source)
    }

    fn set(&mut self, key: &str, value: Value, source: &SettingSource) -> Result<(), ConfigError> {
        let Some(slot) = self.values.get_mut(key) else {
            return Err(ConfigError::UnknownKey {
                origin: source.clone(),
                key: key.into(),
            });
        };
        *slot = (value, source.clone());
        // Parse after each setting, so that an error names the source that caused it.
        self.parse(key, source).map(drop)
    }

    /// The settings, deserialized. Errors name `source` and the setting `changed`.
    pub(super) fn parse(
        &self,
        changed: &str,
        source: &SettingSource,
    ) -> Result<Config, ConfigError> {
        let mut root = Table::new();
        for (key, (value, _)) in &self.values {
            match key.split_once('.') {
                Some((section, key)) => {
                    let section = root
                        .entry(section)
                        .or_insert_with(|| Value::Table(Table::new()));
                    if let Value::Table(section) = section {
                        section.insert(key.into(), value.clone());
                    }
                }
                None => {
                    root.insert(key.clone(), value.clone());
                }
            }
        }
        root.try_into::<Config>()
            .map_err(|error| bad(source, &format!("{changed}: {}", error.message())))
    }

    /// Returns the source of a setting's value.
    pub(super) fn source(&self, key: &str) -> &SettingSource {
        let known = self.values.get(key);
        known.map_or(&SettingSource::Default, |(_, source)| source)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, String, &SettingSource)> {
        self.values.iter().map(|(key, (value, source))| {
            let value = match value.as_array().filter(|_| key == FORWARD) {
                Some(forwards) => forward::redacted(forwards),
                None => inline(value),
            };
            (key.as_str(), value, source)
        })
    }
}

/// Returns a value as TOML on one line.
fn inline(value: &Value) -> String {
    match value {
        Value::Table(table) => {
            let pairs = table.iter();
            let pairs = pairs.map(|(key, value)| format!("{key} = {}", inline(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(inline).collect();
            format!("[{}]", values.join(","))
        }
        // Strings and numbers have the same syntax in JSON and TOML.
        value => serde_json::to_string(value).unwrap_or_default(),
    }
}

/// Flattens tables one level deep into dotted names.
fn flatten(table: Table) -> Vec<(String, Value)> {
    let mut flat = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(section) => flat.extend(
                section
                    .into_iter()
                    .map(|(inner, value)| (format!("{key}.{inner}"), value)),
            ),
            value => flat.push((key, value)),
        }
    }
    flat
}

/// Checks that `forward` is a list, and that only this user can read the file that it is in.
fn check_forward(forward: &Value, source: &SettingSource) -> Result<(), ConfigError> {
    let refuse = |reason: String| {
        let origin = source.clone();
        Err(ConfigError::BadValue { origin, reason })
    };
    if forward.is_table() {
        return refuse("forward: write [[forward]], with two brackets".into());
    }
    let SettingSource::File(path) = source else {
        return Ok(());
    };
    let mode = path.metadata().map(|it| it.permissions().mode());
    match mode {
        Ok(mode) if mode.trailing_zeros() >= 6 => Ok(()),
        Ok(_) => refuse(format!(
            "forward: other users can read this file and the secrets in it: chmod 600 {}",
            path.display()
        )),
        Err(error) => refuse(format!(
            "forward: cannot check who can read this file: {error}"
        )),
    }
}

fn parse_toml(text: &str, source: &SettingSource) -> Result<Table, ConfigError> {
    text.parse::<Table>().map_err(|error| {
        // The parser's own text shows the line, which may contain a secret.
        let before = error.span().map_or("", |span| &text[..span.start]);
        let line = before.lines().count().max(1);
        bad(source, &format!("line {line}: {}", error.message()))
    })
}

fn bad(source: &SettingSource, reason: &str) -> ConfigError {
    ConfigError::BadValue {
        origin: source.clone(),
        reason: reason.replace('\n', " "),
    }
}
