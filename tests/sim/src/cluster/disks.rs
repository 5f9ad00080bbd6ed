//! The disks of the hubs: records are copied to the stores, snapshots are saved, and old records are dropped. In half of the
//! seeds disks fill up, fail, go off in the middle of a call, lose one of the two copies of a record and are replaced by empty ones.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hub_core::sync;
use hub_log::journal::Journal as _;
use tokio::time::Instant;

use super::faults::length;
use super::process::Process;
use super::pulse::Life;
use super::world::World;
use super::writers::Writers;
use crate::disk::SimDisk;
use crate::rng::Rng;
use crate::store::Stored;

impl World {
    /// Uses the disks, and lets them fail, until all faults end.
    pub(super) async fn use_disks(self: Arc<Self>, mut rng: Rng, writers: Arc<Writers>) {
        let is_faulty = rng.chance(50);
        let max_bytes = *rng.pick(&[8 << 10, 24 << 10, u64::MAX]);
        for machine in &mut *sync::lock(&self.machines) {
            machine.max_bytes = max_bytes;
        }
        while self.has_faults() {
            let ms = rng.between(100, 2_000);
            tokio::time::sleep(Duration::from_millis(ms)).await;
            let hub = rng.index(self.hubs());
            if is_faulty && rng.chance(15) {
                self.faults.fetch_add(1, Ordering::Relaxed);
                self.fail_disk(hub, &mut rng, &writers);
            } else {
                self.keep_disk(hub, rng.chance(30));
            }
        }
    }

    fn fail_disk(self: &Arc<Self>, hub: usize, rng: &mut Rng, writers: &Writers) {
        let machine = &mut sync::lock(&self.machines)[hub];
        let name = machine.name.clone();
        match rng.below(11) {
            0..3 => {
                let ms = length(rng);
                self.tell(format_args!("the disk of hub {name} is full for {ms} ms"));
                machine.disk.fill(true, rng);
                machine.is_troubled = true;
                self.later(ms, move |world| {
                    let machines = sync::lock(&world.machines);
                    machines[hub].disk.set_faults(|it| it.full = false);
                });
            }
            3..6 => {
                let calls = machine.disk.fail_later(rng);
                self.tell(format_args!("call {calls} of the disk of hub {name} fails"));
                machine.is_troubled = true;
            }
            6..9 => {
                let after = machine.disk.cut_later(None, 12, rng);
                self.tell(format_args!("hub {name} goes off in a call, after {after}"));
            }
            9 => {
                machine.kill(writers, false, rng);
                machine.replace((SimDisk::new(rng.fork()), Stored::default()));
                machine.starts = Instant::now();
                self.tell(format_args!("hub {name} is killed, and gets a new disk"));
            }
            _ if !machine.is_damaged => {
                machine.kill(writers, false, rng);
                machine.starts = Instant::now();
                machine.is_damaged = machine.stored.lose_a_copy(&machine.disk, rng);
                self.tell(format_args!(
                    "hub {name} is killed, and loses a copy of a record: {}",
                    machine.is_damaged
                ));
            }
            _ => {}
        }
    }

    /// Does what a thread of the hub does from time to time: copies records to the store, or saves snapshots and drops old
    /// records.
    fn keep_disk(&self, hub: usize, archives: bool) {
        let machine = &mut sync::lock(&self.machines)[hub];
        let runs = |it: &&mut Process| it.pulse.life() == Life::Runs;
        let Some(process) = machine.process.as_mut().filter(runs) else {
            return;
        };
        if let Some(damage) = process.cluster.info().damage {
            self.breaks(format!("hub {} reports damage: {damage}", machine.name));
        }
        if !archives {
            return process.journal.local().copy();
        }
        let done = process.archive.round();
        let (name, earliest) = (machine.name.clone(), process.journal.earliest());
        match done {
            Ok(()) => self.tell(format_args!("hub {name} keeps what is from {earliest} on")),
            Err(_) if machine.has_trouble() => {}
            Err(error) => self.breaks(format!("the archive of hub {name} fails: {error}")),
        }
    }
}
