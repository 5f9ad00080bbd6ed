//! The bridge for Codex's rollouts, the files in which Codex keeps its threads: they tell that a turn failed, and no hook does.
//!
//! As recorded from Codex CLI 0.169.0, `tests/agents/codex.rs` checks it. The rollout of a thread is
//! `CODEX_HOME/sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl`, with the date on which the thread began, which its id (a UUID of
//! version 7) begins with. Codex appends a JSON object on a line for each event, with a `timestamp`, also if it runs without
//! its app-server (`--no-daemon`):
//!
//! | `payload.type` | meaning |
//! |---|---|
//! | `task_started` | a turn began |
//! | `task_complete` | it ended; with `error` it failed, and `Stop` does not run. `error.message` is shown to the person; `error.codex_error_info` is a kind, or an object with a kind as its only member that may have an `http_status_code` |
//! | `turn_aborted` | the person interrupted it, which the hook `Interrupt` reports |
//!
//! The files are not trusted: no link is followed, and only files of the hub's own user count. They change only a session that
//! its hooks report to be in a turn, and prove no delivery.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::time::Duration;

use hub_core::command::{AgentEvent, Command, Hook};
use hub_core::fold::{Session, SessionKey};
use hub_engine::Hub;
use hub_protocol::process::boot_id;
use hub_protocol::{InboxName, Process, ProjectName, Seq, Timestamp};
use tokio_util::sync::CancellationToken;

use super::local_sessions::{ProcessId, process_id};
use super::process_env;

mod rollout;

use rollout::Failure;

/// Delay from a change of the log to the reads, because most changes concern other things.
const LOG_DEBOUNCE: Duration = Duration::from_millis(250);
/// Read interval while a session is in a turn.
const INTERVAL: Duration = Duration::from_secs(1);
/// Timeout of the file system.
const IO_TIMEOUT: Duration = Duration::from_secs(2);

/// A thread in a turn.
#[derive(Debug, Clone)]
struct Thread {
    key: SessionKey,
    /// Codex's own id of it.
    id: InboxName,
    process: Process,
    /// The record that reported the turn, and its time.
    seq: Seq,
    since: Timestamp,
}

/// Submits an event for each turn that failed, until `shutdown`.
pub async fn watch(hub: Hub, shutdown: CancellationToken) {
    let Some(boot_id) = boot_id() else { return };
    let mut log = hub.log().subscribe();
    let mut homes: HashMap<ProcessId, Option<PathBuf>> = HashMap::new();
    loop {
        let threads = threads(&hub, &boot_id).await;
        let known = |id: &ProcessId| threads.iter().any(|it| process_id(&it.process) == *id);
        homes.retain(|id, _| known(id));
        for thread in &threads {
            look(&hub, thread, &mut homes).await;
        }
        let next_look = async {
            if threads.is_empty() {
                std::future::pending::<()>().await;
            } else {
                tokio::time::sleep(INTERVAL).await;
            }
        };
        let log_changed = async {
            let is_open = log.changed().await.is_ok();
            tokio::time::sleep(LOG_DEBOUNCE).await;
            is_open
        };
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = next_look => {}
            is_open = log_changed => if !is_open { return },
        }
    }
}

/// The threads of Codex on this machine that their hooks report to be in a turn.
async fn threads(hub: &Hub, boot_id: &str) -> Vec<Thread> {
    let boot_id = boot_id.to_owned();
    let found = hub.list(move |state, _| {
        let in_turn = |it: &Session| it.has_hooks() && it.is_in_turn() && !it.is_headless();
        let all = state.sessions.iter(None).filter(|(_, _, it)| in_turn(it));
        let thread = |(project, key, session): (&ProjectName, &InboxName, &Session)| {
            let registered = session.registered.as_ref()?;
            let info = &registered.info;
            let process = info.process.clone()?;
            let is_codex = info.agent.as_deref() == Some("codex");
            let is_here = process.boot_id.as_ref() == Some(&boot_id);
            (is_codex && is_here).then(|| Thread {
                key: (project.clone(), key.clone()),
                id: registered.aliases.last().unwrap_or(key).clone(),
                process,
                seq: session.seq,
                since: session.ts,
            })
        };
        all.filter_map(thread).collect()
    });
    found.await.unwrap_or_default()
}

/// Reads the rollout of a thread, and submits that its turn failed if it says so.
async fn look(hub: &Hub, thread: &Thread, homes: &mut HashMap<ProcessId, Option<PathBuf>>) {
    let process = process_id(&thread.process);
    let home = match homes.entry(process) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(new) => new.insert(home_of(thread).await),
    };
    let Some(home) = home.clone() else {
        return;
    };
    let (id, since) = (thread.id.clone(), thread.since);
    let read =
        tokio::task::spawn_blocking(move || rollout::last_failure(&home, id.as_str(), since));
    match tokio::time::timeout(IO_TIMEOUT, read).await {
        Ok(Ok(Some(failure))) => submit(hub, thread, failure).await,
        Ok(_) => {}
        // A file system that does not answer is not asked again.
        Err(_) => drop(homes.insert(process, None)),
    }
}

/// Codex's directory, as the thread's process was configured with it.
async fn home_of(thread: &Thread) -> Option<PathBuf> {
    process_env::directory(&thread.process, "CODEX_HOME", ".codex").await
}

async fn submit(hub: &Hub, thread: &Thread, failure: Failure) {
    let (until, resumes) = hub.limit_of(&failure.reason);
    let failed = AgentEvent::Failed {
        until,
        resumes,
        reason: failure.reason,
        permanent: failure.permanent,
    };
    let derived = Hook::derived(thread.key.clone(), failed, Hook::ROLLOUT, thread.seq);
    let hook = Hook {
        shares_process: true,
        acp: false,
        ..derived
    };
    if let Err(error) = hub.submit(Command::Hook(Box::new(hook))).await {
        tracing::warn!(%error, "the failed turn of a rollout could not be noted");
    }
}
