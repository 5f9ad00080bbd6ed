//! The connection to the hub: everything at the start, then one event stream, and the requests of the person.

use std::sync::Arc;
use std::time::Duration;

use hub_protocol::{
    Answer, AnswerPost, HistoryPage, Kind, Need, Needs, PhaseName, Post, Published, SeenReply,
    SeenRequest, Seq, Sessions, Timestamp,
};
use hubctl::{Connection, Error, Event, Path};
use serde::Deserialize;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{Instant, sleep, sleep_until};

use crate::app::{Answered, Request, Update};
use crate::store::FirstView;

const KINDS: &str = "notification,question,session,listener,delivery,seen,presence,need";
/// The shortest interval between requests for the sessions.
const MIN_REFRESH: Duration = Duration::from_millis(250);
/// The longest interval while a session works: its tool calls cause no event.
const WORKING_REFRESH: Duration = Duration::from_secs(2);
/// The longest interval: a session that falls silent causes no event.
const MAX_REFRESH: Duration = Duration::from_secs(30);
/// The pauses before another attempt: the first, the second, and the longest.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(100),
    Duration::from_secs(1),
    Duration::from_secs(10),
];
/// A connection that lasted this long was good: when it breaks, the next attempt is made at once.
const STABLE: Duration = Duration::from_secs(2);

/// The connection, and the place for its news.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    connection: Arc<Connection>,
    updates: UnboundedSender<Update>,
}

/// The answer to `POST /sessions/{target}/go`.
#[derive(Debug, Deserialize)]
struct Shown {
    attached: bool,
    attach: String,
}

impl Live {
    pub(crate) fn new(connection: Connection, updates: UnboundedSender<Update>) -> Self {
        Self {
            connection: Arc::new(connection),
            updates,
        }
    }

    /// Follows the hub for ever, also across its restarts.
    pub(crate) async fn follow(self) {
        let mut pause = PAUSES[0];
        loop {
            let begun = Instant::now();
            let ended = self.connected().await;
            let reason = ended
                .err()
                .map_or("the connection was lost".into(), |it| it.to_string());
            if begun.elapsed() > STABLE {
                pause = PAUSES[0];
            }
            let wait = i64::try_from(pause.as_millis()).unwrap_or(0);
            self.tell(Update::Away(reason, Timestamp::now().plus_millis(wait)));
            sleep(pause).await;
            pause = (pause * 3 / 2).clamp(PAUSES[1], PAUSES[2]);
        }
    }

    /// Loads everything, then reads the stream from the position before that, so no event is missed. Returns when the
    /// stream ends, or when everything must be loaded again.
    async fn connected(&self) -> Result<(), Error> {
        let view: FirstView = self.connection.get(Path::new("/dashboard")).await?;
        let cursor = format!("{}-{}", view.hub.epoch, view.hub.head);
        let path = Path::new("/events").with("kinds", KINDS);
        let mut events = self.connection.events(path, Some(&cursor)).await?;
        let mut wait = WORKING_REFRESH;
        self.tell(Update::Loaded(Box::new(view)));
        let mut refreshed = Instant::now();
        loop {
            tokio::select! {
                event = events.next() => match event? {
                    None => return Ok(()),
                    Some(event) if ["reset", "gap"].contains(&event.name.as_str()) => return Ok(()),
                    Some(event) if self.apply(&event) => wait = MIN_REFRESH,
                    Some(_) => {}
                },
                () = sleep_until(refreshed + wait) => {
                    wait = self.refresh().await?;
                    refreshed = Instant::now();
                }
            }
        }
    }

    /// Applies an event. Returns whether sessions may have changed.
    fn apply(&self, event: &Event) -> bool {
        match event.name.as_str() {
            "start" => return false,
            "need" => {
                if let Ok(Needs { needs }) = serde_json::from_str(&event.data) {
                    self.tell(Update::Needs(needs));
                }
            }
            "notification" => {
                if let Ok(notification) = serde_json::from_str(&event.data) {
                    self.tell(Update::Arrived(notification));
                }
            }
            _ => {}
        }
        true
    }

    /// Loads the sessions. Returns when to do so again if nothing happens.
    async fn refresh(&self) -> Result<Duration, Error> {
        let sessions: Sessions = self.connection.get(Path::new("/sessions")).await?;
        let mut phases = sessions.sessions.iter().map(|it| it.phase.name);
        let works = phases.any(|it| it == PhaseName::Working);
        self.tell(Update::Refreshed(sessions.sessions));
        Ok(if works { WORKING_REFRESH } else { MAX_REFRESH })
    }

    /// Performs a request, and reports its result.
    pub(crate) async fn perform(self, request: Request) {
        let update = match request {
            Request::Answer {
                id,
                revision,
                answer,
            } => {
                let result = self.answer(&id, revision, answer).await;
                Update::Answered(id, result.map_err(|it| it.to_string()))
            }
            Request::Whole(id) => {
                let path = Path::new("/needs").segment(&id);
                let need: Option<Need> = self.connection.get(path).await.ok();
                Update::Whole(id, need.map(Box::new))
            }
            Request::Thread(id) => match self.thread(id).await {
                Ok(update) => update,
                // The thread is an addition to the details, and the next change of the connection asks for it again.
                Err(_) => return,
            },
            other => Update::Said(
                self.other(other)
                    .await
                    .unwrap_or_else(|error| error.to_string()),
            ),
        };
        self.tell(update);
    }

    async fn answer(&self, id: &str, revision: Seq, answer: Answer) -> Result<Answered, Error> {
        let by = self.connection.by().await?;
        let post = AnswerPost {
            session: by.session,
            by: by.by,
            revision: Some(revision),
            ..AnswerPost::new(answer)
        };
        let path = Path::new("/needs").segment(id).segment("answer");
        self.connection.post(path, &post).await
    }

    async fn thread(&self, id: u64) -> Result<Update, Error> {
        let path = Path::new("/notifications").with("thread", id);
        let page: HistoryPage = self.connection.get(path).await?;
        let thread = page.notifications.iter();
        let thread = thread.filter_map(|json| serde_json::from_str(json.get()).ok());
        Ok(Update::Thread(id, thread.collect()))
    }

    /// Performs a request whose result is only words.
    async fn other(&self, request: Request) -> Result<String, Error> {
        Ok(match request {
            Request::Mark { ids, seen } => {
                let request = SeenRequest {
                    ids: Some(ids),
                    seen: Some(seen),
                    ..SeenRequest::default()
                };
                let _: SeenReply = self.connection.post(Path::new("/seen"), &request).await?;
                let word = if seen {
                    "Marked as read – u undoes it"
                } else {
                    "Marked as unread"
                };
                word.into()
            }
            Request::Done(need) => {
                self.connection.end_need(&need).await?;
                "Done – u undoes it".into()
            }
            Request::Snooze(need, until) => {
                self.connection.snooze_need(&need, until).await?;
                "Put off for an hour – u undoes it".into()
            }
            Request::Resume(need, on) => {
                self.connection.resume_need(&need, on).await?;
                if on {
                    "It goes on when its limit ends – c takes that back"
                } else {
                    "It waits for you"
                }
                .into()
            }
            Request::Reopen(need) => {
                self.connection.reopen_need(&need).await?;
                "It needs you again".into()
            }
            Request::Message {
                to,
                project,
                msg,
                reply_to,
            } => {
                let by = self.connection.by().await?;
                let post = Post {
                    msg,
                    from: by.session.or(by.by),
                    to: to.parse().ok(),
                    kind: Some(Kind::Message),
                    project: Some(project),
                    reply_to,
                    ..Post::default()
                };
                let sent: Published = self.connection.post(Path::new("/notify"), &post).await?;
                let woken = if sent.woken > 0 {
                    "it woke the session"
                } else {
                    "no waiter was woken"
                };
                let hint = sent.hint.map_or(String::new(), |it| format!(" ({it})"));
                format!("Sent: {woken}{hint}")
            }
            Request::Go { id, project } => {
                let path = Path::new("/sessions").segment(id).segment("go");
                let path = path.with("project", project);
                let shown: Shown = self.connection.post(path, &serde_json::Map::new()).await?;
                if shown.attached {
                    "Your terminal shows its pane".into()
                } else {
                    format!("No terminal is attached: {}", shown.attach)
                }
            }
            Request::Answer { .. } | Request::Whole(_) | Request::Thread(_) => String::new(),
        })
    }

    /// The receiver is only gone when the program ends.
    fn tell(&self, update: Update) {
        let _ = self.updates.send(update);
    }
}
