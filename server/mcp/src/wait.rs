//! The tool `wait`: its conditions, and what its end means.

use std::time::{Duration, Instant};

use hub_core::filter::Filter;
use hub_core::waiters::{Barrier, Batch, Outcome, WaitSpec};
use hub_protocol::{Counted, OwnWords, Quoted, Way};
use serde_json::Value;

use super::arguments::{LONGEST, WaitArguments, read, seconds};
use super::calls::ToolCall;
use super::pending;
use super::reply::Reply;
use hub_http::error::{ApiError, Code};
use hub_http::routes::wait::MAX_NAMES;

/// How long a wait may take, in seconds.
pub(super) struct Bounds {
    /// The time if the caller names none.
    pub(super) default: u64,
    pub(super) longest: u64,
}

/// The bounds of a plain call. Clients limit the time of a call (60 s in Codex and in the TypeScript SDK), so the default
/// is less.
const CALL: Bounds = Bounds {
    default: 25,
    longest: LONGEST,
};

/// A wait of the caller, until its condition is met or its time is over.
pub(super) struct Wait {
    arguments: WaitArguments,
    /// The whole time.
    pub(super) patience: Duration,
    pub(super) deadline: Instant,
}

impl Wait {
    pub(super) fn new(arguments: Value, bounds: &Bounds) -> Result<Self, ApiError> {
        let arguments: WaitArguments = read(arguments)?;
        let WaitArguments {
            all, any, types, ..
        } = &arguments;
        let types = types.as_ref().map_or(0, Vec::len);
        if [all.len(), any.len(), types]
            .iter()
            .any(|it| *it > MAX_NAMES)
        {
            return Err(ApiError::invalid(format!(
                "all, any and types have at most {MAX_NAMES} entries each"
            )));
        }
        let patience = seconds(arguments.seconds.unwrap_or(bounds.default), bounds.longest)?;
        Ok(Self {
            arguments,
            patience,
            deadline: Instant::now() + patience,
        })
    }

    fn barrier(&self) -> Option<Barrier> {
        let WaitArguments { all, any, .. } = &self.arguments;
        (!all.is_empty() || !any.is_empty()).then(|| Barrier {
            all: all.clone(),
            any: any.clone(),
            count: 0,
            since: 0,
        })
    }
}

impl ToolCall {
    pub(super) async fn wait(&self, arguments: Value) -> Result<Reply, ApiError> {
        let wait = Wait::new(arguments, &CALL)?;
        let outcome = self.outcome_of(&wait).await?;
        self.waited(&wait, outcome).await
    }

    /// Waits. Dropping the future ends the wait.
    pub(super) async fn outcome_of(&self, wait: &Wait) -> Result<Outcome, ApiError> {
        self.demand_inbox()?;
        let spec = pending::spec(&self.caller).ok_or(Code::Internal)?;
        let spec = WaitSpec {
            filter: Filter {
                kinds: wait.arguments.types.clone(),
                from: wait.arguments.from.clone(),
                ..Filter::default()
            },
            barrier: wait.barrier(),
            deadline: wait.deadline,
            drain: wait.patience.is_zero(),
            ..spec
        };
        let _permit = self.hub.stream_permit()?;
        Ok(self.hub.wait(spec).await?)
    }

    /// Says how a wait ended, and hands over what it was woken for.
    pub(super) async fn waited(&self, wait: &Wait, outcome: Outcome) -> Result<Reply, ApiError> {
        let seconds = wait.patience.as_secs();
        let words = match outcome {
            Outcome::Batch(batch) => {
                let words = arrived(&batch, seconds);
                let handed = self
                    .unacknowledged
                    .hand_over(&self.hub, &self.caller, batch)
                    .await?;
                let (framed, ids) = handed;
                let data = if ids.is_empty() {
                    Vec::new()
                } else {
                    vec![framed]
                };
                return Ok(Reply {
                    words,
                    data,
                    taken: Some(ids),
                });
            }
            Outcome::Empty => OwnWords::of("Nothing arrived within ").and(seconds).and(
                " s. Call wait again if you still need it; otherwise go on, or end your turn.",
            ),
            Outcome::HeldBack(held) => OwnWords::of("A limit holds ")
                .and(Counted(held.count, "notification"))
                .and(" back until ")
                .and(held.until)
                .and(". Go on with something else."),
            Outcome::Reset => OwnWords::of("The project was reset, which ended this wait."),
            Outcome::TakenOver => OwnWords::of("A later wait of this session replaced this one."),
            Outcome::Held { holder, .. }
                if matches!(holder.way, Some(Way::Module | Way::Rewake)) =>
            {
                OwnWords::of(
                    "There is no need to wait: your hooks wake you when something arrives. Go on, or end your turn.",
                )
            }
            Outcome::Held { inbox, holder } => {
                let who = holder.name.unwrap_or_default();
                let detail = format!("{} waits at the inbox '{inbox}' already", Quoted(&who));
                return Err(ApiError::new(Code::InboxHeld, detail));
            }
        };
        let sessions = wait
            .barrier()
            .map_or("", |_| " The sessions have not stopped.");
        Ok(Reply::of(words.and(sessions)))
    }
}

/// The reason why a wait ended.
fn arrived(batch: &Batch, seconds: u64) -> OwnWords {
    match &batch.barrier {
        Some(barrier) if barrier.met => OwnWords::of("The sessions have stopped."),
        Some(barrier) => OwnWords::of("Not stopped within ")
            .and(seconds)
            .and(" s: ")
            .and_all(barrier.missing.iter().map(|it| Quoted(it.as_str())))
            .and(". Call wait again."),
        None => OwnWords::of(Counted(batch.items.len(), "notification")).and(" arrived."),
    }
}
