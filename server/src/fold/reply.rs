//! Replies to questions, and events that withdraw a question.

use std::collections::BTreeSet;

use hub_protocol::{
    InboxName, Kind, Post, ProjectName, QuestionState, Seq, SessionState, Timestamp,
};

use super::State;
use super::batch::Batch;
use super::hook::is_dialog_key;
use crate::core::command::Draft;
use crate::core::notification::kind_of;

impl State {
    /// Turns posts that reply to open questions into answers, unless they name another type. An answer without a
    /// project is assigned to its question's project.
    pub fn place_answers(&self, posts: &mut [Post]) {
        let mut answered = BTreeSet::new();
        for post in posts {
            let asked = post.reply_to.and_then(|id| Some((id, self.question(id)?)));
            let Some((id, asked)) = asked else {
                continue;
            };
            if self.is_answer(post, id) && !answered.contains(&id) {
                post.kind = Some(Kind::Answer);
            }
            if kind_of(post) == Some(Kind::Answer) {
                answered.insert(id);
                let project = || asked.project.clone();
                post.project.get_or_insert_with(project);
            }
        }
    }

    /// Whether a reply to a question is a plain text for the asker alone, and so an answer.
    fn is_answer(&self, post: &Post, id: Seq) -> bool {
        let Ok(asked) = self.open_question(id) else {
            return false;
        };
        let is_asker = |name: &InboxName| *self.called(&asked.project, name) == asked.from;
        // A dialog is answered in the agent's terminal, and a permission needs an explicit answer.
        let is_dialog = asked.key.as_deref().is_some_and(is_dialog_key);
        kind_of(post).is_none_or(|kind| kind == Kind::Message)
            && asked.kind == Kind::Question
            && !is_dialog
            && post.project.as_ref().is_none_or(|it| *it == asked.project)
            && post.to.as_ref().is_none_or(is_asker)
            && !post
                .from
                .as_ref()
                .map_or(asked.from.as_str() == InboxName::UNKNOWN, is_asker)
    }
}

impl Batch<'_> {
    /// Withdraws the open questions of a session that reports that it works again or has completed its work.
    pub(super) fn close_questions(&mut self, draft: &Draft) {
        let from = self.state.called(&draft.project, &draft.from);
        let goes_on = self
            .session_change(draft, from)
            .filter(|(_, state)| matches!(state, SessionState::Working | SessionState::Complete));
        if let Some((session, _)) = goes_on {
            let place = (&draft.project, &session);
            self.withdraw_questions_of(place, Some(draft.ts), "resumed");
        }
    }

    /// Withdraws every question of a session that this command has not settled. With `until`, only questions asked by
    /// then, because a state that arrives late says nothing about later questions.
    pub(super) fn withdraw_questions_of(
        &mut self,
        (project, session): (&ProjectName, &InboxName),
        until: Option<Timestamp>,
        by: &str,
    ) {
        let open: Vec<Seq> = self
            .state
            .questions
            .of(project, session)
            .filter(|(_, question)| until.is_none_or(|until| question.ts <= until))
            .map(|(id, _)| id)
            .collect();
        for id in open {
            if self.answered.insert(id) {
                let withdrawn = QuestionState::Withdrawn;
                let settle = self
                    .state
                    .settle_question(id, withdrawn, Some(by), None, self.now);
                self.after.extend(settle);
            }
        }
    }
}
