//! The tool `wait`: its conditions, and what its end means.

use std::time::{Duration, Instant};

use hub_protocol::{InboxName, Way};
use serde_json::Value;

use super::arguments::{LONGEST, WaitArguments, read, seconds};
use super::calls::ToolCall;
use super::pending;
use super::reply::Reply;
use crate::core::filter::Filter;
use crate::http::error::{ApiError, Code};
use crate::waiters::{Barrier, Outcome, WaitSpec};

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
                let words = match &batch.barrier {
                    Some(barrier) if barrier.met => "The sessions have stopped.".to_owned(),
                    Some(barrier) => {
                        let missing: Vec<_> = barrier.missing.iter().map(InboxName::as_str).collect();
                        format!("Not stopped within {seconds} s: {}. Call wait again.", missing.join(", "))
                    }
                    None => format!("{} notifications arrived.", batch.items.len()),
                };
                let handed = self.unacknowledged.hand_over(&self.hub, &self.caller, batch).await?;
                let (text, ids) = handed;
                let data = if ids.is_empty() { Vec::new() } else { vec![text] };
                return Ok(Reply { words, data, taken: Some(ids) });
            }
            Outcome::Empty => format!(
                "Nothing arrived within {seconds} s. Call wait again if you still need it; otherwise go on, or end your turn."
            ),
            Outcome::HeldBack(held) => format!(
                "A limit holds {} notifications back until {}. Go on with something else.",
                held.count, held.until
            ),
            Outcome::Reset => "The project was reset, which ended this wait.".to_owned(),
            Outcome::TakenOver => "A later wait of this session replaced this one.".to_owned(),
            Outcome::Held { holder, .. } if matches!(holder.way, Some(Way::Module | Way::Rewake)) => {
                "There is no need to wait: your hooks wake you when something arrives. Go on, or end your turn.".to_owned()
            }
            Outcome::Held { inbox, holder } => {
                let who = holder.name.unwrap_or_default();
                let detail = format!("'{who}' waits at the inbox '{inbox}' already");
                return Err(ApiError::new(Code::InboxHeld, detail));
            }
        };
        let sessions = wait
            .barrier()
            .map_or("", |_| " The sessions have not stopped.");
        Ok(Reply::from(words + sessions))
    }
}
