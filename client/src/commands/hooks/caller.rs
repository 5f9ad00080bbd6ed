//! The hubctl that the hooks call, and with which variables.

use std::ffi::OsStr;
use std::path::Path;

use super::CallArgs;
use super::own::Invocation;
use crate::error::Error;
use crate::identity::Context;
use crate::settings::HubLocation;

/// The beginning of the commands that these arguments install. An error if they would not last.
pub(super) fn invocation(
    args: &CallArgs,
    plugin: bool,
    location: &HubLocation,
    context: &Context,
) -> Result<Invocation, Error> {
    let mut variables = Vec::new();
    variables.extend(args.session.as_ref().map(|it| format!("HUB_SESSION={it}")));
    // Only what this command line names; the other settings come from the agent's own environment.
    if location.state_dir.is_some() {
        let dir = context.settings.state_dir.value.to_str();
        let dir = dir.ok_or_else(|| Error::Usage("--state-dir is not UTF-8".into()))?;
        variables.push(format!("HUB_STATE_DIR={dir}"));
    }
    Ok(Invocation {
        variables,
        program: lasting(program(context)?)?,
        rewake: !args.no_rewake,
        plugin,
        status_line: false,
    })
}

/// Refuses a path that does not last.
fn lasting(program: String) -> Result<String, Error> {
    match passing(&program) {
        Some(what) => Err(Error::Usage(format!("{what}, and run this command again"))),
        None => Ok(program),
    }
}

/// Why a path of hubctl does not last, with the remedy: it is in a cache of npx, or of the same in pnpm, Yarn or Bun.
pub(super) fn passing(program: &str) -> Option<String> {
    let is_cache = |part: &OsStr| {
        let part = part.to_string_lossy();
        part == "_npx" || part == "dlx" || part.starts_with("dlx-") || part.starts_with("bunx-")
    };
    Path::new(program).iter().any(is_cache).then(|| {
        format!(
            "{program} is in a cache of npx or the like, which may be emptied at any time, and then each hook fails: \
             install hubctl (`npm install --global` with the same package)"
        )
    })
}

/// The absolute path of this hubctl. If PATH has a link to it, that is the link's path, because the link's target may
/// contain a version number.
pub(super) fn program(context: &Context) -> Result<String, Error> {
    let exe = std::env::current_exe()?;
    let dirs = context.env.var("PATH").map(std::env::split_paths);
    let linked = dirs
        .into_iter()
        .flatten()
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join("hubctl"))
        .find(|path| path.canonicalize().is_ok_and(|real| real == exe));
    let path = linked.unwrap_or(exe);
    let path = path.to_str().map(str::to_owned);
    path.ok_or_else(|| Error::Usage("the path of hubctl is not UTF-8".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_a_cache_of_a_package_manager_does_not_last() {
        for (path, is_passing) in [
            ("/h/.npm/_npx/3f2a1b/node_modules/.bin/hubctl", true),
            ("/h/.cache/pnpm/dlx-1234/node_modules/.bin/hubctl", true),
            ("/h/.cache/pnpm/dlx/1f/node_modules/.bin/hubctl", true),
            ("/tmp/bunx-1000-hub/node_modules/.bin/hubctl", true),
            ("/h/.npm-global/bin/hubctl", false),
            ("/usr/lib/node_modules/hub/bin/hubctl", false),
        ] {
            assert_eq!(passing(path).is_some(), is_passing, "{path}");
        }
    }
}
