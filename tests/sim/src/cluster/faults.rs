//! What goes wrong: with processes, machines, links and NATS.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hub_core::sync;
use tokio::time::Instant;

use super::nats::Cut;
use super::process::Machine;
use super::pulse::Life;
use super::world::World;
use super::writers::Writers;
use crate::disk::Faults;
use crate::rng::Rng;

/// The delay of a sound link, in milliseconds.
const SOUND_MS: (u64, u64) = (1, 4);

/// How long a server that leads no more may answer: it notices after this time that it lost its quorum, in milliseconds.
const OLD_LEADER_MS: u64 = 9_000;

impl World {
    pub(crate) fn fault(self: &Arc<Self>, writers: &Arc<Writers>) {
        self.faults.fetch_add(1, Ordering::Relaxed);
        let hub = self.with_rng(|rng| self.victim(rng));
        match self.with_rng(|rng| rng.below(100)) {
            0..15 => self.kill(hub, writers),
            15..22 => self.stop(hub),
            22..40 => self.pause(hub),
            40..60 => self.cut(hub),
            60..72 => self.lose(hub),
            72..82 => self.slow(hub),
            82..90 => self.mislead(hub),
            _ => {
                let ms = self.with_rng(|rng| rng.between(200, 9_000));
                self.tell(format_args!("NATS has no leader for {ms} ms"));
                self.server.elect(Duration::from_millis(ms));
            }
        }
    }

    /// Returns the hub that a fault meets: the active one more often.
    fn victim(&self, rng: &mut Rng) -> usize {
        let machines = sync::lock(&self.machines);
        let active = |it: &&Machine| it.process.as_ref().is_some_and(|it| it.cluster.is_active());
        let active = machines.iter().find(active).map(|it| it.index);
        active
            .filter(|_| rng.chance(60))
            .unwrap_or_else(|| rng.index(self.hubs()))
    }

    fn kill(&self, hub: usize, writers: &Arc<Writers>) {
        let (power, ms) = self.with_rng(|rng| (rng.chance(40), absence(rng)));
        let mut machines = sync::lock(&self.machines);
        let machine = &mut machines[hub];
        self.tell(format_args!(
            "hub {} is killed, power: {power}",
            machine.name
        ));
        self.with_rng(|rng| machine.kill(writers, power, rng));
        machine.starts = Instant::now() + Duration::from_millis(ms);
    }

    fn stop(&self, hub: usize) {
        let ms = self.with_rng(absence);
        let mut machines = sync::lock(&self.machines);
        let machine = &mut machines[hub];
        machine.starts = Instant::now() + Duration::from_millis(ms);
        if let Some(process) = &machine.process {
            self.tell(format_args!("hub {} stops", machine.name));
            process.stop();
        }
    }

    fn pause(self: &Arc<Self>, hub: usize) {
        let Some((_, pulse)) = self.front_of(hub) else {
            return;
        };
        let ms = self.with_rng(length);
        self.tell(format_args!("hub {hub} is paused for {ms} ms"));
        pulse.set(Life::Paused);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            pulse.set(Life::Runs);
        });
    }

    fn cut(self: &Arc<Self>, hub: usize) {
        let (ms, cut, has_way_round) = self.with_rng(|rng| {
            let cut = *rng.pick(&[Cut::Drops, Cut::Holds]);
            (length(rng), cut, rng.chance(30))
        });
        self.tell(format_args!(
            "the link of hub {hub} is cut for {ms} ms: {cut:?}, a way round: {has_way_round}"
        ));
        self.server.set_link(hub, |link| {
            (link.cut, link.has_way_round) = (cut, has_way_round);
        });
        self.later(ms, move |world| {
            world.server.set_link(hub, |link| link.cut = Cut::Open);
        });
    }

    fn lose(self: &Arc<Self>, hub: usize) {
        let (ms, loss) = self.with_rng(|rng| (length(rng), *rng.pick(&[5, 20, 50])));
        self.tell(format_args!(
            "the link of hub {hub} loses {loss} % for {ms} ms"
        ));
        self.server.set_link(hub, |link| link.loss = loss);
        self.later(ms, move |world| {
            world.server.set_link(hub, |link| link.loss = 0);
        });
    }

    fn slow(self: &Arc<Self>, hub: usize) {
        let (ms, most) = self.with_rng(|rng| (length(rng), *rng.pick(&[50, 400, 3_000])));
        self.tell(format_args!(
            "the link of hub {hub} takes up to {most} ms for {ms} ms"
        ));
        self.server.set_link(hub, |link| link.delay_ms = (1, most));
        self.later(ms, move |world| {
            world.server.set_link(hub, |link| link.delay_ms = SOUND_MS);
        });
    }

    fn mislead(self: &Arc<Self>, hub: usize) {
        if !self.server.may_mislead(hub) {
            return;
        }
        let ms = self.with_rng(|rng| rng.between(100, OLD_LEADER_MS));
        self.tell(format_args!(
            "an earlier leader answers the reads of hub {hub} for {ms} ms"
        ));
        self.server.mislead(hub, true);
        self.later(ms, move |world| world.server.mislead(hub, false));
    }

    pub(super) fn later(self: &Arc<Self>, ms: u64, act: impl FnOnce(&Self) + Send + 'static) {
        let own = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            act(&own);
        });
    }

    /// Ends all faults.
    pub(crate) fn heal(&self) {
        self.server.elect(Duration::ZERO);
        for machine in &mut *sync::lock(&self.machines) {
            machine.starts = Instant::now();
            machine.disk.set_faults(|it| *it = Faults::default());
            if let Some(process) = &machine.process {
                process.pulse.set(Life::Runs);
            }
            self.server.mislead(machine.index, false);
            self.server.set_link(machine.index, |link| {
                (link.cut, link.loss, link.delay_ms) = (Cut::Open, 0, SOUND_MS);
            });
        }
    }
}

/// Returns for how long a fault lasts, in milliseconds.
pub(super) fn length(rng: &mut Rng) -> u64 {
    match rng.below(10) {
        0..4 => rng.between(50, 2_000),
        4..9 => rng.between(2_000, 12_000),
        _ => rng.between(12_000, 20_000),
    }
}

/// Returns for how long a hub does not run, in milliseconds.
pub(super) fn absence(rng: &mut Rng) -> u64 {
    *rng.pick(&[0, 300, 2_000, 12_000])
}
