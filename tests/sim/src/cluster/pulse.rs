//! Whether a process runs: it may be paused at any point, and it ends.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};

use hub_core::sync;

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    Runs,
    Paused,
    Ended,
}

/// The life of one process; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Pulse(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    life: Life,
    /// How often it was paused.
    pauses: u64,
    wakers: Vec<Waker>,
}

impl Pulse {
    /// The life of a process that runs.
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            life: Life::Runs,
            pauses: 0,
            wakers: Vec::new(),
        })))
    }

    /// Pauses, resumes or ends the process. An end is final.
    pub(crate) fn set(&self, life: Life) {
        let mut state = sync::lock(&self.0);
        if state.life != Life::Ended {
            state.life = life;
        }
        state.pauses += u64::from(life == Life::Paused);
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Returns what the process does.
    pub(crate) fn life(&self) -> Life {
        sync::lock(&self.0).life
    }

    /// Returns how often the process was paused.
    pub(crate) fn pauses(&self) -> u64 {
        sync::lock(&self.0).pauses
    }

    /// Returns once the process runs; never after its end.
    pub(crate) async fn running(&self) {
        poll_fn(|cx| self.poll(cx, Life::Runs)).await;
    }

    /// Returns at the end of the process.
    pub(crate) async fn ended(&self) {
        poll_fn(|cx| self.poll(cx, Life::Ended)).await;
    }

    /// Does work of the process, only while it runs.
    pub(crate) async fn gated<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|cx| {
            ready!(self.poll(cx, Life::Runs));
            work.as_mut().poll(cx)
        })
        .await
    }

    fn poll(&self, cx: &Context<'_>, wanted: Life) -> Poll<()> {
        let mut state = sync::lock(&self.0);
        if state.life == wanted {
            return Poll::Ready(());
        }
        if !state.wakers.iter().any(|it| it.will_wake(cx.waker())) {
            state.wakers.push(cx.waker().clone());
        }
        Poll::Pending
    }
}
