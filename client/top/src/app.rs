//! The state of the program: what is selected, typed and held back. Keys and the hub's news change it; it draws nothing
//! and sends nothing.

use std::collections::{HashMap, HashSet};

use hub_protocol::{Answer, Need, Notification, ProjectName, Seq, Session, Timestamp};
use ratatui::crossterm::event::KeyEvent;

use crate::details::{Details, Known};
use crate::draft::Draft;
use crate::input::Input;
use crate::needs::{count, needs};
use crate::outbox::{Held, Outbox};
use crate::rows::{Row, rows};
use crate::store::Store;

mod press;
mod update;

pub(crate) use self::update::{Answered, Update};

/// For this time after another row took the place of the selected one, a decision was probably meant for that one; in
/// ms.
const MISPRESS: i64 = 500;
/// How long a row must be selected before its thread is requested, in ms.
const REST: i64 = 200;
/// How long a note is shown, in ms.
const NOTE_MS: i64 = 15_000;

/// A request to the hub.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Request {
    Answer {
        id: String,
        revision: Seq,
        answer: Answer,
    },
    Mark {
        ids: Vec<Seq>,
        seen: bool,
    },
    /// Says that a need is met.
    Done(String),
    /// Puts a need off until this time.
    Snooze(String, Timestamp),
    /// Takes the last of both back.
    Reopen(String),
    /// Lets its session go on when its limit ends, or not any more.
    Resume(String, bool),
    Message {
        to: String,
        project: ProjectName,
        msg: String,
        reply_to: Option<Seq>,
    },
    Go {
        id: String,
        project: ProjectName,
    },
    /// Loads all that a need says.
    Whole(String),
    Thread(Seq),
}

/// The receiver of keys.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    #[default]
    List,
    Input(Input),
    Help,
}

/// The connection to the hub.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Link {
    #[default]
    Connecting,
    Live,
    /// Why the hub is away, and when it is tried again, by this machine's clock.
    Away(String, Timestamp),
}

/// The whole state.
#[derive(Debug, Default)]
pub(crate) struct App {
    pub(crate) store: Store,
    pub(crate) mode: Mode,
    pub(crate) link: Link,
    /// One line about the last key or request.
    pub(crate) note: String,
    /// The note that was seen at the last tick, and when it was new.
    seen_note: (String, Timestamp),
    /// The first line of the details that is shown.
    pub(crate) scroll: usize,
    /// Whether the details take the whole screen.
    pub(crate) zoomed: bool,
    /// The text that rows must have to be shown; empty for all of them.
    pub(crate) filter: String,
    pub(crate) quit: bool,
    outbox: Outbox,
    drafts: HashMap<String, Draft>,
    threads: HashMap<Seq, Vec<Notification>>,
    /// The threads that were requested.
    asked: HashSet<Seq>,
    /// The needs that are being loaded.
    loading: HashSet<String>,
    selected: Option<String>,
    /// The position of the selected row among those that can be selected.
    position: usize,
    /// Since when the row is selected, and whether the person selected it.
    selected_at: (Timestamp, bool),
    /// What takes the last mark, or the last end of a need, back.
    undo: Option<Request>,
    /// The selected row whose request was drawn to its end.
    read: Option<String>,
}

/// The selected row, on which a key acts.
#[derive(Debug)]
struct Target {
    /// The need, if an answer ends it.
    question: Option<Need>,
    /// The need, if a reply to its session ends it.
    replied: Option<Need>,
    session: Option<Session>,
    /// Whether its session has died.
    is_over: bool,
    notification: Option<Seq>,
    /// The need that the person can end.
    need: Option<String>,
}

impl App {
    /// The rows and the index of the selected one.
    pub(crate) fn rows(&self) -> (Vec<Row<'_>>, Option<usize>) {
        let rows = rows(&self.store, &self.filter);
        let selected = rows
            .iter()
            .position(|it| it.key().is_some() && it.key() == self.selected);
        (rows, selected)
    }

    /// The number of needs, also of those that the filter hides.
    pub(crate) fn count(&self) -> usize {
        count(&needs(&self.store))
    }

    /// The answer to a need that is held back.
    pub(crate) fn held(&self, id: &str) -> Option<&Held> {
        self.outbox.held(id)
    }

    /// The details of the selected row.
    pub(crate) fn details(&self, now: Timestamp) -> Details {
        let (rows, selected) = self.rows();
        let Some(row) = selected.and_then(|at| rows.get(at)) else {
            return Details::default();
        };
        let id = row.notification();
        let known = Known {
            thread: id
                .and_then(|id| self.threads.get(&id))
                .map_or(&[], Vec::as_slice),
            draft: row.need().and_then(|it| self.drafts.get(&it.id)),
            outbox: &self.outbox,
            now,
        };
        match row {
            Row::Need(row) => Details::of_need(row, &known),
            Row::Session(row) => Details::of_session(row.session, &known),
            Row::Title(..) => Details::default(),
        }
    }

    /// Notes that the request of the selected row was drawn to its end.
    pub(crate) fn drawn(&mut self) {
        self.read.clone_from(&self.selected);
    }

    /// Applies a key, and returns the requests that it causes.
    pub(crate) fn press(&mut self, key: KeyEvent, now: Timestamp) -> Vec<Request> {
        self.note.clear();
        let requests = match std::mem::take(&mut self.mode) {
            Mode::Input(input) => self.type_in(input, key, now),
            Mode::Help => Vec::new(),
            Mode::List => self.act(key, now),
        };
        self.keep_selection(now);
        requests
    }

    /// Inserts a pasted text. Outside of an input line it is ignored: its letters are no keys.
    pub(crate) fn paste(&mut self, text: &str) {
        if let Mode::Input(input) = &mut self.mode {
            input.insert(text);
        }
    }

    /// Returns the requests that are due at `now` of the hub's clock.
    pub(crate) fn tick(&mut self, now: Timestamp) -> Vec<Request> {
        self.keep_selection(now);
        self.forget_note(now);
        let due = self.outbox.due(now);
        let mut requests = sent(due);
        let (rows, selected) = self.rows();
        let rests = now.as_millis() - self.selected_at.0.as_millis() >= REST;
        let need = selected.and_then(|at| rows[at].need());
        let brief = need.filter(|it| it.whole.is_none());
        let brief = brief.map(|it| it.id.clone());
        let wanted = selected
            .filter(|_| rests)
            .and_then(|at| rows[at].notification());
        let is_live = self.link == Link::Live;
        if let Some(id) = brief.filter(|id| is_live && self.loading.insert(id.clone())) {
            requests.push(Request::Whole(id));
        }
        if let Some(id) = wanted.filter(|id| is_live && self.asked.insert(*id)) {
            requests.push(Request::Thread(id));
        }
        requests
    }

    /// Clears a note that has been shown for long enough to be read.
    fn forget_note(&mut self, now: Timestamp) {
        if self.note != self.seen_note.0 {
            self.seen_note = (self.note.clone(), now);
        } else if now.as_millis() - self.seen_note.1.as_millis() >= NOTE_MS {
            self.note.clear();
        }
    }

    /// Returns the held answers, to be sent before the program ends.
    pub(crate) fn flush(&mut self) -> Vec<Request> {
        sent(self.outbox.flush())
    }

    /// The answers that are being sent.
    pub(crate) fn sending(&self) -> &[Held] {
        self.outbox.sending()
    }

    /// Selects another row if the selected one is gone: the one at its place, a need if there is any. A session that was
    /// selected only because there was no need gives way to the first need.
    fn keep_selection(&mut self, now: Timestamp) {
        let keys = self.keys();
        let needs = keys.iter().filter(|it| !is_of_session(it)).count();
        let on_session = self.selected.as_deref().is_none_or(is_of_session);
        let gives_way = on_session && needs > 0 && !self.selected_at.1;
        let found = keys
            .iter()
            .position(|it| Some(it) == self.selected.as_ref());
        if let Some(at) = found.filter(|_| !gives_way) {
            self.position = at;
            return;
        }
        let last = match needs {
            0 => keys.len().saturating_sub(1),
            _ if gives_way => 0,
            _ if on_session => keys.len() - 1,
            needs => needs - 1,
        };
        self.position = self.position.min(last);
        self.selected = keys.into_iter().nth(self.position);
        self.selected_at = (now, false);
        self.scroll = 0;
    }

    fn keys(&self) -> Vec<String> {
        let rows = rows(&self.store, &self.filter);
        rows.iter().filter_map(Row::key).collect()
    }

    fn select(&mut self, key: Option<String>, now: Timestamp) {
        if key.is_some() && key != self.selected {
            self.selected = key;
            self.selected_at = (now, true);
            self.scroll = 0;
        }
    }

    /// Selects the row `by` rows below the selected one.
    fn move_by(&mut self, by: isize, now: Timestamp) {
        let keys = self.keys();
        let last = keys.len().saturating_sub(1);
        let at = self.position.saturating_add_signed(by).min(last);
        self.select(keys.into_iter().nth(at), now);
    }

    fn target(&self) -> Option<Target> {
        let (rows, selected) = self.rows();
        let row = rows.get(selected?)?;
        let need = row.need();
        let takes_reply = |it: &&Need| !it.kind.asks() && it.answerable;
        Some(Target {
            question: need.filter(|it| it.kind.asks()).cloned(),
            replied: need.filter(takes_reply).cloned(),
            session: row.session().cloned(),
            is_over: need.is_some_and(|it| !it.kind.asks() && !it.answerable),
            notification: row.notification(),
            need: row.closable().map(str::to_owned),
        })
    }
}

/// Whether a key names a session on the board.
fn is_of_session(key: &str) -> bool {
    key.starts_with("session ")
}

fn sent(held: Vec<Held>) -> Vec<Request> {
    let answers = held.into_iter();
    answers
        .map(|it| Request::Answer {
            id: it.id,
            revision: it.revision,
            answer: it.answer,
        })
        .collect()
}

#[cfg(test)]
pub(crate) mod tests;
