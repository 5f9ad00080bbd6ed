//! The effects of keys.

use hub_protocol::{AnswerText, Question, Seq, Timestamp};
use ratatui::crossterm::event::KeyEvent;
use serde_json::{Map, Value};

use super::{App, MISPRESS, Mode, Request, Target, sent};
use crate::details::is_answerable;
use crate::dialog::{Dialog, dialog, form_template, verdict};
use crate::input::{Input, Purpose, Typed};
use crate::keys::{Action, action_of};
use crate::text::line;

/// The rows of the details by which a key scrolls.
const PAGE: usize = 5;
/// For how long a need is put off, in ms.
const SNOOZE: i64 = 3_600_000;

impl App {
    /// Applies a key of the list.
    pub(super) fn act(&mut self, key: KeyEvent, now: Timestamp) -> Vec<Request> {
        let Some(action) = action_of(key) else {
            return Vec::new();
        };
        let (since, by_person) = self.selected_at;
        let is_new = !by_person && now.as_millis() - since.as_millis() < MISPRESS;
        if is_new && action.is_decision() {
            self.note = "The list has just moved: press the key again".into();
            return Vec::new();
        }
        match action {
            Action::Quit => self.quit = true,
            Action::Help => self.mode = Mode::Help,
            Action::Down => self.move_by(1, now),
            Action::Up => self.move_by(-1, now),
            Action::First => self.move_by(isize::MIN, now),
            Action::Last => self.move_by(isize::MAX, now),
            Action::PageDown => self.scroll += PAGE,
            Action::PageUp => self.scroll = self.scroll.saturating_sub(PAGE),
            Action::Undo => return self.undo(),
            _ => return self.on_target(action, now),
        }
        Vec::new()
    }

    /// Applies a key to the selected row.
    fn on_target(&mut self, action: Action, now: Timestamp) -> Vec<Request> {
        let Some(target) = self.target(now) else {
            return Vec::new();
        };
        match (action, &target.question) {
            (Action::Back, _) => self.back(&target),
            (Action::Open, Some(question)) => return self.open(question, now),
            (Action::Open, None) => self.open_session(&target, now),
            (Action::Reply, _) => self.reply(&target),
            (Action::Go, _) => return go(&target),
            (Action::Seen, _) => return self.mark(&target),
            (Action::Done | Action::Snooze, _) => return self.close(action, target.need, now),
            (_, Some(question)) => self.decide(action, question, now),
            (_, None) => self.note = "Select a question or a permission for that".into(),
        }
        Vec::new()
    }

    fn back(&mut self, target: &Target) {
        let id = target.question.as_ref().map(|it| it.id);
        if !self.zoomed
            && let Some(id) = id
        {
            self.drafts.remove(&id);
        }
        self.zoomed = false;
    }

    /// Enter on a question: sends a held answer, else begins an answer.
    fn open(&mut self, question: &Question, now: Timestamp) -> Vec<Request> {
        let id = question.id;
        if self.outbox.held(id).is_some() {
            return sent(self.outbox.send(id));
        }
        if !is_answerable(question) || self.outbox.is_sending(id) {
            self.zoomed = !self.zoomed;
            return Vec::new();
        }
        match dialog(question) {
            Dialog::Permission { .. } | Dialog::Plan { .. } => self.zoomed = !self.zoomed,
            Dialog::Text(_) => self.input(Purpose::Answer(id), "Answer", ""),
            Dialog::Form { schema } => {
                self.input(Purpose::Form(id), "Form", &form_template(schema));
            }
            Dialog::Asks(asks) => {
                let draft = self.drafts.entry(id).or_default();
                if !draft.has_marks() {
                    self.input(Purpose::Part(id), "Answer", "");
                } else if let Some(answer) = draft.confirm(&asks) {
                    self.hold(question, answer, now);
                }
            }
        }
        Vec::new()
    }

    /// Enter on a session: selects its question, else opens the details.
    fn open_session(&mut self, target: &Target, now: Timestamp) {
        let question = target.session.as_ref().and_then(|it| it.phase.question);
        match question.filter(|id| self.store.question(*id).is_some()) {
            Some(id) => self.select(Some(id.to_string()), now),
            None => self.zoomed = !self.zoomed,
        }
    }

    /// Approves, denies or chooses.
    fn decide(&mut self, action: Action, question: &Question, now: Timestamp) {
        if !is_answerable(question) {
            self.note = "The hub cannot deliver an answer there: g goes to its terminal".into();
            return;
        }
        let id = question.id;
        if self.outbox.held(id).is_some() || self.outbox.is_sending(id) {
            self.note = "It has an answer already: u takes it back".into();
            return;
        }
        if action.approves() && !self.may_approve(question) {
            return;
        }
        match (action, dialog(question)) {
            (Action::Approve, Dialog::Permission { .. }) => {
                self.hold(question, "allow", now);
            }
            (Action::Approve, Dialog::Plan { .. }) => self.hold(question, "approve", now),
            (Action::ApproveMore, Dialog::Permission { always }) if !always.is_empty() => {
                self.hold(question, "allow always", now);
            }
            (Action::ApproveMore, Dialog::Plan { edits: true, .. }) => {
                self.hold(question, "approve: accept edits", now);
            }
            (Action::Deny, Dialog::Permission { .. }) => {
                self.input(Purpose::Reason(id, "deny"), "Deny, reason (optional)", "");
            }
            (Action::Deny, Dialog::Plan { .. }) => {
                self.input(
                    Purpose::Reason(id, "reject"),
                    "Reject, reason (optional)",
                    "",
                );
            }
            (Action::Deny, Dialog::Form { .. }) => self.hold(question, "decline", now),
            (Action::Option(number), Dialog::Text(options)) => match options.get(number - 1) {
                Some(option) => self.hold(question, option.clone(), now),
                None => self.note = format!("It has no option {number}"),
            },
            (Action::Option(number), Dialog::Asks(asks)) => {
                let draft = self.drafts.entry(id).or_default();
                if let Some(answer) = draft.choose(&asks, number) {
                    self.hold(question, answer, now);
                }
            }
            _ => self.note = "It is not answered with that key: the details show how".into(),
        }
    }

    /// Whether the whole request was drawn to its end; says why not.
    fn may_approve(&mut self, question: &Question) -> bool {
        let is_drawn = self.read.is_some() && self.read == self.selected;
        if question.complete && is_drawn {
            return true;
        }
        self.note = if question.complete {
            "Read it to its end first: PgDn".into()
        } else {
            "Not all of it can be shown here: open it on the dashboard".into()
        };
        false
    }

    fn hold(&mut self, question: &Question, answer: impl Into<AnswerText>, now: Timestamp) {
        let answer = answer.into();
        let shown = line(&answer.to_string());
        self.note = if self.outbox.hold(question, answer, now) {
            format!("{shown} – u undoes it, Enter sends it now")
        } else {
            "It has an answer already: u takes it back".into()
        };
    }

    /// Takes the newest held answer back, else the last mark or the last end of a need.
    fn undo(&mut self) -> Vec<Request> {
        if let Some(held) = self.outbox.undo() {
            self.drafts.remove(&held.id);
            self.note = format!("Not sent: {}", line(&held.answer.to_string()));
        } else if let Some(request) = self.undo.take() {
            return vec![request];
        } else {
            self.note = "Nothing to undo".into();
        }
        Vec::new()
    }

    fn reply(&mut self, target: &Target) {
        let Some(session) = &target.session else {
            self.note = "Its session has ended".into();
            return;
        };
        // A reply to a question would be its answer.
        let reply_to = target.notification.filter(|_| target.question.is_none());
        let purpose = Purpose::Message(session.id.to_string(), session.project.clone(), reply_to);
        self.input(purpose, &format!("To {}", line(&session.name)), "");
    }

    fn mark(&mut self, target: &Target) -> Vec<Request> {
        let Some(id) = target.notification else {
            self.note = "It has no notification to mark".into();
            return Vec::new();
        };
        let mark = |seen| Request::Mark {
            ids: vec![id],
            seen,
        };
        self.undo = Some(mark(false));
        vec![mark(true)]
    }

    /// Ends what the selected row needs, or puts it off.
    fn close(&mut self, action: Action, need: Option<String>, now: Timestamp) -> Vec<Request> {
        let Some(need) = need else {
            self.note = "A question ends by its answer; nothing else is needed here".into();
            return Vec::new();
        };
        self.undo = Some(Request::Reopen(need.clone()));
        vec![match action {
            Action::Snooze => Request::Snooze(need, now.plus_millis(SNOOZE)),
            _ => Request::Done(need),
        }]
    }

    fn input(&mut self, purpose: Purpose, prompt: &str, text: &str) {
        self.mode = Mode::Input(Input::new(purpose, prompt.into(), text));
    }

    /// Applies a key of the input line.
    pub(super) fn type_in(
        &mut self,
        mut input: Input,
        key: KeyEvent,
        now: Timestamp,
    ) -> Vec<Request> {
        match input.press(key) {
            Typed::More => self.mode = Mode::Input(input),
            Typed::Cancelled => {}
            Typed::Done => return self.complete(input, now),
        }
        Vec::new()
    }

    fn complete(&mut self, input: Input, now: Timestamp) -> Vec<Request> {
        let text = input.text().trim().to_owned();
        match input.purpose {
            Purpose::Reason(id, word) => self.answer(id, verdict(word, &text), now),
            _ if text.is_empty() => {}
            Purpose::Answer(id) => self.answer(id, text, now),
            Purpose::Part(id) => self.answer_part(id, text, now),
            Purpose::Form(id) => {
                if serde_json::from_str::<Map<String, Value>>(&text).is_ok() {
                    self.answer(id, format!("accept: {text}"), now);
                } else {
                    self.note = "The form is not a JSON object".into();
                    self.mode = Mode::Input(Input::new(Purpose::Form(id), input.prompt, &text));
                }
            }
            Purpose::Message(to, project, reply_to) => {
                return vec![Request::Message {
                    to,
                    project,
                    msg: text,
                    reply_to,
                }];
            }
        }
        Vec::new()
    }

    /// Holds the answer to a question, which may have been settled while it was typed.
    fn answer(&mut self, id: Seq, answer: String, now: Timestamp) {
        match self.store.question(id).cloned() {
            Some(question) => self.hold(&question, answer, now),
            None => self.note = format!("Question {id} was settled meanwhile"),
        }
    }

    fn answer_part(&mut self, id: Seq, text: String, now: Timestamp) {
        let Some(question) = self.store.question(id).cloned() else {
            self.note = format!("Question {id} was settled meanwhile");
            return;
        };
        if let Dialog::Asks(asks) = dialog(&question)
            && let Some(answer) = self.drafts.entry(id).or_default().answer(&asks, text)
        {
            self.hold(&question, answer, now);
        }
    }
}

fn go(target: &Target) -> Vec<Request> {
    let asker = target.question.as_ref();
    let asker = asker.map(|it| (it.from.to_string(), it.project.clone()));
    let session = target.session.as_ref();
    let session = session.map(|it| (it.id.to_string(), it.project.clone()));
    let place = session.or(asker).into_iter();
    place
        .map(|(id, project)| Request::Go { id, project })
        .collect()
}
