//! The list: the needs of the person, then all sessions by phase.

use hub_protocol::{Question, Seq, Session, Timestamp};

use crate::board::{BoardRow, board};
use crate::needs::{Need, needs};
use crate::store::Store;

/// A row of the list.
#[derive(Debug)]
pub(crate) enum Row<'a> {
    /// The title of a group, and the number of its rows.
    Title(&'static str, usize),
    /// Something that needs the person.
    Need(Need<'a>),
    /// A session on the board.
    Session(BoardRow<'a>),
}

/// The rows at `now` of the hub's clock.
pub(crate) fn rows(store: &Store, now: Timestamp) -> Vec<Row<'_>> {
    let needs = needs(store, now);
    let count = needs.iter().filter(|it| it.about.counts()).count();
    let mut rows = vec![Row::Title("For you", count)];
    rows.extend(needs.into_iter().map(Row::Need));
    for (title, members) in board(&store.sessions) {
        rows.push(Row::Title(title, members.len()));
        rows.extend(members.into_iter().map(Row::Session));
    }
    rows
}

impl<'a> Row<'a> {
    /// Names the row for as long as it exists; `None` for a title, which cannot be selected.
    pub(crate) fn key(&self) -> Option<String> {
        match self {
            Self::Title(..) => None,
            Self::Need(need) => Some(need.id.to_owned()),
            Self::Session(BoardRow { session, .. }) => {
                Some(format!("session {}/{}", session.project, session.id))
            }
        }
    }

    /// The session of the row.
    pub(crate) fn session(&self) -> Option<&'a Session> {
        match self {
            Self::Title(..) => None,
            Self::Need(need) => need.session,
            Self::Session(row) => Some(row.session),
        }
    }

    /// The question of the row.
    pub(crate) fn question(&self) -> Option<&'a Question> {
        match self {
            Self::Need(need) => need.question,
            _ => None,
        }
    }

    /// The need that the person can end: a question ends by its answer.
    pub(crate) fn closable(&self) -> Option<&str> {
        match self {
            Self::Title(..) => None,
            Self::Need(need) => Some(need.id).filter(|_| need.about.is_closable()),
            Self::Session(row) => row.session.phase.need.as_deref(),
        }
    }

    /// The notification that the row is about.
    pub(crate) fn notification(&self) -> Option<Seq> {
        match self {
            Self::Title(..) => None,
            Self::Need(need) => need.notification,
            Self::Session(row) => row.session.last,
        }
    }
}
