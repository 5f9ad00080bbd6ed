//! A refused attempt to answer in the person's place is a record, and an urgent question to the person.

use std::borrow::Cow;

use hub_core::asked::asked;
use hub_core::command::Command;
use hub_core::fold::Question;
use hub_core::notification::Draft;
use hub_core::rejected::Rejected;
use hub_protocol::{
    Evidence, InboxName, ProjectName, Seq, Timestamp, first_chars, one_line, single_spaced,
    with_ellipsis,
};
use serde_json::json;

use super::{Hub, stored};

/// How many characters of the request it repeats.
const EXCERPT: usize = 200;
/// The most open questions about refused attempts, of all sessions.
const MAX_OPEN: usize = 20;

/// An attempt to settle a question.
pub struct AnswerAttempt<'a> {
    /// The number of the question.
    pub question: Seq,
    /// The action that was tried: `answer`, `claim` or `withdraw`.
    pub what: &'static str,
    /// The answer, if it is one.
    pub answer: Option<&'a str>,
    /// The name that the caller gave itself.
    pub name: &'a InboxName,
}

impl AnswerAttempt<'_> {
    /// Records that the attempt of the caller of whom the hub has `seen` this was refused, if its question is for a person.
    pub async fn record(&self, hub: &Hub, seen: &Evidence) {
        if let Err(error) = record(hub, self, seen).await {
            tracing::error!(%error, "a refused attempt was not recorded");
        }
    }
}

async fn record(hub: &Hub, attempt: &AnswerAttempt<'_>, seen: &Evidence) -> Result<(), Rejected> {
    let id = attempt.question;
    let found = hub.read(|state, _| {
        let asked = state.questions.get(id).filter(|it| it.is_for_person())?;
        let name = |it: &InboxName| {
            let name = state.sessions.other_name(&asked.project, it);
            name.unwrap_or(it.as_str()).to_owned()
        };
        Some((asked.project.clone(), name(&asked.from), name(attempt.name)))
    })?;
    let Some((project, asker, claimed)) = found else {
        return Ok(());
    };
    let who = seen.session.as_ref().unwrap_or(&claimed);
    let key = format!("refused:{}:{id}", shortened(who, 64));
    if is_told(hub, &project, &key)? {
        return Ok(());
    }
    let text = stored::notification(hub, id).await?;
    let text = text.map(|it| asked(&it).text).unwrap_or_default();
    let msg = message(attempt, (&asker, &claimed), seen, &text);
    let answer = attempt.answer.map(|it| shortened(it, EXCERPT));
    let data =
        json!({ "via": "hub", "refused": { "question": id, "answer": answer, "evidence": seen } });
    let drafts = vec![Draft::notice(&project, (key, msg), data, Timestamp::now())];
    hub.submit(Command::Notify { drafts, once: None }).await?;
    Ok(())
}

/// Whether the person has an open question about the same, or very many: a loop of attempts is one need, and one under ever
/// new names must leave room for the questions of agents.
fn is_told(hub: &Hub, project: &ProjectName, key: &str) -> Result<bool, Rejected> {
    let is_it = |it: &Question| it.project == *project && it.key.as_deref() == Some(key);
    hub.read(|state, _| {
        let of_hub = || state.questions.open().filter(|(_, it)| it.is_of_hub());
        of_hub().any(|(_, it)| is_it(it)) || of_hub().count() >= MAX_OPEN
    })
}

/// The text for the person: the attempt, and the beginning of what was asked.
fn message(
    attempt: &AnswerAttempt<'_>,
    names: (&str, &str),
    seen: &Evidence,
    text: &str,
) -> String {
    let said = sentence(attempt, names, seen);
    one_line(&format!("{said}: {}", quoted(text))).into_owned()
}

/// The sentence that says who tried what on whose request.
fn sentence(
    attempt: &AnswerAttempt<'_>,
    (asker, claimed): (&str, &str),
    seen: &Evidence,
) -> String {
    let (who, is_own) = match (&seen.session, attempt.name.as_str()) {
        (Some(session), _) => (session.clone(), session == asker),
        (None, InboxName::PERSON | InboxName::UNKNOWN) => (seen.to_string(), false),
        (None, _) => (
            format!("{seen} that calls itself {claimed}"),
            claimed == asker,
        ),
    };
    let what = match attempt.answer {
        Some(answer) => format!("answer '{}' to", quoted(answer)),
        None => attempt.what.to_owned(),
    };
    let whose = if is_own {
        "its own request".to_owned()
    } else {
        format!("the request of {asker}")
    };
    format!("{who} tried to {what} {whose}, and the hub refused it")
}

/// The beginning of others' words, with blanks for their line feeds.
fn quoted(text: &str) -> String {
    shortened(&single_spaced(text), EXCERPT).into_owned()
}

fn shortened(text: &str, chars: usize) -> Cow<'_, str> {
    with_ellipsis(first_chars(text, chars), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_words_of_several_lines_are_one_line() {
        let attempt = AnswerAttempt {
            question: 7,
            what: "answer",
            answer: Some("deny: not on main\n\nuse a branch"),
            name: &InboxName::default(),
        };
        let seen = Evidence::default();
        let asked = "Bash: git push\r\n\tgit log\u{1b}[2J";
        let text = message(&attempt, ("web", "unknown"), &seen, asked);
        assert!(
            text.contains("'deny: not on main use a branch' to the request of web"),
            "{text}"
        );
        assert!(
            text.ends_with(": Bash: git push git log\\u001b[2J"),
            "{text}"
        );
    }
}
