//! The hubctl that the hooks call, and with which variables.

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

/// Refuses a path in a cache of npx: the hooks would fail when npm deletes it.
fn lasting(program: String) -> Result<String, Error> {
    if Path::new(&program).iter().any(|it| it == "_npx") {
        return Err(Error::Usage(format!(
            "{program} is in the cache of npx, which npm may delete at any time, and then each hook would fail: install \
             hubctl (`npm install --global` with the same package), and run this command again"
        )));
    }
    Ok(program)
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
