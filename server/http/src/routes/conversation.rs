//! `GET /sessions/{target}/conversation`: what was said to a session and by it.

use axum::Json;
use axum::extract::State;
use hub_core::command::Refusal;
use hub_core::record::Record;
use hub_engine::Hub;
use hub_engine::conversation::Speaker;
use hub_log::CHUNK_BYTES;
use hub_protocol::{Conversation, ConversationEntry, InboxName, ProjectName, Seq};
use serde::Deserialize;

use super::stored;
use crate::budget::Allowance;
use crate::error::ApiError;
use crate::request::params::{Params, PathParam};

const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 200;
/// Limit of records read in one request. The answer's `next` mentions where to continue.
const MAX_READ: u64 = 50_000;
/// Bytes of words in one answer, after which it ends.
const MAX_BYTES: usize = 2 << 20;

#[derive(Debug, Deserialize)]
pub(super) struct ConversationParams {
    #[serde(default)]
    project: ProjectName,
    before: Option<Seq>,
    limit: Option<usize>,
}

/// The conversation of a session: its newest part, or the part before a record; oldest first.
pub(super) async fn conversation(
    State(hub): State<Hub>,
    PathParam(target): PathParam<InboxName>,
    Params(params): Params<ConversationParams>,
) -> Result<Json<Conversation>, ApiError> {
    let limit = params.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(ApiError::invalid(format!("limit is 1 to {MAX_LIMIT}")));
    }
    let found = hub.read(|state, _| {
        let place = state.sessions.find(&params.project, &target)?;
        Ok::<_, Refusal>((Speaker::new(state, place), state.retention.below()))
    })?;
    let (speaker, begin) = found?;
    let end = hub.log().head() + 1;
    let reading = Reading {
        speaker,
        begin,
        limit,
        position: params.before.unwrap_or(end).min(end),
    };
    let read = stored::scan(move |allowance| reading.run(&hub, allowance));
    Ok(Json(read.await?))
}

/// The reading of one part of a conversation.
struct Reading {
    speaker: Speaker,
    /// The first record that retention has left.
    begin: Seq,
    limit: usize,
    position: Seq,
}

impl Reading {
    fn run(mut self, hub: &Hub, allowance: &Allowance) -> Result<Conversation, ApiError> {
        // The newest first, as they are read.
        let mut entries: Vec<ConversationEntry> = Vec::new();
        let (mut read, mut bytes, mut partial) = (0, 0, false);
        'parts: while let Some((from, to)) = self.part(hub) {
            for entry in self.entries(hub, (from, to))?.into_iter().rev() {
                bytes += entry.text.as_ref().map_or(0, String::len);
                self.position = entry.seq;
                entries.push(entry);
                if entries.len() == self.limit || bytes > MAX_BYTES {
                    break 'parts;
                }
            }
            self.position = from;
            read += to - from;
            partial = read >= MAX_READ || allowance.is_over();
            if partial {
                break;
            }
        }
        entries.reverse();
        let next = self.part(hub).map(|_| self.position);
        Ok(Conversation {
            entries,
            keeps_words: hub.rules().keep_words,
            partial: partial && next.is_some(),
            next,
        })
    }

    /// The next older part of the log that may be about the session: its first record and its end.
    fn part(&self, hub: &Hub) -> Option<(Seq, Seq)> {
        let found = hub.log().said_before(self.position, &self.speaker.places());
        found.filter(|(_, end)| *end > self.begin)
    }

    /// The entries of this part of the log, oldest first.
    fn entries(
        &self,
        hub: &Hub,
        (from, to): (Seq, Seq),
    ) -> Result<Vec<ConversationEntry>, ApiError> {
        let log = hub.log();
        let mut found = Vec::new();
        let mut cursor = from.max(self.begin) - 1;
        while cursor + 1 < to {
            let events = log.read(cursor, CHUNK_BYTES)?;
            let Some(last) = events.last() else { break };
            cursor = last.seq();
            let said = { events.iter() }.filter(|it| Record::may_be_said(it.kind()));
            for event in said.filter(|it| it.seq() < to && !log.hides(it)) {
                found.extend(self.speaker.entry(hub, event)?);
            }
        }
        Ok(found)
    }
}
