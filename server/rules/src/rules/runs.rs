//! The programs of firings. A record says that a program is about to start, so it starts at most once: a firing whose
//! hub was killed before that record starts its program at the next start of the hub.

use std::sync::Arc;
use std::time::Duration;

use hub_core::command::{Command, RuleCommand};
use hub_core::record::{Record, RuleFired};
use hub_engine::{Hub, stored};
use hub_protocol::{Notification, Seq};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::program::Program;

/// The most programs that run at a time.
const AT_ONCE: usize = 4;
/// The pause after a start that the hub could not record.
const RETRY: Duration = Duration::from_secs(1);

/// Starts the programs of firings until `shutdown`, which ends those that still run.
pub(super) async fn start_all(hub: &Hub, shutdown: &CancellationToken) {
    let mut log = hub.log().subscribe();
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    let mut programs = JoinSet::new();
    let has_programs = hub.rule_set().iter().any(|it| it.actions.run.is_some());
    loop {
        while let Some(firing) = next(hub) {
            let slot = tokio::select! {
                () = shutdown.cancelled() => break,
                slot = Arc::clone(&slots).acquire_owned() => slot.ok(),
            };
            let start = Command::Rule(RuleCommand::Start(firing));
            if hub.submit(start).await.is_err() {
                tokio::time::sleep(RETRY).await;
            } else if let Some((program, notification)) = program(hub, firing).await {
                let hub = hub.clone();
                programs.spawn(async move {
                    let ended = program.run(hub.programs()).await;
                    drop(slot);
                    if let Err(why) = ended {
                        let fail = RuleCommand::Fail {
                            rule: program.rule,
                            firing,
                            notification,
                            why,
                        };
                        // The hub's log has the failure too, if this cannot be recorded.
                        let _ = hub.submit(Command::Rule(fail)).await;
                    }
                });
            }
            while programs.try_join_next().is_some() {}
        }
        // Without programs, the only firings are those of rules that were removed.
        if !has_programs {
            break;
        }
        tokio::select! {
            () = shutdown.cancelled() => break,
            changed = log.changed() => if changed.is_err() { break },
        }
    }
    programs.shutdown().await;
}

/// Returns the oldest firing whose program was not started yet.
fn next(hub: &Hub) -> Option<Seq> {
    if hub.is_standby() || hub.shutdown().is_cancelled() {
        return None;
    }
    let oldest = hub.read(|state, _| state.rules.open_runs().next().map(|(firing, _)| firing));
    oldest.ok().flatten()
}

/// Returns the program of a firing, and the notification that it fired on; `None` if its rule no longer runs one, or the firing can no longer be read.
async fn program(hub: &Hub, firing: Seq) -> Option<(Program, Option<Seq>)> {
    let event = stored::event(hub.log(), firing).await.ok()??;
    let Record::RuleFired(fired) = event.record()? else {
        return None;
    };
    let rule = hub.rule_set().get(&fired.rule);
    let Some((words, limit)) = rule.and_then(|it| it.actions.run.clone()) else {
        tracing::warn!(
            rule = fired.rule,
            "a firing's rule no longer runs a program"
        );
        return None;
    };
    let (json, variables) = match fired.notification {
        Some(id) => of_notification(hub, id).await?,
        None => of_session(fired),
    };
    let program = Program {
        rule: fired.rule.clone(),
        words,
        json,
        variables,
        limit,
    };
    Some((program, fired.notification))
}

type Input = (String, Vec<(&'static str, String)>);

async fn of_notification(hub: &Hub, id: Seq) -> Option<Input> {
    let location = hub.read(|state, _| state.location(id).unwrap_or(id)).ok()?;
    let event = stored::event(hub.log(), location).await.ok()??;
    let json = String::from_utf8(event.json()?.to_vec()).ok()?;
    let notification: Notification = serde_json::from_str(&json).ok()?;
    let variables = notification.variables().into_iter();
    let variables = variables.filter_map(|(name, value)| Some((name, value?)));
    Some((json, variables.collect()))
}

fn of_session(fired: &RuleFired) -> Input {
    let (phase, since) = fired.stay.unwrap_or_default();
    let json = json!({
        "rule": fired.rule,
        "project": fired.project,
        "session": fired.session,
        "phase": phase,
        "since": since,
    });
    let variables = vec![
        ("HUB_FROM", fired.session.to_string()),
        ("HUB_PROJECT", fired.project.to_string()),
        ("HUB_PHASE", phase.to_string()),
        ("HUB_TS", since.to_string()),
        (
            "HUB_MSG",
            format!("{} since {since}", phase.as_str().replace('_', " ")),
        ),
    ];
    (json.to_string(), variables)
}
