//! Asks the person to take note of what was lost or repaired. A log line alone would reach nobody.

use hub_core::command::Command;
use hub_core::fold::Loss;
use hub_core::notification::Draft;
use hub_protocol::{ProjectName, Seq};
use serde_json::{Value, json};

use super::ArchiveWorker;

/// The most ranges of records that a question names; of more, it names the first and the last record.
const MAX_RANGES: usize = 8;

impl ArchiveWorker {
    /// Submits questions about what was lost and not told yet. A full disk refuses them; then the next round submits them.
    pub(super) fn tell_losses(&self) {
        let (unread, unreadable) = {
            let followed = self.view.followed();
            let lost = self.journal().lost_ranges().into_iter();
            let kept = self.journal().earliest();
            let untold = lost.flat_map(|it| {
                followed
                    .state
                    .losses
                    .untold_part((it.from.max(kept), it.to))
            });
            (followed.state.losses.untold(), untold.collect::<Vec<_>>())
        };
        let unread = unread.map(|it| self.about_unread(it));
        let unreadable = (!unreadable.is_empty()).then(|| self.about_unreadable(unreadable));
        for draft in unread.into_iter().chain(unreadable) {
            let drafts = vec![draft];
            (self.submit)(Command::Notify { drafts, once: None });
        }
    }

    /// Submits a question about the repairs of the journal that are not told yet: a disk that damages one record may damage
    /// more.
    pub(super) fn tell_repairs(&mut self) {
        let repairs = self.journal().repairs();
        let count = repairs.count();
        let Some(last) = repairs.last.filter(|_| count > self.told_repairs) else {
            return;
        };
        let msg = format!(
            "Repaired: a damaged copy of the log, from the other copy ({last}). Look at the disk (dmesg, smartctl)"
        );
        let data =
            json!({ "repaired": { "segments": repairs.segments, "stores": repairs.stores } });
        let drafts = vec![self.question("hub:repaired".into(), msg, data)];
        if (self.submit)(Command::Notify { drafts, once: None }) {
            self.told_repairs = count;
        }
    }

    fn about_unread(&self, loss: Loss) -> Draft {
        let Loss {
            count, from, to, ..
        } = loss;
        let msg = format!(
            "Lost: {count} notifications that nobody had read, numbers {from} to {to}. Their records were unreadable, or \
             the log was at its size limit: the output of hubd says which. A backup may hold them"
        );
        let data = json!({ "lost": { "count": count, "from": from, "to": to } });
        self.question(Loss::KEY.into(), msg, data)
    }

    fn about_unreadable(&self, mut ranges: Vec<(Seq, Seq)>) -> Draft {
        let count: u64 = ranges.iter().map(|(from, to)| to - from + 1).sum();
        if ranges.len() > MAX_RANGES {
            let (first, last) = (ranges[0].0, ranges[ranges.len() - 1].1);
            ranges = vec![(first, last)];
        }
        let names = ranges.iter().map(|(from, to)| format!("{from} to {to}"));
        let names = names.collect::<Vec<_>>().join(", ");
        let msg = format!(
            "Lost: {count} records of the log cannot be read any more (in {names}), and neither can the notifications in \
             them. Look at the disk (dmesg, smartctl); a backup may hold them"
        );
        let data = json!({ "unreadable": ranges });
        self.question(Loss::key_of(&ranges), msg, data)
    }

    fn question(&self, key: String, msg: String, data: Value) -> Draft {
        let now = (self.inputs.clock)();
        Draft::notice(&ProjectName::default(), (key, msg), data, now)
    }
}
