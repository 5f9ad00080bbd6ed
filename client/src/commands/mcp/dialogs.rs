//! Questions to the person as dialogs of the client: elicitation.
//!
//! A server can open a dialog at any time only with a client of 2025-11-25 or earlier, so this file answers a client's
//! request for a later protocol itself. It opens a dialog for each need of the project that is a question to `person`, and
//! closes it when that is settled. The answer that the person gives goes to the hub as the person's.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::time::{Duration, Instant};

use hub_protocol::{Answer, AnswerPost, Control, InboxName, Need, NeedKind, Needs};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{Proxy, failure};
use crate::api::need::{need, outcome, path, text};
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::backoff::Backoff;
use crate::hub::sse::{EventParser, chunk};
use crate::hub::{Hub, PATIENCE, Path, Request, json as body, parse};
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
    /// The open questions to the person, by their ids.
    questions: BTreeSet<String>,
    /// Those of them with an open dialog.
    open: BTreeSet<String>,
    /// Every question that had a dialog, so that one that the person declined does not come back; with the time.
    shown: BTreeMap<String, Instant>,
    attempts: u32,
}

impl Follower {
    /// Starts a thread that lives as long as this process.
    fn start(proxy: &'static Proxy, answers: UnboundedReceiver<Value>) {
        std::thread::spawn(move || {
            let mut follower = Self {
                proxy,
                answers,
                questions: BTreeSet::new(),
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

    /// Reads one event stream to its end: each event is the list of needs.
    async fn follow(&mut self, backoff: &mut Backoff) -> Result<(), Error> {
        let hub = self.proxy.context.hub()?;
        let path = Path::new("/events").list("kinds", &["need"]);
        let request = Request::get(path).header("accept", "text/event-stream");
        let mut response = hub.send(&request, PATIENCE).await?;
        backoff.reset();
        let mut parser = EventParser::default();
        loop {
            tokio::select! {
                bytes = chunk(&mut response) => {
                    let Some(bytes) = bytes? else { return Ok(()) };
                    let mut events = parser.feed(bytes.as_ref()).into_iter();
                    if let Some(list) = events.rfind(|it| it.name == "need") {
                        self.questions = self.asked(parse(&list.data)?);
                        self.look(&hub).await?;
                    }
                }
                Some(answer) = self.answers.recv() => self.answered(&hub, &answer).await?,
            }
        }
    }

    /// The questions to the person in the project that the hub can deliver an answer to.
    fn asked(&self, Needs { needs }: Needs) -> BTreeSet<String> {
        let is_for_person = |it: &Need| {
            it.kind == NeedKind::Question
                && it.is_open()
                // A dialog in the asker's own terminal cannot be answered here.
                && it.answerable
                && it.project == self.proxy.project
                && it.to.as_ref().map(InboxName::as_str) == Some(InboxName::PERSON)
        };
        let open = needs.into_iter().filter(is_for_person);
        open.map(|it| it.id).collect()
    }

    /// Opens and closes dialogs, so that they are those of the open questions.
    async fn look(&mut self, hub: &Hub) -> Result<(), Error> {
        for id in self.open.difference(&self.questions) {
            let params = json!({ "requestId": format!("{ID}{id}"), "reason": "settled" });
            println(
                json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }),
            )?;
        }
        self.open.retain(|id| self.questions.contains(id));
        let is_new = |id: &&String| !self.shown.contains_key(*id);
        let new: Vec<String> = self.questions.iter().filter(is_new).cloned().collect();
        for id in new {
            let need = need(hub, &id).await?;
            self.shown.insert(id.clone(), Instant::now());
            println(dialog(&id, &asked(&need), Some(&need)))?;
            self.open.insert(id);
        }
        Ok(())
    }

    /// Sends what the person typed to the hub. A declined question stays open.
    async fn answered(&mut self, hub: &Hub, answer: &Value) -> Result<(), Error> {
        let id = answer["id"].as_str().and_then(|it| it.strip_prefix(ID));
        // The answer to a dialog that was closed meanwhile is late, and the hub says so.
        let Some((id, since)) = id.and_then(|id| Some((id, *self.shown.get(id)?))) else {
            return Ok(());
        };
        self.open.remove(id);
        let is_cancelled = answer["result"]["action"] == "cancel";
        if is_cancelled && since.elapsed() < HASTE && self.attempts > 0 {
            self.attempts -= 1;
            tokio::time::sleep(HASTE).await;
            self.shown.remove(id);
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
        let request = Request::post(path(id).segment("answer"), post);
        let mut backoff = Backoff::local();
        let failed = loop {
            match hub.text(&request).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_passing() => backoff.pause().await,
                Err(Error::Refused(problem)) if problem.code == "question_settled" => {
                    break format!("Too late: {}", outcome(&need(hub, id).await?));
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
fn asked(need: &Need) -> String {
    let mut shown = format!("{} asks (question {}):", line(&need.name), need.id);
    for part in cut(text(need), LONGEST).lines() {
        shown.push_str("\n  ");
        shown.push_str(&line(part));
    }
    shown
}

/// The labels of the options that a question offers.
fn options(need: &Need) -> Vec<&str> {
    let controls = need.whole.iter().flat_map(|it| &it.controls);
    let choices = controls.filter_map(|it| match it {
        Control::Choice(choice) => Some(&choice.options),
        _ => None,
    });
    choices.flatten().map(|it| it.label.as_str()).collect()
}

/// A request that opens a dialog: with a field for the answer to `question`, or only to be read.
fn dialog(id: &str, message: &str, question: Option<&Need>) -> Value {
    let schema = match question {
        Some(question) => {
            let mut answer = json!({ "type": "string", "title": "Answer" });
            let options = options(question);
            if !options.is_empty() {
                answer["enum"] = json!(options);
            }
            json!({ "type": "object", "properties": { "answer": answer }, "required": ["answer"] })
        }
        None => json!({ "type": "object", "properties": {} }),
    };
    let params = json!({ "message": message, "requestedSchema": schema });
    json!({ "jsonrpc": "2.0", "id": format!("{ID}{id}"), "method": "elicitation/create", "params": params })
}
