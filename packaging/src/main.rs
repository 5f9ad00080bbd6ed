//! Writes the files of the packages that follow from the code: manual pages, completions and units.
//!
//! It is a program of its own, because `hubctl` starts at every hook of every agent and must stay small.

mod config_page;
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
        ["--sbom", made, commit] => {
            let document = std::io::read_to_string(std::io::stdin())?;
            print!("{}", sbom::reproducible(&document, made, commit)?);
            Ok(())
        }
        [out] => write_all(Path::new(out)).with_context(|| (*out).to_owned()),
        _ => anyhow::bail!("usage: hub-packaging DIRECTORY, or hub-packaging --sbom TIME COMMIT"),
    }
}

/// Writes all files below `out`, each at its path below a prefix such as `/usr`.
fn write_all(out: &Path) -> anyhow::Result<()> {
    let man1 = directory(out, "share/man/man1")?;
    clap_mangen::generate_to(hubctl::command_line(), &man1)?;
    clap_mangen::generate_to(hubd::cli::Args::command(), &man1)?;
    let page = config_page::render(hubd::config::DEFAULTS);
    fs::write(directory(out, "share/man/man5")?.join("hub-config.5"), page)?;
    let units = directory(out, "lib/systemd/user")?;
    for (name, text) in hubctl::packaged_units() {
        fs::write(units.join(name), text)?;
    }
    completions(out)
}

/// Writes the completions of both programs into the directories that the shells read.
fn completions(out: &Path) -> anyhow::Result<()> {
    let bash = directory(out, "share/bash-completion/completions")?;
    let zsh = directory(out, "share/zsh/vendor-completions")?;
    let fish = directory(out, "share/fish/vendor_completions.d")?;
    fs::write(bash.join("hubctl"), hubctl::completions(Shell::Bash))?;
    fs::write(zsh.join("_hubctl"), hubctl::completions(Shell::Zsh))?;
    fs::write(fish.join("hubctl.fish"), hubctl::completions(Shell::Fish))?;
    let mut hubd = hubd::cli::Args::command();
    let mut script = Vec::new();
    clap_complete::generate(shells::Bash, &mut hubd, "hubd", &mut script);
    fs::write(bash.join("hubd"), script)?;
    clap_complete::generate_to(shells::Zsh, &mut hubd, "hubd", zsh)?;
    clap_complete::generate_to(shells::Fish, &mut hubd, "hubd", fish)?;
    Ok(())
}

fn directory(out: &Path, path: &str) -> anyhow::Result<PathBuf> {
    let path = out.join(path);
    fs::create_dir_all(&path)?;
    Ok(path)
}
