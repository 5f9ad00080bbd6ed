//! Turns hook events of agents into notifications: once a turn, and only if they are news.
//!
//! A session that answers one prompt and ends is *headless*. `hubctl hook` detects it by Claude Code's entry point, or
//! by the command line of other agents. It does not become primary by itself, and a question that it asks at its end
//! outlives it.

use hub_protocol::{InboxName, Kind, ProjectName, Seq, SessionState, Timestamp};
use serde_json::{Value, json};

use super::dialog::{
    DIALOG, PERMISSION_DIALOG, held_key, is_about, is_dialog, is_held_key, key_of, subagent_of,
};
use super::hook_data::{bounded, set_data, whole};
use super::process;
use super::question::Question;
use super::session::{Session, SessionKey};
use super::session_registry::with_job;
use super::status::settled;
use super::transaction::Transaction;
use super::{Leased, State, texts};
use crate::answer::AnswerKind;
use crate::command::{AgentEvent, Hook, Refusal};
use crate::notification::Draft;
use crate::record::{Record, SessionEnded, SettleReason, Turn, TurnCause, TurnNoted};
use crate::turn_mark::{TURN, TurnMark};

/// The key of waiting items. The session's next step withdraws them.
pub(super) const WAITING: &str = "hook:waiting";

/// How long after the end of a dialog its notice may come, in milliseconds.
const NOTICE_MS: i64 = 10_000;

/// A hook event, its session, and the records to which it leads.
struct HookContext<'a, 'b> {
    state: &'a State,
    transaction: &'b mut Transaction<'a>,
    project: &'b ProjectName,
    key: &'b InboxName,
    hook: &'b Hook,
}

impl State {
    pub(super) fn decide_hook(
        &self,
        hook: &Hook,
        now: Timestamp,
        leased: &Leased<'_>,
    ) -> Result<Vec<Record>, Refusal> {
        let ((project, key), alias) = self.sessions.key_of_hook(hook);
        let place = (&project, &key);
        let known = self.sessions.get(&project, &key);
        // An end never starts a session, and what is reported after it changes nothing.
        let ends = matches!(
            hook.happened,
            AgentEvent::Ended | AgentEvent::Exited | AgentEvent::Left | AgentEvent::Cleared
        );
        let is_late = |it: &Session| !it.is_alive() && !process::revives(hook, it);
        if known.map_or(ends, is_late) {
            return Ok(Vec::new());
        }
        if !hook.acp && known.is_some_and(Session::has_acp_client) {
            return Ok(Vec::new());
        }
        let moves = process::moves(hook, known);
        let begins = hook.happened.starts()
            || moves
            || known.is_none_or(|it| !it.has_hooks() || hook.acp && !it.has_acp_client())
            || self.sessions.is_retitled(place, &hook.info)
            || alias.is_some();
        let mut transaction = Transaction::new(self, now, leased);
        // A bridge's event neither begins a session nor contradicts a report that it does not know.
        if let Some(derived_at) = hook.derived_at
            && known.is_none_or(|it| !it.has_hooks() || it.seq != derived_at)
        {
            return Ok(Vec::new());
        }
        if begins && !ends {
            let mut set = self.set_session(place, &hook.info, alias.as_ref(), Some(hook), now);
            if hook.happened.starts() && known.is_some_and(Session::is_job) {
                set = Some(with_job(set, place, false, now));
            }
            transaction.also(self.with_room(set, now)?);
        }
        let joins = process::joins(hook, known);
        if let Some(process) = joins {
            transaction.join_process(&(project.clone(), key.clone()), process);
        }
        if let Some(process) = joins.or(hook.process().filter(|_| moves)) {
            transaction.switch_to(&(project.clone(), key.clone()), process);
        }
        // A held request is not yet proof that the model continued; neither is a file.
        if hook.subagent.is_none() && hook.held.is_none() && hook.derived_at.is_none() {
            transaction.also(self.proved_by(place, &hook.happened, now));
        }
        transaction.also(self.questions.told_answers(place, hook, now));
        let mut context = HookContext {
            state: self,
            transaction: &mut transaction,
            project: &project,
            key: &key,
            hook,
        };
        context.decide()?;
        Ok(transaction.finish())
    }
}

impl Transaction<'_> {
    /// Withdraws the items that a session's next step has settled: waiting items and its own dialogs.
    pub(super) fn withdraw_stale(&mut self, (project, key): (&ProjectName, &InboxName)) {
        self.withdraw_dialogs((project, key), |subagent| subagent.is_none());
        let waiting = self.state.inboxes.keyed(project, Some(key), WAITING);
        let (withdrawn, by) = (SettleReason::Withdrawn, Some("resumed"));
        self.also(settled(waiting, None, withdrawn, by, self.now));
    }
}

impl HookContext<'_, '_> {
    fn session(&self) -> Option<&Session> {
        self.state.sessions.get(self.project, self.key)
    }

    fn place(&self) -> SessionKey {
        (self.project.clone(), self.key.clone())
    }

    fn name(&self) -> String {
        texts::name(self.key, self.session()).to_owned()
    }

    fn state_is(&self, state: SessionState) -> bool {
        self.session().is_some_and(|it| it.state == Some(state))
    }

    fn decide(&mut self) -> Result<(), Refusal> {
        match &self.hook.happened {
            AgentEvent::Started | AgentEvent::Resumed | AgentEvent::Seen => Ok(()),
            AgentEvent::Prompt { by, text } => self.began(*by, text),
            AgentEvent::Worked => {
                self.did_something();
                Ok(())
            }
            AgentEvent::Stopped {
                text,
                tasks,
                continues,
            } => {
                if *continues {
                    return Ok(());
                }
                self.stopped(text, tasks)
            }
            AgentEvent::Interrupted => self.interrupted(),
            AgentEvent::Failed {
                reason,
                permanent,
                until,
                resumes,
            } => self.failed(reason, *permanent, (*until, *resumes)),
            AgentEvent::Idle { text } => self.idle(text),
            AgentEvent::Asks {
                text,
                options,
                data,
            } => self.asks(text, options, data),
            AgentEvent::Permission { text, data } => self.permission(text, data.as_ref()),
            AgentEvent::Ended => self.ended(None),
            AgentEvent::Exited => self.ended(self.unfinished()),
            AgentEvent::Left => {
                self.left(true);
                Ok(())
            }
            // A process that is known reports the other id itself.
            AgentEvent::Cleared => {
                let resume = self.session().and_then(Session::resume);
                if resume.is_some_and(|(_, is_chosen)| is_chosen) {
                    self.note(Turn::Resumes { on: false });
                }
                self.left(self.hook.process().is_none());
                Ok(())
            }
        }
    }

    /// [`HookContext::post`] with the whole words that `msg` is about, for views.
    fn say(
        &mut self,
        kind: Kind,
        (msg, said): (String, &str),
        more: impl FnOnce(&mut Draft),
    ) -> Result<(), Refusal> {
        self.post(kind, msg, |draft| {
            // A stop without words has none, and not those of the hub's sentence.
            if kind != Kind::Progress || !said.trim().is_empty() {
                set_data(draft, "said", said.trim());
            }
            more(draft);
        })
    }

    /// The agent's words, or none if they stay out of the log.
    fn kept<'t>(&self, words: &'t str) -> &'t str {
        if self.hook.wordless { "" } else { words }
    }

    /// Adds a notification of the session.
    fn post(
        &mut self,
        kind: Kind,
        msg: String,
        more: impl FnOnce(&mut Draft),
    ) -> Result<(), Refusal> {
        let from = (self.project, self.key);
        let mut draft = self.transaction.draft(from, kind, msg);
        draft.body.data = Some(json!({ "via": "hook", "event": self.hook.event }));
        more(&mut draft);
        draft.body.data = draft.body.data.as_ref().map(bounded);
        self.transaction.post(&draft)
    }

    fn note(&mut self, turn: Turn) {
        let record = Record::TurnNoted(TurnNoted {
            project: self.project.clone(),
            session: self.key.clone(),
            turn,
            evidence: self.hook.evidence(),
            at: self.transaction.now,
        });
        self.transaction.also([record]);
    }

    fn began(&mut self, by: TurnCause, text: &str) -> Result<(), Refusal> {
        // The hub's own waiter ends within a turn: that goes on, and its end is news.
        let goes_on = |it: &Session| {
            it.is_alive() && it.state == Some(SessionState::Working) && !it.turn.stopped
        };
        if by == TurnCause::Timeout && self.session().is_some_and(goes_on) {
            self.worked();
            return Ok(());
        }
        self.transaction.withdraw_stale((self.project, self.key));
        // A turn caused by the timeout of the hub's own waiter is not news, and neither is its end.
        let mut first = self.session().and_then(|it| it.turn.first);
        if by != TurnCause::Timeout {
            first = Some(self.transaction.begin_turn(self.place()));
            // Words of the hub or of a task are no prompt.
            let (head, said) = match by {
                TurnCause::Person | TurnCause::Agent => ("prompt", self.kept(text)),
                TurnCause::Peer => ("message from another session", self.kept(text)),
                TurnCause::Task => ("a background task ended", ""),
                TurnCause::Wake | TurnCause::Timeout => ("woken", ""),
            };
            let woken_by = self.state.unproven(self.project, self.key);
            let msg = texts::with_excerpt(head, said);
            self.say(Kind::Progress, (msg, said), |draft| {
                set_data(draft, TURN, TurnMark::Began { by, woken_by });
            })?;
        }
        self.note(Turn::Began { by, first });
        Ok(())
    }

    /// Closes the dialogs that the event is about. The session itself works again unless it still shows another one.
    fn did_something(&mut self) {
        let (hook, place) = (self.hook, (self.project, self.key));
        let (subagent, dialog) = (hook.subagent.as_deref(), hook.dialog.as_deref());
        let closes = |it: &Question| is_dialog(it) && is_about(it, subagent, dialog);
        if subagent.is_some() || dialog.is_some() {
            self.transaction
                .withdraw_questions_of(place, "resumed", closes);
        }
        let stays = |it: &Question| is_dialog(it) && subagent_of(it).is_none() && !closes(it);
        let mut open = self.state.questions.of(self.project, self.key);
        if subagent.is_none() && !open.any(|(_, it)| stays(it)) {
            self.worked();
        }
    }

    fn worked(&mut self) {
        let waits = |it: &Session| {
            it.turn.stopped && it.turn.waits_from.is_some() || it.turn.fails_from.is_some()
        };
        if self.state_is(SessionState::Working) && !self.session().is_some_and(waits) {
            return;
        }
        self.transaction.withdraw_stale((self.project, self.key));
        let turn = self.session().map(|it| &it.turn);
        let turn = turn.filter(|it| !it.stopped);
        let by = turn.map_or(TurnCause::Agent, |it| it.by);
        let first = turn.and_then(|it| it.first);
        self.note(Turn::Began { by, first });
    }

    fn stopped(&mut self, text: &str, tasks: &[String]) -> Result<(), Refusal> {
        let mut turn = self.session().map(|it| it.turn.clone()).unwrap_or_default();
        if self.hook.by_peer && turn.by == TurnCause::Person && !turn.stopped {
            turn.by = TurnCause::Peer;
            self.note(Turn::Attributed { by: turn.by });
        }
        // A turn has no dialog after its end; one that nobody could answer was denied.
        let place = (self.project, self.key);
        self.transaction.withdraw_dialogs(place, |it| it.is_none());
        let silent = turn.signalled
            || turn.stopped
            || turn.by == TurnCause::Timeout && self.state_is(SessionState::Working);
        let fresh: Vec<&String> = tasks
            .iter()
            .filter(|task| !turn.tasks.contains(task))
            .collect();
        let busy = self.state.sessions.busy_workers(self.project, self.key);
        if tasks.is_empty() {
            let place = (self.project, self.key);
            self.transaction.withdraw_dialogs(place, |it| it.is_some());
        }
        if silent {
        } else if !fresh.is_empty() || busy > 0 {
            let what = texts::running(fresh.len(), busy);
            let msg = format!("Agent {} stopped for now: {what}", self.name());
            self.say(Kind::Progress, (msg, self.kept(text)), |draft| {
                set_data(draft, TURN, TurnMark::Stopped);
            })?;
        } else {
            self.finished(text, turn.by)?;
        }
        let is_news = silent && turn.by != TurnCause::Timeout;
        let said = Some(self.kept(text).trim()).filter(|it| is_news && !it.is_empty());
        self.note(Turn::Stopped {
            tasks: tasks.to_vec(),
            silent,
            acted: self.hook.acted,
            said: said.map(whole),
        });
        Ok(())
    }

    /// Notifies that a turn is over; called if no other notification says so.
    fn finished(&mut self, text: &str, by: TurnCause) -> Result<(), Refusal> {
        let name = self.name();
        let parent = self.session().and_then(Session::parent).cloned();
        let paragraph = text.trim().rsplit("\n\n").next().unwrap_or_default();
        let waits = paragraph.trim_end().ends_with('?');
        let leads = self
            .state
            .sessions
            .workers(self.project, self.key)
            .next()
            .is_some();
        let (kind, head) = match (&parent, leads) {
            _ if waits => (Kind::Waiting, format!("Agent {name} is waiting for input")),
            (Some(parent), _) => {
                let sessions = &self.state.sessions;
                let parent = sessions.resolve(self.project, parent);
                let parent = sessions.shown_name(self.project, parent);
                (
                    Kind::Complete,
                    format!("Agent {name} completed (worker of {parent})"),
                )
            }
            (None, true) => (Kind::Complete, format!("Manager {name} completed its goal")),
            (None, false) => (Kind::Complete, format!("Agent {name} completed")),
        };
        let excerpt = self.kept(if waits { paragraph } else { text });
        // The person who typed the prompt has the end of the turn in view, so it wakes nobody.
        let seen = self.hook.watched && by == TurnCause::Person && parent.is_none();
        let seen = seen && self.state_is(SessionState::Working);
        // A headless session's end does not withdraw its question.
        let ends = self.session().is_some_and(Session::is_headless);
        let msg = texts::with_excerpt(&head, excerpt);
        self.say(kind, (msg, self.kept(text)), |draft| {
            set_data(draft, TURN, TurnMark::Stopped);
            if seen {
                draft.ride_along("the person has this session in view");
            }
            draft.body.key = (waits && !ends).then(|| WAITING.into());
        })
    }

    /// Notifies that the person interrupted the turn or dismissed the dialog; does nothing if a hook has already ended
    /// it.
    fn interrupted(&mut self) -> Result<(), Refusal> {
        let works = self.session().is_some_and(Session::is_in_turn);
        if !works
            && self
                .state
                .questions
                .dialog_since(self.project, self.key)
                .is_none()
        {
            return Ok(());
        }
        let place = (self.project, self.key);
        self.transaction.withdraw_stale(place);
        self.transaction.withdraw_dialogs(place, |_| true);
        let msg = format!("Agent {} was interrupted", self.name());
        self.post(Kind::Waiting, msg, |draft| {
            set_data(draft, TURN, TurnMark::Interrupted);
            draft.ride_along("the person interrupted it");
            draft.body.key = Some(WAITING.into());
        })
    }

    fn idle(&mut self, text: &str) -> Result<(), Refusal> {
        let name = self.name();
        let turn = self.session().map(|it| it.turn.clone()).unwrap_or_default();
        if turn.waits_from.is_some() {
            let msg = self.state.sessions.still_busy((self.project, self.key));
            return self.post(Kind::Waiting, msg, |draft| {
                draft.body.key = Some(WAITING.into());
            });
        }
        let works = self
            .session()
            .is_none_or(|it| it.state.is_none_or(|it| it == SessionState::Working));
        // The stop, the signal or the failure of this turn said more.
        if !works || turn.stopped || turn.fails_from.is_some() {
            return Ok(());
        }
        let msg = texts::with_excerpt(&format!("Agent {name} is waiting for input"), text);
        self.say(Kind::Waiting, (msg, text), |draft| {
            draft.body.key = Some(WAITING.into());
        })
    }

    fn failed(
        &mut self,
        reason: &str,
        permanent: bool,
        (until, resumes): (Option<Timestamp>, bool),
    ) -> Result<(), Refusal> {
        // A failure with an end is a limit, whatever the agent calls it.
        if permanent && until.is_none() {
            let msg = format!("Agent {} failed: {reason}", self.name());
            self.say(Kind::Error, (msg, reason), |_| {})?;
        } else {
            let msg = format!("Agent {} cannot go on for now: {reason}", self.name());
            self.say(Kind::Progress, (msg, reason), |draft| {
                set_data(draft, TURN, TurnMark::Failed);
                draft.explicit_kind = false;
            })?;
            self.note(Turn::Failed {
                reason: reason.to_owned(),
                until,
                resumes: resumes && until.is_some(),
            });
        }
        Ok(())
    }

    fn asks(&mut self, text: &str, options: &[String], data: &Value) -> Result<(), Refusal> {
        let is_notice = data.get("notification_type").is_some();
        if is_notice && self.is_noticed() {
            return Ok(());
        }
        let (key, place) = match self.hook.held {
            Some(held) => (held_key(held.takes), ""),
            None => (DIALOG, " (answer it in its own terminal)"),
        };
        let repeats = self.hook.held.and_then(|_| self.replace_dialog());
        let msg = format!(
            "Agent {} asks: {}{place}",
            self.name(),
            texts::excerpt(text)
        );
        let data = json!({
            "via": "hook",
            "event": self.hook.event,
            "said": texts::excerpt(text),
            "dialog": data,
        });
        let key = key_of(self.hook, key);
        self.post(Kind::Question, msg, |draft| {
            draft.body.key = Some(key);
            draft.body.options = (!options.is_empty()).then(|| options.to_vec());
            draft.body.data = Some(data);
            draft.body.repeats = repeats;
            draft.body.rides_along =
                Some("a question that only a person answers wakes no agent".into());
        })
    }

    /// Withdraws the question of an earlier hook of the same dialog, which could not be held.
    fn replace_dialog(&mut self) -> Option<Seq> {
        let key = key_of(self.hook, DIALOG);
        let same = |it: &Question| it.key.as_ref() == Some(&key);
        let mut open = self.state.questions.of(self.project, self.key);
        let (earlier, _) = open.find(|(_, it)| same(it))?;
        let place = (self.project, self.key);
        self.transaction
            .withdraw_questions_of(place, "resumed", same);
        self.transaction.mark_read(earlier);
        Some(earlier)
    }

    /// Whether the dialog of a notice is known. The notice follows the dialog's own hook and says less; on a busy machine it
    /// comes after the answer.
    fn is_noticed(&self) -> bool {
        let now = self.transaction.now;
        let is_it = |it: &Question| {
            let is_held = it.key.as_deref().is_some_and(is_held_key);
            is_dialog(it) && !it.state.is_final()
                || is_held && it.was_settled_within(NOTICE_MS, now)
        };
        let mut all = self.state.questions.all();
        all.any(|(_, it)| (&it.project, &it.from) == (self.project, self.key) && is_it(it))
    }

    /// Asks for a permission; without data, by the notice of a dialog.
    fn permission(&mut self, text: &str, data: Option<&Value>) -> Result<(), Refusal> {
        if data.is_none() && self.is_noticed() {
            return Ok(());
        }
        let key = if self.hook.held.is_some() {
            held_key(AnswerKind::Permission)
        } else {
            PERMISSION_DIALOG
        };
        let msg = texts::with_excerpt(&format!("Agent {} needs a permission", self.name()), text);
        let said = texts::excerpt(text);
        let data =
            json!({ "via": "hook", "event": self.hook.event, "said": said, "request": data });
        let key = key_of(self.hook, key);
        self.post(Kind::Approval, msg, |draft| {
            draft.body.key = Some(key);
            draft.body.data = Some(data);
        })
    }

    /// The process goes on with another session; one that was started with a name keeps it for all of them.
    fn left(&mut self, leaves: bool) {
        if leaves && self.hook.given.is_none() && self.is_last() {
            self.transaction.switch_from(&self.place());
        }
    }

    /// Whether no other process than that of the event runs the session; else the event's process leaves it.
    fn is_last(&mut self) -> bool {
        let place = self.place();
        let process = self.hook.process().or(self.hook.other.as_ref());
        process.is_none_or(|it| self.transaction.leave_process(&place, it))
    }

    /// Notifies that the session is over. `cut_off` says why its turn is unfinished, if it is.
    fn ended(&mut self, cut_off: Option<String>) -> Result<(), Refusal> {
        // `hub-acp` ends all processes of its agent.
        if !self.hook.acp && !self.is_last() {
            return Ok(());
        }
        let name = self.name();
        let place = (self.project, self.key);
        // The error of a session that answers one prompt is its last word.
        let is_failed = self.hook.happened == AgentEvent::Exited
            && self.state_is(SessionState::Error)
            && self.session().is_some_and(Session::is_headless);
        if let Some(why) = cut_off {
            let msg = format!("Agent {name} {why}");
            self.say(Kind::Error, (msg, &why), |_| {})?;
        } else if !is_failed {
            let is_known = self.state_is(SessionState::Complete);
            // How it failed stays, unless the person ended it and so knows.
            let has_failed =
                self.hook.happened == AgentEvent::Exited && self.state_is(SessionState::Error);
            let msg = format!("Agent {name} ended");
            self.post(Kind::Ended, msg, |draft| {
                (draft.recorded, draft.keeps_state) = (is_known, has_failed);
            })?;
            self.transaction.leave(place);
            if has_failed {
                self.note_end();
            }
            return Ok(());
        }
        self.transaction.leave(place);
        self.note_end();
        Ok(())
    }

    /// Notes the end of the session, whose last report says how it ended.
    fn note_end(&mut self) {
        self.transaction.also([Record::SessionEnded(SessionEnded {
            project: self.project.clone(),
            session: self.key.clone(),
            at: self.transaction.now,
            ended: true,
        })]);
    }

    /// Why the session's turn would be unfinished if it ended now; `None` between turns.
    fn unfinished(&self) -> Option<String> {
        let session = self.session()?;
        if let Some((_, reason)) = session.failure() {
            return Some(format!("failed: {reason}"));
        }
        let works = matches!(
            session.state,
            Some(SessionState::Working | SessionState::Blocked)
        );
        let is_in_turn = works && !session.has_stopped();
        is_in_turn.then(|| "died unfinished: it ended in the middle of its turn".into())
    }
}
