//! The calls of tools.

use axum::Json;
use axum::extract::State;
use axum::http::Extensions;
use hub_core::controls::controls;
use hub_engine::Hub;
use hub_engine::writer::Done;
use hub_protocol::{
    Answer, AnswerPost, ByPost, Counted, Framed, InboxName, Kind, OwnWords, Post, Question,
    QuestionState, Quoted, Seq, Session,
};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde::Serialize;
use serde_json::Value;

use super::McpCaller;
use super::arguments::{
    AnswerArguments, AskArguments, ClaimArguments, InboxArguments, LONGEST, NotifyArguments,
    SessionsArguments, read, seconds,
};
use super::pending::Unacknowledged;
use super::reply::{ANSWERED, NEEDS, Reply, SESSIONS, explained, framed, of_need, stored_as};
use hub_http::error::{ApiError, Code};
use hub_http::request::caller::Caller;
use hub_http::request::evidence::Witness;
use hub_http::request::params::{Params, PathParam};
use hub_http::request::payload::Payload;
use hub_http::routes::notify::Poster;
use hub_http::routes::{answers, needs, notify, questions, sessions, stored};

/// A call of one tool.
pub(super) struct ToolCall {
    pub(super) hub: Hub,
    pub(super) unacknowledged: Unacknowledged,
    pub(super) caller: McpCaller,
    pub(super) poster: Poster,
}

impl ToolCall {
    /// Acknowledges what the caller got before, runs the tool, and adds what is pending now.
    pub(super) async fn run(
        &self,
        tool: &str,
        arguments: JsonObject,
    ) -> Result<CallToolResult, ErrorData> {
        let reply = match self.acknowledge().await {
            Ok(()) => self.reply(tool, Value::Object(arguments)).await,
            Err(error) => Some(Err(error)),
        };
        let Some(reply) = reply else {
            return Err(ErrorData::invalid_params(format!("no tool '{tool}'"), None));
        };
        let (result, _) = self.result(reply).await;
        Ok(result)
    }

    /// Acknowledges what the caller got with its calls before this one.
    pub(super) async fn acknowledge(&self) -> Result<(), ApiError> {
        self.unacknowledged
            .acknowledge(&self.hub, &self.caller)
            .await
    }

    /// A reply as a result, with what is pending now. Returns it with the notifications that it hands over.
    pub(super) async fn result(
        &self,
        reply: Result<Reply, ApiError>,
    ) -> (CallToolResult, Vec<Seq>) {
        let is_error = reply.is_err();
        let mut reply = reply.unwrap_or_else(|error| Reply::of(explained(error)));
        if reply.taken.is_none() {
            // If this fails, what is pending stays pending, because the tool has done its work.
            let taken = self.unacknowledged.take(&self.hub, &self.caller).await;
            if let Ok(Some((framed, ids))) = taken {
                reply.data.push(framed);
                reply.taken = Some(ids);
            }
        }
        let mut content = vec![ContentBlock::text(String::from(reply.words))];
        let data = reply
            .data
            .into_iter()
            .map(|it| ContentBlock::text(it.as_str()));
        content.extend(data);
        let result = if is_error {
            CallToolResult::error(content)
        } else {
            CallToolResult::success(content)
        };
        (result, reply.taken.unwrap_or_default())
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
        Ok(Reply::of(stored_as("Notification", &done)))
    }

    async fn ask(&self, arguments: Value) -> Result<Reply, ApiError> {
        let it: AskArguments = read(arguments)?;
        let patience = seconds(it.seconds, LONGEST)?;
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
            let later = " The answer comes with a later result of a tool of the hub.";
            return Ok(Reply::of(words.and(later)));
        }
        let question = questions::settled(&self.hub, id, patience).await?;
        self.outcome(words, &question).await
    }

    /// The outcome of a question that the caller waited for.
    async fn outcome(&self, words: OwnWords, question: &Question) -> Result<Reply, ApiError> {
        match (question.state, question.answer_id) {
            (QuestionState::Answered, Some(answer)) => {
                let taken = self.unacknowledged.take(&self.hub, &self.caller).await?;
                let mut data = Vec::new();
                // Another reader of the session may have got the answer first.
                if !taken.as_ref().is_some_and(|(_, ids)| ids.contains(&answer)) {
                    let location = self.hub.read(|state, _| state.location(answer).unwrap_or(answer))?;
                    let event = stored::event(self.hub.log(), location).await?;
                    let json = event.and_then(|event| event.json()).ok_or(Code::UnknownNotification)?;
                    data.push(Framed::new(&[&String::from_utf8_lossy(&json)], 0));
                }
                let (framed, ids) = taken.unzip();
                data.extend(framed);
                let words = words.and(" It was answered: see the notification ").and(answer).and(" below.");
                Ok(Reply { words, data, taken: Some(ids.unwrap_or_default()) })
            }
            (state, _) if state.is_final() => {
                Ok(Reply::of(words.and(" It was closed without an answer.")))
            }
            _ => Ok(Reply::of(words.and(
                " No answer yet. It comes with a later result of a tool of the hub; go on with something else, or call wait.",
            ))),
        }
    }

    async fn answer(&self, arguments: Value) -> Result<Reply, ApiError> {
        let it: AnswerArguments = read(arguments)?;
        let by = self.by();
        let body = AnswerPost {
            session: by.session,
            by: by.by,
            ..AnswerPost::new(self.answer_to(it.id, &it.answer).await?)
        };
        let as_model = (model(), &Witness::default());
        let question = answers::give(&self.hub, it.id, as_model, body).await?;
        let words = OwnWords::of("Answered question ").and(it.id).and(".");
        Ok(Reply::of(if question.deliverable {
            words
        } else {
            words.and(" The session that asked is over: it reads the answer only if it is resumed within a day.")
        }))
    }

    /// The answer that a model's words stand for.
    async fn answer_to(&self, id: Seq, words: &str) -> Result<Answer, ApiError> {
        let asked = stored::notification(&self.hub, id).await?;
        Ok(Answer::of_words(words, &controls(&asked)))
    }

    async fn claim(&self, arguments: Value) -> Result<Reply, ApiError> {
        let it: ClaimArguments = read(arguments)?;
        let hub = State(self.hub.clone());
        let by = payload(&self.by())?;
        let _ = questions::claim(hub, PathParam(it.id), model(), Witness::default(), by).await?;
        let words = OwnWords::of("Claimed question ").and(it.id);
        let words = words
            .and(". Answer it with the tool answer: {\"id\": ")
            .and(it.id);
        Ok(Reply::of(words.and(", \"answer\": \"…\"}.")))
    }

    async fn inbox(&self, arguments: Value) -> Result<Reply, ApiError> {
        let InboxArguments {} = read(arguments)?;
        self.demand_inbox()?;
        let needs = needs::open_of(&self.hub, &self.caller.project, ANSWERED).await?;
        let taken = self.unacknowledged.take(&self.hub, &self.caller).await?;
        let words = match &taken {
            Some((_, ids)) => OwnWords::of(Counted(ids.len(), "notification")).and(" for you. "),
            None => OwnWords::of("No notifications are pending for you. "),
        };
        let words = words.and(Counted(needs.len(), "open need"));
        let mut reply = Reply::of(words.and(" in this project."));
        let (batch, ids) = taken.unzip();
        reply.data.extend(batch);
        reply.taken = Some(ids.unwrap_or_default());
        if !needs.is_empty() {
            let needs: Vec<_> = needs.iter().map(of_need).collect();
            let members = [
                "id", "kind", "session", "name", "title", "since", "claimed", "msg", "controls",
            ];
            reply.data.push(framed(NEEDS, &needs, &members)?);
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
        let words = OwnWords::of(found.len()).and(" sessions.");
        let mut reply = Reply::of(match self.own_name(&found) {
            Some(own) => words.and(" You are ").and(Quoted(own)).and("."),
            None => words,
        });
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

    /// Posts as the caller.
    async fn publish(&self, post: Post) -> Result<Done, ApiError> {
        let caller = &self.caller;
        let post = Post {
            from: caller.inbox().cloned(),
            project: Some(caller.project.clone()),
            parent: caller.parent.clone(),
            ..post
        };
        let (_, done) = notify::publish(&self.hub, self.poster.clone(), vec![post], None).await?;
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

    pub(super) fn demand_inbox(&self) -> Result<(), ApiError> {
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
