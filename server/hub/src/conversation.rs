//! The entry of a record of the log in a session's conversation. Every view draws it as it is.

use hub_core::asked::{self, of_hook};
use hub_core::fold::{SessionKey, State};
use hub_core::record::{Notified, Record, Turn, TurnCause, TurnNoted};
use hub_core::rejected::Rejected;
use hub_core::turn_mark::TurnMark;
use hub_log::Event;
use hub_protocol::{
    ConversationEntry, Decision, EntryKind, GivenAnswer, InboxName, Kind, NeedKind, Notification,
    ProjectName, QuestionState, Seq, Verdict, verdict,
};
use serde_json::Value;

use super::{Hub, needs, stored};

/// The most senders that a wake names.
const MAX_SENDERS: usize = 4;

/// The session whose conversation it is.
#[derive(Debug)]
pub struct Speaker {
    key: SessionKey,
    name: String,
    /// The inboxes that it reads.
    inboxes: Vec<InboxName>,
}

impl Speaker {
    /// The session at this place.
    pub fn new(state: &State, key: SessionKey) -> Self {
        Self {
            name: state.sessions.shown_name(&key.0, &key.1).to_owned(),
            inboxes: state.sessions.inboxes_of(&key.0, &key.1),
            key,
        }
    }

    /// The inboxes that records of the conversation name.
    pub fn places(&self) -> Vec<(&ProjectName, &InboxName)> {
        let inboxes = self.inboxes.iter();
        inboxes.map(|inbox| (&self.key.0, inbox)).collect()
    }

    /// The entry of an event; `None` if it adds nothing. May block on the disk.
    pub fn entry(&self, hub: &Hub, event: &Event) -> Result<Option<ConversationEntry>, Rejected> {
        match event.record() {
            Some(Record::TurnNoted(it))
                if (&it.project, &it.session) == (&self.key.0, &self.key.1) =>
            {
                Ok(self.step(event.seq(), it))
            }
            Some(Record::Notified(it)) if it.route.project == self.key.0 => self.notified(hub, it),
            _ => Ok(None),
        }
    }

    /// A step of a turn that no notification has: the last message, or who had sent the prompt.
    fn step(&self, seq: Seq, it: &TurnNoted) -> Option<ConversationEntry> {
        let (kind, by, title, text) = match &it.turn {
            Turn::Stopped {
                said: Some(said), ..
            } => (EntryKind::Stop, &*self.name, "has stopped", Some(said)),
            Turn::Attributed { .. } => (
                EntryKind::Note,
                "another session",
                "had sent the prompt",
                None,
            ),
            _ => return None,
        };
        Some(ConversationEntry {
            seq,
            ts: it.at,
            kind,
            by: by.into(),
            title: title.into(),
            text: text.cloned(),
            answer: None,
        })
    }

    fn notified(&self, hub: &Hub, it: &Notified) -> Result<Option<ConversationEntry>, Rejected> {
        let is_own = *it.route.about() == self.key.1;
        let mut targets = it.route.targets.iter();
        if !is_own && !targets.any(|to| self.inboxes.contains(&to.inbox)) {
            return Ok(None);
        }
        let Ok(said) = serde_json::from_slice::<Notification>(&it.json) else {
            return Ok(None);
        };
        match (said.kind, TurnMark::of(&said)) {
            _ if !is_own => self.message(hub, &said),
            (Kind::Question | Kind::Approval, _) => self.question(hub, &said).map(Some),
            (_, Some(TurnMark::Began { by, woken_by })) => {
                self.began(hub, &said, by, &woken_by).map(Some)
            }
            // That it still waits says less than its stop.
            (Kind::Waiting, None) if of_hook(&said).is_some() && it.route.targets.is_empty() => {
                Ok(None)
            }
            (_, mark) => Ok(Some(self.own(&said, mark.as_ref()))),
        }
    }

    /// A step of a turn, or a notification of the session's own.
    fn own(&self, said: &Notification, mark: Option<&TurnMark>) -> ConversationEntry {
        let (kind, title) = match (mark, said.kind) {
            (Some(TurnMark::Interrupted), _) => (EntryKind::Stop, "was interrupted".into()),
            (Some(TurnMark::Stopped), Kind::Progress) => {
                (EntryKind::Stop, "has stopped for now".into())
            }
            (Some(TurnMark::Stopped), _) => (EntryKind::Stop, "has stopped".into()),
            (Some(TurnMark::Failed), _) => (
                EntryKind::Limit,
                needs::title(NeedKind::Limit, &Value::Null),
            ),
            (_, Kind::Error) => (
                EntryKind::Error,
                needs::title(NeedKind::Error, &Value::Null),
            ),
            (_, kind) => (EntryKind::Note, noted(kind, said.to.as_ref())),
        };
        entry(said, kind, self.name.clone(), title)
    }

    /// A prompt, or what woke the session.
    fn began(
        &self,
        hub: &Hub,
        said: &Notification,
        by: TurnCause,
        woken_by: &[Seq],
    ) -> Result<ConversationEntry, Rejected> {
        let (kind, by, title) = match by {
            TurnCause::Person => (EntryKind::Prompt, "person", "wrote".into()),
            TurnCause::Agent => (EntryKind::Prompt, "a program", "wrote".into()),
            TurnCause::Peer => (EntryKind::Prompt, "another session", "wrote".into()),
            TurnCause::Task if woken_by.is_empty() => {
                (EntryKind::Wake, "a background task", "has ended".into())
            }
            TurnCause::Task | TurnCause::Wake | TurnCause::Timeout => {
                (EntryKind::Wake, InboxName::HUB, self.woke(hub, woken_by)?)
            }
        };
        Ok(entry(said, kind, by.into(), title))
    }

    /// The senders whose notifications woke the session, in words.
    fn woke(&self, hub: &Hub, woken_by: &[Seq]) -> Result<String, Rejected> {
        let locations: Vec<Seq> = hub.read(|state, _| {
            let place = |id: &Seq| state.location(*id).unwrap_or(*id);
            woken_by.iter().map(place).collect()
        })?;
        let mut senders: Vec<InboxName> = Vec::new();
        for said in locations
            .iter()
            .take(MAX_SENDERS)
            .filter_map(|it| stored::at(hub.log(), *it))
        {
            if !senders.contains(&said.from) {
                senders.push(said.from);
            }
        }
        let names = hub.read(|state, _| {
            let named = senders.iter().map(|it| name_of(state, &self.key.0, it));
            named.collect::<Vec<_>>().join(", ")
        })?;
        Ok(match names.as_str() {
            "" => "woke it".into(),
            names => format!("woke it: {names} wrote"),
        })
    }

    /// A notification to the session. The answer to its own question is part of the question.
    fn message(
        &self,
        hub: &Hub,
        said: &Notification,
    ) -> Result<Option<ConversationEntry>, Rejected> {
        hub.read(|state, _| {
            let asked = said.reply_to.and_then(|id| state.questions.get(id));
            let answers =
                asked.is_some_and(|it| it.answer == Some(said.id) && it.from == self.key.1);
            let by = name_of(state, &self.key.0, &said.from);
            (!answers).then(|| entry(said, EntryKind::Message, by, "wrote".into()))
        })
    }

    fn question(&self, hub: &Hub, said: &Notification) -> Result<ConversationEntry, Rejected> {
        let kind = match said.kind {
            Kind::Approval => NeedKind::Permission,
            _ => needs::kind_of(NeedKind::Question, asked::dialog_of(said)),
        };
        let request = asked::request_of(said).unwrap_or(&Value::Null);
        let title = needs::title(kind, request);
        let kind = match kind {
            NeedKind::Permission => EntryKind::Permission,
            NeedKind::Plan => EntryKind::Plan,
            NeedKind::Form => EntryKind::Form,
            _ => EntryKind::Question,
        };
        Ok(ConversationEntry {
            answer: self.answer(hub, said.id, kind)?,
            ..entry(said, kind, self.name.clone(), title)
        })
    }

    /// How a question ended; `None` if it is open.
    fn answer(&self, hub: &Hub, id: Seq, kind: EntryKind) -> Result<Option<GivenAnswer>, Rejected> {
        let found = hub.read(|state, _| {
            let it = state.questions.get(id).filter(|it| it.state.is_final())?;
            let by = it.by.as_ref().and_then(|by| by.parse().ok());
            let by = by.map(|by: InboxName| name_of(state, &self.key.0, &by));
            let is_answer = it.state == QuestionState::Answered;
            let answer = it.answer.filter(|_| is_answer);
            Some((
                it.state,
                by,
                answer.map(|it| state.location(it).unwrap_or(it)),
            ))
        })?;
        Ok(found.map(|(state, by, answer)| {
            let words = answer.and_then(|it| stored::at(hub.log(), it));
            given(state, by, words.map(|it| it.msg), kind)
        }))
    }
}

/// The end of a question.
fn given(
    state: QuestionState,
    by: Option<String>,
    words: Option<String>,
    kind: EntryKind,
) -> GivenAnswer {
    let is_decision = matches!(kind, EntryKind::Permission | EntryKind::Plan);
    let verdict = words.as_deref().filter(|_| is_decision).and_then(verdict);
    let (decision, title) = match &verdict {
        Some(Verdict::Allow) => (Some(Decision::Allow), "allowed"),
        Some(Verdict::AllowAlways) => (Some(Decision::AllowAlways), "allowed for the session"),
        Some(Verdict::AcceptEdits) => (Some(Decision::AcceptEdits), "allowed with all edits"),
        Some(Verdict::Deny(_)) => (Some(Decision::Deny), "denied"),
        None => {
            let ended = state.ended(by.as_deref());
            (None, ended.unwrap_or(state.as_str()))
        }
    };
    let is_by_terminal = state.is_by_terminal(by.as_deref());
    GivenAnswer {
        state,
        title: title.into(),
        by: by.filter(|_| !is_by_terminal),
        decision,
        text: match verdict {
            Some(Verdict::Deny(reason)) => reason,
            Some(_) => None,
            None => words,
        },
    }
}

/// An entry with the words of a notification.
fn entry(said: &Notification, kind: EntryKind, by: String, title: String) -> ConversationEntry {
    ConversationEntry {
        seq: said.id,
        ts: said.ts,
        kind,
        by,
        title,
        text: text_of(said),
        answer: None,
    }
}

/// The words of a notification; `None` if a hook reports something without any.
fn text_of(said: &Notification) -> Option<String> {
    let is_step = TurnMark::of(said).is_some() || said.kind == Kind::Ended;
    let words = of_hook(said)
        .filter(|_| is_step)
        .map(|data| data["said"].as_str());
    let words = match words {
        Some(words) => words.unwrap_or_default().to_owned(),
        None => asked::titled_words(said),
    };
    Some(words).filter(|it| !it.is_empty())
}

/// A session's act of sending a notification.
fn noted(kind: Kind, to: Option<&InboxName>) -> String {
    match (kind, to) {
        (Kind::Ended, _) => "has ended".into(),
        (_, Some(to)) => format!("wrote to {to}"),
        (kind, None) => kind.to_string(),
    }
}

fn name_of(state: &State, project: &ProjectName, name: &InboxName) -> String {
    let key = state.sessions.resolve(project, name);
    state.sessions.shown_name(project, key).to_owned()
}
