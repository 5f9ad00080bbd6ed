//! The keys of the list, for their actions and for the help.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The effect of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Down,
    Up,
    First,
    Last,
    PageDown,
    PageUp,
    Open,
    Back,
    /// From 1.
    Option(usize),
    Approve,
    ApproveMore,
    Deny,
    Reply,
    Go,
    Done,
    Snooze,
    Continue,
    Seen,
    Undo,
    Search,
    Help,
    Quit,
}

/// The keys as the help shows them.
pub(crate) const KEYS: [(&str, &str); 18] = [
    ("j k ↓ ↑", "next, previous"),
    ("Home End", "first, last"),
    ("PgDn PgUp", "scroll the details"),
    (
        "Enter",
        "answer with a text; open the details; send a held answer now",
    ),
    ("1 … 9", "choose that option"),
    ("a", "approve a permission or a plan"),
    (
        "A",
        "approve, and the same from now on; a plan: and its edits",
    ),
    ("d", "deny, with a reason if you type one"),
    ("r", "reply to the session"),
    ("g", "go to the session's tmux pane"),
    (
        "e",
        "done: the session needs nothing until it reports again",
    ),
    ("m", "put off for an hour"),
    ("c", "let it go on when its limit ends; again: not"),
    ("s", "mark as read"),
    ("u", "undo: an answer within 5 s, or the last e, m or s"),
    ("/", "show only rows with a text; Esc shows all"),
    ("Esc", "close, or forget a draft"),
    ("q", "quit; held answers are sent"),
];

/// The action of a key in the list.
pub(crate) fn action_of(key: KeyEvent) -> Option<Action> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return (key.code == KeyCode::Char('c')).then_some(Action::Quit);
    }
    if key.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    Some(match key.code {
        KeyCode::Char('j') | KeyCode::Down => Action::Down,
        KeyCode::Char('k') | KeyCode::Up => Action::Up,
        KeyCode::Home => Action::First,
        KeyCode::End => Action::Last,
        KeyCode::PageDown | KeyCode::Char(' ') => Action::PageDown,
        KeyCode::PageUp => Action::PageUp,
        KeyCode::Enter => Action::Open,
        KeyCode::Esc => Action::Back,
        KeyCode::Char(digit @ '1'..='9') => Action::Option(digit as usize - '0' as usize),
        KeyCode::Char('a') => Action::Approve,
        KeyCode::Char('A') => Action::ApproveMore,
        KeyCode::Char('d') => Action::Deny,
        KeyCode::Char('r') => Action::Reply,
        KeyCode::Char('g') => Action::Go,
        KeyCode::Char('e') => Action::Done,
        KeyCode::Char('m') => Action::Snooze,
        KeyCode::Char('c') => Action::Continue,
        KeyCode::Char('s') => Action::Seen,
        KeyCode::Char('u') => Action::Undo,
        KeyCode::Char('/') => Action::Search,
        KeyCode::Char('?') => Action::Help,
        KeyCode::Char('q') => Action::Quit,
        _ => return None,
    })
}

impl Action {
    /// Whether it allows what an agent asks for.
    pub(crate) fn approves(self) -> bool {
        matches!(self, Self::Approve | Self::ApproveMore)
    }

    /// Whether it acts on the selected row, so that it must not hit a row that has just taken another one's place.
    pub(crate) fn is_decision(self) -> bool {
        matches!(
            self,
            Self::Option(_)
                | Self::Approve
                | Self::ApproveMore
                | Self::Deny
                | Self::Open
                | Self::Done
                | Self::Snooze
                | Self::Continue
                | Self::Seen
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_actions_of_the_dashboard() {
        let plain = |code| action_of(KeyEvent::new(code, KeyModifiers::NONE));
        assert_eq!(plain(KeyCode::Char('j')), plain(KeyCode::Down));
        assert_eq!(plain(KeyCode::Char('k')), plain(KeyCode::Up));
        assert_eq!(plain(KeyCode::Char('3')), Some(Action::Option(3)));
        assert_eq!(plain(KeyCode::Char('0')), None);
        assert_eq!(plain(KeyCode::Char('a')), Some(Action::Approve));
        let control = |c| action_of(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL));
        assert_eq!((control('c'), control('a')), (Some(Action::Quit), None));
    }

    #[test]
    fn the_help_names_every_letter_that_does_something() {
        let all: String = KEYS.iter().map(|(keys, _)| *keys).collect();
        for letter in ('!'..='~').filter(|it| !it.is_ascii_digit() && *it != '?') {
            let acts = action_of(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE));
            let named = all.contains(letter) || acts.is_none();
            assert!(named, "{letter}");
        }
    }
}
