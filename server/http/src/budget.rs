//! Expensive requests: how many run at a time, on which threads, for how long, which share of a processor they have, and
//! that they end with their client.
//!
//! Each runs on a thread of its own with a lower priority, so it takes neither the threads nor the processor from the
//! requests that are answered at once. A priority decides little while the processor has other pauses, so a kind that
//! never ends rests between its requests too.

use std::cell::Cell;
use std::io;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use axum::extract::Request;
use hub_core::sync;
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::error::{ApiError, Code};
use crate::request::payload::{MAX_BODY_BYTES, Payload};

/// How much the priority of these threads is lowered: a busy hub leaves each about a seventieth of a processor, and an
/// idle one all of it.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 19;

/// How long a kind that rests does so for the time that it worked, so that over time it has a fortieth of a processor.
const REST: u32 = 39;
/// The rest that a kind may owe before it must rest: that for half a second of work. A person who opens a page notices nothing.
const CREDIT: Duration = Duration::from_millis(500 * REST as u64);
/// How often the processor time of a thread is read: the kernel takes a lock for it that it needs to schedule others.
const READ_EVERY: Duration = Duration::from_millis(1);

/// The budget of one kind of expensive request.
pub(crate) struct Budget {
    /// Slots of those that run.
    turns: Semaphore,
    /// Slots of those that run or wait for their turn.
    places: Semaphore,
    /// The processor time for each.
    longest: Duration,
    /// The longest rest at a time, if the kind rests.
    longest_rest: Duration,
    /// When the kind will have rested for all its work.
    rested_at: Mutex<Option<Instant>>,
}

/// The rest of the budget of a request that runs. Its work asks at every step.
pub(crate) struct Allowance {
    gone: CancellationToken,
    longest: Duration,
    /// When the thread's processor time was read last.
    read_at: Cell<std::time::Instant>,
}

impl Budget {
    /// A budget of `at_once` requests that run and `waiting` more that wait, each of which has `longest` of a processor.
    /// The time on the clock says nothing: other programs may leave a thread with a low priority almost nothing of it.
    pub(crate) const fn new(at_once: usize, waiting: usize, longest: Duration) -> Self {
        Self {
            turns: Semaphore::const_new(at_once),
            places: Semaphore::const_new(at_once + waiting),
            longest,
            longest_rest: Duration::ZERO,
            rested_at: Mutex::new(None),
        }
    }

    /// The budget of a kind that rests for its work, at most so long at a time: one that worked very long must not keep others
    /// waiting for longer than their clients wait.
    pub(crate) const fn resting_for(mut self, longest_rest: Duration) -> Self {
        self.longest_rest = longest_rest;
        self
    }

    /// Waits until the kind has rested.
    async fn rest(&self) {
        let rested_at = *sync::lock(&self.rested_at);
        if let Some(at) = rested_at.and_then(|it| it.checked_sub(CREDIT)) {
            tokio::time::sleep_until(at).await;
        }
    }

    /// Adds the rest for work that took `worked` of a processor.
    fn owe_rest(&self, worked: Duration) {
        let now = Instant::now();
        let mut rested_at = sync::lock(&self.rested_at);
        let at = rested_at.unwrap_or(now).max(now) + worked * REST;
        *rested_at = Some(at.min(now + CREDIT + self.longest_rest));
    }

    /// Does the work of a request with this body. Reading costs too, and is done by the threads that answer all other
    /// requests, so it waits until the kind has rested.
    pub(crate) async fn run_on<T, E>(
        &'static self,
        request: Request,
        work: impl FnOnce(&Payload, &Allowance) -> Result<T, E> + Send + 'static,
    ) -> Result<T, ApiError>
    where
        T: Send + 'static,
        E: Into<ApiError> + Send + 'static,
    {
        let place = self.place()?;
        self.rest().await;
        let payload = Payload::read(request, MAX_BODY_BYTES).await?;
        let work = move |allowance: &Allowance| work(&payload, allowance);
        self.run_at(place, work).await
    }

    /// Does the work of a request when it is its turn; refuses it if too many wait already. Dropping the future ends the
    /// work, and its turn lasts until then.
    pub(crate) async fn run<T, E>(
        &'static self,
        work: impl FnOnce(&Allowance) -> Result<T, E> + Send + 'static,
    ) -> Result<T, ApiError>
    where
        T: Send + 'static,
        E: Into<ApiError> + Send + 'static,
    {
        let place = self.place()?;
        self.run_at(place, work).await
    }

    /// A place among those that run or wait.
    fn place(&'static self) -> Result<SemaphorePermit<'static>, ApiError> {
        let place = self.places.try_acquire();
        place.map_err(|_| Code::Overloaded.into())
    }

    async fn run_at<T, E>(
        &'static self,
        place: SemaphorePermit<'static>,
        work: impl FnOnce(&Allowance) -> Result<T, E> + Send + 'static,
    ) -> Result<T, ApiError>
    where
        T: Send + 'static,
        E: Into<ApiError> + Send + 'static,
    {
        let turn = self.turns.acquire().await;
        let turn = turn.map_err(|error| ApiError::failed(Code::Internal, &error))?;
        self.rest().await;
        let gone = CancellationToken::new();
        let allowance = Allowance {
            gone: gone.clone(),
            longest: self.longest,
            read_at: Cell::new(std::time::Instant::now()),
        };
        let _leaving = gone.drop_guard();
        let (reply, answer) = oneshot::channel();
        let run = move || {
            lower_priority();
            let done = work(&allowance);
            self.owe_rest(used());
            drop((turn, place));
            // A client that is gone needs no answer.
            let _ = reply.send(done);
        };
        let thread = thread::Builder::new().name("budget".into()).spawn(run);
        thread.map_err(|error| ApiError::failed(Code::Internal, &error))?;
        let done = answer.await;
        done.map_err(|_| Code::Internal)?.map_err(Into::into)
    }
}

impl Allowance {
    /// Fails once the client is gone, so that the work ends.
    pub(crate) fn go_on(&self) -> io::Result<()> {
        if self.gone.is_cancelled() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(())
    }

    /// Whether the processor time of this thread is used up, so that the work answers with what it has.
    pub(crate) fn is_over(&self) -> bool {
        if self.gone.is_cancelled() {
            return true;
        }
        let is_due = self.read_at.get().elapsed() >= READ_EVERY;
        if is_due {
            self.read_at.set(std::time::Instant::now());
        }
        is_due && used() >= self.longest
    }
}

/// The processor time that this thread has used.
pub(crate) fn used() -> Duration {
    let clock = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(clock).unwrap_or_default()
}

/// Lowers the priority of this thread. On other systems that of the whole process would change.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(NICENESS) {
        tracing::debug!(%error, "an expensive request runs with the usual priority");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    type Done = Result<u32, ApiError>;

    #[tokio::test]
    async fn those_that_find_no_place_are_refused_and_the_others_take_turns() {
        static BUDGET: Budget = Budget::new(1, 1, Duration::from_secs(60));
        let (go, wait) = mpsc::channel::<()>();
        let (begin, running) = oneshot::channel();
        let first = tokio::spawn(BUDGET.run(move |_| {
            let _ = begin.send(());
            let _ = wait.recv();
            Done::Ok(1)
        }));
        running.await.unwrap();
        let mut second = Box::pin(BUDGET.run(|_| Done::Ok(2)));
        assert!(futures_util::poll!(&mut second).is_pending());
        let third = BUDGET.run(|_| Done::Ok(3)).await;
        assert_eq!(third.unwrap_err().code(), Code::Overloaded);
        drop(go);
        assert_eq!(first.await.unwrap().unwrap(), 1);
        assert_eq!(second.await.unwrap(), 2);
        assert_eq!(BUDGET.run(|_| Done::Ok(3)).await.unwrap(), 3);
    }

    #[tokio::test]
    async fn work_whose_client_is_gone_ends_and_keeps_its_turn_until_then() {
        static BUDGET: Budget = Budget::new(1, 1, Duration::from_secs(60));
        let (begin, running) = oneshot::channel();
        let endless = tokio::spawn(BUDGET.run(move |allowance| {
            let _ = begin.send(());
            while allowance.go_on().is_ok() {
                thread::yield_now();
            }
            Done::Ok(1)
        }));
        running.await.unwrap();
        endless.abort();
        assert_eq!(BUDGET.run(|_| Done::Ok(2)).await.unwrap(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_has_used_its_credit_rests_before_each_work() {
        const LONGEST: Duration = Duration::from_secs(7);
        static BUDGET: Budget = Budget::new(1, 0, Duration::from_secs(60)).resting_for(LONGEST);
        let rest = async || {
            let begin = Instant::now();
            BUDGET.run(|_| Done::Ok(1)).await.unwrap();
            begin.elapsed()
        };
        BUDGET.owe_rest(Duration::from_millis(400));
        assert_eq!(rest().await, Duration::ZERO);
        BUDGET.owe_rest(Duration::from_millis(200));
        let due = rest().await.as_millis();
        assert!((3900..4000).contains(&due), "{due}");
        BUDGET.owe_rest(Duration::from_secs(3600));
        let due = rest().await;
        assert!(due.abs_diff(LONGEST).as_millis() < 100, "{due:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_does_not_rest_owes_nothing() {
        static BUDGET: Budget = Budget::new(1, 0, Duration::from_secs(60));
        BUDGET.owe_rest(Duration::from_secs(3600));
        let begin = Instant::now();
        BUDGET.rest().await;
        assert_eq!(begin.elapsed(), Duration::ZERO);
    }

    #[tokio::test]
    async fn work_is_told_when_its_processor_time_is_over() {
        static BUDGET: Budget = Budget::new(1, 0, Duration::from_millis(20));
        let waits = BUDGET.run(|it| {
            thread::sleep(Duration::from_millis(40));
            Result::<_, ApiError>::Ok(it.is_over())
        });
        assert!(!waits.await.unwrap(), "waiting takes no processor time");
        let computes = BUDGET.run(|it| {
            while !it.is_over() {
                std::hint::spin_loop();
            }
            Done::Ok(1)
        });
        assert_eq!(computes.await.unwrap(), 1);
    }
}
