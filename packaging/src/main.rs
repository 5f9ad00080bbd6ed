//! Writes what follows from the code: of the packages the manual pages, completions, units and SBOMs, and of the
//! documentation the references.
//!
//! It is a program of its own, because `hubctl` starts at every hook of every agent and must stay small.

mod agents;
mod config_page;
mod record_page;
mod reference;
mod sbom;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::shells;
use hubctl::Shell;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match &args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--sbom", name, commit, made] => {
            let tree = std::io::read_to_string(std::io::stdin())?;
            print!("{}", sbom::document(&tree, name, commit, made)?);
            Ok(())
        }
        ["docs"] => reference::write(),
        [out] => write_all(Path::new(out)).with_context(|| (*out).to_owned()),
        _ => anyhow::bail!(
            "usage: hub-packaging DIRECTORY, hub-packaging docs, or hub-packaging --sbom NAME COMMIT TIME <TREE"
        ),
    }
}

/// Writes all files below `out`, each at its path below a prefix such as `/usr`.
fn write_all(out: &Path) -> anyhow::Result<()> {
    let man1 = directory(out, "share/man/man1")?;
    for program in programs() {
        clap_mangen::generate_to(program, &man1)?;
    }
    let man5 = directory(out, "share/man/man5")?;
    let config = config_page::render(hub_config::DEFAULTS);
    fs::write(man5.join("hub-config.5"), config)?;
    let records = record_page::render(&record_page::SOURCES);
    fs::write(man5.join("hub-records.5"), records)?;
    let units = directory(out, "lib/systemd/user")?;
    for (name, text) in hubctl::packaged_units()
        .into_iter()
        .chain([hub_desktop::packaged_unit()])
    {
        fs::write(units.join(name), text)?;
    }
    completions(out)
}

/// The command lines of the programs.
fn programs() -> [clap::Command; 5] {
    [
        hubctl::command_line(),
        hubd::cli::Args::command(),
        hub_top::command_line(),
        hub_desktop::command_line(),
        hub_acp::command_line(),
    ]
}

/// Writes the completions of the programs into the directories that the shells read.
fn completions(out: &Path) -> anyhow::Result<()> {
    let bash = directory(out, "share/bash-completion/completions")?;
    let zsh = directory(out, "share/zsh/vendor-completions")?;
    let fish = directory(out, "share/fish/vendor_completions.d")?;
    for mut program in programs() {
        let name = program.get_name().to_owned();
        clap_complete::generate_to(shells::Zsh, &mut program, &name, &zsh)?;
        clap_complete::generate_to(shells::Fish, &mut program, &name, &fish)?;
        let mut script = Vec::new();
        clap_complete::generate(shells::Bash, &mut program, &name, &mut script);
        fs::write(bash.join(&name), script)?;
    }
    // Those of hubctl also offer names that the hub knows.
    fs::write(bash.join("hubctl"), hubctl::completions(Shell::Bash))?;
    fs::write(zsh.join("_hubctl"), hubctl::completions(Shell::Zsh))?;
    fs::write(fish.join("hubctl.fish"), hubctl::completions(Shell::Fish))?;
    Ok(())
}

fn directory(out: &Path, path: &str) -> anyhow::Result<PathBuf> {
    let path = out.join(path);
    fs::create_dir_all(&path)?;
    Ok(path)
}
