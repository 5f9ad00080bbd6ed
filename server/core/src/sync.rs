//! Locks and threads. The locks ignore poisoning: the data that they protect is valid even if a thread panicked while it
//! held them.

use std::io;
use std::sync::{
    Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Locks a mutex.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for reading.
pub fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for writing.
pub fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a notification of `condvar`.
pub fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// A thread that works in rounds. Dropping the handle ends the wait for the next round, and joins the thread.
#[derive(Debug)]
pub struct PeriodicThread {
    rounds: Arc<Rounds>,
    thread: Option<JoinHandle<()>>,
}

/// The rounds of a [`PeriodicThread`].
#[derive(Debug)]
pub struct Rounds {
    every: Duration,
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl PeriodicThread {
    /// Starts a thread with this name, which runs `run`; rounds are `every` apart.
    pub fn start(
        name: &str,
        every: Duration,
        run: impl FnOnce(&Rounds) + Send + 'static,
    ) -> io::Result<Self> {
        let rounds = Arc::new(Rounds {
            every,
            stopped: Mutex::new(false),
            changed: Condvar::new(),
        });
        let own = Arc::clone(&rounds);
        let thread = Builder::new().name(name.into()).spawn(move || run(&own))?;
        Ok(Self {
            rounds,
            thread: Some(thread),
        })
    }
}

impl Rounds {
    /// Waits for the next round. Returns `false` if the thread shall end instead.
    pub fn wait_for_next(&self) -> bool {
        let waited = self
            .changed
            .wait_timeout_while(lock(&self.stopped), self.every, |stopped| !*stopped);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Drop for PeriodicThread {
    fn drop(&mut self) {
        *lock(&self.rounds.stopped) = true;
        self.rounds.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
