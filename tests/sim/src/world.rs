//! The world: one hub, its machine and its clients, and the order in which everything happens.

use std::path::PathBuf;
use std::time::Duration;

use hub_core::command::Command;
use hub_engine::needs;
use hub_engine::writer::Ask;
use tokio::sync::oneshot;

use crate::actors::hooks::Hooks;
use crate::actors::publishers::Publishers;
use crate::actors::readers::Readers;
use crate::machine::{Machine, Process, Settings};
use crate::oracle::{Broken, Oracle};
use crate::rng::Rng;
use crate::story::Story;
use crate::time::Clocks;

mod end;
mod faults;
mod shares;

use shares::{Act, Shares};

/// The most ticks in one pause: more means that the hub asks for one after another for ever.
const MOST_TICKS: u32 = 5_000;

/// Everything that a seed decides.
pub(crate) struct World {
    pub(crate) rng: Rng,
    pub(crate) clocks: Clocks,
    pub(crate) settings: Settings,
    shares: Shares,
    pub(crate) machine: Machine,
    pub(crate) process: Option<Process>,
    pub(crate) oracle: Oracle,
    pub(crate) story: Story,
    pub(crate) step: u64,
    /// The requests of the clients that the writer has not taken.
    pub(crate) queue: Vec<Ask>,
    pub(crate) publishers: Publishers,
    pub(crate) readers: Readers,
    pub(crate) hooks: Hooks,
    /// The wall clock's lead over the boot clock as the hub knows it.
    known_lead_ms: i64,
    /// Faults since the last start that may explain an error.
    troubles: u32,
    /// Whether the machine that goes off in the middle of a call loses its power.
    cuts_power: bool,
    /// The last snapshot in which a bit has flipped.
    flipped: Option<PathBuf>,
    has_damaged: bool,
    /// The faults so far.
    pub(crate) faults: u64,
    /// The head before the writer's last step.
    pub(crate) settled_head: u64,
    /// When the supervisor starts the hub again.
    start_ms: u64,
}

/// Tells what happens, in one line.
macro_rules! tell {
    ($world:expr, $($line:tt)*) => {
        $world.story.tell($world.step, format_args!($($line)*))
    };
}
pub(crate) use tell;

impl World {
    /// The world of `seed`, before anything happens.
    pub(crate) fn new(seed: u64, prints: bool) -> Self {
        let mut rng = Rng::new(seed);
        let settings = Settings::random(&mut rng);
        let shares = Shares::random(&mut rng);
        let machine = Machine::new(rng.fork());
        let clocks = Clocks::default();
        let clocks_lead = clocks.lead_ms();
        let story = Story::new(prints);
        Self {
            rng,
            clocks,
            settings,
            shares,
            machine,
            process: None,
            oracle: Oracle::new(settings.kept_ms()),
            story,
            step: 0,
            queue: Vec::new(),
            publishers: Publishers::default(),
            readers: Readers::default(),
            hooks: Hooks::default(),
            known_lead_ms: clocks_lead,
            troubles: 0,
            cuts_power: false,
            flipped: None,
            has_damaged: false,
            faults: 0,
            settled_head: 0,
            start_ms: 0,
        }
    }

    /// Lets `steps` things happen, and then checks that everything ends well.
    pub(crate) fn run(&mut self, steps: u64) -> Result<(), Broken> {
        let settings = self.settings;
        tell!(self, "settings {settings:?}, {:?}", self.shares);
        // In every seed, the machine fails at least once.
        let certain = self.rng.between(steps / 4, steps - 1);
        while self.step < steps {
            self.step += 1;
            if self.process.is_none() {
                self.supervise()?;
            }
            if self.step == certain {
                self.crash();
            } else {
                self.happen()?;
            }
        }
        self.end()
    }

    fn happen(&mut self) -> Result<(), Broken> {
        match self.shares.pick(&mut self.rng) {
            Act::Publish => self.publish(),
            Act::PublishAgain => self.publish_again(),
            Act::Wait => self.wait(),
            Act::UseBatch => self.use_batch(),
            Act::HangUp => self.hang_up(),
            Act::Manage => self.manage(),
            Act::Hook => self.hook(),
            Act::Answer => self.answer(),
            Act::Write => {
                let most = self.rng.index(self.queue.len() + 1) + 1;
                self.write(most)?;
            }
            Act::Pass => {
                let ms = self.pause();
                self.pass(ms)?;
            }
            Act::Archive => self.archive()?,
            Act::Copy => self.with_process(|it| it.copy()),
            Act::Mark => self.with_process(|it| it.mark()),
            Act::Fault => self.fault()?,
        }
        self.notice_death();
        Ok(())
    }

    /// Returns how long nothing happens.
    fn pause(&mut self) -> u64 {
        // A hub whose disk is full tries again every second.
        let hours = if self.machine.disk.faults().full {
            1
        } else {
            6
        };
        match self.rng.below(100) {
            0..60 => self.rng.between(1, 200),
            60..90 => self.rng.between(200, 10_000),
            90..98 => self.rng.between(10_000, 120_000),
            _ => self.rng.between(120_000, hours * 3_600_000),
        }
    }

    fn with_process(&mut self, act: impl FnOnce(&mut Process)) {
        if let Some(process) = &mut self.process {
            act(process);
        }
    }

    fn archive(&mut self) -> Result<(), Broken> {
        let Some(process) = &mut self.process else {
            return Ok(());
        };
        match process.archive(&self.clocks) {
            Ok(commands) => {
                for command in commands {
                    if let Command::Trim { below, by_age, .. } = command {
                        tell!(
                            self,
                            "the archive submits a trim of what is below {below}, by age: {by_age}"
                        );
                        if !by_age {
                            self.oracle.forced.insert(below);
                        }
                    }
                    self.send(command);
                }
                Ok(())
            }
            Err(_) if self.machine.disk.is_off() || self.is_troubled() => Ok(()),
            Err(error) => Err(format!("the archive fails without a fault: {error}")),
        }
    }

    /// Whether an injected fault may still explain an error.
    pub(crate) fn is_troubled(&self) -> bool {
        let faults = self.machine.disk.faults();
        faults.full || self.faults_since_start()
    }

    /// Sends a command whose answer nobody waits for.
    pub(crate) fn send(&mut self, command: Command) {
        let (reply, _) = oneshot::channel();
        self.queue.push(Ask::Command { command, reply });
    }

    /// Lets the writer take up to `most` of what was sent.
    pub(crate) fn write(&mut self, most: usize) -> Result<(), Broken> {
        let Some(process) = &mut self.process else {
            return Ok(());
        };
        let asks: Vec<Ask> = self.queue.drain(..most.min(self.queue.len())).collect();
        let count = asks.len();
        Readers::forget_leases_of_waiting(&asks, &mut self.oracle);
        self.settled_head = self.oracle.state.head();
        let syncs = self.machine.disk.syncs();
        let written = process.step(asks, &self.clocks);
        let synced = self.machine.disk.syncs() - syncs;
        if self.machine.disk.is_off() || written.is_err() {
            let error = written.err().map(|it| it.to_string());
            tell!(self, "the writer ends: {error:?}");
            return self.die_answering();
        }
        self.see()?;
        self.known_lead_ms += std::mem::take(&mut self.oracle.recorded_ms);
        let head = self.oracle.state.head();
        tell!(
            self,
            "the writer takes {count}, {synced} syncs, head {head}"
        );
        self.collect()?;
        self.check_waits()?;
        self.check_view()?;
        let slow = self.rng.between(0, 1 + 4 * synced);
        self.clocks.pass(slow);
        Ok(())
    }

    /// Takes all answers that have arrived.
    fn collect(&mut self) -> Result<(), Broken> {
        self.collect_published()?;
        self.collect_hooks()?;
        self.collect_read()
    }

    /// Checks sometimes that queries read the fold of the log.
    fn check_view(&mut self) -> Result<(), Broken> {
        let Some(process) = self.process.as_ref().filter(|_| self.rng.chance(5)) else {
            return Ok(());
        };
        self.check_needs(process)?;
        let is_same = process.view.read(|state| *state == self.oracle.state);
        match is_same {
            Ok(true) => Ok(()),
            Ok(false) => Err("a query reads another fold than that of the log".into()),
            Err(error) => Err(format!("a query fails: {error}")),
        }
    }

    /// Checks that the person is shown every open question.
    fn check_needs(&self, process: &Process) -> Result<(), Broken> {
        let state = &self.oracle.state;
        let found = needs::list_at(state, &process.waiters, self.clocks.wall());
        let shown: Vec<String> = found.into_iter().map(|it| it.need.id).collect();
        let open = { state.unfinished_questions() }
            .filter(|(_, it)| !it.state.is_final())
            .find(|(id, _)| !shown.contains(&id.to_string()));
        match open {
            Some((id, _)) => Err(format!(
                "question {id} is open, and the person is not shown it"
            )),
            None => Ok(()),
        }
    }

    /// Reads the new events of the log, as a stream does.
    pub(crate) fn see(&mut self) -> Result<(), Broken> {
        let Some(process) = &self.process else {
            return Ok(());
        };
        loop {
            let head = self.oracle.state.head();
            let events = process.log.read(head, 1 << 20);
            let events = events.map_err(|error| format!("the log cannot be read: {error}"))?;
            if events.is_empty() {
                return Ok(());
            }
            for event in &events {
                self.oracle.see(event, &self.clocks)?;
            }
        }
    }

    /// Lets time pass; the hub's clock submits its ticks.
    pub(crate) fn pass(&mut self, ms: u64) -> Result<(), Broken> {
        tell!(self, "{ms} ms pass");
        let end = self.clocks.mono_ms + ms;
        for _ in 0..MOST_TICKS {
            let due = self.process.as_ref().and_then(Process::due);
            let due = due.map(|it| self.clocks.mono_ms_of(it));
            let due = due.filter(|due| *due <= end && self.process.is_some());
            let Some(due) = due else {
                let rest = end.saturating_sub(self.clocks.mono_ms);
                self.clocks.pass(rest);
                return self.check_deadlines();
            };
            let late = self.rng.below(3);
            self.clocks
                .pass(due.saturating_sub(self.clocks.mono_ms) + late);
            self.tick()?;
        }
        Err("the hub ticks for ever".into())
    }

    /// The work of the hub's clock when it wakes.
    pub(crate) fn tick(&mut self) -> Result<(), Broken> {
        self.send(Command::Tick);
        self.write(usize::MAX)
    }

    /// Lets the wall clock jump.
    pub(crate) fn jump(&mut self, delta_ms: i64) {
        tell!(self, "the wall clock jumps by {delta_ms} ms");
        self.clocks.wall_ms += delta_ms;
        self.publishers.forget_lives(&mut self.oracle);
    }

    /// Ends the process. What it published or answered before was seen.
    fn die_answering(&mut self) -> Result<(), Broken> {
        // Events that are not in memory cannot be read any more.
        if let Some(process) = &self.process
            && let Ok(events) = process.log.read(self.oracle.state.head(), 1 << 20)
        {
            for event in &events {
                self.oracle.see(event, &self.clocks)?;
            }
            self.collect_published()?;
        }
        self.die();
        Ok(())
    }

    /// Ends the process without a word.
    pub(crate) fn die(&mut self) {
        if std::mem::take(&mut self.cuts_power) && self.machine.disk.is_off() {
            self.machine.disk.lose_power();
        }
        self.machine.disk.kill();
        self.decay();
        self.process = None;
        self.queue.clear();
        self.publish_lost();
        self.readers.lose_waits();
        self.hooks.lose();
        self.oracle.forget_leases();
        let pause = *self.rng.pick(&[0, 10, 2_000, 60_000]);
        self.start_ms = self.clocks.mono_ms + pause;
    }

    fn notice_death(&mut self) {
        if self.process.is_some() && self.machine.disk.is_off() {
            tell!(self, "the machine is off");
            self.die();
        }
    }

    /// Starts the hub again when it is time.
    fn supervise(&mut self) -> Result<(), Broken> {
        if self.clocks.mono_ms < self.start_ms && self.rng.chance(90) {
            return Ok(());
        }
        self.start()?;
        // Failures come in bursts.
        if self.process.is_some() && self.rng.chance(20) {
            self.cut_later();
        }
        Ok(())
    }

    /// Starts the hub, and checks that it has lost nothing.
    pub(crate) fn start(&mut self) -> Result<(), Broken> {
        let offered = self.machine.offered;
        let process = match self.machine.start(&self.settings, &self.clocks) {
            Ok(process) => process,
            Err(error) if self.is_troubled() || self.machine.disk.is_off() => {
                tell!(self, "the hub does not start: {error}");
                self.machine.disk.set_faults(|it| it.failing = None);
                self.machine.offered = None;
                self.start_ms = self.clocks.mono_ms + 1_000;
                if self.machine.disk.faults().full && self.rng.chance(30) {
                    self.fill();
                }
                return Ok(());
            }
            Err(error) => return Err(format!("the hub does not start: {error}")),
        };
        if self.machine.disk.is_off() {
            return Ok(());
        }
        let head = process.log.head();
        tell!(self, "the hub starts with head {head}, offered {offered:?}");
        if head < self.oracle.state.head() {
            let seen = self.oracle.state.head();
            return Err(format!(
                "readers saw record {seen}, and the log ends at {head}"
            ));
        }
        self.process = Some(process);
        self.compare()?;
        self.see()?;
        self.note_unnoticed_jump();
        let Some(process) = &self.process else {
            return Ok(());
        };
        if process.recovered != self.oracle.state {
            return Err("the fold after the start is not the fold of the log".into());
        }
        self.trouble_over();
        // The writer tells the clock its first deadline.
        self.write(0)
    }

    /// A jump of the clock counts as far as the log has no record of it: of the hub that ended, or of this start.
    fn note_unnoticed_jump(&mut self) {
        let moved = self.clocks.lead_ms() - self.known_lead_ms;
        self.known_lead_ms += moved;
        self.oracle.unnoticed_ms += (moved - self.oracle.recorded_ms).max(0);
        self.oracle.recorded_ms = 0;
    }

    /// Compares the whole log with what readers saw.
    fn compare(&self) -> Result<(), Broken> {
        use hub_log::journal::Journal as _;
        let Some(process) = &self.process else {
            return Ok(());
        };
        let mut at = process.journal.earliest();
        while at <= process.journal.head() {
            let entries = process.journal.read(at, 1 << 20);
            let entries =
                entries.map_err(|error| format!("the journal cannot be read: {error}"))?;
            self.oracle.compare(at, &entries)?;
            at += entries.len() as u64;
        }
        Ok(())
    }

    /// Returns the end of a wait that begins now.
    pub(crate) fn deadline(&self, ms: u64) -> std::time::Instant {
        self.clocks.mono() + Duration::from_millis(ms)
    }
}
