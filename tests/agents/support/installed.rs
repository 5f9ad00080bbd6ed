//! Paths of the agents' programs.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// Returns the directory into which `tests/run` installs.
pub(crate) fn dir() -> PathBuf {
    let hubctl = Path::new(env!("CARGO_BIN_EXE_hubctl"));
    let target = hubctl.ancestors().nth(2).expect("a target directory");
    target.join("agents")
}

/// Returns the path of Claude Code's binary.
pub(crate) fn claude() -> PathBuf {
    if let Some(named) = std::env::var_os("HUB_TEST_CLAUDE") {
        return named.into();
    }
    let vendor = dir().join("node_modules/@anthropic-ai");
    let packages = std::fs::read_dir(&vendor).into_iter().flatten().flatten();
    let mut binaries = packages.map(|package| package.path().join("claude"));
    let found = binaries.find(|binary| binary.is_file());
    found.expect("no Claude Code: run tests/run, which installs it, or set HUB_TEST_CLAUDE")
}

/// Returns npm's link to Codex CLI (`codex`) or Gemini CLI (`gemini`).
pub(crate) fn linked(name: &str) -> PathBuf {
    let path = dir().join("node_modules/.bin").join(name);
    let hint = "run tests/run, which installs it";
    assert!(path.exists(), "{name} is missing: {hint}");
    path
}

/// Returns the directory of a package that npm installed.
pub(crate) fn package(name: &str) -> PathBuf {
    dir().join("node_modules").join(name)
}

/// Returns the version of the npm package in a directory.
pub(crate) fn version(package: &Path) -> String {
    let text = std::fs::read_to_string(package.join("package.json")).expect("an npm package");
    let package: Value = serde_json::from_str(&text).expect("JSON");
    package["version"].as_str().expect("a version").to_owned()
}
