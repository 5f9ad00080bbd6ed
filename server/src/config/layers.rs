//! Settings by name, each with the place that set it last.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use toml::{Table, Value};

use super::{Config, ConfigError};

const DEFAULTS: &str = include_str!("../config.default.toml");

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Nobody chose it.
    Default,
    /// A configuration file.
    File(PathBuf),
    /// An environment variable.
    Env(&'static str),
    /// The command line.
    Flag(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Env(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

/// Settings by dotted name. Only names that have a default exist.
#[derive(Debug, Clone, Default)]
pub(super) struct Layers {
    values: BTreeMap<String, (Value, Source)>,
}

impl Layers {
    pub(super) fn defaults() -> Result<Self, ConfigError> {
        let mut layers = Self::default();
        for (key, value) in flatten(parse_toml(DEFAULTS, &Source::Default)?) {
            layers.values.insert(key, (value, Source::Default));
        }
        Ok(layers)
    }

    /// Lays a TOML file over what is there.
    pub(super) fn file(&mut self, text: &str, source: &Source) -> Result<(), ConfigError> {
        for (key, value) in flatten(parse_toml(text, source)?) {
            self.set(&key, value, source)?;
        }
        Ok(())
    }

    /// Sets one setting to a text.
    pub(super) fn text(
        &mut self,
        key: &str,
        text: &str,
        source: &Source,
    ) -> Result<(), ConfigError> {
        self.set(key, Value::String(text.into()), source)
    }

    /// Sets what `KEY=VALUE` says; a value that is no TOML is a text.
    pub(super) fn assignment(&mut self, text: &str, source: &Source) -> Result<(), ConfigError> {
        let Some((key, value)) = text.split_once('=') else {
            return Err(ConfigError::BadValue {
                origin: source.clone(),
                reason: format!("'{text}' is not KEY=VALUE"),
            });
        };
        let value = format!("value = {value}")
            .parse::<Table>()
            .ok()
            .and_then(|mut table| table.remove("value"))
            .unwrap_or_else(|| Value::String(value.into()));
        self.set(key, value, source)
    }

    fn set(&mut self, key: &str, value: Value, source: &Source) -> Result<(), ConfigError> {
        let Some(slot) = self.values.get_mut(key) else {
            return Err(ConfigError::UnknownKey {
                origin: source.clone(),
                key: key.into(),
            });
        };
        *slot = (value, source.clone());
        // Parsed after each setting, so that an error is told with its place.
        self.parse(source).map(drop)
    }

    /// The settings as types.
    pub(super) fn parse(&self, source: &Source) -> Result<Config, ConfigError> {
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
            .map_err(|error| bad(source, &error))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, String, &Source)> {
        self.values.iter().map(|(key, (value, source))| {
            // Strings, numbers and lists of them are written alike in JSON and TOML.
            let value = serde_json::to_string(value).unwrap_or_default();
            (key.as_str(), value, source)
        })
    }
}

/// Tables one level deep as dotted names.
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

fn parse_toml(text: &str, source: &Source) -> Result<Table, ConfigError> {
    text.parse::<Table>().map_err(|error| bad(source, &error))
}

fn bad(source: &Source, error: &toml::de::Error) -> ConfigError {
    ConfigError::BadValue {
        origin: source.clone(),
        reason: error.to_string().trim_end().replace('\n', " "),
    }
}
