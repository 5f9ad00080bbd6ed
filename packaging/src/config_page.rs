//! The manual page `hub-config(5)`: the configuration file.

use roff::{Roff, bold, italic, roman};

/// The page. Each setting of `defaults`, a configuration file with comments, is an entry with its comment.
pub(crate) fn render(defaults: &str) -> String {
    let mut page = Roff::new();
    page.control("TH", ["hub-config", "5"])
        .control("SH", ["NAME"])
        .text([roman("hub-config - the configuration file of hubd")])
        .control("SH", ["SYNOPSIS"])
        .text([italic("$XDG_CONFIG_HOME/hub/config.toml")])
        .control("SH", ["DESCRIPTION"])
        .text([roman(
            "The file is TOML. hubd reads the file that --config or HUB_CONFIG names, else \
             $XDG_CONFIG_HOME/hub/config.toml, or ~/.config/hub/config.toml. The environment (HUB_LISTEN, \
             HUB_STATE_DIR) overrides the file, and flags override both; --set KEY=VALUE sets any setting. \
             hubd --print-config shows each setting with its source. An unknown setting is an error.",
        )])
        .control("SH", ["SETTINGS"]);
    // The comments at the top are about the file itself.
    let settings = defaults.split_once("\n\n").map_or(defaults, |it| it.1);
    entries(&mut page, settings);
    page.control("SH", ["SEE ALSO"]).text([
        bold("hubd"),
        roman("(1), "),
        bold("hubctl"),
        roman("(1)"),
    ]);
    page.to_roff()
}

/// Appends the entries. Settings that follow each other without a comment between them share the one before.
fn entries(page: &mut Roff, settings: &str) {
    let mut comment = String::new();
    let mut lines = settings.lines().peekable();
    let mut first = true;
    while let Some(line) = lines.next() {
        if let Some(text) = line.strip_prefix('#') {
            comment.push_str(text);
        } else if let Some((name, value)) = line.split_once(" = ") {
            page.control(if first { "TP" } else { "TQ" }, []).text([
                bold(name),
                roman(" = "),
                roman(value),
            ]);
            first = !lines.peek().is_some_and(|next| next.contains(" = "));
            if first {
                page.text([roman(comment.trim())]);
                comment.clear();
            }
        } else if line.starts_with('[') {
            page.control("SS", [line]);
        }
    }
}

#[cfg(test)]
mod tests {
    use hub_config::{Config, ConfigArgs};

    use super::*;

    #[test]
    fn every_setting_has_an_entry_in_its_section() {
        let page = render(hub_config::DEFAULTS);
        let env = |name: &str| (name == "HOME").then(|| "/nowhere".into());
        let config = Config::load(&ConfigArgs::default(), &env).unwrap();
        for (key, ..) in config.sources() {
            let (section, name) = key.split_once('.').unwrap_or(("SETTINGS", key));
            let heading = |part: &&str| part.lines().next().is_some_and(|it| it.contains(section));
            let entries = page.split("\n.S").find(heading).unwrap();
            assert!(
                entries.contains(&format!("\n\\fB{name}\\fR")),
                "{key}: {entries}"
            );
        }
    }
}
