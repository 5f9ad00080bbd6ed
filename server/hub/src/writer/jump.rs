//! Jumps of the wall clock. The writer records each one before it decides anything by the new time: a notification that was
//! stored after the jump has its deadlines by the new clock already, and must not move with the others.

use hub_core::command::Command;
use hub_core::time::Now;
use hub_log::journal::JournalError;
use tokio::sync::oneshot;

use super::Writer;

/// A smaller difference of wall and boot clock is drift; a larger one means that the wall clock was set.
const JUMP_MS: i64 = 60_000;

/// Watches the wall clock for jumps against the boot clock, which includes suspension.
#[derive(Debug, Default)]
pub(super) struct JumpWatch {
    /// The wall clock's lead over the boot clock in milliseconds; `None` until the first look.
    lead: Option<i64>,
}

impl JumpWatch {
    /// Returns by how many milliseconds the wall clock jumped since the last jump that was noted, if it did.
    fn moved(&mut self, now: Now) -> Option<i64> {
        let lead = now.wall.as_millis() - now.boot_ms;
        let moved = lead - *self.lead.get_or_insert(lead);
        Some(moved).filter(|moved| moved.abs() > JUMP_MS)
    }

    fn note(&mut self, moved: i64) {
        self.lead = self.lead.map(|lead| lead + moved);
    }
}

impl Writer {
    /// Records a jump of the wall clock, and returns the time by which to decide. If the jump cannot be recorded, that is the
    /// time of the clock before it.
    pub(super) fn record_jump(&mut self, now: Now) -> Result<Now, JournalError> {
        let Some(delta_ms) = self.jumps.moved(now) else {
            return Ok(now);
        };
        // The deadlines are by the clock of the active hub.
        if !self.stands_by() {
            let (reply, mut answer) = oneshot::channel();
            let command = Command::ClockMoved { delta_ms };
            self.carry_out(vec![(command, reply)], now)?;
            if !matches!(answer.try_recv(), Ok(Ok(_))) {
                let wall = now.wall.plus_millis(-delta_ms);
                return Ok(Now { wall, ..now });
            }
        }
        tracing::warn!(
            moved_ms = delta_ms,
            "the wall clock jumped; deadlines and phases move with it"
        );
        self.waiters.write().shift(delta_ms);
        self.jumps.note(delta_ms);
        Ok(now)
    }
}
