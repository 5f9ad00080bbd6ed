//! What the person has to do: open questions, sessions that do not go on without the person, and urgent messages. Every view
//! draws this one list.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use hub_protocol::{
    InboxName, Kind, Need, NeedKind, Notification, PhaseName, Priority, ProjectName, Seq,
    SessionState, Timestamp, reveal,
};
use serde_json::Value;
use tokio::sync::watch;

use super::Hub;
use crate::core::asked::{self, Asked};
use crate::core::command::Command;
use crate::core::rejected::Rejected;
use crate::core::sync;
use crate::fold::{Inbox, Question, Session, SessionKey, State};
use crate::log::Log;
use crate::waiters::SharedWaiters;

/// The most characters of a brief text, which a notification of a browser or a phone shows.
const BRIEF: usize = 240;
/// The most lines of a brief text.
const BRIEF_LINES: usize = 4;
/// After a change, further ones are collected for this long.
const DEBOUNCE: Duration = Duration::from_millis(50);
/// A session falls silent, and a snooze ends, without a record.
const RECHECK: Duration = Duration::from_secs(5);

/// A need, with what closes it.
#[derive(Debug, Clone)]
pub struct OpenNeed {
    /// The need, without its texts until [`with_texts`] has read them.
    pub need: Need,
    /// The record with the notification that says more.
    location: Option<Seq>,
    /// What closes it, if the person may close it as it is.
    pub close: Option<Close>,
}

/// What closes a need that no answer ends.
#[derive(Debug, Clone)]
pub enum Close {
    /// The person closes it for a session in the state that this record reported.
    Session(SessionKey, Seq),
    /// The person acknowledges the message in their inbox.
    Message(ProjectName, Seq),
}

impl Close {
    /// The command that closes the need, until a time or for good. A message that is acknowledged does not come back.
    pub fn command(self, until: Option<Timestamp>) -> Option<Command> {
        match self {
            Self::Session(session, of) => Some(Command::CloseNeed { session, of, until }),
            Self::Message(..) if until.is_some() => None,
            Self::Message(project, id) => Some(Command::Ack {
                project,
                items: vec![(InboxName::PERSON.parse().ok()?, vec![id])],
                by: Some(InboxName::PERSON.into()),
                shown: None,
            }),
        }
    }
}

/// The needs, the most urgent kind first, and within a kind the oldest; without their texts.
pub fn open(state: &State, waiters: &SharedWaiters) -> Vec<OpenNeed> {
    let now = Timestamp::now();
    let questions = state.questions(false).into_iter();
    let questions = questions.map(|(id, question)| of_question(state, id, question));
    let sessions = state.sessions(None);
    let sessions = sessions.filter_map(|(project, key, session)| {
        let place = (project.clone(), key.clone());
        of_session(state, waiters, place, session, now)
    });
    let person: InboxName = InboxName::PERSON.parse().expect("a constant name");
    let inboxes = state.inboxes(None);
    let messages = inboxes.filter(|(_, name, _)| **name == person);
    let messages = messages.flat_map(|(project, _, inbox)| of_inbox(state, project, inbox));
    let mut found: Vec<_> = questions.chain(sessions).chain(messages).collect();
    found.sort_by(|a, b| {
        let rank = |it: &OpenNeed| (it.need.kind, it.need.since);
        rank(a)
            .cmp(&rank(b))
            .then_with(|| a.need.id.cmp(&b.need.id))
    });
    found
}

fn of_question(state: &State, id: Seq, question: &Question) -> OpenNeed {
    let key = state.resolve(&question.project, &question.from);
    let session = state.session(&question.project, key);
    let kind = match question.kind {
        Kind::Approval => NeedKind::Permission,
        _ => NeedKind::Question,
    };
    OpenNeed {
        need: Need {
            id: id.to_string(),
            kind,
            since: question.ts,
            project: question.project.clone(),
            name: state.shown_name(&question.project, key).to_owned(),
            session: session.map(|_| key.clone()),
            notification: Some(id),
            ..Need::default()
        },
        location: Some(state.location(id).unwrap_or(id)),
        close: None,
    }
}

/// The id of what a session needs in its state: the state has a record of its own, and questions are named by theirs.
pub fn id_of(session: &Session) -> String {
    format!("s{}", session.seq)
}

/// The session that needs this now, or did until the person closed it.
pub fn session_of(state: &State, id: &str) -> Option<(SessionKey, Seq)> {
    let mut sessions = state.sessions(None);
    let found = sessions.find(|(_, _, it)| id_of(it) == id);
    found.map(|(project, key, it)| ((project.clone(), key.clone()), it.seq))
}

/// What a session needs, unless it asks: then its questions are the needs.
fn of_session(
    state: &State,
    waiters: &SharedWaiters,
    place: SessionKey,
    session: &Session,
    now: Timestamp,
) -> Option<OpenNeed> {
    let (project, key) = &place;
    let heard = waiters.read().heard(&place, now);
    let phase = state.phase(project, key, session, heard, now);
    let kind = match phase.name {
        PhaseName::YourTurn => NeedKind::Turn,
        PhaseName::Blocked if !session.is_alive() => NeedKind::Died,
        PhaseName::Blocked if phase.is_silent => NeedKind::Silent,
        PhaseName::Blocked
            if phase.until.is_some() || session.state != Some(SessionState::Error) =>
        {
            NeedKind::Limit
        }
        PhaseName::Blocked => NeedKind::Error,
        _ => return None,
    };
    let says_more = phase
        .report
        .filter(|_| phase.reason.is_none() || phase.is_silent);
    Some(OpenNeed {
        need: Need {
            id: id_of(session),
            kind,
            since: phase.since,
            until: phase.until,
            project: project.clone(),
            name: state.shown_name(project, key).to_owned(),
            session: Some(key.clone()),
            notification: phase.report,
            text: phase.reason,
            ..Need::default()
        },
        location: says_more.map(|id| state.location(id).unwrap_or(id)),
        close: Some(Close::Session(place, session.seq)),
    })
}

/// The urgent messages in the person's inbox.
fn of_inbox<'a>(
    state: &'a State,
    project: &'a ProjectName,
    inbox: &'a Inbox,
) -> impl Iterator<Item = OpenNeed> + 'a {
    let urgent = inbox.pending().filter(|it| {
        it.priority == Priority::Urgent && !matches!(it.kind, Kind::Question | Kind::Approval)
    });
    urgent.map(move |item| {
        let key = state.resolve(project, &item.from);
        OpenNeed {
            need: Need {
                id: item.seq.to_string(),
                kind: NeedKind::Urgent,
                since: item.ts,
                project: project.clone(),
                name: state.shown_name(project, key).to_owned(),
                session: state.session(project, key).map(|_| key.clone()),
                notification: Some(item.seq),
                ..Need::default()
            },
            location: Some(state.location(item.seq).unwrap_or(item.seq)),
            close: Some(Close::Message(project.clone(), item.seq)),
        }
    })
}

/// The stored texts of needs, read once.
#[derive(Debug, Default)]
struct Texts(HashMap<Seq, Arc<Notification>>);

impl Texts {
    /// Completes the needs, and forgets the texts of others. May block on the disk.
    fn complete(&mut self, log: &Log, found: Vec<OpenNeed>) -> Vec<Need> {
        let mut used = HashMap::new();
        let needs = found.into_iter().map(|it| {
            let stored = it.location.and_then(|location| {
                let known = self.0.get(&location).cloned();
                let read = known.or_else(|| stored(log, location).map(Arc::new))?;
                used.insert(location, Arc::clone(&read));
                Some(read)
            });
            with_text(it.need, stored.as_deref())
        });
        let needs = needs.collect();
        self.0 = used;
        needs
    }
}

fn stored(log: &Log, location: Seq) -> Option<Notification> {
    let event = log.get(location).ok()??;
    serde_json::from_slice(&event.json()?).ok()
}

/// A need with its kind, title and texts. May block on the disk.
pub fn with_texts(log: &Log, found: Vec<OpenNeed>) -> Vec<Need> {
    Texts::default().complete(log, found)
}

fn with_text(mut need: Need, said: Option<&Notification>) -> Need {
    let data = said.and_then(|it| it.data.as_ref()).unwrap_or(&Value::Null);
    let mut is_whole = true;
    if let Some(said) = said {
        need.kind = kind_of(need.kind, data);
        (need.priority, need.muted_by) = (said.priority, said.muted_by.clone());
        need.text = Some(match need.kind {
            NeedKind::Permission | NeedKind::Question | NeedKind::Plan | NeedKind::Form => {
                let Asked { text, complete } = asked::asked(said);
                is_whole = complete;
                text
            }
            _ => {
                let title = said.title.clone().into_iter();
                title
                    .chain([asked::words(said)])
                    .collect::<Vec<_>>()
                    .join("\n")
            }
        });
    }
    need.title = title(need.kind, data);
    let text = need.text.as_deref().unwrap_or_default();
    need.brief = brief(&reveal(text));
    need.complete = is_whole && need.brief == text;
    need
}

/// A question's kind, as its dialog says.
fn kind_of(kind: NeedKind, data: &Value) -> NeedKind {
    let dialog = &data["dialog"];
    match (kind, dialog["tool_name"].as_str()) {
        (NeedKind::Question, Some("ExitPlanMode" | "EnterPlanMode")) => NeedKind::Plan,
        (NeedKind::Question, _) if dialog["requested_schema"].is_object() => NeedKind::Form,
        (kind, _) => kind,
    }
}

fn title(kind: NeedKind, data: &Value) -> String {
    let request = if data["via"] == "hook" {
        &data["request"]
    } else {
        data
    };
    match kind {
        NeedKind::Urgent => "has an urgent message".into(),
        NeedKind::Permission => asked::wish(request),
        NeedKind::Question => "asks".into(),
        NeedKind::Plan => "has a plan".into(),
        NeedKind::Form => "asks for details".into(),
        NeedKind::Died => "has died".into(),
        NeedKind::Error => "has an error".into(),
        NeedKind::Turn => "has stopped".into(),
        NeedKind::Limit => "cannot go on for now".into(),
        NeedKind::Silent => "has been silent".into(),
    }
}

/// The beginning of a text.
fn brief(text: &str) -> String {
    let line_end = text.match_indices('\n').nth(BRIEF_LINES - 1);
    let char_end = text.char_indices().nth(BRIEF - 1);
    let is_whole = line_end.is_none() && text.char_indices().nth(BRIEF).is_none();
    if is_whole {
        return text.to_owned();
    }
    let ends = [line_end.map(|it| it.0), char_end.map(|it| it.0)];
    let end = ends.into_iter().flatten().min().unwrap_or(text.len());
    format!("{}…", text[..end].trim_end())
}

/// The list as one task keeps it for all streams, as long as there is one.
pub type SharedNeeds = Weak<watch::Receiver<Arc<[Need]>>>;

/// A reader of the list.
pub struct FollowedNeeds {
    /// The list, changed at first and each time that a need has changed.
    pub list: watch::Receiver<Arc<[Need]>>,
    #[allow(dead_code)] // held until the reader ends
    shared: Arc<watch::Receiver<Arc<[Need]>>>,
}

/// Follows the list.
pub fn follow(hub: &Hub) -> FollowedNeeds {
    let mut known = sync::lock(hub.needs());
    let shared = known.upgrade().unwrap_or_else(|| {
        let (sender, receiver) = watch::channel(Arc::from([]));
        keep(hub.clone(), sender);
        Arc::new(receiver)
    });
    *known = Arc::downgrade(&shared);
    let list = (*shared).clone();
    FollowedNeeds { list, shared }
}

/// Lists the needs at each change, until nobody follows them.
fn keep(hub: Hub, sender: watch::Sender<Arc<[Need]>>) {
    tokio::spawn(async move {
        let (mut log, mut presence) = (hub.log().subscribe(), hub.presence());
        let mut texts = Texts::default();
        let mut is_first = true;
        loop {
            match list(&hub, texts).await {
                Ok((needs, read)) => {
                    texts = read;
                    sender.send_if_modified(|known| {
                        let changed = std::mem::take(&mut is_first) || **known != *needs;
                        *known = needs.into();
                        changed
                    });
                }
                Err(error) => {
                    tracing::error!(%error, "the needs could not be listed");
                    return;
                }
            }
            tokio::select! {
                () = sender.closed() => return,
                () = hub.shutdown().cancelled() => return,
                Ok(()) = log.changed() => {}
                Ok(()) = presence.changed() => {}
                () = tokio::time::sleep(RECHECK) => {}
            }
            tokio::time::sleep(DEBOUNCE).await;
            log.mark_unchanged();
            presence.mark_unchanged();
        }
    });
}

async fn list(hub: &Hub, mut texts: Texts) -> Result<(Vec<Need>, Texts), Rejected> {
    let hub = hub.clone();
    let read = tokio::task::spawn_blocking(move || {
        let found = hub.read(open)?;
        let needs = texts.complete(hub.log(), found);
        let needs = needs.into_iter().map(|it| Need { text: None, ..it });
        Ok((needs.collect(), texts))
    });
    read.await.map_err(|_| Rejected::ShuttingDown)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brief_text_is_the_whole_one_or_ends_with_an_ellipsis() {
        for whole in ["", "one", "a\nb\nc\nd", &"x".repeat(BRIEF)] {
            assert_eq!(brief(whole), whole);
        }
        assert_eq!(brief("a\nb\nc\n\ne"), "a\nb\nc…");
        let long = brief(&"é".repeat(BRIEF + 1));
        assert_eq!((long.chars().count(), long.ends_with('…')), (BRIEF, true));
    }
}
