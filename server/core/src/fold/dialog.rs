//! The keys of questions that an agent shows in a dialog of its own. A key tells whether the agent's hook is held for the
//! answer, which subagent asks, and the agent's id of the dialog if the agent names it: the dialogs of several subagents, and
//! those with ids, wait side by side; others follow each other.

use hub_protocol::{InboxName, ProjectName};

use super::question::Question;
use super::transaction::Transaction;
use crate::answer::AnswerKind;
use crate::command::Hook;

/// A question that can be answered only in the agent's own dialog.
pub(super) const DIALOG: &str = "hook:dialog";
/// A permission that can be given only in the agent's own dialog.
pub(super) const PERMISSION_DIALOG: &str = "hook:permission_dialog";
/// Separates one of these keys from the agent's id of the dialog.
const OF_DIALOG: char = '#';
/// Separates both from the agent's id of the subagent.
const OF_SUBAGENT: char = '@';

/// Returns the key of a question whose hook is held for such an answer.
pub(super) fn held_key(takes: AnswerKind) -> &'static str {
    match takes {
        AnswerKind::Text => "hook:held_dialog",
        AnswerKind::Texts => "hook:held_dialogs",
        AnswerKind::Permission => "hook:permission",
        AnswerKind::Plan => "hook:held_plan",
        AnswerKind::Form => "hook:held_form",
    }
}

/// Returns the key of the dialog that an event opens, with the ids that the event names.
pub(super) fn key_of(hook: &Hook, key: &str) -> String {
    let mut key = key.to_owned();
    for (mark, id) in [(OF_DIALOG, &hook.dialog), (OF_SUBAGENT, &hook.subagent)] {
        if let Some(id) = id {
            key = format!("{key}{mark}{id}");
        }
    }
    key
}

/// Splits a key into its kind, the id of the dialog and the subagent.
fn split(key: &str) -> (&str, Option<&str>, Option<&str>) {
    let (key, subagent) = cut(key, OF_SUBAGENT);
    let (key, dialog) = cut(key, OF_DIALOG);
    (key, dialog, subagent)
}

fn cut(key: &str, mark: char) -> (&str, Option<&str>) {
    match key.split_once(mark) {
        Some((key, id)) => (key, Some(id)),
        None => (key, None),
    }
}

/// Returns the subagent that shows the dialog of a question; `None` for the session itself.
pub(super) fn subagent_of(question: &Question) -> Option<&str> {
    split(question.key.as_deref()?).2
}

/// Whether the agent names the dialog of a question.
pub(super) fn has_id(question: &Question) -> bool {
    { question.key.as_deref() }.is_some_and(|key| split(key).1.is_some())
}

/// Whether an event of this subagent, or of the session itself, may be about a question: about any dialog of the same asker,
/// unless the event and the dialog have different ids.
pub(super) fn is_about(question: &Question, subagent: Option<&str>, dialog: Option<&str>) -> bool {
    let key = question.key.as_deref().unwrap_or_default();
    let (_, shown, asker) = split(key);
    asker == subagent && (dialog.is_none() || shown.is_none() || shown == dialog)
}

/// Returns the answers that the held hook of a question with this key takes; `None` if no hook is held for it.
pub(super) fn answer_kind(key: &str) -> Option<AnswerKind> {
    let mut all = AnswerKind::ALL.into_iter();
    all.find(|takes| held_key(*takes) == split(key).0)
}

/// Whether the hook of a question with this key is held for the answer.
pub(super) fn is_held_key(key: &str) -> bool {
    answer_kind(key).is_some()
}

/// Whether a question with this key is shown in a dialog that answers from the hub cannot reach.
pub(super) fn is_dialog_key(key: &str) -> bool {
    [PERMISSION_DIALOG, DIALOG].contains(&split(key).0)
}

/// Whether a question is shown in the agent's own dialog.
pub(super) fn is_dialog(question: &Question) -> bool {
    let key = question.key.as_deref();
    key.is_some_and(|key| is_held_key(key) || is_dialog_key(key))
}

impl Transaction<'_> {
    /// Withdraws the dialogs of a session that `by` shows, which gets the subagent, or `None` for the session itself.
    pub(super) fn withdraw_dialogs(
        &mut self,
        place: (&ProjectName, &InboxName),
        by: impl Fn(Option<&str>) -> bool,
    ) {
        let is_shown = |it: &Question| is_dialog(it) && by(subagent_of(it));
        self.withdraw_questions_of(place, "resumed", is_shown);
    }
}
