//! Subcommands that are programs of their own, because they need libraries that every hook would otherwise load.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use crate::error::Error;
use crate::exit_code::Exit;
use crate::settings::HubLocation;

/// The programs, each with the directory of its crate.
const PROGRAMS: [(&str, &str); 3] = [
    ("hub-acp", "client/acp"),
    ("hub-desktop", "client/desktop"),
    ("hub-top", "client/top"),
];

#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true, disable_version_flag = true)]
/// The arguments of a program, which parses them itself.
pub(crate) struct ProgramArgs {
    /// The program's arguments; --help shows them
    #[arg(
        value_name = "ARGS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    args: Vec<OsString>,
}

/// Replaces this process by the program `name`, which is beside this one or on PATH. Returns only if it cannot.
pub(crate) fn run(name: &str, args: &ProgramArgs, location: &HubLocation) -> Result<Exit, Error> {
    let beside = std::env::current_exe().map(|own| own.with_file_name(name));
    let program = beside.ok().filter(|it| it.is_file());
    let mut command = Command::new(program.unwrap_or_else(|| PathBuf::from(name)));
    let error = command.args(flags(location)).args(&args.args).exec();
    Err(match error.kind() {
        std::io::ErrorKind::NotFound => missing(name),
        _ => anyhow::anyhow!("{name}: {error}").into(),
    })
}

/// The flags that name the hub, as the program takes them too.
fn flags(location: &HubLocation) -> Vec<OsString> {
    let HubLocation {
        url,
        socket,
        state_dir,
        token_file,
    } = location;
    let given = [
        ("--url", url.clone().map(OsString::from)),
        ("--socket", socket.clone().map(OsString::from)),
        ("--state-dir", state_dir.clone().map(OsString::from)),
        ("--token-file", token_file.clone().map(OsString::from)),
    ];
    given
        .into_iter()
        .filter_map(|(name, value)| Some([name.into(), value?]))
        .flatten()
        .collect()
}

fn missing(name: &str) -> Error {
    let home = PROGRAMS.iter().find(|(program, _)| *program == name);
    let home = home.map_or("client", |(_, home)| home);
    anyhow::anyhow!(
        "{name} is neither beside hubctl nor on PATH; in a clone of the hub, `cargo install --path {home} --locked` \
         installs it"
    )
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_gets_the_flags_that_name_the_hub() {
        let location = HubLocation {
            socket: Some("/run/hub sock".into()),
            token_file: Some("t".into()),
            ..HubLocation::default()
        };
        let shown = ["--socket", "/run/hub sock", "--token-file", "t"];
        assert_eq!(flags(&location), shown.map(OsString::from));
    }

    #[test]
    fn the_error_names_the_crate_that_is_missing() {
        for (name, home) in PROGRAMS {
            let error = missing(name).to_string();
            assert!(error.contains(name) && error.contains(home), "{error}");
        }
    }
}
