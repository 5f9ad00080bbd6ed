//! Making a session known to the hub.

use std::time::Duration;

use hub_protocol::{Process, SessionInfo};

use super::Job;
use crate::error::Error;
use crate::here::Here;
use crate::hub::{Path, Request};
use crate::out::say;

/// How long a hub may take to answer: the end of a short command waits for it.
const PATIENCE: Duration = Duration::from_secs(2);

/// Tells the hub of the session. A command runs as well without: a failure is only said.
pub(super) async fn register(job: &Job, here: &Here) {
    if let Err(error) = put(job, here).await {
        say(format!(
            "session {} is not registered: {error}",
            job.session
        ));
    }
}

async fn put(job: &Job, here: &Here) -> Result<(), Error> {
    let path = Path::new("/sessions")
        .segment(&job.session)
        .with("project", &job.project);
    let info = serde_json::to_string(&info(job, here)).map_err(anyhow::Error::from)?;
    here.hub()?
        .text_within(&Request::put(path, info), PATIENCE)
        .await?;
    Ok(())
}

fn info(job: &Job, here: &Here) -> SessionInfo {
    let text = |text: &std::ffi::OsStr| text.to_str().map(str::to_owned);
    SessionInfo {
        name: Some(job.name.clone()),
        agent: Some("run".into()),
        host: text(std::ffi::OsStr::new(
            &*rustix::system::uname().nodename().to_string_lossy(),
        )),
        cwd: text(here.env.cwd.as_os_str()),
        parent: job.parent.clone(),
        process: Some(this_process()),
        pane: here.env.var("TMUX_PANE").and_then(text),
        ..SessionInfo::default()
    }
}

/// This process, not the command's: it lives until it has said how the command ended.
fn this_process() -> Process {
    let read = |path| std::fs::read_to_string(path).ok();
    Process {
        pid: std::process::id(),
        started: read("/proc/self/stat").and_then(|stat| started(&stat)),
        boot_id: read("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()),
    }
}

/// Field 22 of `proc_pid_stat(5)`. The second, a name in parentheses, may hold anything.
fn started(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_found_behind_any_name() {
        let rest: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        let stat = format!("7 (a) b (c)) {}", rest.join(" "));
        assert_eq!(started(&stat), Some(22));
    }
}
