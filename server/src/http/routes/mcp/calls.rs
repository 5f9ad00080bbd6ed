//! The calls of tools.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::http::Extensions;
use hub_protocol::{
    AnswerPost, ByPost, Framed, InboxName, Kind, Post, Question, QuestionState, Questions, Session,
    Way, own_words,
};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde::Serialize;
use serde_json::Value;

use super::super::{notify, questions, sessions, stored};
use super::McpCaller;
use super::arguments::{
    AnswerArguments, AskArguments, ClaimArguments, InboxArguments, NotifyArguments,
    SessionsArguments, WaitArguments, read, seconds,
};
use super::pending::{self, Unacknowledged};
use super::reply::{QUESTIONS, Reply, SESSIONS, explained, framed, stored_as};
use crate::core::filter::Filter;
use crate::http::error::{ApiError, Code};
use crate::http::request::caller::Caller;
use crate::http::request::params::{Params, PathParam};
use crate::http::request::payload::Payload;
use crate::hub::Hub;
use crate::hub::writer::Done;
use crate::waiters::{Barrier, Outcome, WaitSpec};

/// Default wait in seconds: less than the limit that clients set for a call (60 s in Codex and in the TypeScript SDK).
const DEFAULT_SECONDS: u64 = 25;

/// A call of one tool.
pub(super) struct ToolCall {
    pub(super) hub: Hub,
    pub(super) unacknowledged: Unacknowledged,
    pub(super) caller: McpCaller,
}

impl ToolCall {
    /// Acknowledges what the caller got before, runs the tool, and adds what is pending now.
    pub(super) async fn run(
        &self,
        tool: &str,
        arguments: JsonObject,
    ) -> Result<CallToolResult, ErrorData> {
        let acknowledged = self
            .unacknowledged
            .acknowledge(&self.hub, &self.caller)
            .await;
        let reply = match acknowledged {
            Ok(()) => self.reply(tool, Value::Object(arguments)).await,
            Err(error) => Some(Err(error)),
        };
        let Some(reply) = reply else {
            return Err(ErrorData::invalid_params(format!("no tool '{tool}'"), None));
        };
        let is_error = reply.is_err();
        let mut reply = reply.unwrap_or_else(|error| explained(error).into());
        if !reply.took {
            match self.unacknowledged.take(&self.hub, &self.caller).await {
                Ok(taken) => reply.data.extend(taken.map(|(text, _)| text)),
                // The tool has done its work; what is pending stays pending.
                Err(error) => drop(error),
            }
        }
        let mut content = vec![ContentBlock::text(own_words(&reply.words))];
        content.extend(reply.data.into_iter().map(ContentBlock::text));
        Ok(if is_error {
            CallToolResult::error(content)
        } else {
            CallToolResult::success(content)
        })
    }

    /// `None` if there is no such tool.
    async fn reply(&self, tool: &str, arguments: Value) -> Option<Result<Reply, ApiError>> {
        Some(match tool {
            "notify" => self.notify(arguments).await,
            "ask" => self.ask(arguments).await,
            "answer" => self.answer(arguments).await,
            "claim" => self.claim(arguments).await,
            "inbox" => self.inbox(arguments).await,
            "sessions" => self.sessions(arguments).await,
            "wait" => self.wait(arguments).await,
            _ => return None,
        })
    }

    async fn notify(&self, arguments: Value) -> Result<Reply, ApiError> {
        let it: NotifyArguments = read(arguments)?;
        let done = self
            .publish(Post {
                msg: it.message,
                to: it.to,
                kind: it.kind,
                priority: it.priority,
                key: it.key,
                data: it.data,
                ..Post::default()
            })
            .await?;
        Ok(stored_as("Notification", &done).into())
    }

    async fn ask(&self, arguments: Value) -> Result<Reply, ApiError> {
        let it: AskArguments = read(arguments)?;
        let patience = seconds(it.seconds)?;
        let kind = if it.approval {
            Kind::Approval
        } else {
            Kind::Question
        };
        let done = self
            .publish(Post {
                msg: it.question,
                to: it.to,
                kind: Some(kind),
                key: it.key,
                options: it.options,
                ..Post::default()
            })
            .await?;
        let words = stored_as("Question", &done);
        let id = done.ids.first().copied().unwrap_or_default();
        if patience.is_zero() {
            let words =
                format!("{words} The answer comes with a later result of a tool of the hub.");
            return Ok(words.into());
        }
        let question = questions::settled(&self.hub, id, patience).await?;
        self.outcome(words, &question).await
    }

    /// What became of a question that the caller waited for.
    async fn outcome(&self, words: String, question: &Question) -> Result<Reply, ApiError> {
        match (question.state, question.answer_id) {
            (QuestionState::Answered, Some(answer)) => {
                let taken = self.unacknowledged.take(&self.hub, &self.caller).await?;
                let mut data = Vec::new();
                // Another reader of the session may have got the answer first.
                if !taken.as_ref().is_some_and(|(_, ids)| ids.contains(&answer)) {
                    let location = self.hub.read(|state, _| state.location(answer).unwrap_or(answer))?;
                    let event = stored::event(self.hub.log(), location).await?;
                    let json = event.and_then(|event| event.json()).ok_or(Code::UnknownNotification)?;
                    data.push(Framed::new(&[&String::from_utf8_lossy(&json)], 0).text);
                }
                data.extend(taken.map(|(text, _)| text));
                let words = format!("{words} It was answered: see the notification {answer} below.");
                Ok(Reply { words, data, took: true })
            }
            (state, _) if state.is_final() => {
                Ok(format!("{words} It was closed without an answer.").into())
            }
            _ => Ok(format!(
                "{words} No answer yet. It comes with a later result of a tool of the hub; go on with something else, or \
                 call wait."
            )
            .into()),
        }
    }

    async fn answer(&self, arguments: Value) -> Result<Reply, ApiError> {
        let it: AnswerArguments = read(arguments)?;
        let by = self.by();
        let body = payload(&AnswerPost {
            answer: it.answer,
            session: by.session,
            by: by.by,
            data: None,
        })?;
        let hub = State(self.hub.clone());
        let (_, Json(question)) = questions::answer(hub, PathParam(it.id), model(), body).await?;
        let mut words = format!("Answered question {}.", it.id);
        if !question.deliverable {
            words.push_str(" The session that asked is over: it reads the answer only if it is resumed within a day.");
        }
        Ok(words.into())
    }

    async fn claim(&self, arguments: Value) -> Result<Reply, ApiError> {
        let it: ClaimArguments = read(arguments)?;
        let hub = State(self.hub.clone());
        let by = payload(&self.by())?;
        let _ = questions::claim(hub, PathParam(it.id), model(), by).await?;
        Ok(format!("Claimed question {0}. Answer it with the tool answer: {{\"id\": {0}, \"answer\": \"…\"}}.", it.id).into())
    }

    async fn inbox(&self, arguments: Value) -> Result<Reply, ApiError> {
        let InboxArguments {} = read(arguments)?;
        self.demand_inbox()?;
        let hub = State(self.hub.clone());
        let list = questions::QuestionListParams {
            project: Some(self.caller.project.clone()),
            state: questions::QuestionStates::Open,
        };
        let Json(Questions { questions }) = questions::list(hub, Params(list)).await?;
        let taken = self.unacknowledged.take(&self.hub, &self.caller).await?;
        let mut reply = Reply {
            took: true,
            ..Reply::default()
        };
        reply.words = match &taken {
            Some((_, ids)) => format!("{} notifications for you.", ids.len()),
            None => "No notifications are pending for you.".into(),
        };
        let _ = write!(
            reply.words,
            " {} open questions in this project.",
            questions.len()
        );
        reply.data.extend(taken.map(|(text, _)| text));
        if !questions.is_empty() {
            reply.data.push(framed(
                QUESTIONS,
                &questions,
                &[
                    "id",
                    "from",
                    "from_name",
                    "type",
                    "ts",
                    "state",
                    "by",
                    "msg",
                    "options",
                ],
            )?);
        }
        Ok(reply)
    }

    async fn sessions(&self, arguments: Value) -> Result<Reply, ApiError> {
        let it: SessionsArguments = read(arguments)?;
        let list = sessions::SessionListParams {
            project: Some(self.caller.project.clone()),
            all: it.all,
        };
        let Json(found) = sessions::list(State(self.hub.clone()), Params(list)).await?;
        let found: Vec<Session> = found.sessions;
        let mut reply = Reply::from(format!("{} sessions.", found.len()));
        if let Some(own) = self.own_name(&found) {
            let _ = write!(reply.words, " You are {own}.");
        }
        if !found.is_empty() {
            let members = [
                "name", "id", "state", "since", "primary", "parent", "agent", "title", "cwd",
                "pending", "wake", "silent", "gone",
            ];
            reply.data.push(framed(SESSIONS, &found, &members)?);
        }
        Ok(reply)
    }

    fn own_name<'a>(&'a self, found: &'a [Session]) -> Option<&'a str> {
        let own = self.caller.session.as_ref()?;
        let is_own =
            |it: &&Session| it.id == *own || it.aliases.contains(own) || it.name == own.as_str();
        Some(
            found
                .iter()
                .find(is_own)
                .map_or(own.as_str(), |it| it.id.as_str()),
        )
    }

    async fn wait(&self, arguments: Value) -> Result<Reply, ApiError> {
        let it: WaitArguments = read(arguments)?;
        let patience = seconds(it.seconds.unwrap_or(DEFAULT_SECONDS))?;
        self.demand_inbox()?;
        let spec = pending::spec(&self.caller).ok_or(Code::Internal)?;
        let has_barrier = !it.all.is_empty() || !it.any.is_empty();
        let spec = WaitSpec {
            filter: Filter {
                kinds: it.types,
                from: it.from,
                ..Filter::default()
            },
            barrier: has_barrier.then_some(Barrier {
                all: it.all,
                any: it.any,
                count: 0,
                since: 0,
            }),
            deadline: Instant::now() + patience,
            drain: patience.is_zero(),
            ..spec
        };
        let _permit = self.hub.stream_permit()?;
        let outcome = self.hub.wait(spec).await?;
        let mut reply = self.waited(outcome, patience).await?;
        if has_barrier && !reply.took {
            reply.words.push_str(" The sessions have not stopped.");
        }
        Ok(reply)
    }

    async fn waited(&self, outcome: Outcome, patience: Duration) -> Result<Reply, ApiError> {
        let seconds = patience.as_secs();
        Ok(match outcome {
            Outcome::Batch(batch) => {
                let words = match &batch.barrier {
                    Some(barrier) if barrier.met => "The sessions have stopped.".to_owned(),
                    Some(barrier) => {
                        let missing: Vec<_> = barrier.missing.iter().map(InboxName::as_str).collect();
                        format!("Not stopped within {seconds} s: {}. Call wait again.", missing.join(", "))
                    }
                    None => format!("{} notifications arrived.", batch.items.len()),
                };
                let (text, ids) = self.unacknowledged.hand_over(&self.hub, &self.caller, batch).await?;
                let data = if ids.is_empty() { Vec::new() } else { vec![text] };
                Reply { words, data, took: true }
            }
            Outcome::Empty => format!(
                "Nothing arrived within {seconds} s. Call wait again if you still need it; otherwise go on, or end your turn."
            )
            .into(),
            Outcome::HeldBack(held) => format!(
                "A limit holds {} notifications back until {}. Go on with something else.",
                held.count, held.until
            )
            .into(),
            Outcome::Reset => "The project was reset, which ended this wait.".to_owned().into(),
            Outcome::TakenOver => "A later wait of this session replaced this one.".to_owned().into(),
            Outcome::Held { holder, .. } if matches!(holder.way, Some(Way::Module | Way::Rewake)) => {
                "There is no need to wait: your hooks wake you when something arrives. Go on, or end your turn."
                    .to_owned()
                    .into()
            }
            Outcome::Held { inbox, holder } => {
                let who = holder.name.unwrap_or_default();
                let detail = format!("'{who}' waits at the inbox '{inbox}' already");
                return Err(ApiError::new(Code::InboxHeld, detail));
            }
        })
    }

    /// Posts as the caller.
    async fn publish(&self, post: Post) -> Result<Done, ApiError> {
        let caller = &self.caller;
        let post = Post {
            from: caller.inbox().cloned(),
            project: Some(caller.project.clone()),
            parent: caller.parent.clone(),
            ..post
        };
        let (_, done) = notify::publish(&self.hub, model(), vec![post], None).await?;
        Ok(done)
    }

    fn by(&self) -> ByPost {
        let caller = &self.caller;
        let unknown = || InboxName::UNKNOWN.parse().ok();
        ByPost {
            session: caller.session.clone(),
            by: caller.from.clone().or_else(unknown),
        }
    }

    fn demand_inbox(&self) -> Result<(), ApiError> {
        let missing = || ApiError::invalid("this client named no session, so it has no inbox");
        self.caller.inbox().map(drop).ok_or_else(missing)
    }
}

/// The caller as the routes see it: never a person, because a model calls tools.
fn model() -> Caller {
    Caller::of(&Extensions::new())
}

fn payload(body: &impl Serialize) -> Result<Payload, ApiError> {
    let json =
        serde_json::to_vec(body).map_err(|error| ApiError::failed(Code::Internal, &error))?;
    Ok(Payload(json.into()))
}
