//! Tasks that go on in an order that the seed decides.
//!
//! tokio wakes those that wait for the same change of a `watch` channel in an order of its own. The tasks of a crew are one task of
//! tokio's: of all that were woken, the seed picks the one that goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Wake, Waker};

use hub_core::sync;

use crate::rng::Rng;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The tasks that have not ended.
pub(crate) struct Crew(Mutex<State>);

struct State {
    rng: Rng,
    next: u64,
    /// By their numbers; `None` while it goes on.
    tasks: BTreeMap<u64, Option<Task>>,
    woken: BTreeSet<u64>,
    waker: Option<Waker>,
}

struct TaskWaker {
    crew: Weak<Crew>,
    task: u64,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        if let Some(crew) = self.crew.upgrade() {
            sync::lock(&crew.0).wake(self.task);
        }
    }
}

impl Crew {
    /// A crew without tasks.
    pub(crate) fn new(rng: Rng) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State {
            rng,
            next: 0,
            tasks: BTreeMap::new(),
            woken: BTreeSet::new(),
            waker: None,
        })))
    }

    /// Begins a task.
    pub(crate) fn begin(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut state = sync::lock(&self.0);
        let number = state.next;
        state.next += 1;
        state.tasks.insert(number, Some(Box::pin(task)));
        state.wake(number);
    }

    /// Whether all tasks have ended.
    pub(crate) fn is_idle(&self) -> bool {
        sync::lock(&self.0).tasks.is_empty()
    }

    /// Lets the tasks go on, for ever.
    pub(crate) async fn run(self: Arc<Self>) {
        poll_fn(|cx| self.poll(cx)).await;
    }

    /// Drops the tasks that have not ended. They hold the world, which holds the crew.
    pub(crate) fn end(&self) {
        let tasks = std::mem::take(&mut sync::lock(&self.0).tasks);
        // Unlocked, because a task that is dropped may wake another one.
        drop(tasks);
    }

    /// Lets one task go on. The others that were woken follow when everything else that tokio has to do is done.
    fn poll(self: &Arc<Self>, cx: &Context<'_>) -> Poll<()> {
        let mut state = sync::lock(&self.0);
        state.waker = Some(cx.waker().clone());
        let Some((number, mut task)) = state.pick() else {
            return Poll::Pending;
        };
        drop(state);
        let crew = Arc::downgrade(self);
        let waker = Waker::from(Arc::new(TaskWaker { crew, task: number }));
        let is_over = task
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_ready();
        let mut state = sync::lock(&self.0);
        if is_over {
            state.tasks.remove(&number);
        } else {
            state.tasks.insert(number, Some(task));
        }
        if !state.woken.is_empty() {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl State {
    fn wake(&mut self, task: u64) {
        self.woken.insert(task);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Takes one of the tasks that were woken and have not ended.
    fn pick(&mut self) -> Option<(u64, Task)> {
        let Self {
            rng, tasks, woken, ..
        } = self;
        woken.retain(|it| tasks.contains_key(it));
        let number = *woken.iter().nth(rng.index(woken.len().max(1)))?;
        woken.remove(&number);
        Some((number, tasks.get_mut(&number)?.take()?))
    }
}
