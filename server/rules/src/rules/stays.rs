//! Sessions that stay in a phase. A phase depends on when the hub last received anything from a session, which the log
//! does not contain; so the bridge watches the time, and the fold decides that each stay fires once.

use std::sync::Arc;
use std::time::Duration;

use hub_core::command::{Command, RuleCommand};
use hub_core::fold::State;
use hub_core::rule::RuleSet;
use hub_core::waiters::SharedWaiters;
use hub_engine::Hub;
use hub_protocol::Timestamp;
use tokio_util::sync::CancellationToken;

/// Delay from a change to the next look, because most changes concern other things.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// The longest time between two looks, because a session can fall silent without any record.
const LONGEST: Duration = Duration::from_secs(15);

/// Reports each stay that a rule fires on, until `shutdown`.
pub(super) async fn watch(hub: &Hub, shutdown: &CancellationToken) {
    let rules = Arc::clone(hub.rule_set());
    if rules.lasting().next().is_none() {
        return;
    }
    let mut log = hub.log().subscribe();
    let mut has_begun = false;
    loop {
        // A standby begins when it becomes the active hub.
        if !has_begun {
            has_begun = begin(hub).await;
        }
        let pause = if has_begun {
            look(hub, &rules).await
        } else {
            LONGEST
        };
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
            Ok(()) = log.changed() => tokio::time::sleep(DEBOUNCE).await,
        }
    }
}

/// Records that the hub has these rules, so that they fire on no phase that began before. Returns whether it could.
pub(super) async fn begin(hub: &Hub) -> bool {
    let names = hub.rule_set().lasting().map(|it| it.name.clone()).collect();
    let begin = Command::Rule(RuleCommand::Begin(names));
    hub.submit(begin).await.is_ok()
}

/// Reports the stays that are due. Returns the time until the next look.
async fn look(hub: &Hub, rules: &Arc<RuleSet>) -> Duration {
    if hub.is_standby() {
        return LONGEST;
    }
    let of = Arc::clone(rules);
    let found = hub.list(move |state, waiters| stays(state, waiters, &of, Timestamp::now()));
    let Ok((due, next)) = found.await else {
        return LONGEST;
    };
    for stay in due {
        // A hub that cannot store it now reports it at the next look.
        let _ = hub.submit(Command::Rule(stay)).await;
    }
    next.map_or(LONGEST, |next| next.min(LONGEST))
}

/// Returns the stays that are due, and the time until the next one will be.
fn stays(
    state: &State,
    waiters: &SharedWaiters,
    rules: &RuleSet,
    now: Timestamp,
) -> (Vec<RuleCommand>, Option<Duration>) {
    let mut due = Vec::new();
    let mut next: Option<u64> = None;
    for (project, key, session) in state.sessions.iter(None) {
        let heard = waiters.read().heard(&(project.clone(), key.clone()), now);
        let phase = state.phase(project, key, session, heard, now);
        for rule in rules.lasting() {
            let name = session.shown_name();
            let Some(patience_ms) = rule.patience_ms(project, key.as_str(), name, phase.name)
            else {
                continue;
            };
            let is_old = state
                .rules
                .began(&rule.name)
                .is_none_or(|began| phase.since < began);
            if is_old
                || state
                    .rules
                    .has_fired(&rule.name, (project, key), phase.since)
            {
                continue;
            }
            let left = phase.since.plus_millis(patience_ms).as_millis() - now.as_millis();
            match u64::try_from(left) {
                Ok(left) if left > 0 => next = Some(next.map_or(left, |next| next.min(left))),
                _ => due.push(RuleCommand::Lasted {
                    rule: rule.name.clone(),
                    project: project.clone(),
                    session: key.clone(),
                    phase: phase.name,
                    since: phase.since,
                }),
            }
        }
    }
    (due, next.map(Duration::from_millis))
}
