//! What the person has to do: open questions, sessions that do not go on without the person, and urgent messages. Every view
//! draws this one list.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hub_core::command::Command;
use hub_core::fold::{AnswerPath, Inbox, Item, Question, Session, SessionKey, State, place_of};
use hub_core::rejected::Rejected;
use hub_core::waiters::SharedWaiters;
use hub_protocol::{
    AnswerDelivery, InboxName, Kind, Need, NeedKind, Place, Priority, ProjectName, QuestionState,
    Seq, Settled, Timestamp,
};

use super::Hub;
use super::follow::List;

mod replies;
mod sessions;
mod texts;

use texts::Texts;
pub use texts::{Preview, alert, briefly, wholly};
pub(crate) use texts::{kind_of, title};

/// How long a settled question stays in the list, in milliseconds, also if the agent has its answer.
const SETTLED_MS: i64 = 5_000;
/// Why a need of a session or project that the person muted does not call them. It does not count either, unless it asks.
const MUTED: &str = "muted";

/// A need, with what closes it.
#[derive(Debug, Clone, Default)]
pub struct FoundNeed {
    /// The need, without its texts until [`briefly`] or [`wholly`] has read them.
    pub need: Need,
    /// The record with the notification that says more.
    location: Option<Seq>,
    /// The record with the session's last words before it asked.
    context: Option<Seq>,
    /// The record with the answer.
    answer: Option<Seq>,
    /// The text before its own: that the session has not taken the person's message.
    untaken: Option<String>,
    /// How the person closes it, if they may close it as it is.
    pub close: Option<Close>,
}

/// How a need closes that no answer ends.
#[derive(Debug, Clone)]
pub enum Close {
    /// The person closes it for a session in the state that this record reported.
    Session(SessionKey, Seq),
    /// The person acknowledges the message in its inbox.
    Message(ProjectName, InboxName, Seq),
}

impl Close {
    /// The command that closes the need, until a time or for good. A message that is acknowledged does not come back.
    pub fn command(self, until: Option<Timestamp>) -> Option<Command> {
        match self {
            Self::Session(session, of) => Some(Command::CloseNeed { session, of, until }),
            Self::Message(..) if until.is_some() => None,
            Self::Message(project, inbox, id) => Some(Command::Ack {
                project,
                items: vec![(inbox, vec![id])],
                by: Some(InboxName::PERSON.into()),
                shown: None,
            }),
        }
    }
}

/// The needs, the most urgent kind first, and within a kind the oldest; without their texts. The questions among them that are
/// settled stay until the agent has the answer.
pub fn list(state: &State, waiters: &SharedWaiters) -> Vec<FoundNeed> {
    list_at(state, waiters, Timestamp::now())
}

/// The needs at a time.
pub fn list_at(state: &State, waiters: &SharedWaiters, now: Timestamp) -> Vec<FoundNeed> {
    let questions = state.recent_questions(SETTLED_MS, now);
    let questions = questions.map(|(id, it)| of_question(state, waiters, (id, it), now));
    let sessions = state.sessions.iter(None);
    let sessions = sessions.filter_map(|(project, key, session)| {
        let place = (project.clone(), key.clone());
        sessions::find(state, waiters, &place, session, now)
    });
    let messages = state
        .inboxes
        .iter(None)
        .flat_map(|(project, name, inbox)| of_inbox(state, waiters, (project, name), inbox));
    let mut found: Vec<_> = questions.chain(sessions).chain(messages).collect();
    found.sort_by(|a, b| {
        let rank = |it: &FoundNeed| (it.need.kind, it.need.since);
        rank(a)
            .cmp(&rank(b))
            .then_with(|| a.need.id.cmp(&b.need.id))
    });
    found
}

/// The kinds of the open needs, by the notifications that they are about.
pub fn kinds(state: &State, waiters: &SharedWaiters) -> BTreeMap<Seq, NeedKind> {
    let open = list(state, waiters).into_iter().map(|it| it.need);
    open.filter(Need::is_open)
        .filter_map(|it| Some((it.notification?, it.kind)))
        .collect()
}

/// A need by its id, also that of a question that was settled long ago.
pub fn find(state: &State, waiters: &SharedWaiters, id: &str) -> Option<FoundNeed> {
    let question = id
        .parse()
        .ok()
        .and_then(|id| Some((id, state.questions.get(id)?)));
    if let Some(question) = question {
        return Some(of_question(state, waiters, question, Timestamp::now()));
    }
    let mut needs = list(state, waiters).into_iter();
    needs.find(|it| it.need.id == id)
}

fn of_question(
    state: &State,
    waiters: &SharedWaiters,
    (id, question): (Seq, &Question),
    now: Timestamp,
) -> FoundNeed {
    let key = state.sessions.resolve(&question.project, &question.from);
    let session = state.sessions.get(&question.project, key);
    let kind = match question.kind {
        Kind::Approval => NeedKind::Permission,
        _ => NeedKind::Question,
    };
    let answerable = is_answerable(state, waiters, id, question);
    let is_open = !question.state.is_final();
    let held = waiters.read().held_time(id).filter(|_| is_open);
    let hook = waiters.read().hook_connection(id, Instant::now());
    let delivery = state.answer_delivery(question, hook);
    let location = |id| state.location(id).unwrap_or(id);
    let by = question.by.clone();
    FoundNeed {
        need: Need {
            id: id.to_string(),
            kind,
            since: question.ts,
            until: held.map(|it| it.until),
            delays: held.is_some_and(|it| it.delays),
            reconnecting: delivery == Some(AnswerDelivery::Reconnecting),
            settled: (!is_open).then(|| Settled {
                state: question.state,
                by: by.clone(),
                answer: None,
                delivery,
            }),
            claimed: by.filter(|_| question.state == QuestionState::Claimed),
            answerable: is_open && answerable,
            place: session
                .filter(|_| is_open && !answerable)
                .and_then(Session::info)
                .map(place_of)
                .filter(|it| *it != Place::default()),
            project: question.project.clone(),
            name: state.sessions.shown_name(&question.project, key).to_owned(),
            session: session.map(|_| key.clone()),
            notification: Some(id),
            revision: id,
            silenced: silenced(state, (&question.project, &question.from), now),
            ..Need::default()
        },
        location: Some(location(id)),
        context: session
            .and_then(|it| it.spoke)
            .filter(|spoke| *spoke < id)
            .map(location),
        answer: question.answer.map(location),
        ..FoundNeed::default()
    }
}

/// Whether an answer that is given to the hub reaches the asker.
pub fn is_answerable(state: &State, waiters: &SharedWaiters, id: Seq, question: &Question) -> bool {
    match state.reach(question) {
        AnswerPath::Inbox => true,
        AnswerPath::Request => waiters.read().is_held(id),
        AnswerPath::Nowhere => false,
    }
}

/// The id of what a session needs in its state: the state has a record of its own, and questions are named by theirs.
pub fn id_of(session: &Session) -> String {
    format!("s{}", session.seq)
}

/// The session that needs this now, or did until the person closed it.
pub fn session_of(state: &State, id: &str) -> Option<(SessionKey, Seq)> {
    let mut sessions = state.sessions.iter(None);
    let found = sessions.find(|(_, _, it)| id_of(it) == id);
    found.map(|(project, key, it)| ((project.clone(), key.clone()), it.seq))
}

/// Whether anybody but the person reads an inbox.
fn is_read(
    state: &State,
    waiters: &SharedWaiters,
    project: &ProjectName,
    name: &InboxName,
) -> bool {
    let session = match name.as_str() {
        InboxName::PRIMARY => state.sessions.primary(project),
        _ => Some(state.sessions.resolve(project, name)),
    };
    let session = session.and_then(|it| state.sessions.get(project, it));
    session.is_some_and(Session::is_alive) || waiters.read().holder(project, name).is_some()
}

/// The urgent messages that nobody but the person reads, without reports of a session that needs the person for the same reason.
fn of_inbox<'a>(
    state: &'a State,
    waiters: &'a SharedWaiters,
    (project, name): (&'a ProjectName, &'a InboxName),
    inbox: &'a Inbox,
) -> impl Iterator<Item = FoundNeed> + 'a {
    let is_report = move |item: &Item| {
        let session = state.sessions.with_name(project, &item.from);
        session.is_some_and(|it| it.state.is_some() && it.last == Some(item.seq))
    };
    let is_for_person =
        move || name.as_str() == InboxName::PERSON || !is_read(state, waiters, project, name);
    // Few are urgent, and a hub may have many inboxes with many others.
    let urgent = inbox.of_priority(Priority::Urgent).filter(move |it| {
        let is_own = it.from.as_str() == InboxName::PERSON;
        let is_other = matches!(it.kind, Kind::Question | Kind::Approval | Kind::Answer);
        !is_own && !is_other && !is_report(it) && is_for_person()
    });
    urgent.map(move |item| {
        let key = state.sessions.resolve(project, &item.from);
        let session = state.sessions.get(project, key);
        FoundNeed {
            need: Need {
                id: item.seq.to_string(),
                kind: NeedKind::Urgent,
                since: item.ts,
                project: project.clone(),
                name: state.sessions.shown_name(project, key).to_owned(),
                session: session.map(|_| key.clone()),
                answerable: session.is_some_and(Session::is_alive),
                notification: Some(item.seq),
                revision: item.seq,
                ..Need::default()
            },
            location: Some(state.location(item.seq).unwrap_or(item.seq)),
            close: Some(Close::Message(project.clone(), name.clone(), item.seq)),
            ..FoundNeed::default()
        }
    })
}

/// Why the preferences keep a sender from calling the person now.
fn silenced(state: &State, sender: (&ProjectName, &InboxName), now: Timestamp) -> Option<String> {
    if state.mute_of(sender, now).is_some() {
        return Some(MUTED.into());
    }
    let quiet = state.preferences.quiet.as_ref();
    quiet
        .is_some_and(|it| it.apply(now))
        .then(|| "quiet hours".into())
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
            let found = hub.read(list)?;
            Ok((self.0.complete(hub.log(), found), self))
        });
        read.await.map_err(|_| Rejected::ShuttingDown)?
    }
}
