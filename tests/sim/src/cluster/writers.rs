//! The writers of all hubs, and the async work of the whole world, on one thread.
//!
//! The runtime's clock stands still while there is work, and then jumps to the next timer. Between two rounds of it, one
//! writer at a time carries out what it was asked. A writer that waits for its append lets the world go on from there.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

use hub_cluster::journal::BlockOn;
use hub_core::sync;
use hub_engine::writer::{Ask, Writer};
use hub_log::journal::JournalError;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, Sleep, sleep_until};

use super::clock::SimClock;
use super::pulse::{Life, Pulse};
use crate::rng::Rng;

/// The longest time that an append may take: its patience, and that of its last attempt.
const LONGEST_APPEND: Duration = Duration::from_secs(17);

/// The runtime, and the writers.
pub(crate) struct Writers {
    runtime: Runtime,
    desks: Arc<Desks>,
}

/// The writers by the number of their process.
struct Desks(Mutex<State>);

struct State {
    rng: Rng,
    desks: BTreeMap<u64, Desk>,
    /// Wakes the world, and when it looks for a writer again.
    waker: Option<Waker>,
    next: Option<Instant>,
    /// The processes whose writers have ended, and why.
    ended: Vec<(u64, String)>,
    /// An append that took too long.
    late: Option<String>,
}

struct Desk {
    pulse: Pulse,
    clock: Arc<SimClock>,
    /// `None` while it works.
    writer: Option<Writer>,
    asks: Receiver<Ask>,
    queued: Vec<Ask>,
    /// When it takes what is queued.
    ready: Option<Instant>,
}

/// Why the runtime returns.
enum Turn<T> {
    Done(T),
    Write(u64),
}

impl Writers {
    /// A world without hubs.
    pub(crate) fn new(rng: Rng) -> Arc<Self> {
        let desks = Arc::new(Desks(Mutex::new(State {
            rng,
            desks: BTreeMap::new(),
            waker: None,
            next: None,
            ended: Vec::new(),
            late: None,
        })));
        // Weak, because a waker at the desks keeps what the runtime calls.
        let own = Arc::downgrade(&desks);
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .on_thread_park(move || {
                if let Some(desks) = own.upgrade() {
                    desks.collect();
                }
            })
            .build()
            .expect("a runtime without I/O can be made");
        Arc::new(Self { runtime, desks })
    }

    /// The runtime, to begin tasks.
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Adds the writer of a process, with its queue.
    pub(crate) fn hire(
        &self,
        process: u64,
        (writer, asks): (Writer, Receiver<Ask>),
        (pulse, clock): (Pulse, Arc<SimClock>),
    ) {
        let desk = Desk {
            pulse,
            clock,
            writer: Some(writer),
            asks,
            queued: Vec::new(),
            ready: None,
        };
        sync::lock(&self.desks.0).desks.insert(process, desk);
    }

    /// Removes the writer of a process that has ended.
    pub(crate) fn dismiss(&self, process: u64) {
        let desk = sync::lock(&self.desks.0).desks.remove(&process);
        drop(desk);
    }

    /// Returns the processes whose storage has failed since the last call, and why.
    pub(crate) fn take_ended(&self) -> Vec<(u64, String)> {
        std::mem::take(&mut sync::lock(&self.desks.0).ended)
    }

    /// Returns an append that took too long.
    pub(crate) fn late(&self) -> Option<String> {
        sync::lock(&self.desks.0).late.clone()
    }

    /// Returns how the journal of a process waits: the world goes on meanwhile, and nothing is waited for after its end.
    pub(crate) fn waits(self: &Arc<Self>, pulse: Pulse) -> BlockOn {
        let own = Arc::downgrade(self);
        Box::new(move |append| {
            let Some(writers) = own.upgrade() else {
                return Err(JournalError::Unsettled);
            };
            let (pauses, began) = (pulse.pauses(), Instant::now());
            let life = pulse.clone();
            // A task, so that it goes on while another writer waits for an append of its own.
            let task = writers.runtime.spawn(async move {
                let appended = life.gated(append).await;
                (appended, began.elapsed())
            });
            let end = task.abort_handle();
            let settled = writers.block_on(async {
                tokio::select! {
                    biased;
                    () = pulse.ended() => None,
                    settled = task => settled.ok(),
                }
            });
            end.abort();
            let Some((appended, took)) = settled else {
                return Err(JournalError::Unsettled);
            };
            if pulse.pauses() == pauses {
                writers.note(took);
            }
            appended
        })
    }

    fn note(&self, took: Duration) {
        if took > LONGEST_APPEND {
            let late = format!("an append ended after {took:?}");
            sync::lock(&self.desks.0).late.get_or_insert(late);
        }
    }

    /// Lets the world go on until `done`.
    pub(crate) fn block_on<T>(&self, done: impl Future<Output = T>) -> T {
        let mut done = pin!(done);
        loop {
            let mut pause: Option<Pin<Box<Sleep>>> = None;
            let turn = self.runtime.block_on(poll_fn(|cx| {
                if let Poll::Ready(value) = done.as_mut().poll(cx) {
                    return Poll::Ready(Turn::Done(value));
                }
                let Some((ready, process)) = self.desks.next(cx.waker()) else {
                    return Poll::Pending;
                };
                let pause = pause.insert(Box::pin(sleep_until(ready)));
                pause.as_mut().poll(cx).map(|()| Turn::Write(process))
            }));
            match turn {
                Turn::Done(value) => return value,
                Turn::Write(process) => self.write(process),
            }
        }
    }

    /// Lets a writer carry out some of what it was asked.
    fn write(&self, process: u64) {
        let Some((mut writer, asks, clock)) = self.desks.take(process) else {
            return;
        };
        let _context = self.runtime.enter();
        let written = writer.step(asks.into_iter(), clock.now());
        let mut state = sync::lock(&self.desks.0);
        let Some(desk) = state.desks.get_mut(&process) else {
            return;
        };
        match written {
            Ok(()) => desk.writer = Some(writer),
            Err(error) => state.ended.push((process, error.to_string())),
        }
    }
}

impl Desks {
    /// Notices what was asked, when nothing else is to be done.
    fn collect(&self) {
        let mut state = sync::lock(&self.0);
        let State { rng, desks, .. } = &mut *state;
        for desk in desks.values_mut() {
            desk.queued.extend(desk.asks.try_iter());
            if desk.ready.is_none() && !desk.queued.is_empty() {
                desk.ready = Some(Instant::now() + pause(rng));
            }
        }
        let next = state.first().map(|(ready, _)| ready);
        let waker = (next != state.next).then(|| state.waker.take()).flatten();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Returns the writer that works next, and when. Wakes `waker` if that changes.
    fn next(&self, waker: &Waker) -> Option<(Instant, u64)> {
        let mut state = sync::lock(&self.0);
        let first = state.first();
        state.waker = Some(waker.clone());
        state.next = first.map(|(ready, _)| ready);
        first
    }

    /// Takes a writer, and some of what it was asked.
    fn take(&self, process: u64) -> Option<(Writer, Vec<Ask>, Arc<SimClock>)> {
        let mut state = sync::lock(&self.0);
        let State { rng, desks, .. } = &mut *state;
        let desk = desks.get_mut(&process)?;
        let writer = desk.writer.take()?;
        desk.ready = None;
        let most = rng.index(desk.queued.len()) + 1;
        let asks = desk.queued.drain(..most).collect();
        Some((writer, asks, Arc::clone(&desk.clock)))
    }
}

impl State {
    fn first(&self) -> Option<(Instant, u64)> {
        let works = |desk: &Desk| desk.writer.is_some() && desk.pulse.life() == Life::Runs;
        let able = self.desks.iter().filter(|(_, desk)| works(desk));
        able.filter_map(|(process, desk)| Some((desk.ready?, *process)))
            .min()
    }
}

/// How long a writer takes to notice what it was asked.
fn pause(rng: &mut Rng) -> Duration {
    let ms = match rng.below(100) {
        0..70 => 0,
        70..95 => rng.between(1, 20),
        _ => rng.between(20, 400),
    };
    Duration::from_millis(ms)
}
