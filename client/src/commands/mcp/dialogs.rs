//! Questions to the person as dialogs of the client: elicitation.
//!
//! A server can open a dialog at any time only with a client of 2025-11-25 or earlier, so this file answers a client's
//! request for a later protocol itself. It opens a dialog for each question to `person` in the project, and closes it
//! when the question is settled. The answer that the person gives goes to the hub as the person's.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::pin::pin;
use std::time::{Duration, Instant};

use hub_protocol::{Answer, AnswerPost, InboxName, Kind, Question, Seq};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{Proxy, failure};
use crate::api::question;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::backoff::Backoff;
use crate::hub::sse::{EventParser, chunk};
use crate::hub::{Hub, PATIENCE, Path, Request, json as body};
use crate::output::text::{cut, line};
use crate::output::{println, say};
use crate::system::runtime::block_on;

/// The longest text of a question in a dialog, in characters.
const LONGEST: usize = 2000;

/// A dialog that is cancelled within this time was not shown: Claude Code does that while it starts.
const HASTE: Duration = Duration::from_secs(1);

/// How often a dialog that was not shown is opened again, after a pause of [`HASTE`].
const ATTEMPTS: u32 = 10;

/// The beginning of a dialog's id.
const ID: &str = "question-";

/// The main loop's side of the dialogs.
pub(super) struct Dialogs {
    proxy: &'static Proxy,
    /// Whether the client shows forms.
    shows_forms: bool,
    answers: UnboundedSender<Value>,
    /// Until the client is ready.
    unread: Option<UnboundedReceiver<Value>>,
}

impl Dialogs {
    pub(super) fn new(proxy: &'static Proxy) -> Self {
        let (answers, unread) = unbounded_channel();
        Self {
            proxy,
            shows_forms: false,
            answers,
            unread: Some(unread),
        }
    }

    /// Reads a message of the client. Returns whether it needs no other treatment.
    pub(super) fn take(&mut self, message: &Value) -> Result<bool, Error> {
        match message["method"].as_str() {
            Some("server/discover") => {
                let id = message["id"].to_string();
                println(failure(&id, -32601, "--dialogs needs an earlier protocol"))?;
                return Ok(true);
            }
            Some("initialize") => {
                let elicitation = &message["params"]["capabilities"]["elicitation"];
                // Before there were modes, an empty object stood for forms.
                let modes = elicitation.as_object();
                self.shows_forms = modes.is_some_and(|it| it.is_empty() || it.contains_key("form"));
            }
            Some("notifications/initialized") if self.shows_forms => {
                if let Some(answers) = self.unread.take() {
                    Follower::start(self.proxy, answers);
                }
            }
            Some("notifications/initialized") => say("this client shows no dialogs"),
            None if message["id"].as_str().is_some_and(|it| it.starts_with(ID)) => {
                let _ = self.answers.send(message.clone());
                return Ok(true);
            }
            _ => {}
        }
        Ok(false)
    }
}

/// Follows the questions to the person.
struct Follower {
    proxy: &'static Proxy,
    answers: UnboundedReceiver<Value>,
    /// The questions with an open dialog.
    open: BTreeSet<Seq>,
    /// Every question that had a dialog, so that one that the person declined does not come back; with the time.
    shown: BTreeMap<Seq, Instant>,
    attempts: u32,
}

impl Follower {
    /// Starts a thread that lives as long as this process.
    fn start(proxy: &'static Proxy, answers: UnboundedReceiver<Value>) {
        std::thread::spawn(move || {
            let mut follower = Self {
                proxy,
                answers,
                open: BTreeSet::new(),
                shown: BTreeMap::new(),
                attempts: ATTEMPTS,
            };
            let _ = block_on(pin!(follower.run()));
        });
    }

    /// Ends only when the client no longer reads.
    async fn run(&mut self) -> Result<Exit, Error> {
        let mut backoff = Backoff::patient();
        loop {
            match self.follow(&mut backoff).await {
                Err(error) if !error.is_passing() => say(error),
                _ => {}
            }
            backoff.pause().await;
        }
    }

    /// Reads one event stream to its end; each event is a reason to look at the open questions.
    async fn follow(&mut self, backoff: &mut Backoff) -> Result<(), Error> {
        let hub = self.proxy.context.hub()?;
        let path = Path::new("/events")
            .with("project", &self.proxy.project)
            .list("types", &["question"])
            .list("kinds", &["notification", "question"]);
        let request = Request::get(path).header("accept", "text/event-stream");
        let mut response = hub.send(&request, PATIENCE).await?;
        backoff.reset();
        let mut parser = EventParser::default();
        // The stream begins with an event.
        loop {
            tokio::select! {
                bytes = chunk(&mut response) => {
                    let Some(bytes) = bytes? else { return Ok(()) };
                    if !parser.feed(bytes.as_ref()).is_empty() {
                        self.look(&hub).await?;
                    }
                }
                Some(answer) = self.answers.recv() => self.answered(&hub, &answer).await?,
            }
        }
    }

    /// Opens and closes dialogs, so that they are those of the open questions.
    async fn look(&mut self, hub: &Hub) -> Result<(), Error> {
        let questions = question::questions(hub, Some(&self.proxy.project), false).await?;
        let is_for_person = |it: &Question| {
            it.kind == Kind::Question
                // A dialog in the asker's own terminal cannot be answered here.
                && it.deliverable
                && !it.state.is_final()
                && it.to.as_ref().map(InboxName::as_str) == Some(InboxName::PERSON)
        };
        let open: BTreeMap<Seq, Question> = { questions.into_iter() }
            .filter(is_for_person)
            .map(|it| (it.id, it))
            .collect();
        for id in &self.open {
            if !open.contains_key(id) {
                let params = json!({ "requestId": format!("{ID}{id}"), "reason": "settled" });
                println(
                    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }),
                )?;
            }
        }
        self.open.retain(|id| open.contains_key(id));
        for (id, question) in open {
            if let Entry::Vacant(new) = self.shown.entry(id) {
                new.insert(Instant::now());
                self.open.insert(id);
                println(dialog(&id.to_string(), &asked(&question), Some(&question)))?;
            }
        }
        Ok(())
    }

    /// Sends what the person typed to the hub. A declined question stays open.
    async fn answered(&mut self, hub: &Hub, answer: &Value) -> Result<(), Error> {
        let id = answer["id"]
            .as_str()
            .and_then(|it| it.strip_prefix(ID)?.parse().ok());
        // The answer to a dialog that was closed meanwhile is late, and the hub says so.
        let Some((id, since)) = id.and_then(|id| Some((id, *self.shown.get(&id)?))) else {
            return Ok(());
        };
        self.open.remove(&id);
        let is_cancelled = answer["result"]["action"] == "cancel";
        if is_cancelled && since.elapsed() < HASTE && self.attempts > 0 {
            self.attempts -= 1;
            tokio::time::sleep(HASTE).await;
            self.shown.remove(&id);
            return self.look(hub).await;
        }
        let typed = answer["result"]["content"]["answer"].as_str();
        let Some(typed) = typed.filter(|_| answer["result"]["action"] == "accept") else {
            return Ok(());
        };
        let post = body(&AnswerPost {
            dialog: true,
            ..AnswerPost::new(Answer::Reply(typed.to_owned()))
        })?;
        let path = Path::new("/needs").segment(id).segment("answer");
        let request = Request::post(path, post);
        let mut backoff = Backoff::local();
        let failed = loop {
            match hub.text(&request).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_passing() => backoff.pause().await,
                Err(Error::Refused(problem)) if problem.code == "question_settled" => {
                    let settled = question::question(hub, id).await?;
                    break format!("Too late: {}", question::outcome(&settled));
                }
                Err(error) => {
                    break format!("The hub did not take the answer to question {id}: {error}");
                }
            }
        };
        println(dialog(&format!("{id}-late"), &failed, None))
    }
}

/// The text of a question, which cannot pass for the text of the dialog.
fn asked(question: &Question) -> String {
    let from = question
        .from_name
        .as_deref()
        .unwrap_or(question.from.as_str());
    let mut text = format!("{} asks (question {}):", line(from), question.id);
    for part in cut(&question.msg, LONGEST).lines() {
        text.push_str("\n  ");
        text.push_str(&line(part));
    }
    text
}

/// A request that opens a dialog: with a field for the answer to `question`, or only to be read.
fn dialog(id: &str, message: &str, question: Option<&Question>) -> Value {
    let schema = match question {
        Some(question) => {
            let mut answer = json!({ "type": "string", "title": "Answer" });
            if let Some(options) = question.options.as_ref().filter(|it| !it.is_empty()) {
                answer["enum"] = json!(options);
            }
            json!({ "type": "object", "properties": { "answer": answer }, "required": ["answer"] })
        }
        None => json!({ "type": "object", "properties": {} }),
    };
    let params = json!({ "message": message, "requestedSchema": schema });
    json!({ "jsonrpc": "2.0", "id": format!("{ID}{id}"), "method": "elicitation/create", "params": params })
}
