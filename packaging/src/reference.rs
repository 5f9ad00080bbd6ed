//! The references in `docs/reference`: the calls of the API, the commands of hubctl, its exit codes, and the agents.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use hubctl::EXIT_CODES;
use serde_json::Value;

use crate::agents;

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference");
const OPENAPI: &str = include_str!("../../openapi.yaml");
/// The page about the Agent Client Protocol.
const ACP: &str = "../how-to/acp.md";
/// The last line of each file that is written from the code as a whole.
const END: &str = "\n<!-- Written from the code by: cargo run -p hub-packaging -- docs -->\n";

/// Writes all files.
pub(crate) fn write() -> anyhow::Result<()> {
    fs::create_dir_all(DIRECTORY)?;
    for (name, text) in files()? {
        let path = Path::new(DIRECTORY).join(name);
        fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// The files by their names.
fn files() -> anyhow::Result<[(&'static str, String); 5]> {
    let page = |name: &str| fs::read_to_string(Path::new(DIRECTORY).join(name));
    let (agents, acp) = (page("agents.md")?, page(ACP)?);
    Ok([
        ("agents.md", agents::with_table(&agents, &agents::table())?),
        (ACP, agents::with_table(&acp, &agents::acp_table())?),
        ("api.md", api()? + END),
        ("exit-codes.md", exit_codes() + END),
        ("commands.md", commands() + END),
    ])
}

/// The operations of openapi.yaml, by their tags.
fn api() -> anyhow::Result<String> {
    let contract: Value = serde_saphyr::from_str(OPENAPI)?;
    let mut page = "# The calls of the API\n\n[openapi.yaml](../../openapi.yaml) describes each call in full; \
        [Call the API with curl](../how-to/curl.md) has examples.\n"
        .to_owned();
    for tag in members(&contract["tags"]) {
        let (name, about) = (text(&tag["name"]), text(&tag["description"]));
        let _ = write!(
            page,
            "\n## {name}\n\n{about}.\n\n| call | does |\n|---|---|\n"
        );
        for (path, methods) in contract["paths"].as_object().into_iter().flatten() {
            for (method, operation) in methods.as_object().into_iter().flatten() {
                if text(&operation["tags"][0]) != name {
                    continue;
                }
                let summary = text(&operation["summary"]);
                // An empty list of ways to authorize.
                let is_public = operation["security"].as_array().is_some_and(Vec::is_empty);
                let public = if is_public { " (without a token)" } else { "" };
                let method = method.to_uppercase();
                let _ = writeln!(page, "| `{method} {path}` | {summary}{public} |");
            }
        }
    }
    Ok(page)
}

fn members(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn exit_codes() -> String {
    let mut page = "# The exit codes of hubctl\n\n| code | meaning |\n|---|---|\n".to_owned();
    for (code, meaning) in EXIT_CODES {
        let _ = writeln!(page, "| {code} | {meaning} |");
    }
    page
}

/// The help of each command.
fn commands() -> String {
    let mut page = "# The commands of hubctl\n".to_owned();
    let mut program = hubctl::command_line().term_width(100);
    program.build();
    add(&mut page, &mut program);
    page
}

/// Adds the help of a command and of its subcommands, without those that are only for programs.
fn add(page: &mut String, command: &mut clap::Command) {
    let name = command.get_bin_name().unwrap_or("hubctl").to_owned();
    let help = command.render_help().to_string();
    let _ = write!(page, "\n## {name}\n\n```text\n");
    for line in help.trim().lines() {
        let _ = writeln!(page, "{}", line.trim_end());
    }
    page.push_str("```\n");
    for inner in command.get_subcommands() {
        if !inner.is_hide_set() && inner.get_name() != "help" {
            // The options of all commands are those of hubctl.
            let mut inner = inner.clone().mut_args(|it| {
                let is_of_all = it.is_global_set();
                it.hide(is_of_all)
            });
            add(page, &mut inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_references_follow_from_the_code() {
        for (name, text) in files().unwrap() {
            let written = fs::read_to_string(Path::new(DIRECTORY).join(name)).unwrap_or_default();
            let is_same = written == text;
            assert!(
                is_same,
                "docs/reference/{name} is not what the code says: run cargo run -p hub-packaging -- docs"
            );
        }
    }
}
