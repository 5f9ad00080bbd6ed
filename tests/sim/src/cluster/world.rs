//! The world of a cluster: its machines, NATS, the clients, and the order in which everything happens.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::Router;
use hub_cluster::journal::SharedLogError;
use hub_core::sync;
use hub_log::journal::Journal as _;
use hub_protocol::Seq;
use tokio::time::Instant;

use super::crew::Crew;
use super::faults::absence;
use super::join::{Join, Joined};
use super::nats::Server;
use super::oracle::{NOTE, Oracle};
use super::process::{Machine, Process};
use super::pulse::Pulse;
use super::writers::Writers;
use crate::oracle::Broken;
use crate::rng::Rng;
use crate::story::Story;

/// The things that happen in a world before its end.
const STEPS: u64 = 240;
/// How often the world is looked at, beside each step.
const LOOK: Duration = Duration::from_millis(50);
/// How long a cluster without faults may take to have an active hub: leases, elections and attempts that are under way end.
const RECOVERY: Duration = Duration::from_secs(45);
/// How long the hubs may take to have the same log then.
const CONVERGENCE: Duration = Duration::from_secs(45);
/// How long the last clients may take.
const LAST_CLIENTS: Duration = Duration::from_secs(120);

/// Everything that a seed decides.
pub(crate) struct World {
    rng: Mutex<Rng>,
    pub(super) machines: Mutex<Vec<Machine>>,
    pub(super) server: Server,
    oracle: Mutex<Oracle>,
    story: Mutex<Story>,
    step: AtomicU64,
    pub(super) processes: AtomicU64,
    pub(super) faults: AtomicU64,
    broken: Mutex<Option<(u64, Broken)>>,
    clients: Arc<Crew>,
    hubs: usize,
}

impl World {
    /// The world of `seed`, before anything happens.
    pub(crate) fn new(mut rng: Rng, prints: bool) -> Arc<Self> {
        let hubs = rng.index(2) + 2;
        let now = Instant::now();
        let machines = (0..hubs).map(|index| Machine::new(index, &mut rng, now));
        Arc::new(Self {
            machines: Mutex::new(machines.collect()),
            server: Server::new(rng.fork(), hubs),
            clients: Crew::new(rng.fork()),
            rng: Mutex::new(rng),
            oracle: Mutex::default(),
            story: Mutex::new(Story::new(prints)),
            step: AtomicU64::new(0),
            processes: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            broken: Mutex::new(None),
            hubs,
        })
    }

    /// Lets everything happen, and then checks that it ends well.
    pub(crate) async fn run(self: Arc<Self>, disks: Rng, writers: Arc<Writers>) {
        let disks = tokio::spawn(Arc::clone(&self).use_disks(disks, Arc::clone(&writers)));
        tokio::select! {
            biased;
            () = Arc::clone(&self.clients).run() => {}
            () = Arc::clone(&self).script(writers) => {}
        }
        // Tasks that have not ended hold the world, and the runtime in which they wait.
        disks.abort();
        let _ = disks.await;
        self.clients.end();
    }

    async fn script(self: Arc<Self>, writers: Arc<Writers>) {
        let began = Instant::now();
        self.tell(format_args!("{} hubs", self.hubs));
        for step in 1..=STEPS {
            self.step.store(step, Ordering::Relaxed);
            let ms = self.with_rng(pause);
            self.pass(Duration::from_millis(ms), &writers).await;
            if self.broken().is_some() {
                return;
            }
            self.happen(&writers);
        }
        self.tell(format_args!("the end begins after {:?}", began.elapsed()));
        if let Err(broken) = self.end(&writers).await {
            self.breaks(broken);
        }
    }

    /// Lets time pass, and looks at the hubs meanwhile.
    async fn pass(&self, time: Duration, writers: &Arc<Writers>) {
        let until = Instant::now() + time;
        while Instant::now() < until && self.broken().is_none() {
            tokio::time::sleep_until(until.min(Instant::now() + LOOK)).await;
            self.look(writers);
        }
    }

    fn happen(self: &Arc<Self>, writers: &Arc<Writers>) {
        match self.with_rng(|rng| rng.below(100)) {
            0..50 => self.begin_publish(),
            50..65 => {
                let (hub, rng) = self.with_rng(|rng| (rng.index(self.hubs), rng.fork()));
                self.clients.begin(Arc::clone(self).read(hub, rng));
            }
            65..75 => {
                let (hub, rng) = self.with_rng(|rng| (rng.index(self.hubs), rng.fork()));
                self.clients.begin(Arc::clone(self).wait(hub, rng));
            }
            75..78 => {
                let (hub, heir) = self.with_rng(|rng| (rng.index(self.hubs), rng.index(self.hubs)));
                let heir = sync::lock(&self.machines)[heir].name.clone();
                self.clients.begin(Arc::clone(self).hand_over(hub, heir));
            }
            _ => self.fault(writers),
        }
    }

    fn begin_publish(self: &Arc<Self>) {
        let number = self.step.load(Ordering::Relaxed);
        let (hub, has_key, rng) =
            self.with_rng(|it| (it.index(self.hubs), it.chance(70), it.fork()));
        let text = format!("{NOTE}{number} {}", if has_key { "keyed" } else { "once" });
        self.clients
            .begin(Arc::clone(self).publish(text, hub, has_key, rng));
    }

    /// Does what a supervisor does, and checks what must hold at any time.
    fn look(&self, writers: &Arc<Writers>) {
        let ended = writers.take_ended();
        let mut machines = sync::lock(&self.machines);
        for machine in &mut *machines {
            self.supervise(machine, &ended, writers);
        }
        let active: Vec<&str> = machines
            .iter()
            .filter(|it| it.process.as_ref().is_some_and(|it| it.cluster.is_active()))
            .map(|it| it.name.as_str())
            .collect();
        self.note(|oracle| oracle.check_active(&active));
        if let Some(late) = writers.late() {
            self.breaks(late);
        }
    }

    fn supervise(&self, machine: &mut Machine, ended: &[(u64, String)], writers: &Arc<Writers>) {
        let name = machine.name.clone();
        if let Some(process) = &machine.process {
            let failed = ended.iter().find(|it| it.0 == process.number);
            let why = failed.map(|(_, why)| why.as_str());
            if let Some(why) = why.filter(|_| !machine.has_trouble()) {
                self.breaks(format!("the storage of hub {name} fails: {why}"));
            } else if why.is_some() || machine.disk.is_off() {
                self.tell(format_args!("hub {name} ends: {why:?}"));
                return self.with_rng(|rng| {
                    let power = machine.disk.is_off() && rng.chance(50);
                    machine.kill(writers, power, rng);
                    machine.starts = Instant::now() + Duration::from_millis(absence(rng));
                });
            }
            if process.has_crashed() {
                self.breaks(format!("hub {name} ends by itself"));
            }
            if let Some(fault) = process.journal.fault() {
                let next = process.journal.head() + 1;
                let is_dropped = self.server.first_record().is_some_and(|first| next < first);
                if !is_dropped || fault != SharedLogError::TooOld(next).to_string() {
                    self.breaks(format!("hub {name} gives up: {fault}"));
                }
                self.tell(format_args!("hub {name} is restarted: {fault}"));
                return self.with_rng(|rng| machine.kill(writers, false, rng));
            }
            if process.has_stopped() {
                self.tell(format_args!("hub {name} has stopped"));
                self.with_rng(|rng| machine.kill(writers, false, rng));
            }
        } else if let Some(join) = &machine.join {
            if let Some(joined) = join.done() {
                machine.join = None;
                self.start(machine, joined, writers);
            }
        } else if machine.starts <= Instant::now() {
            let number = self.processes.fetch_add(1, Ordering::Relaxed);
            let rng = self.with_rng(Rng::fork);
            machine.join = Some(Join::begin(machine, number, &self.server, rng));
        }
    }

    fn start(&self, machine: &mut Machine, joined: Joined, writers: &Arc<Writers>) {
        let name = machine.name.clone();
        let number = self.processes.fetch_add(1, Ordering::Relaxed);
        let started = joined.and_then(|copy| {
            if let Some(copy) = copy {
                self.tell(format_args!("hub {name} begins with the base"));
                machine.replace(copy);
            }
            machine.start(number, writers, &self.server)
        });
        match started {
            Ok(()) => self.tell(format_args!("hub {name} starts, {}", machine.clock)),
            Err(error) if machine.has_trouble() => {
                self.tell(format_args!("hub {name} does not start yet: {error}"));
                machine.disk.set_faults(|it| it.failing = None);
                machine.starts = Instant::now() + Duration::from_secs(1);
            }
            Err(error) => self.breaks(format!("hub {name} does not start: {error}")),
        }
    }

    /// Ends all faults, and checks that everything that was promised is kept.
    async fn end(self: &Arc<Self>, writers: &Arc<Writers>) -> Result<(), Broken> {
        self.heal();
        self.until(RECOVERY, writers, |machines| {
            let active =
                |it: &Machine| it.process.as_ref().is_some_and(|it| it.cluster.is_active());
            machines.iter().any(active)
        })
        .await
        .ok_or("no hub becomes the active one although all faults are over")?;
        self.tell(format_args!("a hub is active"));
        self.last_clients(writers).await?;
        let rng = self.with_rng(Rng::fork);
        self.clients.begin(Arc::clone(self).drain(rng));
        self.last_clients(writers).await?;
        self.until(CONVERGENCE, writers, |machines| self.heads(machines).1)
            .await
            .ok_or_else(|| self.heads(&sync::lock(&self.machines)).0)?;
        let machines = sync::lock(&self.machines);
        machines.iter().try_for_each(|it| self.compare(it))
    }

    /// Waits until all clients have their answers.
    async fn last_clients(&self, writers: &Arc<Writers>) -> Result<(), Broken> {
        let have_ended = |_: &[Machine]| self.clients.is_idle();
        let ended = self.until(LAST_CLIENTS, writers, have_ended).await;
        ended.ok_or_else(|| "a client has no answer at the end".into())
    }

    /// Waits until something holds; `None` if it does not in time.
    async fn until(
        &self,
        limit: Duration,
        writers: &Arc<Writers>,
        holds: impl Fn(&[Machine]) -> bool,
    ) -> Option<()> {
        let until = Instant::now() + limit;
        while Instant::now() < until && self.broken().is_none() {
            self.look(writers);
            if holds(&sync::lock(&self.machines)) {
                return Some(());
            }
            tokio::time::sleep(LOOK).await;
        }
        None
    }

    /// Returns how far the hubs have followed the stream, as text, and whether all have reached its end.
    fn heads(&self, machines: &[Machine]) -> (String, bool) {
        let end = self.oracle().state.head();
        let head = |it: &Machine| it.process.as_ref().map(|it| it.journal.head());
        let heads: Vec<Option<Seq>> = machines.iter().map(head).collect();
        let all = heads.iter().all(|it| *it == Some(end));
        (
            format!("the stream ends with record {end}, and the hubs have {heads:?}"),
            all,
        )
    }

    /// Checks that a hub has the log and the fold that all have.
    fn compare(&self, machine: &Machine) -> Result<(), Broken> {
        let Some(process) = &machine.process else {
            return Err(format!("hub {} does not run at the end", machine.name));
        };
        let oracle = sync::lock(&self.oracle);
        let mut at = process.journal.earliest();
        while at <= process.journal.head() {
            let entries = process
                .journal
                .read(at, 1 << 20)
                .map_err(|it| it.to_string())?;
            oracle.compare(&machine.name, &entries)?;
            at = entries.last().map_or(at, |it| it.seq) + 1;
        }
        match process.hub.read(|state, _| *state == oracle.state) {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("the fold of hub {} differs", machine.name)),
            Err(_) => Err(format!("the fold of hub {} cannot be read", machine.name)),
        }
    }

    /// Decides something.
    pub(crate) fn with_rng<T>(&self, decide: impl FnOnce(&mut Rng) -> T) -> T {
        decide(&mut sync::lock(&self.rng))
    }

    /// Tells what happens, in one line.
    pub(crate) fn tell(&self, line: std::fmt::Arguments<'_>) {
        let step = self.step.load(Ordering::Relaxed);
        sync::lock(&self.story).tell(step, line);
    }

    /// Lets the oracle check something, by the stream as it is now.
    pub(crate) fn note(&self, check: impl FnOnce(&mut Oracle) -> Result<(), Broken>) {
        let mut oracle = self.oracle();
        if let Err(broken) = check(&mut oracle) {
            self.breaks(broken);
        }
    }

    fn oracle(&self) -> MutexGuard<'_, Oracle> {
        let mut oracle = sync::lock(&self.oracle);
        let log = self.server.log_after(oracle.known);
        if let Err(broken) = oracle.take_in(&log) {
            self.breaks(broken);
        }
        oracle
    }

    /// A promise is broken.
    pub(crate) fn breaks(&self, broken: Broken) {
        let step = self.step.load(Ordering::Relaxed);
        sync::lock(&self.broken).get_or_insert((step, broken));
    }

    /// Returns the promise that was broken first, and the step.
    pub(crate) fn broken(&self) -> Option<(u64, Broken)> {
        sync::lock(&self.broken).clone()
    }

    /// Looks at what clients were told.
    pub(crate) fn with_oracle<T>(&self, look: impl FnOnce(&Oracle) -> T) -> T {
        look(&sync::lock(&self.oracle))
    }

    /// Returns what answers the clients of a hub, as long as it lives.
    pub(crate) fn front_of(&self, hub: usize) -> Option<(Router, Pulse)> {
        let machines = sync::lock(&self.machines);
        let process = machines[hub].process.as_ref().filter(|it| it.serves());
        process.map(|it: &Process| (it.front.clone(), it.pulse.clone()))
    }

    /// Whether things still go wrong.
    pub(crate) fn has_faults(&self) -> bool {
        self.step.load(Ordering::Relaxed) < STEPS
    }

    /// The number of hubs.
    pub(crate) fn hubs(&self) -> usize {
        self.hubs
    }

    /// Returns the step, the hash of the story, and the faults so far.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        (
            self.step.load(Ordering::Relaxed),
            sync::lock(&self.story).hash(),
            self.faults.load(Ordering::Relaxed),
        )
    }
}

/// Returns how long nothing happens, in milliseconds.
fn pause(rng: &mut Rng) -> u64 {
    match rng.below(100) {
        0..70 => rng.between(1, 300),
        70..95 => rng.between(300, 1_500),
        _ => rng.between(1_500, 9_000),
    }
}
