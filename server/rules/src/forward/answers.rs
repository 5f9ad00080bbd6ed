//! The answers that buttons give. A button publishes its token to a topic of the ntfy server, and the hub subscribes to that
//! topic: <https://docs.ntfy.sh/subscribe/api/>. So the phone needs no way to the hub.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hub_core::answer::{AnswerText, words_of};
use hub_core::command::{Command, IdempotencyKey};
use hub_core::fold::Question;
use hub_core::rejected::Rejected;
use hub_engine::draft::{self, Context};
use hub_engine::needs::Preview;
use hub_engine::{Hub, stored};
use hub_protocol::{Evidence, InboxName, Kind, Notification, Post, QuestionState, Seq, Timestamp};
use hyper::Request;
use hyper::body::Incoming;
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Forward;
use super::backoff::Backoff;
use super::buttons::{self, Press};
use super::delivery::until_active;
use super::message::sender;
use super::poster::{PostOutcome, authorized};

/// ntfy sends something every 45 s; a longer silence means that the connection is broken.
const SILENCE: Duration = Duration::from_secs(150);
/// The longest line of the stream that is read, in bytes.
const MAX_LINE: usize = 16 * 1024;
/// How far back a forward reads that has read no answer yet: no older token is valid.
const FIRST_SINCE: &str = "1h";
/// How many presses that come too late are reported in a minute; a token that leaks must flood neither the log nor the
/// phone. A press that gives an answer never waits for others: each question takes one.
const LATE_PER_MINUTE: u32 = 20;
/// How many reports wait for the phone; more are left out.
const MAX_REPORTS: usize = 32;
/// A connection that lasted for longer was sound, so the next one is opened at once.
const LASTING: Duration = Duration::from_secs(60);
/// How many buttons of an earlier hub are explained. Anyone may write such tokens into the topic.
const MAX_EXPLAINED: usize = 20;
/// How often a reply to the phone is tried.
const REPLY_ATTEMPTS: u32 = 3;

/// Reads the answers of one forward.
struct AnswerReader {
    hub: Hub,
    forward: Arc<Forward>,
    /// When the minute began, and the presses in it that came too late.
    late: (Instant, u32),
    /// The messages to the phone, which a slow server must not let the next press wait for.
    reports: mpsc::Sender<Bytes>,
    /// The questions with a button of an earlier hub that was explained.
    explained: HashSet<Seq>,
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

/// Reads the answers of a forward until `shutdown`.
pub(super) async fn read_all(hub: Hub, forward: Arc<Forward>, shutdown: CancellationToken) {
    let (reports, unsent) = mpsc::channel(MAX_REPORTS);
    let reader = AnswerReader {
        hub,
        forward: Arc::clone(&forward),
        late: (Instant::now(), 0),
        explained: HashSet::new(),
        reports,
    };
    let both = async { tokio::join!(reader.run(), send_all(&forward, unsent)) };
    let _: Option<((), ())> = shutdown.run_until_cancelled(both).await;
}

impl AnswerReader {
    /// Reads answers for ever.
    async fn run(mut self) {
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
            .read(|state, _| state.forwards.get(name)?.answer.clone())?;
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
            return self.explain(&line.message).await;
        };
        let mut backoff = Backoff::new();
        let (question, outcome) = loop {
            match self.press(press, &line.message).await {
                (_, PressOutcome::Busy) => tokio::time::sleep(backoff.next(None)).await,
                done => break done,
            }
        };
        if matches!(outcome, PressOutcome::Late(_)) && self.has_reported_enough() {
            return;
        }
        let noted = self.hub.submit(Command::Forwarded {
            name: self.forward.name().into(),
            up_to: None,
            answer: Some(line.id),
        });
        if let Err(error) = noted.await {
            tracing::debug!(%error, "the position in the answers was not noted");
        }
        self.report(question.as_ref(), outcome);
    }

    /// Tells the person that a button is none of this hub's, once for each open question: the hub was started again since.
    async fn explain(&mut self, token: &str) {
        let Some(press) = buttons::parsed(token) else {
            return;
        };
        let found = self
            .hub
            .read(|state, _| state.questions.get(press.question).cloned());
        let is_open = matches!(found, Ok(Some(asked)) if !asked.state.is_final());
        if !is_open
            || self.explained.len() >= MAX_EXPLAINED
            || !self.explained.insert(press.question)
        {
            return;
        }
        let why = format!(
            "this button is not of the hub that runs now; answer with: hubctl answer {} …",
            press.question
        );
        let question = self.notification(press.question).await.ok().flatten();
        self.report(question.as_ref(), PressOutcome::Late(why));
    }

    /// Gives the answer of a button. Returns its question too, if the log still holds it.
    async fn press(&self, press: Press, token: &str) -> (Option<Notification>, PressOutcome) {
        let late = |why: &str| PressOutcome::Late(why.into());
        let found = self
            .hub
            .read(|state, _| state.questions.get(press.question).cloned());
        let (asked, question) = match (found, self.notification(press.question).await) {
            (Ok(Some(asked)), Ok(Some(question))) => (asked, question),
            (Ok(_), Ok(question)) => return (question, late("the question is gone")),
            (Err(_), _) | (_, Err(())) => return (None, PressOutcome::Busy),
        };
        let outcome = if asked.state.is_final() {
            self.settled(&asked).await
        } else if press.is_over(Timestamp::now()) {
            PressOutcome::Late(format!(
                "this button has expired; answer with: hubctl answer {} …",
                press.question
            ))
        } else {
            let mut quick = Preview::of(&question).quick.into_iter();
            let given = quick.nth(press.button).and_then(|it| it.answer.answer());
            match given.and_then(|it| words_of(&question, &it).ok()) {
                Some(words) => self.answer(&question, words, token).await,
                None => late("the question has no such answer"),
            }
        };
        (Some(question), outcome)
    }

    /// Stores the person's answer. A token is carried out once, even if the question is opened again.
    async fn answer(
        &self,
        question: &Notification,
        words: AnswerText,
        token: &str,
    ) -> PressOutcome {
        let answer = words.to_string();
        let post = Post {
            msg: answer.clone(),
            from: Some(InboxName::PERSON.parse().expect("a valid name")),
            kind: Some(Kind::Answer),
            project: Some(question.project.clone()),
            reply_to: Some(question.id),
            ..Post::default()
        };
        let evidence = Evidence {
            forward: Some(self.forward.name().to_owned()),
            ..Evidence::default()
        };
        let context = Context::new(&self.hub).by_person(true).observed(evidence);
        let context = context.answering(words.each());
        let drafts = match draft::prepare(post, &context) {
            Ok(draft) => vec![draft],
            Err(draft::InvalidPost::Storage(_)) => return PressOutcome::Busy,
            Err(error) => return PressOutcome::Late(error.to_string()),
        };
        let once = Some(IdempotencyKey::new(token, answer.as_bytes()));
        match self.hub.submit(Command::Notify { drafts, once }).await {
            Ok(done) if done.repeated => PressOutcome::Late("this button was used already".into()),
            Ok(_) => PressOutcome::Answered(answer),
            Err(Rejected::Refused(refusal)) => {
                // Another answer may have been first.
                let asked = self
                    .hub
                    .read(|state, _| state.questions.get(question.id).cloned());
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
    fn report(&self, question: Option<&Notification>, outcome: PressOutcome) {
        let (text, level) = match outcome {
            // Without a sound: the person has just pressed the button.
            PressOutcome::Answered(answer) => (format!("answered: {answer}"), 2),
            PressOutcome::Late(why) => (format!("too late: {why}"), 3),
            PressOutcome::Busy => return,
        };
        let title = question.map_or("hub", sender);
        let message = self.forward.ntfy_message(title, &text, level);
        if self.reports.try_send(message.to_string().into()).is_err() {
            let forward = self.forward.name();
            tracing::debug!(forward, "the result of a button could not be reported");
        }
    }

    /// Counts a press that came too late. Whether this minute has had too many.
    fn has_reported_enough(&mut self) -> bool {
        if self.late.0.elapsed() >= Duration::from_secs(60) {
            self.late = (Instant::now(), 0);
        }
        self.late.1 += 1;
        self.late.1 > LATE_PER_MINUTE
    }
}

/// Sends reports to the phone.
async fn send_all(forward: &Forward, mut unsent: mpsc::Receiver<Bytes>) {
    while let Some(body) = unsent.recv().await {
        let mut backoff = Backoff::new();
        for _ in 0..REPLY_ATTEMPTS {
            match forward.poster.post(forward, body.clone()).await {
                PostOutcome::Accepted | PostOutcome::Refused(_) => break,
                PostOutcome::Failed(_, pause) => tokio::time::sleep(backoff.next(pause)).await,
            }
        }
    }
}
