//! Faults: of the machine, of its disk and of its clocks.

use crate::disk::Call;
use crate::oracle::Broken;
use crate::world::{World, tell};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

impl World {
    pub(crate) fn fault(&mut self) -> Result<(), Broken> {
        self.faults += 1;
        match self.rng.below(11) {
            0..2 => self.crash(),
            2..5 => self.cut_later(),
            5 => self.fail_later(),
            6..8 => self.fill(),
            8 => {
                let days = self.rng.between(1, 30).cast_signed();
                let jumps = [
                    -days * 24 * HOUR_MS,
                    -25 * HOUR_MS,
                    -90_000,
                    90_000,
                    2 * HOUR_MS,
                    400 * 24 * HOUR_MS,
                ];
                let jump = *self.rng.pick(&jumps);
                self.jump(jump);
            }
            9 => {
                let ms = self.rng.between(60_000, 10 * 3_600_000);
                tell!(self, "the machine sleeps for {ms} ms");
                self.clocks.sleep(ms);
            }
            _ => self.stop()?,
        }
        Ok(())
    }

    /// Ends the process or cuts the power, between two calls.
    pub(crate) fn crash(&mut self) {
        self.faults += 1;
        if self.rng.chance(50) {
            tell!(self, "power is lost");
            self.machine.disk.lose_power();
        } else {
            tell!(self, "the hub is killed");
            self.machine.disk.kill();
        }
        self.die();
    }

    /// Damages some of what is on the disk, while no hub runs.
    pub(super) fn decay(&mut self) {
        // The older snapshot stands in for one damaged one.
        let disk = &self.machine.disk;
        let is_damaged = { self.flipped.as_ref() }.is_some_and(|path| disk.has(path));
        if !is_damaged && self.rng.chance(50) {
            self.flipped = disk.flip("snapshot");
            tell!(self, "a bit of a snapshot flips: {:?}", self.flipped);
        }
        if !self.has_damaged && self.rng.chance(20) {
            self.has_damaged = self.machine.stored.lose_a_copy(disk, &mut self.rng);
            tell!(self, "a copy of a record is damaged: {}", self.has_damaged);
        }
    }

    /// Ends the process in the middle of a later call: of any, or of one kind, because some kinds are rare.
    pub(super) fn cut_later(&mut self) {
        let kinds = [
            None,
            Some(Call::Write),
            Some(Call::Sync),
            Some(Call::Rename),
            Some(Call::SyncNames),
            Some(Call::SyncNames),
            Some(Call::Store),
        ];
        let call = *self.rng.pick(&kinds);
        let most = if call.is_some() { 3 } else { 12 };
        let after = self.machine.disk.cut_later(call, most, &mut self.rng);
        let power = self.rng.chance(50);
        tell!(
            self,
            "the machine goes off in a call, {call:?}, after {after}, power: {power}"
        );
        self.cuts_power = power;
    }

    fn fail_later(&mut self) {
        let calls = self.machine.disk.fail_later(&mut self.rng);
        tell!(self, "call {calls} of the disk will fail");
        self.troubles += 1;
    }

    pub(super) fn fill(&mut self) {
        let full = !self.machine.disk.faults().full;
        tell!(self, "the disk is full: {full}");
        self.machine.disk.fill(full, &mut self.rng);
        self.troubles += 1;
    }

    pub(crate) fn faults_since_start(&self) -> bool {
        self.troubles > 0
    }

    /// A start has succeeded: earlier faults explain nothing any more, but those that still last.
    pub(crate) fn trouble_over(&mut self) {
        let faults = self.machine.disk.faults();
        self.troubles = u32::from(faults.full || faults.failing.is_some());
    }

    /// Stops the hub as a signal does.
    pub(crate) fn stop(&mut self) -> Result<(), Broken> {
        self.write(usize::MAX)?;
        let Some(process) = self.process.take() else {
            return Ok(());
        };
        let offered = process.stop().filter(|_| !self.machine.disk.is_off());
        tell!(self, "the hub stops: {offered:?}");
        self.die();
        self.machine.offered = offered;
        Ok(())
    }
}
