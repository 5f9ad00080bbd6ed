//! Waits as tasks, for clients that take them (protocol 2026-07-28, extension `io.modelcontextprotocol/tasks`).
//!
//! A task is a wait that goes on while the client asks for it. Each `tasks/get` is a long poll: it runs the wait for up
//! to [`HOLD`], under the same rules as a plain call. So a client that goes away ends the wait, and what the wait had
//! leased is offered again. The hub keeps tasks in memory. After a restart it knows none, and what was pending is still
//! pending.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hub_protocol::{Seq, Timestamp, own_words};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, CreateTaskResult, DetailedTask, JsonObject,
    Task, TaskPayload, TaskStatus,
};
use serde_json::{Value, json};
use tokio::sync::MutexGuard;
use tokio_util::sync::CancellationToken;

use super::McpCaller;
use super::calls::ToolCall;
use super::reply::explained;
use super::wait::{Bounds, Wait};
use crate::core::secret::hex;
use crate::core::sync::lock;
use crate::http::error::ApiError;
use crate::waiters::Outcome;

/// The bounds of a wait in the background.
const TASK: Bounds = Bounds {
    default: 3600,
    longest: 24 * 3600,
};

/// A wait that ends this soon needs no task.
const AT_ONCE: Duration = Duration::from_millis(200);

/// How long one `tasks/get` may take: less than the limit that clients set for a request.
const HOLD: Duration = Duration::from_secs(20);

/// The pause between two `tasks/get`, in milliseconds. It is short, because no waiter is there in between.
const PAUSE_MS: u64 = 250;

/// How long a task is kept after its wait should have ended.
const KEEP: Duration = Duration::from_secs(600);

/// The tasks of all clients, by their ids.
#[derive(Clone, Default)]
pub(super) struct Tasks(Arc<Mutex<HashMap<String, Arc<WaitTask>>>>);

struct WaitTask {
    caller: McpCaller,
    wait: Wait,
    task: Task,
    /// Held by the request that waits.
    turn: tokio::sync::Mutex<()>,
    cancelled: CancellationToken,
    end: Mutex<Option<End>>,
}

/// How a task ended.
struct End {
    payload: TaskPayload,
    at: Timestamp,
    /// The notifications that it handed over.
    ids: Vec<Seq>,
}

impl Tasks {
    /// Begins a wait: returns its result if it ends at once, else a task.
    pub(super) async fn begin(
        &self,
        call: &ToolCall,
        arguments: JsonObject,
    ) -> Result<CallToolResponse, ErrorData> {
        let begun = async {
            call.acknowledge().await?;
            let wait = Wait::new(Value::Object(arguments), &TASK)?;
            match tokio::time::timeout(AT_ONCE, call.outcome_of(&wait)).await {
                Ok(outcome) => Ok(Err(call.waited(&wait, outcome?).await?)),
                Err(_) => Ok::<_, ApiError>(Ok(wait)),
            }
        };
        let reply = match begun.await {
            Ok(Ok(wait)) => return Ok(CreateTaskResult::new(self.add(call, wait)?).into()),
            Ok(Err(reply)) => Ok(reply),
            Err(error) => Err(error),
        };
        let (result, _) = call.result(reply).await;
        Ok(result.into())
    }

    fn add(&self, call: &ToolCall, wait: Wait) -> Result<Task, ErrorData> {
        let mut bits = [0u8; 16];
        let failed = |error| ErrorData::internal_error(format!("{error}"), None);
        getrandom::fill(&mut bits).map_err(failed)?;
        let now = Timestamp::now().to_string();
        let kept = u64::try_from((wait.patience + KEEP).as_millis()).unwrap_or(u64::MAX);
        let task = Task::new(hex(&bits), TaskStatus::Working, now.clone(), now)
            .with_status_message("Waiting for notifications.")
            .with_ttl_ms(kept)
            .with_poll_interval_ms(PAUSE_MS);
        let added = WaitTask {
            caller: call.caller.clone(),
            wait,
            task: task.clone(),
            turn: tokio::sync::Mutex::default(),
            cancelled: CancellationToken::new(),
            end: Mutex::default(),
        };
        let mut tasks = lock(&self.0);
        let now = Instant::now();
        // A client that waits again has read the results of its earlier tasks.
        let is_read = |it: &WaitTask| it.caller == call.caller && lock(&it.end).is_some();
        tasks.retain(|_, task| now < task.wait.deadline + KEEP && !is_read(task));
        // A session has one wait, so a client's later task replaces its earlier one, as a later call does. A request
        // that waits for the earlier one ends it by itself.
        for earlier in tasks.values().filter(|it| it.caller == call.caller) {
            if let Ok(_turn) = earlier.turn.try_lock() {
                let words = "A later wait of this session replaced this one.";
                let content = vec![ContentBlock::text(own_words(words))];
                let result = CallToolResult::success(content);
                earlier.end(completed(&result), Vec::new());
            }
        }
        tasks.insert(task.task_id.clone(), Arc::new(added));
        Ok(task)
    }

    fn find(&self, id: &str) -> Option<Arc<WaitTask>> {
        lock(&self.0).get(id).cloned()
    }

    /// Waits for the end of a task, up to [`HOLD`]. Returns its state.
    pub(super) async fn get(&self, call: &ToolCall, id: &str) -> Result<DetailedTask, ErrorData> {
        let Some(task) = self.find(id) else {
            return Ok(unknown(id));
        };
        let outcome = tokio::select! {
            biased;
            outcome = task.outcome(call) => outcome,
            () = task.cancelled.cancelled() => None,
            () = tokio::time::sleep(HOLD) => None,
        };
        if let Some((_turn, outcome)) = outcome {
            let reply = match outcome {
                // The hub is busy or stops, so the client asks again.
                Err(error) => return Err(ErrorData::internal_error(explained(error), None)),
                Ok(outcome) => call.waited(&task.wait, outcome).await,
            };
            let (result, ids) = call.result(reply).await;
            task.end(completed(&result), ids);
        }
        Ok(task.state())
    }

    /// Cancels a task. What it handed over is offered again.
    pub(super) async fn cancel(&self, call: &ToolCall, id: &str) {
        let Some(task) = self.find(id) else { return };
        task.cancelled.cancel();
        // The request that waits ends now.
        let _turn = task.turn.lock().await;
        task.end(TaskPayload::Cancelled, Vec::new());
        let ids = task.handed_over();
        call.unacknowledged
            .give_back(&call.hub, &call.caller, &ids)
            .await;
    }
}

impl WaitTask {
    /// The outcome of the wait, while no other request waits for it; `None` if the task has ended.
    async fn outcome(
        &self,
        call: &ToolCall,
    ) -> Option<(MutexGuard<'_, ()>, Result<Outcome, ApiError>)> {
        let turn = self.turn.lock().await;
        while lock(&self.end).is_none() {
            let outcome = call.outcome_of(&self.wait).await;
            // The session's inboxes changed, so the wait begins again.
            let is_early = matches!(outcome, Ok(Outcome::Empty));
            if !is_early || Instant::now() >= self.wait.deadline {
                return Some((turn, outcome));
            }
        }
        None
    }

    /// Ends the task, unless it has ended.
    fn end(&self, payload: TaskPayload, ids: Vec<Seq>) {
        let at = Timestamp::now();
        lock(&self.end).get_or_insert(End { payload, at, ids });
    }

    /// Removes and returns what the task handed over.
    fn handed_over(&self) -> Vec<Seq> {
        let mut end = lock(&self.end);
        let ids = end.as_mut().map(|end| &mut end.ids);
        ids.map(std::mem::take).unwrap_or_default()
    }

    fn state(&self) -> DetailedTask {
        let mut task = self.task.clone();
        let payload = match &*lock(&self.end) {
            Some(end) => {
                task.last_updated_at = end.at.to_string();
                task.status_message = None;
                end.payload.clone()
            }
            None => TaskPayload::Working,
        };
        DetailedTask::new(task, payload)
    }
}

fn completed(result: &CallToolResult) -> TaskPayload {
    let result = serde_json::to_value(result).unwrap_or_default();
    TaskPayload::Completed {
        result: serde_json::from_value(result).unwrap_or_default(),
    }
}

/// The state of a task that the hub does not know. It has failed, because Claude Code keeps asking if it gets an error.
fn unknown(id: &str) -> DetailedTask {
    let words = "The hub does not know this task, because it restarted. No notification is lost: call wait again.";
    let error = json!(ErrorData::invalid_params(words, None));
    let now = Timestamp::now().to_string();
    let task = Task::new(id, TaskStatus::Failed, now.clone(), now);
    let error = serde_json::from_value(error).unwrap_or_default();
    DetailedTask::new(task, TaskPayload::Failed { error })
}
