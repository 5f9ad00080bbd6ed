//! A block of our own at the end of a settings file in TOML. Everything else in the file keeps its text.

use hub_protocol::Agent;

use super::own::OwnCommand;

const BEGIN: &str = "# The hooks of hubctl begin here; `hubctl hooks uninstall` removes them.\n";
const END: &str = "# The hooks of hubctl end here.\n";

/// Splits a file into the text around our block, and the block's content.
fn split(file: &str) -> (String, Option<&str>) {
    let found = file.split_once(BEGIN).and_then(|(before, rest)| {
        let (own, after) = rest.split_once(END)?;
        Some((before, own, after))
    });
    match found {
        Some((before, own, after)) => (format!("{before}{after}"), Some(own)),
        None => (file.to_owned(), None),
    }
}

/// The file with `tables` as our block. An error says why they cannot be added.
pub(super) fn install(file: &str, tables: &str) -> Result<String, String> {
    let (mut text, _) = split(file);
    let is_inline = |line: &str| {
        let key = line.split_once('=').map(|(key, _)| key.trim());
        key == Some("hooks")
    };
    if text.lines().any(is_inline) {
        return Err("has hooks in one line".to_owned());
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(format!("{text}{BEGIN}{tables}{END}"))
}

/// The file without our block.
pub(super) fn uninstall(file: &str) -> String {
    split(file).0
}

/// Our commands in the file, each with its event.
pub(super) fn find(file: &str, agent: Agent) -> Vec<(String, OwnCommand)> {
    let mut event = String::new();
    let mut found = Vec::new();
    let (_, own) = split(file);
    for line in own.into_iter().flat_map(str::lines) {
        let Some((key, value)) = line.split_once(" = ") else {
            continue;
        };
        let value: String = serde_json::from_str(value).unwrap_or_default();
        match key {
            "event" => event = value,
            "command" => {
                let own = OwnCommand::parse(&value, agent);
                found.extend(own.map(|own| (event.clone(), own)));
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::hooks::kimi;
    use crate::commands::hooks::own::Invocation;

    #[test]
    fn a_block_is_installed_once_found_and_removed() {
        let tables = kimi::tables(&Invocation {
            program: "/a b/\"it's\"/hubctl".into(),
            ..Invocation::anybody()
        });
        for before in [
            "",
            "a = 1\n",
            "[[hooks]]\nevent = \"Stop\"\ncommand = \"mine\"",
        ] {
            let once = install(before, &tables).unwrap();
            assert_eq!(install(&once, &tables).unwrap(), once);
            let found = find(&once, Agent::Kimi);
            assert_eq!(found.len(), 10);
            assert_eq!(found[0].0, "SessionStart");
            assert_eq!(found[0].1.program, "/a b/\"it's\"/hubctl");
            assert_eq!(uninstall(&once).trim_end(), before.trim_end());
            assert!(find(before, Agent::Kimi).is_empty());
        }
        install("hooks = []\n", &tables).unwrap_err();
    }
}
