//! The board: live sessions grouped by phase, workers below their parents.

use std::cmp::Ordering;

use hub_protocol::{PhaseName, Session};

use crate::finder::Finder;
use crate::text::line;

/// The groups in their order.
const GROUPS: [(PhaseName, &str); 5] = [
    (PhaseName::NeedsYou, "Needs you"),
    (PhaseName::YourTurn, "Your turn"),
    (PhaseName::Blocked, "Blocked"),
    (PhaseName::Working, "Working"),
    (PhaseName::Done, "Done"),
];

/// A session on the board.
#[derive(Debug)]
pub(crate) struct BoardRow<'a> {
    pub(crate) session: &'a Session,
    /// How many of its parents are above it in the same group.
    pub(crate) depth: usize,
}

/// The groups of the sessions that are shown: title and rows. A group without sessions is left out.
pub(crate) fn board(
    sessions: &[Session],
    is_shown: impl Fn(&Session) -> bool,
) -> Vec<(&'static str, Vec<BoardRow<'_>>)> {
    let finder = Finder::of(sessions);
    let groups = GROUPS.iter().map(|(phase, title)| {
        let mut members: Vec<_> = sessions
            .iter()
            .filter(|it| it.phase.name == *phase && is_shown(it))
            .collect();
        members.sort_by(|a, b| compare(*phase, a, b));
        let mut rows = Vec::new();
        add(None, 0, &members, &finder, &mut rows);
        (*title, rows)
    });
    groups.filter(|(_, rows)| !rows.is_empty()).collect()
}

/// The session that has waited longest comes first; of those that are done, the latest.
fn compare(phase: PhaseName, a: &Session, b: &Session) -> Ordering {
    let by_time = a.phase.since.cmp(&b.phase.since);
    let by_time = if phase == PhaseName::Done {
        by_time.reverse()
    } else {
        by_time
    };
    by_time.then_with(|| (&a.name, &a.id).cmp(&(&b.name, &b.id)))
}

/// Adds the members below `parent`, each with its own workers.
fn add<'a>(
    parent: Option<&Session>,
    depth: usize,
    members: &[&'a Session],
    finder: &Finder<'a>,
    rows: &mut Vec<BoardRow<'a>>,
) {
    for session in members {
        let above = parent_of(session, finder).filter(|it| {
            members.iter().any(|member| std::ptr::eq(*member, *it))
                && !is_under(it, session, finder)
        });
        if above.map(std::ptr::from_ref) == parent.map(std::ptr::from_ref) {
            rows.push(BoardRow { session, depth });
            add(Some(session), depth + 1, members, finder, rows);
        }
    }
}

fn parent_of<'a>(session: &Session, finder: &Finder<'a>) -> Option<&'a Session> {
    let name = session.info.parent.as_ref()?;
    let parent = finder.find(session.project.as_str(), name.as_str())?;
    (!std::ptr::eq(parent, session)).then_some(parent)
}

/// Whether `session` is `other` or below it. Two sessions may name each other as parent, so the walk is limited.
fn is_under(session: &Session, other: &Session, finder: &Finder<'_>) -> bool {
    let mut at = Some(session);
    for _ in 0..64 {
        match at {
            None => return false,
            Some(it) if std::ptr::eq(it, other) => return true,
            Some(it) => at = parent_of(it, finder),
        }
    }
    true
}

/// The activity of a session, on one line: the tool call that runs, or the text of its phase.
pub(crate) fn activity(session: &Session) -> String {
    match &session.phase.tool {
        Some(tool) if session.phase.name == PhaseName::Working => {
            line(&format!("{} {}", tool.name, tool.on))
        }
        _ => line(session.phase.text.as_deref().unwrap_or_default()),
    }
}

/// The branch of a session's checkout, else the last part of its directory.
pub(crate) fn checkout(session: &Session) -> String {
    let branch = session.info.branch.as_deref();
    let directory = || session.info.cwd.as_deref()?.rsplit('/').next();
    line(branch.or_else(directory).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixture::{session, store};

    #[test]
    fn sessions_are_grouped_by_phase_and_the_longest_wait_is_first() {
        let store = store();
        let groups = board(&store.sessions, |_| true);
        let shown: Vec<_> = groups
            .iter()
            .map(|(title, rows)| {
                let names: Vec<_> = rows.iter().map(|it| it.session.name.as_str()).collect();
                (*title, names.join(" "))
            })
            .collect();
        let groups = [
            ("Needs you", "db web api"),
            ("Your turn", "docs"),
            ("Blocked", "ci"),
            ("Working", "build"),
        ];
        assert_eq!(
            shown,
            groups.map(|(title, names)| (title, names.to_owned()))
        );
        assert_eq!(activity(&store.sessions[5]), "Bash make all");
    }

    #[test]
    fn a_worker_is_below_its_parent_and_a_cycle_ends() {
        let mut all = ["top", "a", "b", "c"].map(|name| session(name, "working", 1));
        let mut parent = |at: usize, name: &str| all[at].info.parent = Some(name.parse().unwrap());
        parent(1, "top");
        parent(2, "c");
        parent(3, "b");
        let groups = board(&all, |_| true);
        let rows = groups[0].1.iter();
        let shown: Vec<_> = rows
            .map(|it| (it.session.name.as_str(), it.depth))
            .collect();
        assert_eq!(shown, [("b", 0), ("c", 0), ("top", 0), ("a", 1)]);
    }
}
