//! Waits as tasks, for clients that take them (protocol 2026-07-28, extension `io.modelcontextprotocol/tasks`).
//!
//! A task is a wait that goes on while the client asks for it. Each `tasks/get` is a long poll: it runs the wait for up
//! to [`HOLD`], under the same rules as a plain call. So a client that goes away ends the wait, and what the wait had
//! leased is offered again. The hub keeps tasks in memory. After a restart it knows none, and what was pending is still
//! pending.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hub_core::secret::hex;
use hub_core::sync::lock;
use hub_core::waiters::Outcome;
use hub_protocol::{Seq, Timestamp};
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
use super::reply::{Reply, explained};
use super::wait::{Bounds, Wait};
use hub_http::error::{ApiError, Code};

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

/// The most tasks of one session, each of another client.
const MAX_OF_SESSION: usize = 16;
/// The most tasks.
const MAX_TASKS: usize = 1000;
/// The most bytes of all tasks.
const MAX_BYTES: usize = 8 << 20;

/// The tasks of all clients, by their ids.
#[derive(Clone, Default)]
pub(super) struct Tasks(Arc<Mutex<TaskTable>>);

type TaskTable = HashMap<String, Arc<WaitTask>>;

struct WaitTask {
    caller: McpCaller,
    wait: Wait,
    task: Task,
    /// About how much memory it takes until it ends.
    bytes: usize,
    /// When the client last asked for it.
    asked: Mutex<Instant>,
    /// Locked by the `tasks/get` that waits, so that only one does.
    turn: tokio::sync::Mutex<()>,
    cancelled: CancellationToken,
    end: Mutex<Option<End>>,
}

/// How a task ended.
struct End {
    payload: TaskPayload,
    bytes: usize,
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
            let arguments = Value::Object(arguments);
            let bytes = arguments.to_string().len();
            let wait = Wait::new(arguments, &TASK)?;
            match tokio::time::timeout(AT_ONCE, call.outcome_of(&wait)).await {
                Ok(outcome) => Ok(Err(call.waited(&wait, outcome?).await?)),
                Err(_) => self.add(call, wait, bytes).map(Ok::<_, Reply>),
            }
        };
        let reply = match begun.await {
            Ok(Ok(task)) => return Ok(CreateTaskResult::new(task).into()),
            Ok(Err(reply)) => Ok(reply),
            Err(error) => Err(error),
        };
        let (result, _) = call.result(reply).await;
        Ok(result.into())
    }

    fn add(&self, call: &ToolCall, wait: Wait, bytes: usize) -> Result<Task, ApiError> {
        let mut bits = [0u8; 16];
        let random = getrandom::fill(&mut bits);
        random.map_err(|error| ApiError::failed(Code::Internal, &error))?;
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
            bytes: bytes + call.caller.project.as_str().len() + size_of::<WaitTask>(),
            asked: Mutex::new(Instant::now()),
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
                let content = vec![ContentBlock::text(words)];
                let result = CallToolResult::success(content);
                earlier.end(completed(&result), Vec::new());
            }
        }
        make_room(&mut tasks, &added)?;
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
        *lock(&task.asked) = Instant::now();
        let outcome = tokio::select! {
            biased;
            outcome = task.outcome(call) => outcome,
            () = task.cancelled.cancelled() => None,
            () = tokio::time::sleep(HOLD) => None,
        };
        if let Some((_turn, outcome)) = outcome {
            let reply = match outcome {
                // The hub is busy or stops, so the client asks again.
                Err(error) => {
                    let words = String::from(explained(error));
                    return Err(ErrorData::internal_error(words, None));
                }
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

/// Removes tasks until there is room for another one: first those that have ended, then those for which no client has
/// asked for long. Fails if all others go on.
fn make_room(tasks: &mut TaskTable, added: &WaitTask) -> Result<(), ApiError> {
    loop {
        let is_own = |it: &&Arc<WaitTask>| it.is_of_session(&added.caller);
        let own = tasks.values().filter(is_own).count() >= MAX_OF_SESSION;
        let bytes: usize = tasks.values().map(|it| it.size()).sum();
        if !own && tasks.len() < MAX_TASKS && bytes + added.size() <= MAX_BYTES {
            return Ok(());
        }
        let removable = tasks.iter().filter(|(_, it)| !own || is_own(it));
        let oldest = removable
            .filter_map(|(id, it)| Some((it.removable()?, id.clone())))
            .min();
        let Some((_, id)) = oldest else {
            let detail = format!(
                "at most {MAX_OF_SESSION} of a session, and {MAX_TASKS} and {MAX_BYTES} bytes in all"
            );
            return Err(ApiError::new(Code::TooManyTasks, detail));
        };
        tasks.remove(&id);
    }
}

impl WaitTask {
    fn is_of_session(&self, caller: &McpCaller) -> bool {
        self.caller.project == caller.project && self.caller.inbox() == caller.inbox()
    }

    fn size(&self) -> usize {
        self.bytes + lock(&self.end).as_ref().map_or(0, |end| end.bytes)
    }

    /// Returns its place among the tasks that may be removed; `None` if it goes on.
    fn removable(&self) -> Option<(bool, Instant)> {
        let goes_on = lock(&self.end).is_none();
        let asked = *lock(&self.asked);
        (!goes_on || asked.elapsed() > KEEP).then_some((goes_on, asked))
    }

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
        let bytes = match &payload {
            TaskPayload::Completed { result } => json!(result).to_string().len(),
            _ => 0,
        };
        lock(&self.end).get_or_insert(End {
            payload,
            bytes,
            at,
            ids,
        });
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
    let words = "The hub does not know this task, because it restarted or keeps too many. No notification is lost: call wait again.";
    let error = json!(ErrorData::invalid_params(words, None));
    let now = Timestamp::now().to_string();
    let task = Task::new(id, TaskStatus::Failed, now.clone(), now);
    let error = serde_json::from_value(error).unwrap_or_default();
    DetailedTask::new(task, TaskPayload::Failed { error })
}
