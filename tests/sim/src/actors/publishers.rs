//! Publishers, with and without keys, and a person who answers questions.

use hub_core::command::{Command, IdempotencyKey};
use hub_core::notification::{Draft, tail_of};
use hub_core::rejected::Rejected;
use hub_engine::writer::{Ask, Done};
use hub_protocol::{Kind, Priority, QuestionState, Seq};
use tokio::sync::oneshot;

use super::{inbox, name, project, sender};
use crate::oracle::{Broken, Oracle};
use crate::world::{World, tell};

const SECOND_MS: u64 = 1000;
const HOUR_MS: u64 = 3600 * SECOND_MS;
/// The most requests that are kept to be sent once more although they were answered.
const REPEATED: usize = 8;

/// A request, which may be sent several times.
#[derive(Debug, Clone)]
struct Request {
    drafts: Vec<Draft>,
    texts: Vec<String>,
    once: Option<IdempotencyKey>,
    answers: Option<Seq>,
    /// When it was sent first, by the time that the hub may have counted at most.
    first_ms: i64,
    /// Whether a try had no answer, so that it may be stored.
    is_unsure: bool,
}

/// A request that waits for its answer.
struct Sent {
    request: Request,
    answer: oneshot::Receiver<Result<Done, Rejected>>,
}

/// All publishers.
#[derive(Default)]
pub(crate) struct Publishers {
    sent: Vec<Sent>,
    /// Requests with a key that got no answer, or one that allows another try.
    again: Vec<Request>,
    /// Requests with a key that were answered.
    done: Vec<Request>,
    next: u64,
}

impl Publishers {
    /// The wall clock jumps: what was sent before it has its deadlines by the old clock.
    pub(crate) fn forget_lives(&self, oracle: &mut Oracle) {
        for text in self.sent.iter().flat_map(|it| &it.request.texts) {
            oracle.lives.remove(text);
        }
    }

    /// Whether requests wait to be sent again.
    pub(crate) fn has_unsettled(&self) -> bool {
        !self.again.is_empty() || !self.sent.is_empty()
    }
}

impl World {
    fn draft(&mut self) -> Draft {
        use Kind::{Approval, Complete, Error, Message, Progress, Question};
        self.publishers.next += 1;
        let rng = &mut self.rng;
        let kinds = [
            Message, Message, Message, Complete, Progress, Error, Question, Approval,
        ];
        let kind = *rng.pick(&kinds);
        let filler = "x".repeat(rng.index(200));
        let text = format!("note {} {filler}", self.publishers.next);
        let (project, from) = (project(rng), sender(rng));
        let lives = [
            5 * SECOND_MS,
            60 * SECOND_MS,
            HOUR_MS,
            HOUR_MS,
            7 * 24 * HOUR_MS,
        ];
        let life_ms = rng.pick(&lives).cast_signed();
        let ts = self.clocks.wall();
        let mut draft = Draft::new((&project, &from), kind, text, ts, life_ms);
        draft.explicit_kind = rng.chance(80);
        let body = &mut draft.body;
        body.to = rng.chance(50).then(|| inbox(rng));
        if rng.chance(5) {
            body.to = Some(name("all"));
        }
        body.key = rng
            .chance(20)
            .then(|| (*rng.pick(&["build", "status"])).to_owned());
        let priorities = [
            Priority::Urgent,
            Priority::High,
            Priority::Normal,
            Priority::Normal,
            Priority::Low,
        ];
        body.priority = *rng.pick(&priorities);
        draft
    }

    /// A publisher sends something.
    pub(crate) fn publish(&mut self) {
        let count = if self.rng.chance(85) {
            1
        } else {
            self.rng.between(2, 4)
        };
        let drafts: Vec<Draft> = (0..count).map(|_| self.draft()).collect();
        self.request(drafts, None);
    }

    /// The person answers an open question.
    pub(crate) fn answer(&mut self) {
        let questions = self.oracle.state.unfinished_questions();
        let open: Vec<_> = questions
            .filter(|(_, it)| it.state == QuestionState::Open)
            .map(|(id, it)| (id, it.project.clone()))
            .collect();
        if open.is_empty() {
            return;
        }
        let (id, project) = self.rng.pick(&open).clone();
        self.publishers.next += 1;
        let text = format!("note {} yes", self.publishers.next);
        let life_ms = HOUR_MS.cast_signed();
        let from = name(self.rng.pick::<&str>(&["person", "person", "w1"]));
        let ts = self.clocks.wall();
        let mut draft = Draft::new((&project, &from), Kind::Answer, text, ts, life_ms);
        draft.body.reply_to = Some(id);
        draft.may_approve = from.as_str() == "person";
        self.request(vec![draft], Some(id));
    }

    fn request(&mut self, drafts: Vec<Draft>, answers: Option<Seq>) {
        let texts: Vec<String> = drafts.iter().map(|it| it.body.msg.clone()).collect();
        let key = format!("key {}", self.publishers.next);
        let once = self.rng.chance(60).then(|| IdempotencyKey {
            digest: key.clone(),
            key,
        });
        let request = Request {
            drafts,
            texts,
            once,
            answers,
            first_ms: self.counted_ms(),
            is_unsure: false,
        };
        if self.process.is_some() {
            self.submit(request);
        } else if request.once.is_some() {
            // The client spools it.
            self.publishers.again.push(request);
        }
    }

    /// A publisher sends a request again, with or without need.
    pub(crate) fn publish_again(&mut self) {
        if self.process.is_none() {
            return;
        }
        if !self.publishers.again.is_empty() {
            let at = self.rng.index(self.publishers.again.len());
            let request = self.publishers.again.remove(at);
            if request.is_unsure && self.is_old(&request) {
                return;
            }
            return self.submit(request);
        }
        if !self.publishers.done.is_empty() {
            let at = self.rng.index(self.publishers.done.len());
            let request = self.publishers.done.remove(at);
            if !self.is_old(&request) {
                self.submit(request);
            }
        }
    }

    /// Whether the hub may have forgotten its key, which it keeps for a day by its clock.
    fn is_old(&self, request: &Request) -> bool {
        self.counted_ms() - request.first_ms > 12 * HOUR_MS.cast_signed()
    }

    /// The true time, and the jumps that the hub may have taken for time.
    fn counted_ms(&self) -> i64 {
        self.clocks.boot_ms + self.oracle.unnoticed_ms
    }

    fn submit(&mut self, mut request: Request) {
        self.stamp(&mut request);
        let keyed = request.once.is_some();
        tell!(
            self,
            "publish {:?}, keyed: {keyed}",
            first_words(&request.texts)
        );
        let (reply, answer) = oneshot::channel();
        let (drafts, once) = (request.drafts.clone(), request.once.clone());
        let command = Command::Notify { drafts, once };
        self.queue.push(Ask::Command { command, reply });
        self.publishers.sent.push(Sent { request, answer });
    }

    /// The hub gives a request its time when it arrives.
    fn stamp(&mut self, request: &mut Request) {
        let (now, boot_ms) = (self.clocks.wall(), self.clocks.boot_ms);
        for draft in &mut request.drafts {
            let body = &mut draft.body;
            let life_ms = body.expires_at.as_millis() - body.ts.as_millis();
            (body.ts, body.expires_at) = (now, now.plus_millis(life_ms));
            draft.tail = Some(tail_of(&draft.body));
            self.oracle
                .lives
                .insert(draft.body.msg.clone(), (life_ms, boot_ms));
        }
    }

    /// All requests without an answer are lost.
    pub(crate) fn publish_lost(&mut self) {
        for Sent { request, .. } in std::mem::take(&mut self.publishers.sent) {
            self.unanswered(request);
        }
    }

    /// Takes the answers to what was published.
    pub(crate) fn collect_published(&mut self) -> Result<(), Broken> {
        for Sent {
            request,
            mut answer,
        } in std::mem::take(&mut self.publishers.sent)
        {
            match answer.try_recv() {
                Err(oneshot::error::TryRecvError::Empty) => {
                    self.publishers.sent.push(Sent { request, answer });
                }
                Err(oneshot::error::TryRecvError::Closed) => self.unanswered(request),
                Ok(Ok(done)) => self.published(request, &done)?,
                Ok(Err(error)) => self.refused(request, &error)?,
            }
        }
        Ok(())
    }

    fn published(&mut self, request: Request, done: &Done) -> Result<(), Broken> {
        tell!(
            self,
            "{:?} is stored as {:?}",
            first_words(&request.texts),
            done.ids
        );
        self.oracle.publish_confirmed(&request.texts, &done.ids)?;
        if let (Some(question), Some(id)) = (request.answers, done.ids.first()) {
            self.oracle.answer_confirmed(question, *id)?;
        }
        if request.once.is_some() && self.rng.chance(20) && self.publishers.done.len() < REPEATED {
            self.publishers.done.push(request);
        }
        Ok(())
    }

    fn refused(&mut self, request: Request, error: &Rejected) -> Result<(), Broken> {
        tell!(
            self,
            "{:?} is refused: {error}",
            first_words(&request.texts)
        );
        let keyed = request.once.is_some();
        match error {
            Rejected::Storage => self.unanswered(request),
            Rejected::Full => {
                if !self.is_troubled() {
                    return Err("a publish is refused for want of space, and there is space".into());
                }
                if !request.is_unsure {
                    self.oracle.publish_refused(&request.texts, !keyed)?;
                }
                self.try_again(request);
            }
            Rejected::Refused(_) if request.is_unsure => {}
            Rejected::Refused(_) => self.oracle.publish_refused(&request.texts, true)?,
            other => return Err(format!("a publish is refused: {other}")),
        }
        Ok(())
    }

    /// It may be stored or not.
    fn unanswered(&mut self, mut request: Request) {
        request.is_unsure = true;
        self.try_again(request);
    }

    fn try_again(&mut self, request: Request) {
        if request.once.is_some() {
            self.publishers.again.push(request);
        }
    }
}

fn first_words(texts: &[String]) -> Vec<&str> {
    let short = |text: &String| text.rfind(' ').unwrap_or(text.len());
    texts.iter().map(|text| &text[..short(text)]).collect()
}
