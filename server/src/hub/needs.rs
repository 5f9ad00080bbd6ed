//! What the person has to do: open questions, sessions that do not go on without the person, and urgent messages. Every view
//! draws this one list.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use hub_protocol::{
    Alert, Answer, AnswerPost, Chosen, Control, Decision, InboxName, Kind, Need, NeedKind,
    Notification, Offer, PhaseName, Priority, ProjectName, Quick, Seq, SessionState, Timestamp,
    reveal,
};
use serde_json::Value;

use super::Hub;
use super::follow::List;
use crate::core::asked::{self, Asked};
use crate::core::command::Command;
use crate::core::controls::{PLANS, controls};
use crate::core::rejected::Rejected;
use crate::fold::{AnswerPath, Inbox, Question, Session, SessionKey, State};
use crate::log::Log;
use crate::waiters::SharedWaiters;

/// The most characters of a brief text, which a notification of a browser or a phone shows.
const BRIEF: usize = 240;
/// The most lines of a brief text.
const BRIEF_LINES: usize = 4;
/// Why a need of a session or project that the person muted does not call them. It does not count either, unless it asks.
const MUTED: &str = "muted";
/// The most options that are offered as buttons, and the most characters of one.
const MAX_OPTIONS: usize = 3;
const MAX_LABEL: usize = 24;

/// A need, with what closes it.
#[derive(Debug, Clone)]
pub struct OpenNeed {
    /// The need, without its texts until [`with_texts`] has read them.
    pub need: Need,
    /// The record with the notification that says more.
    location: Option<Seq>,
    /// What closes it, if the person may close it as it is.
    pub close: Option<Close>,
    /// Whether an answer that is given to the hub reaches the asker.
    is_answerable: bool,
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
    let questions =
        questions.map(|(id, question)| of_question(state, waiters, (id, question), now));
    let sessions = state.sessions(None);
    let sessions = sessions.filter_map(|(project, key, session)| {
        let place = (project.clone(), key.clone());
        of_session(state, waiters, &place, session, now)
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

fn of_question(
    state: &State,
    waiters: &SharedWaiters,
    (id, question): (Seq, &Question),
    now: Timestamp,
) -> OpenNeed {
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
            revision: id,
            silenced: silenced(state, (&question.project, &question.from), now),
            ..Need::default()
        },
        location: Some(state.location(id).unwrap_or(id)),
        close: None,
        is_answerable: is_answerable(state, waiters, id, question),
    }
}

/// Whether an answer that is given to the hub reaches the asker.
pub fn is_answerable(state: &State, waiters: &SharedWaiters, id: Seq, question: &Question) -> bool {
    match state.reach(question) {
        AnswerPath::Inbox => true,
        AnswerPath::Request => waiters.read().held_until(id).is_some(),
        AnswerPath::Nowhere => false,
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
    place: &SessionKey,
    session: &Session,
    now: Timestamp,
) -> Option<OpenNeed> {
    let (project, key) = place;
    let heard = waiters.read().heard(place, now);
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
            revision: phase.report.unwrap_or(session.seq),
            silenced: silenced(state, (project, key), now),
            text: phase.reason,
            ..Need::default()
        },
        location: says_more.map(|id| state.location(id).unwrap_or(id)),
        close: Some(Close::Session(place.clone(), session.seq)),
        is_answerable: false,
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
                revision: item.seq,
                ..Need::default()
            },
            location: Some(state.location(item.seq).unwrap_or(item.seq)),
            close: Some(Close::Message(project.clone(), item.seq)),
            is_answerable: false,
        }
    })
}

/// Why the preferences keep a sender from calling the person now.
fn silenced(state: &State, sender: (&ProjectName, &InboxName), now: Timestamp) -> Option<String> {
    if state.mute_of(sender, now).is_some() {
        return Some(MUTED.into());
    }
    let quiet = state.preferences().quiet.as_ref();
    quiet
        .is_some_and(|it| it.apply(now))
        .then(|| "quiet hours".into())
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
            with_text(it, stored.as_deref())
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

fn with_text(it: OpenNeed, said: Option<&Notification>) -> Need {
    let OpenNeed { mut need, .. } = it;
    let mut is_whole = true;
    if let Some(said) = said {
        need.kind = kind_of(need.kind, asked::dialog_of(said));
        need.priority = said.priority;
        let by_rule = said
            .muted_by
            .as_ref()
            .map(|it| format!("muted by the rule {it}"));
        let by_person = need.silenced.take();
        let by_person = by_person.filter(|_| said.priority != Priority::Urgent);
        need.silenced = by_rule.or(by_person);
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
    let request = said.and_then(asked::request_of);
    need.title = title(need.kind, request.unwrap_or(&Value::Null));
    let text = need.text.as_deref().unwrap_or_default();
    need.brief = brief(&reveal(text));
    need.complete = is_whole && need.brief == text;
    need.alert = alert(need.kind);
    need.closable = !need.kind.asks();
    let is_muted = need.closable && need.silenced.as_deref() == Some(MUTED);
    need.counts = !is_muted && !matches!(need.kind, NeedKind::Limit | NeedKind::Silent);
    if let Some(said) = said.filter(|_| it.is_answerable && need.complete) {
        need.quick = quick(&controls(said));
    }
    need
}

/// The state of the preferences by which a need calls the person.
fn alert(kind: NeedKind) -> Option<Alert> {
    match kind {
        NeedKind::Urgent => None,
        NeedKind::Turn => Some(Alert::YourTurn),
        NeedKind::Died | NeedKind::Error | NeedKind::Limit | NeedKind::Silent => {
            Some(Alert::Blocked)
        }
        _ => Some(Alert::NeedsYou),
    }
}

/// The answers that need nothing but a brief text that is whole: a decision on a permission, or one of a few options.
fn quick(controls: &[Control]) -> Vec<Quick> {
    let decision = |label: &str, decision| Quick {
        label: label.into(),
        answer: AnswerPost::new(Answer::Verdict(decision, None)),
    };
    let option = |offer: &Offer| Quick {
        label: reveal(&offer.label),
        answer: AnswerPost::new(Answer::Choices(vec![Chosen {
            labels: vec![offer.label.clone()],
            text: None,
        }])),
    };
    let fits = |offer: &Offer| offer.label.chars().count() <= MAX_LABEL;
    match controls {
        [
            Control::Verdict {
                allow: true,
                edits: false,
                ..
            },
        ] => vec![
            decision("Approve", Decision::Allow),
            decision("Deny", Decision::Deny),
        ],
        [Control::Choice(it)]
            if !it.many && it.options.len() <= MAX_OPTIONS && it.options.iter().all(fits) =>
        {
            it.options.iter().map(option).collect()
        }
        _ => Vec::new(),
    }
}

/// A question's kind, as its dialog says.
fn kind_of(kind: NeedKind, dialog: &Value) -> NeedKind {
    match (kind, dialog["tool_name"].as_str()) {
        (NeedKind::Question, Some(tool)) if PLANS.contains(&tool) => NeedKind::Plan,
        (NeedKind::Question, _) if dialog["requested_schema"].is_object() => NeedKind::Form,
        (kind, _) => kind,
    }
}

fn title(kind: NeedKind, request: &Value) -> String {
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

/// The list for streams, with the texts that it was read from.
#[derive(Debug, Default)]
pub struct NeedList(Texts);

impl List for NeedList {
    type Whole = Vec<Need>;
    const DEBOUNCE: Duration = Duration::from_millis(50);
    // A session falls silent, and a snooze ends, without a record.
    const RECHECK: Duration = Duration::from_secs(5);

    async fn read(mut self, hub: &Hub) -> Result<(Vec<Need>, Self), Rejected> {
        let hub = hub.clone();
        let read = tokio::task::spawn_blocking(move || {
            let found = hub.read(open)?;
            let needs = self.0.complete(hub.log(), found);
            let needs = needs.into_iter().map(|it| Need { text: None, ..it });
            Ok((needs.collect(), self))
        });
        read.await.map_err(|_| Rejected::ShuttingDown)?
    }
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
