//! Questions: requests about them, and how they are shown.

use std::fmt::{Display, Write as _};

use hub_protocol::{
    AnswerDelivery, Control, Kind, ProjectName, Question, QuestionState, Seq, Timestamp,
};
use serde::de::DeserializeOwned;

use super::need::{self, need};
use crate::error::Error;
use crate::hub::{Hub, Path, Request, pages};
use crate::output::age::age;
use crate::output::say;
use crate::output::text::{line, said};

/// The blanks before the lines of a text, below the name of who asks.
const INDENT: &str = "        ";

/// The open questions of `project` or of all projects, oldest first; with `all`, settled ones too.
pub(crate) async fn questions<T: DeserializeOwned>(
    hub: &Hub,
    project: Option<&ProjectName>,
    all: bool,
) -> Result<Vec<T>, Error> {
    let path = Path::new("/questions").maybe("project", project);
    pages::questions(hub, &path.maybe("state", all.then_some("all"))).await
}

/// The path of the question `id`.
pub(crate) fn path(id: Seq) -> Path {
    Path::new("/questions").segment(id)
}

/// Applies `action` to the question `id`, as [`settled`] does.
pub(crate) async fn act(
    hub: &Hub,
    id: Seq,
    action: &str,
    body: String,
) -> Result<Option<String>, Error> {
    settled(hub, id, Request::post(path(id).segment(action), body)).await
}

/// Sends a request about the question `id` and returns the hub's answer. Returns `None`, and reports the outcome, if the
/// question was already settled.
pub(crate) async fn settled(
    hub: &Hub,
    id: impl Display,
    request: Request,
) -> Result<Option<String>, Error> {
    match hub.text(&request).await {
        Ok(answer) => Ok(Some(answer)),
        Err(Error::Refused(problem)) if problem.code == "question_settled" => {
            let need = need(hub, &id.to_string()).await?;
            say(format!("too late: {}", need::outcome(&need)));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The state of a question as a sentence.
pub(crate) fn outcome(question: &Question) -> String {
    let Question {
        state, by, answer, ..
    } = question;
    outcome_of(question.id, *state, by.as_deref(), answer.as_deref())
}

/// [`outcome`] of the question `id`, whatever it was read from.
pub(crate) fn outcome_of(
    id: impl Display,
    state: QuestionState,
    by: Option<&str>,
    answer: Option<&str>,
) -> String {
    let how = state.ended(by).unwrap_or(state.as_str());
    let mut text = format!("question {id} is {how}");
    // Writing to a String cannot fail.
    if let Some(by) = by.filter(|_| !state.is_by_terminal(by)) {
        let _ = write!(text, " by {}", line(by));
    }
    if let Some(answer) = answer {
        let _ = write!(text, ": {}", said(answer));
    }
    text
}

/// The text of all that an answer allows or settles.
pub(crate) fn whole(question: &Question) -> &str {
    match question.text.as_str() {
        // An earlier hub.
        "" => &question.msg,
        text => text,
    }
}

/// A question with all that its answer allows and with its options, and its project where a list has several.
pub(crate) fn describe(
    question: &Question,
    project: Option<&ProjectName>,
    now: Timestamp,
) -> String {
    let kind = match question.kind {
        Kind::Approval => "asks for permission",
        _ => "asks",
    };
    let from = question.from_name.as_deref();
    let place = project.map_or(String::new(), |it| format!(" in {it}"));
    let mut shown = format!(
        "{:>6}  {}{place}  {kind} ({} ago):{}",
        question.id,
        line(from.unwrap_or(question.from.as_str())),
        age(question.ts, now),
        quoted(whole(question))
    );
    shown.push_str(&offers(&question.controls));
    let is_in_terminal = question.delivery == Some(AnswerDelivery::Terminal);
    if is_in_terminal && !question.state.is_final() {
        let _ = write!(shown, "  ({})", need::IN_ITS_TERMINAL);
    }
    if question.state != QuestionState::Open {
        let _ = write!(shown, "  ({})", outcome(question));
    }
    shown
}

/// Words of others after a colon, as [`said`] shows them; several lines below each other.
pub(crate) fn quoted(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(said).collect();
    match &lines[..] {
        [] | [_] => format!(" {}", said(text)),
        several => format!("\n{INDENT}{}", several.join(&format!("\n{INDENT}"))),
    }
}

/// The options that controls offer, with the questions of a dialog that has several, or what `allow always` would allow.
pub(crate) fn offers(controls: &[Control]) -> String {
    let mut shown = String::new();
    if let [
        Control::Verdict {
            always: Some(always),
            ..
        },
    ] = controls
    {
        return format!("  [allow always] {}", said(always));
    }
    let choices = controls.iter().filter_map(|it| match it {
        Control::Choice(choice) => Some(choice),
        _ => None,
    });
    for (at, choice) in (1..).zip(choices) {
        // Writing to a String cannot fail.
        if controls.len() > 1 {
            let _ = write!(shown, "  {at}. {}", said(&choice.question));
        }
        for (number, option) in (1..).zip(&choice.options) {
            let _ = write!(shown, "  [{number}] {}", said(&option.label));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_its_terminal_can_answer_is_marked() {
        let shown = |state, delivery| {
            let question = Question {
                state,
                delivery: Some(delivery),
                text: "Which?".into(),
                ..Question::default()
            };
            describe(&question, None, Timestamp::now())
        };
        let mark = "(answer it in its own terminal)";
        let open = shown(QuestionState::Open, AnswerDelivery::Terminal);
        assert!(open.ends_with(mark), "{open}");
        for (state, delivery) in [
            (QuestionState::Open, AnswerDelivery::Waiting),
            (QuestionState::Answered, AnswerDelivery::Terminal),
        ] {
            let other = shown(state, delivery);
            assert!(!other.contains(mark), "{other}");
        }
    }
}
