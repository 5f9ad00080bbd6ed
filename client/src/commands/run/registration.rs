//! Registers the command's session with the hub, and ends it.

use std::time::Duration;

use hub_protocol::process::started;
use hub_protocol::{Process, Session, SessionInfo};
use reqwest::Method;
use tokio::sync::oneshot;

use super::Job;
use crate::api::session::path;
use crate::error::Error;
use crate::hub::backoff::Backoff;
use crate::hub::{Request, json, parse};
use crate::identity::Context;
use crate::output::say;
use crate::system::process;

/// How long the hub may take to answer, because the end of a short command waits for it.
const PATIENCE: Duration = Duration::from_secs(2);

/// Registers the session, also if the hub only comes up while the command runs: until the other end of `over` is gone. The
/// command runs without it too, so a failure is only reported on stderr, once.
pub(super) async fn register(job: &Job, context: &Context, mut over: oneshot::Receiver<()>) {
    let mut backoff = Backoff::patient();
    let mut is_told = false;
    while let Err(error) = put(job, context).await {
        if !std::mem::replace(&mut is_told, true) {
            say(format!(
                "session {} is not registered: {error}",
                job.session
            ));
        }
        if !error.is_passing() {
            return;
        }
        // A request is not given up half-way: the hub would carry it out after the end of the session.
        tokio::select! {
            _ = &mut over => return,
            () = backoff.pause() => {}
        }
    }
}

/// Ends the session without a notification. If that fails, the hub will notice that its process is gone.
pub(super) async fn end(job: &Job, context: &Context) {
    let path = path(&job.session, &job.project);
    let Ok(hub) = context.hub() else { return };
    let known = hub.text_within(&Request::get(path.clone()), PATIENCE).await;
    let Ok(known) = known.and_then(|known| parse::<Session>(&known)) else {
        return;
    };
    let process = known.info.process.as_ref();
    if known.id != job.session || process.is_some_and(is_anothers) {
        return;
    }
    let request = Request::new(Method::DELETE, path.with("quiet", true));
    let _ = hub.text_within(&request, PATIENCE).await;
}

/// Whether `process` is alive and not this one, because a second job may have the same name.
fn is_anothers(process: &Process) -> bool {
    let started = started(process.pid);
    process.pid != std::process::id() && started.is_some() && started == process.started
}

async fn put(job: &Job, context: &Context) -> Result<(), Error> {
    let path = path(&job.session, &job.project);
    let info = json(&info(job, context))?;
    let hub = context.hub()?;
    let request = Request::put(path.clone().with("runs", true), &info);
    match hub.text_within(&request, PATIENCE).await {
        // A hub from before this parameter refuses it.
        Err(Error::Refused(problem)) if problem.code == "invalid" => {
            let request = Request::put(path, info);
            hub.text_within(&request, PATIENCE).await.map(drop)
        }
        answer => answer.map(drop),
    }
}

fn info(job: &Job, context: &Context) -> SessionInfo {
    let text = |text: &std::ffi::OsStr| text.to_str().map(str::to_owned);
    SessionInfo {
        name: Some(job.name.clone()),
        agent: Some("run".into()),
        host: Some(process::host()),
        cwd: text(context.env.cwd.as_os_str()),
        parent: job.parent.clone(),
        // This process instead of the command's, because it lives until it has reported the command's end.
        process: Some(Process::running(std::process::id())),
        pane: context.env.var("TMUX_PANE").and_then(text),
        pane_delivery: job.pane_delivery.then_some(true),
        ..SessionInfo::default()
    }
}
