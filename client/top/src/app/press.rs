//! The effects of keys.

use hub_protocol::{Answer, Control, Decision, Need, Session, Timestamp};
use ratatui::crossterm::event::KeyEvent;

use super::{App, MISPRESS, Mode, Request, Target, sent};
use crate::details::controls;
use crate::draft::{Draft, choices};
use crate::form;
use crate::input::{Input, Purpose, Typed};
use crate::keys::{Action, action_of};
use crate::needs::{has_pane, session_of};
use crate::text::line;

/// The rows of the details by which a key scrolls.
const PAGE: usize = 5;
/// For how long a need is put off, in ms.
const SNOOZE: i64 = 3_600_000;
const NO_SUCH_ANSWER: &str = "It is not answered with that key: the details show how";
const NOT_LOADED: &str = "It is not loaded yet: press the key again";
const ONLY_IN_ITS_TERMINAL: &str =
    "The hub does not have all of it: only the agent's own terminal can allow it";

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
            Action::Search => {
                let filter = self.filter.clone();
                self.input(Purpose::Search, "Search", &filter);
            }
            _ => return self.on_target(action, now),
        }
        Vec::new()
    }

    /// Applies a key to the selected row.
    fn on_target(&mut self, action: Action, now: Timestamp) -> Vec<Request> {
        let Some(target) = self.target() else {
            if action == Action::Back {
                self.filter.clear();
            }
            return Vec::new();
        };
        match (action, &target.question) {
            (Action::Back, _) => self.back(&target),
            (Action::Open, Some(question)) => return self.open(question, now),
            (Action::Open, None) => return self.send_or_zoom(&target),
            (Action::Reply, _) => self.reply(&target),
            (Action::Go, _) => return go(&target),
            (Action::Seen, _) => return self.mark(&target),
            (Action::Continue, _) => return self.let_go_on(target.need),
            (Action::Done | Action::Snooze, _) => return self.close(action, target.need, now),
            (_, Some(question)) => self.decide(action, question, now),
            (_, None) => self.note = "Select a question or a permission for that".into(),
        }
        Vec::new()
    }

    /// Esc: closes the details, else forgets the draft, else shows all rows.
    fn back(&mut self, target: &Target) {
        if std::mem::take(&mut self.zoomed) {
            return;
        }
        let question = target.question.as_ref();
        let forgotten = question.and_then(|it| self.drafts.remove(&it.id));
        if forgotten.is_none_or(|it| it == Draft::default()) {
            self.filter.clear();
        }
    }

    /// Enter on a question: sends a held answer, else begins an answer.
    fn open(&mut self, question: &Need, now: Timestamp) -> Vec<Request> {
        let id = &question.id;
        if self.outbox.held(id).is_some() {
            return sent(self.outbox.send(id));
        }
        if !question.answerable || self.outbox.is_sending(id) {
            self.zoomed = !self.zoomed;
            return Vec::new();
        }
        match controls(question) {
            [Control::Verdict { .. }] => self.zoomed = !self.zoomed,
            [Control::Form { fields }] => {
                self.input(Purpose::Form(id.clone()), "Form", &form::template(fields));
            }
            [Control::Choice(_), ..] => self.answer_part(question, now),
            [] => self.note = NOT_LOADED.into(),
            _ => self.input(Purpose::Answer(id.clone()), "Answer", ""),
        }
        Vec::new()
    }

    /// Enter on what is no question: sends a held reply, else opens or closes the details.
    fn send_or_zoom(&mut self, target: &Target) -> Vec<Request> {
        let need = target.replied.as_ref();
        if let Some(need) = need.filter(|it| self.outbox.held(&it.id).is_some()) {
            return sent(self.outbox.send(&need.id));
        }
        self.zoomed = !self.zoomed;
        Vec::new()
    }

    /// Takes the marked options as the answer to the current question of a dialog, else begins a text.
    fn answer_part(&mut self, question: &Need, now: Timestamp) {
        let draft = self.drafts.entry(question.id.clone()).or_default();
        if draft.has_marks() {
            draft.confirm(&choices(controls(question)));
            self.finish(question, now);
        } else {
            self.input(Purpose::Part(question.id.clone()), "Answer", "");
        }
    }

    /// Approves, denies or chooses.
    fn decide(&mut self, action: Action, question: &Need, now: Timestamp) {
        if !question.answerable {
            self.note = format!(
                "The hub cannot deliver an answer there{}",
                self.way_to(question)
            );
            return;
        }
        let id = &question.id;
        if self.outbox.held(id).is_some() || self.outbox.is_sending(id) {
            self.note = "It has an answer already: u takes it back".into();
            return;
        }
        if action.approves() && !self.may_approve(question) {
            return;
        }
        match (action, controls(question)) {
            (Action::Approve | Action::ApproveMore, [verdict @ Control::Verdict { .. }]) => {
                self.approve(question, (action, verdict), now);
            }
            (Action::Deny, [Control::Verdict { .. }]) => {
                self.input(Purpose::Reason(id.clone()), "Deny, reason (optional)", "");
            }
            (Action::Deny, [Control::Form { .. }]) => {
                self.hold(question, Answer::Verdict(Decision::Deny, None), now);
            }
            (Action::Option(number), [Control::Choice(_), ..]) => {
                self.choose(question, number, now);
            }
            (_, []) => self.note = NOT_LOADED.into(),
            _ => self.note = NO_SUCH_ANSWER.into(),
        }
    }

    /// Approves, or approves more than this once, if the verdict can say so.
    fn approve(&mut self, question: &Need, of: (Action, &Control), now: Timestamp) {
        match decision(of) {
            Some(decision) => self.hold(question, Answer::Verdict(decision, None), now),
            None => self.note = NO_SUCH_ANSWER.into(),
        }
    }

    fn choose(&mut self, question: &Need, number: usize, now: Timestamp) {
        let draft = self.drafts.entry(question.id.clone()).or_default();
        if draft.choose(&choices(controls(question)), number) {
            self.finish(question, now);
        } else {
            self.note = format!("It has no option {number}");
        }
    }

    /// Holds the answer to a dialog once each of its questions has one.
    fn finish(&mut self, question: &Need, now: Timestamp) {
        let draft = self.drafts.get(&question.id);
        if let Some(answer) = draft.and_then(|it| it.whole(&choices(controls(question)))) {
            self.drafts.remove(&question.id);
            self.hold(question, answer, now);
        }
    }

    /// Whether the hub has the whole request, and the screen has shown it to its end; notes why not.
    fn may_approve(&mut self, question: &Need) -> bool {
        let is_drawn = self.read.is_some() && self.read == self.selected;
        self.note = match controls(question) {
            [Control::Verdict { allow: false, .. }] => {
                format!("{ONLY_IN_ITS_TERMINAL}{}", self.way_to(question))
            }
            [Control::Verdict { .. }] if !is_drawn => "Read it to its end first: PgDn".into(),
            _ => return true,
        };
        false
    }

    /// Names the key that goes to the terminal of a question, if that is a pane.
    fn way_to(&self, question: &Need) -> &'static str {
        let session = session_of(&self.store, question);
        if has_pane(question, session) {
            ": g goes to its terminal"
        } else {
            ""
        }
    }

    fn hold(&mut self, question: &Need, answer: Answer, now: Timestamp) {
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
        let Some(session) = target.session.as_ref().filter(|_| !target.is_over) else {
            self.note = "Its session has ended".into();
            return;
        };
        let purpose = match &target.replied {
            Some(need) => Purpose::Answer(need.id.clone()),
            None => message_to(session, target),
        };
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

    /// Lets the selected session go on when its limit ends, or not any more.
    fn let_go_on(&mut self, need: Option<String>) -> Vec<Request> {
        let limited = need.and_then(|id| Some((self.store.need(&id)?.resume?, id)));
        if let Some((resume, id)) = limited {
            return vec![Request::Resume(id, !resume.chosen)];
        }
        self.note = "It waits for no limit whose end is known".into();
        Vec::new()
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
        let typed = input.press(key);
        if input.purpose == Purpose::Search {
            self.search(&input, &typed);
        }
        match typed {
            Typed::More => self.mode = Mode::Input(input),
            Typed::Cancelled => {}
            Typed::Done => return self.complete(input, now),
        }
        Vec::new()
    }

    /// Shows only the rows with the text that is being typed; all of them if it is given up.
    fn search(&mut self, input: &Input, typed: &Typed) {
        self.filter = match typed {
            Typed::Cancelled => String::new(),
            Typed::More | Typed::Done => input.text().trim().to_owned(),
        };
    }

    fn complete(&mut self, input: Input, now: Timestamp) -> Vec<Request> {
        let text = input.text().trim().to_owned();
        match input.purpose {
            Purpose::Reason(id) => {
                let reason = Some(text).filter(|it| !it.is_empty());
                self.answer(&id, Answer::Verdict(Decision::Deny, reason), now);
            }
            Purpose::Search => {}
            _ if text.is_empty() => {}
            Purpose::Answer(id) => self.answer(&id, Answer::Reply(text), now),
            Purpose::Part(id) => self.say_part(&id, text, now),
            Purpose::Form(id) => self.fill_in(&id, &text, &input.prompt, now),
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
    fn answer(&mut self, id: &str, answer: Answer, now: Timestamp) {
        if let Some(question) = self.still_open(id) {
            self.hold(&question, answer, now);
        }
    }

    fn fill_in(&mut self, id: &str, text: &str, prompt: &str, now: Timestamp) {
        if let Some(content) = form::content(text) {
            self.answer(id, Answer::Form(content), now);
        } else {
            self.note = "The form is not a JSON object".into();
            self.input(Purpose::Form(id.into()), prompt, text);
        }
    }

    fn say_part(&mut self, id: &str, text: String, now: Timestamp) {
        if let Some(question) = self.still_open(id) {
            self.drafts.entry(id.into()).or_default().say(text);
            self.finish(&question, now);
        }
    }

    /// The question, unless it was settled meanwhile, which is noted.
    fn still_open(&mut self, id: &str) -> Option<Need> {
        let question = self.store.need(id).cloned();
        if question.is_none() {
            self.note = format!("Question {id} was settled meanwhile");
        }
        question
    }
}

/// The decision that a key makes; `None` if the verdict cannot say it.
fn decision((action, verdict): (Action, &Control)) -> Option<Decision> {
    match (action, verdict) {
        (Action::Approve, Control::Verdict { .. }) => Some(Decision::Allow),
        (
            _,
            Control::Verdict {
                always: Some(_), ..
            },
        ) => Some(Decision::AllowAlways),
        (_, Control::Verdict { edits: true, .. }) => Some(Decision::AcceptEdits),
        _ => None,
    }
}

/// A message to the session of a row.
fn message_to(session: &Session, target: &Target) -> Purpose {
    // A reply to a question would be its answer.
    let reply_to = target.notification.filter(|_| target.question.is_none());
    Purpose::Message(session.id.to_string(), session.project.clone(), reply_to)
}

fn go(target: &Target) -> Vec<Request> {
    let asker = target.question.as_ref();
    let asker = asker.and_then(|it| Some((it.session.as_ref()?, &it.project)));
    let session = target.session.as_ref().map(|it| (&it.id, &it.project));
    let place = session.or(asker).into_iter();
    place
        .map(|(id, project)| Request::Go {
            id: id.to_string(),
            project: project.clone(),
        })
        .collect()
}
