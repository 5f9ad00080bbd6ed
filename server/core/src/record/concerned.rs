//! The subjects of a record: the notifications whose traces have it, and the sessions whose conversations have it.

use hub_protocol::{InboxName, ProjectName, Seq};

use super::{Record, Route, RuleNote, Turn, TurnNoted, kinds};

impl Record {
    /// Whether records of this kind may be about earlier notifications. Most records are notifications themselves, so
    /// most need not be decoded.
    pub fn may_concern(kind: u8) -> bool {
        matches!(
            kind,
            kinds::SETTLED
                | kinds::EMITTED
                | kinds::RETURNED
                | kinds::QUESTION_CLAIMED
                | kinds::QUESTION_SETTLED
                | kinds::RULE_FIRED
                | kinds::RULE_NOTED
                | kinds::SEEN
        )
    }

    /// Returns the earlier notifications whose traces have this record, as ranges: the first and last number of each, in
    /// any order.
    pub fn concerned(&self) -> Vec<(Seq, Seq)> {
        let each = |ids: &[Seq]| ids.iter().map(|&id| (id, id)).collect();
        let one = |id: Option<Seq>| each(id.as_slice());
        match self {
            Self::Settled(it) => each(&it.ids),
            Self::Emitted(it) => each(&it.ids),
            Self::Returned(it) => each(&it.ids),
            Self::QuestionClaimed(it) => one(Some(it.id)),
            Self::QuestionSettled(it) => one(Some(it.id)),
            Self::RuleFired(it) => one(it.notification),
            Self::RuleNoted(it) => one(match &it.note {
                RuleNote::Began => None,
                RuleNote::Started { notification, .. } | RuleNote::Failed { notification, .. } => {
                    *notification
                }
                RuleNote::Escalated { notification, .. } => Some(*notification),
            }),
            Self::Seen(it) => {
                let ids = it.ids.iter().map(|&id| (id, id));
                let up_to = it.up_to.map(|last| (1, last));
                ids.chain(up_to).chain(it.ranges.iter().copied()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether the trace of this earlier notification has the record.
    pub fn concerns(&self, id: Seq) -> bool {
        let mut concerned = self.concerned().into_iter();
        concerned.any(|(first, last)| (first..=last).contains(&id))
    }

    /// Whether records of this kind may be in a conversation.
    pub fn may_be_said(kind: u8) -> bool {
        matches!(kind, kinds::NOTIFIED | kinds::TURN_NOTED)
    }

    /// Returns the inboxes in whose conversations this record is: that of the session that says it, and those that it is
    /// said to.
    pub fn conversations(&self) -> Vec<(&ProjectName, &InboxName)> {
        match self {
            Self::Notified(it) => {
                let to = it.route.targets.iter().map(|it| &it.inbox);
                let all = to.chain([it.route.about()]);
                all.map(|inbox| (&it.route.project, inbox)).collect()
            }
            Self::TurnNoted(TurnNoted {
                project,
                session,
                turn: Turn::Stopped { said: Some(_), .. },
                ..
            }) => vec![(project, session)],
            _ => Vec::new(),
        }
    }
}

impl Route {
    /// Returns the session that the notification is about.
    pub fn about(&self) -> &InboxName {
        let changed = self.session.as_ref();
        changed.map_or(&self.from, |(session, _)| session)
    }
}
