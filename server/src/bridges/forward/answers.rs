//! The answers that buttons give. A button publishes its token to a topic of the ntfy server, and the hub subscribes to that
//! topic: <https://docs.ntfy.sh/subscribe/api/>. So the phone needs no way to the hub.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hub_protocol::{InboxName, Kind, Notification, Post, QuestionState, Seq, Timestamp};
use hyper::Request;
use hyper::body::Incoming;
use serde::Deserialize;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Forward;
use super::backoff::Backoff;
use super::buttons::{self, Press};
use super::delivery::until_active;
use super::message::sender;
use super::poster::{PostOutcome, authorized};
use crate::core::command::{Command, IdempotencyKey};
use crate::core::rejected::Rejected;
use crate::fold::Question;
use crate::hub::draft::{self, Context};
use crate::hub::{Hub, stored};

/// ntfy sends something every 45 s; a longer silence means that the connection is broken.
const SILENCE: Duration = Duration::from_secs(150);
/// The longest line of the stream that is read, in bytes.
const MAX_LINE: usize = 16 * 1024;
/// How far back a forward reads that has read no answer yet: no older token is valid.
const FIRST_SINCE: &str = "1h";
/// How many valid tokens are read in a minute; a token that leaks must flood neither the log nor the phone.
const PRESSES_PER_MINUTE: u32 = 60;
/// A connection that lasted for longer was sound, so the next one is opened at once.
const LASTING: Duration = Duration::from_secs(60);
/// How often a reply to the phone is tried.
const REPLY_ATTEMPTS: u32 = 3;

/// Reads the answers of one forward.
pub(super) struct AnswerReader {
    hub: Hub,
    forward: Arc<Forward>,
    /// When the minute began, and the valid tokens that were read in it.
    presses: (Instant, u32),
}

/// A line of the stream. Other events than `message` keep the connection open.
#[derive(Deserialize)]
struct TopicLine {
    id: String,
    event: String,
    #[serde(default)]
    message: String,
}

/// The outcome of a press of a button.
enum PressOutcome {
    /// The answer is stored now.
    Answered(String),
    /// It is not, for this reason.
    Late(String),
    /// The hub cannot store it now.
    Busy,
}

impl AnswerReader {
    pub(super) fn new(hub: Hub, forward: Arc<Forward>) -> Self {
        let presses = (Instant::now(), 0);
        Self {
            hub,
            forward,
            presses,
        }
    }

    /// Reads answers until `shutdown`.
    pub(super) async fn run(mut self, shutdown: CancellationToken) {
        let read = async {
            let mut backoff = Backoff::new();
            loop {
                until_active(&self.hub).await;
                let began = Instant::now();
                let ended = self.subscribe().await;
                if began.elapsed() > LASTING {
                    backoff = Backoff::new();
                }
                if let Err(why) = ended
                    && self.forward.progress.answers(Some(&why))
                {
                    let forward = self.forward.name();
                    tracing::warn!(forward, why, "the answers of its buttons cannot be read");
                }
                tokio::time::sleep(backoff.next(None)).await;
            }
        };
        let _: Option<()> = shutdown.run_until_cancelled(read).await;
    }

    /// Reads the topic until the connection ends. Fails if it could not be opened.
    async fn subscribe(&mut self) -> Result<(), String> {
        let since = self.since().map_err(|error| error.to_string())?;
        let settings = &self.forward.settings;
        let topic = settings.reply_topic.as_ref().map_or("", |it| it.expose());
        let address = format!("{}/{topic}/json?since={since}", settings.url.expose());
        let request = authorized(Request::get(address), &self.forward);
        let request = request
            .body(Full::default())
            .map_err(|error| error.to_string())?;
        let response = self.forward.poster.open(request).await?;
        if !response.status().is_success() {
            return Err(format!("the target answers {}", response.status()));
        }
        if self.forward.progress.answers(None) {
            let forward = self.forward.name();
            tracing::info!(forward, "the answers of its buttons can be read again");
        }
        self.read_lines(response.into_body()).await;
        Ok(())
    }

    /// The last answer that was read.
    fn since(&self) -> Result<String, Rejected> {
        let name = self.forward.name();
        let known = self
            .hub
            .read(|state, _| state.forward(name)?.answer.clone())?;
        Ok(known.unwrap_or_else(|| FIRST_SINCE.into()))
    }

    async fn read_lines(&mut self, mut body: Incoming) {
        let mut line = Vec::new();
        while let Ok(Some(Ok(frame))) = tokio::time::timeout(SILENCE, body.frame()).await {
            let Ok(data) = frame.into_data() else {
                continue;
            };
            for part in data.split_inclusive(|byte| *byte == b'\n') {
                if self.hub.is_standby() {
                    return;
                }
                // A line that is cut off here is no JSON, and is ignored.
                if line.len() < MAX_LINE {
                    line.extend_from_slice(part);
                }
                if part.ends_with(b"\n") {
                    self.attend(&line).await;
                    line.clear();
                }
            }
        }
    }

    /// Handles a line of the stream.
    async fn attend(&mut self, line: &[u8]) {
        let Ok(line) = serde_json::from_slice::<TopicLine>(line) else {
            return;
        };
        // The id goes into an address.
        let is_id = line.id.len() <= 64 && line.id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if line.event != "message" || !is_id {
            return;
        }
        // Anyone may write into the topic, so a text that is no token of this hub is ignored.
        let Some(press) = self.forward.tokens(&self.hub).check(&line.message) else {
            tracing::debug!(
                forward = self.forward.name(),
                "a message in the topic of the answers is no token"
            );
            return;
        };
        self.throttle().await;
        let mut backoff = Backoff::new();
        let (question, outcome) = loop {
            match self.press(press, &line.message).await {
                (_, PressOutcome::Busy) => tokio::time::sleep(backoff.next(None)).await,
                done => break done,
            }
        };
        let noted = self.hub.submit(Command::Forwarded {
            name: self.forward.name().into(),
            up_to: None,
            answer: Some(line.id),
        });
        if let Err(error) = noted.await {
            tracing::debug!(%error, "the position in the answers was not noted");
        }
        self.reply(question.as_ref(), outcome).await;
    }

    /// Gives the answer of a button. Returns its question too, if the log still holds it.
    async fn press(&self, press: Press, token: &str) -> (Option<Notification>, PressOutcome) {
        let late = |why: &str| PressOutcome::Late(why.into());
        let found = self
            .hub
            .read(|state, _| state.question(press.question).cloned());
        let (asked, question) = match (found, self.notification(press.question).await) {
            (Ok(Some(asked)), Ok(Some(question))) => (asked, question),
            (Ok(_), Ok(question)) => return (question, late("the question is gone")),
            (Err(_), _) | (_, Err(())) => return (None, PressOutcome::Busy),
        };
        let outcome = if asked.state.is_final() {
            self.settled(&asked).await
        } else if press.expires_at <= Timestamp::now() {
            PressOutcome::Late(format!(
                "this button has expired; answer with: hubctl answer {} …",
                press.question
            ))
        } else {
            match buttons::answers(&question).into_iter().nth(press.button) {
                Some(answer) => self.answer(&question, answer, token).await,
                None => late("the question has no such answer"),
            }
        };
        (Some(question), outcome)
    }

    /// Stores the person's answer. A token is carried out once, even if the question is opened again.
    async fn answer(&self, question: &Notification, answer: String, token: &str) -> PressOutcome {
        let post = Post {
            msg: answer.clone(),
            from: Some(InboxName::PERSON.parse().expect("a valid name")),
            kind: Some(Kind::Answer),
            project: Some(question.project.clone()),
            reply_to: Some(question.id),
            ..Post::default()
        };
        let context = Context::new(&self.hub).by_person(true);
        let drafts = match draft::prepare(post, &context) {
            Ok(draft) => vec![draft],
            Err(draft::InvalidPost::Storage(_)) => return PressOutcome::Busy,
            Err(error) => return PressOutcome::Late(error.to_string()),
        };
        let once = Some(IdempotencyKey::new(token.trim(), answer.as_bytes()));
        match self.hub.submit(Command::Notify { drafts, once }).await {
            Ok(done) if done.repeated => PressOutcome::Late("this button was used already".into()),
            Ok(_) => PressOutcome::Answered(answer),
            Err(Rejected::Refused(refusal)) => {
                // Another answer may have been first.
                let asked = self
                    .hub
                    .read(|state, _| state.question(question.id).cloned());
                match asked {
                    Ok(Some(asked)) if asked.state.is_final() => self.settled(&asked).await,
                    _ => PressOutcome::Late(refusal.to_string()),
                }
            }
            Err(_) => PressOutcome::Busy,
        }
    }

    /// Why a question takes no answer any more.
    async fn settled(&self, asked: &Question) -> PressOutcome {
        let answer = match asked.answer {
            Some(id) if asked.state == QuestionState::Answered => self.notification(id).await,
            _ => Ok(None),
        };
        PressOutcome::Late(match answer {
            Ok(Some(answer)) => format!("already answered: {} ({})", answer.msg, sender(&answer)),
            _ => format!("the question is {} already", asked.state.as_str()),
        })
    }

    /// Reads a notification; `Ok(None)` if the log no longer has it.
    async fn notification(&self, id: Seq) -> Result<Option<Notification>, ()> {
        let event = stored::event(self.hub.log(), id).await.map_err(drop)?;
        let json = event.and_then(|event| event.json());
        Ok(json.and_then(|json| serde_json::from_slice(&json).ok()))
    }

    /// Reports the outcome on the phone.
    async fn reply(&self, question: Option<&Notification>, outcome: PressOutcome) {
        let (text, level) = match outcome {
            // Without a sound: the person has just pressed the button.
            PressOutcome::Answered(answer) => (format!("answered: {answer}"), 2),
            PressOutcome::Late(why) => (format!("too late: {why}"), 3),
            PressOutcome::Busy => return,
        };
        let title = question.map_or("hub", sender);
        let message = self.forward.ntfy_message(title, &text, level);
        let body = Bytes::from(message.to_string());
        let mut backoff = Backoff::new();
        for _ in 0..REPLY_ATTEMPTS {
            match self.forward.poster.post(&self.forward, body.clone()).await {
                PostOutcome::Accepted | PostOutcome::Refused(_) => return,
                PostOutcome::Failed(_, pause) => tokio::time::sleep(backoff.next(pause)).await,
            }
        }
    }

    /// Waits until the next minute if this one has had too many valid tokens.
    async fn throttle(&mut self) {
        let next = self.presses.0 + Duration::from_secs(60);
        if self.presses.1 >= PRESSES_PER_MINUTE {
            tokio::time::sleep_until(next).await;
        }
        if Instant::now() >= next {
            self.presses = (Instant::now(), 0);
        }
        self.presses.1 += 1;
    }
}
