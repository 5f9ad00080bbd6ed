//! The list: the needs of the person, then all sessions by phase.

use hub_protocol::{Need, Seq, Session};

use crate::board::{BoardRow, activity, board};
use crate::needs::{NeedRow, count, needs};
use crate::store::Store;

/// A row of the list.
#[derive(Debug)]
pub(crate) enum Row<'a> {
    /// The title of a group, and the number of its rows.
    Title(&'static str, usize),
    /// Something that needs the person.
    Need(NeedRow<'a>),
    /// A session on the board.
    Session(BoardRow<'a>),
}

/// The rows whose name, project or text has `filter` in it. A session that needs the person
/// is not on the board, because its need is above it.
pub(crate) fn rows<'a>(store: &'a Store, filter: &str) -> Vec<Row<'a>> {
    let filter = filter.to_lowercase();
    let has = |parts: [&str; 3]| parts.iter().any(|it| it.to_lowercase().contains(&filter));
    let mut needs = needs(store);
    let in_need: Vec<_> = needs.iter().filter_map(|it| it.session).collect();
    let is_on_board = |it: &Session| {
        let is_in_need = in_need.iter().any(|one| std::ptr::eq(*one, it));
        !is_in_need && has([&it.name, it.project.as_str(), &activity(it)])
    };
    let board = board(&store.sessions, is_on_board);
    needs.retain(|it| has([&it.name, it.need.project.as_str(), &it.text]));
    let mut rows = vec![Row::Title("For you", count(&needs))];
    rows.extend(needs.into_iter().map(Row::Need));
    for (title, members) in board {
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
            Self::Need(row) => Some(row.need.id.clone()),
            Self::Session(BoardRow { session, .. }) => {
                Some(format!("session {}/{}", session.project, session.id))
            }
        }
    }

    /// The session of the row.
    pub(crate) fn session(&self) -> Option<&'a Session> {
        match self {
            Self::Title(..) => None,
            Self::Need(row) => row.session,
            Self::Session(row) => Some(row.session),
        }
    }

    /// The need of the row.
    pub(crate) fn need(&self) -> Option<&'a Need> {
        match self {
            Self::Need(row) => Some(row.need),
            _ => None,
        }
    }

    /// The need that the person can end: a question ends by its answer.
    pub(crate) fn closable(&self) -> Option<&str> {
        match self {
            Self::Title(..) => None,
            Self::Need(row) => Some(row.need.id.as_str()).filter(|_| row.need.closable),
            Self::Session(row) => row.session.phase.need.as_deref(),
        }
    }

    /// The notification that the row is about.
    pub(crate) fn notification(&self) -> Option<Seq> {
        match self {
            Self::Title(..) => None,
            Self::Need(row) => row.need.notification,
            Self::Session(row) => row.session.last,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixture::store;

    /// The rows with this filter: titles with their counts, and keys.
    fn shown(filter: &str) -> Vec<String> {
        let store = store();
        let rows = rows(&store, filter);
        let words = rows.iter().map(|it| match it {
            Row::Title(title, count) => format!("{title} {count}"),
            row => row.key().unwrap_or_default(),
        });
        words.collect()
    }

    #[test]
    fn a_session_that_needs_the_person_is_listed_once() {
        let build = ["Working 1", "session default/build"];
        let needs = ["For you 5", "10", "s20", "25", "s28", "30"];
        assert_eq!(shown(""), [&needs[..], &build[..]].concat());
    }

    #[test]
    fn a_search_finds_names_projects_and_texts() {
        assert_eq!(shown("PUSH"), ["For you 1", "25"]);
        assert_eq!(shown("docs"), ["For you 1", "s28"]);
        assert_eq!(
            shown("make all"),
            ["For you 0", "Working 1", "session default/build"]
        );
        assert_eq!(shown("default"), shown(""));
        assert_eq!(shown("nothing"), ["For you 0"]);
    }
}
