//! The push bridge: wakes idle sessions that have no waiter of their own.
//!
//! A session of Claude Code with the hub's module or a rewake hook polls the hub itself. For a session that is idle and
//! has neither, such as one of Codex, the hub waits in its place, by the best transport that it has and that did not fail
//! for what is pending. Any other waiter takes the inbox over at once. A batch is recorded as shown in that way
//! before the transport is used. If the transport fails, the batch is recorded as returned, and the next one is tried.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use hub_agents::Agent;
use hub_core::command::Command;
use hub_core::fold::{Inbox, Item, Session, SessionKey, State};
use hub_core::rejected::Rejected;
use hub_core::waiters::{Batch, MAX_TEXT_BYTES, Outcome, Reach, SharedWaiters, WaitSpec};
use hub_engine::{Hub, stored, wake_text};
use hub_protocol::process::boot_id;
use hub_protocol::{
    FailedWay, InboxName, OwnWords, Process, ProjectName, Seq, SessionState, Timestamp, Way,
};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

mod claude_inbox;
mod codex;
mod mailbox;
mod pane;
mod transport;

use claude_inbox::ClaudeInboxes;
use codex::CodexThreads;
use transport::{Second, Transport};

/// Delay from a change to the next look, because most changes concern other things.
const DEBOUNCE: Duration = Duration::from_millis(100);

/// How long a session must be idle without a waiter before the hub waits in its place: its own waiter may be starting.
const GRACE: Duration = Duration::from_secs(1);

/// When a session that cannot be woken is tried again, unless something is pending or its state changes.
const RETRY: Duration = Duration::from_secs(15);

/// How long one wait lasts; then the hub looks for a better transport, and waits again.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// How long the hook of a changed file, or of a pasted prompt, may take to begin a turn. Claude Code may keep a change that
/// comes while it ends a turn until the next one; a busy agent may miss the Enter that follows a paste.
const AGAIN: Duration = Duration::from_secs(10);

/// A session that the hub may wake.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools)] // each a flag of its own
struct PushSession {
    key: SessionKey,
    /// The record that registered it.
    number: Seq,
    agent: Agent,
    process: Option<Process>,
    cwd: Option<String>,
    /// Whether its process runs on another machine, so that only its own waiter can wake it.
    is_elsewhere: bool,
    /// Its tmux pane.
    pane: Option<String>,
    /// Whether the hub may paste into that pane.
    pane_delivery: bool,
    /// Why it is not idle.
    busy: Option<&'static str>,
    /// Since when its agent shows a dialog, as far as its hooks tell.
    dialog_since: Option<Timestamp>,
    /// Whether the hub holds the hook of the dialog, which is shown only after that.
    holds_dialog: bool,
    /// Whether it is idle and has no waiter of its own.
    is_unattended: bool,
    /// The record that last reported its state.
    seq: Seq,
    /// The agent's own id of it.
    agent_id: InboxName,
    /// Whether it answers one prompt and ends.
    is_headless: bool,
    /// Whether its permission mode may allow everything.
    bypasses: bool,
    /// Whether a line was pasted for something that is still pending, so that nothing has proved that the line arrived.
    unproven_paste: bool,
    /// For each pending notification that wakes it, the ways that failed.
    pending: Vec<Vec<Way>>,
}

/// The hub's wait in the place of a session.
struct Standin {
    way: Way,
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

/// Notifications on their way to a session.
#[derive(Debug, Clone)]
struct PushedBatch {
    project: ProjectName,
    /// Each inbox with its notifications.
    items: Vec<(InboxName, Vec<Seq>)>,
    way: Way,
}

struct Pushes {
    hub: Hub,
    inboxes: ClaudeInboxes,
    threads: CodexThreads,
    standins: HashMap<SessionKey, Standin>,
    /// Since when each session is unattended.
    since: HashMap<SessionKey, Instant>,
    /// The living sessions at the last removal of watched files.
    living: HashSet<Seq>,
}

/// Wakes sessions until `shutdown`.
pub async fn run(hub: Hub, state_dir: PathBuf, shutdown: CancellationToken) {
    let mut log = hub.log().subscribe();
    let mut presence = hub.waiters().read().version().subscribe();
    let mut pushes = Pushes {
        inboxes: ClaudeInboxes::new(&hub, &state_dir),
        threads: CodexThreads::new(&hub),
        hub,
        standins: HashMap::new(),
        since: HashMap::new(),
        living: HashSet::new(),
    };
    loop {
        let next = pushes.look().await;
        let next_look = async {
            match next {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = shutdown.cancelled() => break,
            () = next_look => {}
            Ok(()) = log.changed() => tokio::time::sleep(DEBOUNCE).await,
            Ok(()) = presence.changed() => tokio::time::sleep(DEBOUNCE).await,
        }
        presence.mark_unchanged();
    }
    for standin in pushes.standins.into_values() {
        standin.cancel.cancel();
        let _ = standin.task.await;
    }
}

impl PushedBatch {
    /// Returns the notifications to their inboxes.
    async fn failed(self, hub: &Hub, why: String) {
        let Self {
            project,
            items,
            way,
        } = self;
        let undelivered = Command::Undelivered {
            project,
            items,
            way,
            why,
        };
        if let Err(error) = hub.submit(undelivered).await {
            tracing::warn!(%error, way = way.as_str(), "notifications that a session refused wait for a proof");
        }
    }
}

impl Pushes {
    /// Begins and ends waits in the place of sessions. Returns when to look again, if nothing changes before.
    async fn look(&mut self) -> Option<Instant> {
        self.standins.retain(|_, it| !it.task.is_finished());
        let listed =
            |state: &State, waiters: &SharedWaiters| (candidates(state, waiters), living(state));
        let Ok((candidates, living)) = self.hub.list(listed).await else {
            return None;
        };
        self.forget_ended(&candidates);
        self.remove_files(living).await;
        let mut next: Option<Instant> = None;
        for candidate in &candidates {
            let again = self.attend(candidate).await;
            next = next.into_iter().chain(again).min();
        }
        next
    }

    async fn attend(&mut self, candidate: &PushSession) -> Option<Instant> {
        let key = &candidate.key;
        if !candidate.is_unattended {
            self.since.remove(key);
            self.dismiss(key);
            self.note_failed(key, None);
            let waits = candidate.pane_delivery && !candidate.pending.is_empty();
            pane::note(&self.hub, key, candidate.busy.filter(|_| waits));
            if candidate.agent.facts().has(Way::AppServer)
                && candidate.dialog_since.is_some()
                && !candidate.is_elsewhere
            {
                return self.threads.watch_dialog(candidate).await;
            }
            return None;
        }
        let since = *self.since.entry(key.clone()).or_insert_with(Instant::now);
        // Codex starts no waiter by itself.
        if !candidate.agent.facts().has(Way::AppServer) && since + GRACE > Instant::now() {
            return Some(since + GRACE);
        }
        let used = self.standins.get(key).map(|it| it.way);
        if used.is_some_and(|way| way != Way::Pane && is_useful(way, candidate)) {
            return None;
        }
        let chosen = transport::choose(&self.hub, &self.inboxes, &self.threads, candidate);
        let transport = match chosen.await {
            Ok(transport) => transport,
            Err(failed) => {
                let pane = failed.iter().find(|it| it.way == Way::Pane);
                pane::note(&self.hub, key, pane.map(|it| it.why.as_str()));
                self.note_failed(key, Some(failed));
                if used == Some(Way::Pane) {
                    self.dismiss(key);
                }
                if candidate.is_elsewhere {
                    return None;
                }
                // A socket may take no more messages now, or its file may not be written yet.
                let is_urgent = !candidate.pending.is_empty();
                let again = Instant::now() + if is_urgent { GRACE } else { RETRY };
                return self.threads.next_try(key).or(Some(again));
            }
        };
        self.note_failed(key, None);
        // A pane that refuses is asked again.
        let is_pane = transport.way() == Way::Pane;
        let again = is_pane.then(|| Instant::now() + GRACE);
        if !is_pane {
            pane::note(&self.hub, key, None);
        } else if used == Some(Way::Pane) {
            return again;
        }
        if used.is_some() {
            self.dismiss(key);
            return Some(Instant::now() + DEBOUNCE);
        }
        self.stand_in(key.clone(), transport);
        again
    }

    /// Keeps for people why the session cannot be woken.
    fn note_failed(&self, key: &SessionKey, failed: Option<Vec<FailedWay>>) {
        let known = self.hub.waiters().read();
        let is_same = known.failed_ways(key) == failed.as_deref();
        drop(known);
        if !is_same {
            let mut waiters = self.hub.waiters().write();
            waiters.activity().note_failed_ways(key, failed);
        }
    }

    fn dismiss(&self, key: &SessionKey) {
        if let Some(standin) = self.standins.get(key) {
            standin.cancel.cancel();
        }
    }

    fn stand_in(&mut self, key: SessionKey, transport: Transport) {
        let cancel = CancellationToken::new();
        let way = transport.way();
        let task = wait_and_wake(self.hub.clone(), key.clone(), transport, cancel.clone());
        let task = tokio::spawn(task);
        self.standins.insert(key, Standin { way, cancel, task });
    }

    fn forget_ended(&mut self, candidates: &[PushSession]) {
        let keys: HashSet<&SessionKey> = candidates.iter().map(|it| &it.key).collect();
        self.since.retain(|key, _| keys.contains(key));
        self.threads.retain(|key| keys.contains(key));
        for (key, standin) in &self.standins {
            if !keys.contains(key) {
                standin.cancel.cancel();
            }
        }
    }

    /// Removes the watched files of sessions that ended, if others live than at the last look.
    async fn remove_files(&mut self, living: HashSet<Seq>) {
        if living == self.living {
            return;
        }
        self.living = living;
        let hub = self.hub.clone();
        let removed = tokio::task::spawn_blocking(move || remove_files(&hub)).await;
        if let Ok(Err(error)) = removed {
            tracing::warn!(%error, "the watched files of ended sessions could not be removed");
        }
    }
}

/// Removes the watched files of sessions that ended. The agent of a living one would take it for a wake.
fn remove_files(hub: &Hub) -> anyhow::Result<()> {
    // Before the sessions are read: each of these was registered before it got its file.
    let watched = hub.wake_files().sessions()?;
    let living = hub.read(|state, _| living(state))?;
    for number in watched {
        if !living.contains(&number) {
            hub.wake_files().remove(number)?;
        }
    }
    Ok(())
}

/// Whether a wait in this way can deliver something: what is pending, or what arrives if nothing is pending.
fn is_useful(way: Way, candidate: &PushSession) -> bool {
    let pending = &candidate.pending;
    pending.is_empty() || pending.iter().any(|tried| !tried.contains(&way))
}

/// The living sessions that their hooks have reported.
fn candidates(state: &State, waiters: &SharedWaiters) -> Vec<PushSession> {
    let boot_id = boot_id();
    let now = std::time::Instant::now();
    let candidate = |(project, key, session): (&ProjectName, &InboxName, &Session)| {
        let registered = session.registered.as_ref()?;
        let info = &registered.info;
        let process = info.process.clone();
        let place = (project.clone(), key.clone());
        // Read for each, because the writer waits for it.
        let reach = waiters.read().reach(&place, session, now);
        // `hub-acp` alone begins turns of its sessions: its client would not see others.
        if matches!(reach, Reach::Ended | Reach::NoHooks) || session.has_acp_client() {
            return None;
        }
        Some(PushSession {
            number: registered.seq,
            seq: session.seq,
            agent_id: registered.aliases.last().unwrap_or(key).clone(),
            is_headless: session.is_headless(),
            agent: info.agent.as_deref()?.parse().ok()?,
            is_elsewhere: process.as_ref().is_some_and(|it| it.boot_id != boot_id),
            process,
            cwd: info.cwd.clone(),
            pane: info.pane.clone(),
            pane_delivery: info.pane_delivery == Some(true),
            busy: why_not_idle(session),
            dialog_since: state.questions.dialog_since(project, key),
            holds_dialog: state.questions.holds_dialog(project, key),
            is_unattended: reach == Reach::Idle && !begins_turn(state, &place),
            bypasses: waiters.read().bypasses(&place),
            unproven_paste: has_unproven_paste(state, &place),
            pending: pending(state, &place),
            key: place,
        })
    };
    state.sessions.iter(None).filter_map(candidate).collect()
}

/// The records that registered the living sessions, also those that the hub does not wake by their files.
fn living(state: &State) -> HashSet<Seq> {
    let all = state.sessions.iter(None);
    let alive = all.filter(|(_, _, session)| session.is_alive());
    let registered = alive.filter_map(|(_, _, session)| session.registered.as_ref());
    registered.map(|it| it.seq).collect()
}

/// Why a session is not idle by its hooks.
fn why_not_idle(session: &Session) -> Option<&'static str> {
    if session.is_in_turn() {
        Some("it is at work; the answer to its next hook delivers")
    } else if session.state == Some(SessionState::Blocked) {
        Some("it waits for the person in a dialog")
    } else {
        None
    }
}

/// The pending items of a session.
fn items<'s>(state: &'s State, (project, key): &SessionKey) -> impl Iterator<Item = &'s Item> {
    let names = state.sessions.inboxes_of(project, key).into_iter();
    let inboxes = names.filter_map(|it| state.inboxes.get(project, &it));
    inboxes.flat_map(Inbox::pending)
}

/// The ways that failed for each pending notification that wakes the session.
fn pending(state: &State, place: &SessionKey) -> Vec<Vec<Way>> {
    let offerable = items(state, place).filter(|item| item.delivery().emitted.is_none());
    offerable
        .filter(|item| item.wakes)
        .map(|item| item.delivery().tried.clone())
        .collect()
}

/// Whether a pending notification was shown in this way without proof, and in no other since.
fn is_emitted(item: &Item, way: Way) -> bool {
    item.delivery().emitted.is_some_and(|(_, it)| it == way)
}

/// Whether the hub began a turn that the session's hooks have not reported yet. The hook of that prompt delivers what is
/// pending, and proves all that was shown in this way, so nothing else may be on its way then.
fn begins_turn(state: &State, place: &SessionKey) -> bool {
    items(state, place).any(|item| is_emitted(item, Way::AppServer))
}

/// Whether a pending notification was announced in the session's pane, and no hook has delivered it since.
fn has_unproven_paste(state: &State, place: &SessionKey) -> bool {
    items(state, place)
        .any(|item| is_emitted(item, Way::Pane) || item.delivery().tried.contains(&Way::Pane))
}

/// Waits until a notification wakes the session, and wakes it.
async fn wait_and_wake(
    hub: Hub,
    (project, session): SessionKey,
    transport: Transport,
    cancel: CancellationToken,
) {
    let way = transport.way();
    let name = format!("{}:{session}", way.as_str());
    let spec = WaitSpec {
        way: Some(way),
        settle: transport.settle(),
        deadline: (Instant::now() + transport.longest_wait()).into_std(),
        drain: false,
        ..WaitSpec::drain(project, Some(session), name, MAX_TEXT_BYTES)
    };
    let outcome = tokio::select! {
        biased;
        outcome = wait(&hub, spec, &transport) => outcome,
        () = cancel.cancelled() => return,
    };
    match outcome {
        Ok(Outcome::Batch(batch)) => {
            if let Err(error) = wake(&hub, &batch, &transport).await {
                tracing::warn!(%error, way = way.as_str(), "a session could not be woken");
            }
        }
        // Another waiter holds one of the inboxes; its end is a change that leads to the next look.
        Ok(Outcome::Held { .. }) => tokio::time::sleep(GRACE).await,
        Ok(Outcome::Empty | Outcome::HeldBack(_) | Outcome::Reset | Outcome::TakenOver)
        | Err(_) => {}
    }
}

/// Waits for a batch. A transport that refuses ends the wait before it counts as a wake.
async fn wait(hub: &Hub, spec: WaitSpec, transport: &Transport) -> Result<Outcome, Rejected> {
    if !transport.is_ready().await {
        tokio::time::sleep(GRACE).await;
        return Ok(Outcome::Empty);
    }
    hub.wait(spec).await
}

async fn wake(hub: &Hub, batch: &Batch, transport: &Transport) -> anyhow::Result<()> {
    let mut notifications = Vec::with_capacity(batch.items.len());
    for item in &batch.items {
        notifications.push(stored::item_json(hub, &batch.project, item).await?);
    }
    let mut claim = batch.claim(hub.log().epoch());
    if !transport.is_ready().await {
        return Ok(hub.give_back(claim).await?);
    }
    let prompt = if transport.way().announces() {
        transport.announcement(&notifications)
    } else {
        let framed = wake_text::framed(&notifications, batch.remaining);
        let shown: HashSet<Seq> = batch.items[..framed.shown].iter().map(|it| it.id).collect();
        let (kept, rest) = claim.partition(|id| shown.contains(&id));
        hub.give_back(rest).await?;
        claim = kept;
        OwnWords::of(framed)
    };
    let pushed = PushedBatch {
        project: claim.project.clone(),
        items: claim.items.clone(),
        way: transport.way(),
    };
    hub.submit(claim.into()).await?;
    let woken = transport.wake(prompt.as_str(), &pushed).await;
    match (woken, transport) {
        (Err(error), _) => pushed.failed(hub, error.to_string()).await,
        (Ok(()), transport) => {
            if let Some(second) = transport.second() {
                tokio::spawn(try_again(hub.clone(), second, pushed));
            }
        }
    }
    Ok(())
}

/// Uses a transport once more, if nothing of what it announced was delivered.
async fn try_again(hub: Hub, second: Second, pushed: PushedBatch) {
    tokio::time::sleep(AGAIN).await;
    let is_announced = hub.read(|state, _| {
        pushed.items.iter().any(|(name, ids)| {
            let inbox = state.inboxes.get(&pushed.project, name);
            let shown = |id: &Seq| inbox?.get(*id)?.delivery().emitted;
            let by = |id| shown(id).is_some_and(|(_, way)| way == pushed.way);
            ids.iter().any(by)
        })
    });
    if is_announced.unwrap_or(false)
        && let Err(error) = second.wake().await
    {
        tracing::debug!(%error, way = pushed.way.as_str(), "a session was not woken again");
    }
}

#[cfg(test)]
mod tests {
    use hub_engine::testing::{held_question, memory_hub};

    use super::*;

    async fn candidates_of(acp: bool) -> usize {
        let hub = memory_hub();
        let mut question = held_question();
        if let Command::Hook(hook) = &mut question {
            hook.acp = acp;
            hook.info.agent = Some("claude".into());
        }
        hub.submit(question).await.unwrap();
        let found = hub.list(candidates).await.unwrap().len();
        hub.stop();
        found
    }

    #[tokio::test]
    async fn the_hub_begins_no_turn_of_a_session_that_has_a_client() {
        assert_eq!(candidates_of(false).await, 1);
        assert_eq!(candidates_of(true).await, 0);
    }
}
