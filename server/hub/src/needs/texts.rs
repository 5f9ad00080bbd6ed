//! The texts of needs, their buttons and controls: read from the notifications that say more.

use std::collections::HashMap;
use std::sync::Arc;

use hub_agents::PLANS;
use hub_core::asked::{self, Asked};
use hub_core::controls::controls;
use hub_core::line;
use hub_core::tool_request::request_of_approval;
use hub_core::turn_mark::TurnMark;
use hub_log::Log;
use hub_protocol::{
    Alert, Answer, AnswerPost, Chosen, Control, Decision, Kind, Need, NeedKind, Notification,
    Offer, Priority, Quick, Seq, first_chars, reveal,
};
use serde_json::Value;

use super::{FoundNeed, MUTED};
use crate::stored;

/// The most characters of a brief text, which a notification of a browser or a phone shows.
const BRIEF: usize = 240;
/// The most lines of a brief text.
const BRIEF_LINES: usize = 4;
/// The most options that are offered as buttons, and the most characters of one.
const MAX_OPTIONS: usize = 3;
const MAX_LABEL: usize = 24;

/// The title of a need of a session that has not taken the person's message.
const NOT_TAKEN: &str = "has not taken your message";

/// The title of a need of a session that the hub lets go on when its limit ends.
const GOES_ON: &str = "goes on when its limit ends";

/// The stored texts of needs, read once.
#[derive(Debug, Default)]
pub(super) struct Texts(HashMap<Seq, Arc<Notification>>);

impl Texts {
    /// Completes the needs with their brief texts, and forgets the texts of others. May block on the disk.
    pub(super) fn complete(&mut self, log: &Log, found: Vec<FoundNeed>) -> Vec<Need> {
        let mut used = HashMap::new();
        let mut read = |location: Option<Seq>| {
            let location = location?;
            let known = self.0.get(&location).cloned();
            let read = known.or_else(|| stored::at(log, location).map(Arc::new))?;
            used.insert(location, Arc::clone(&read));
            Some(read)
        };
        let needs = found.into_iter().map(|it| {
            let (said, answer) = (read(it.location), read(it.answer));
            let mut need = with_text(it, said.as_deref());
            if let (Some(settled), Some(answer)) = (&mut need.settled, answer) {
                settled.answer = Some(brief(&reveal(&answer.msg)));
            }
            need.whole = None;
            need
        });
        let needs = needs.collect();
        self.0 = used;
        needs
    }
}

/// The needs with their brief texts. May block on the disk.
pub fn briefly(log: &Log, found: Vec<FoundNeed>) -> Vec<Need> {
    Texts::default().complete(log, found)
}

/// A need with all that it says and what answers it. May block on the disk.
pub fn wholly(log: &Log, found: FoundNeed) -> Need {
    let read = |location: Option<Seq>| stored::at(log, location?);
    let (said, before) = (read(found.location), read(found.context));
    let answer = read(found.answer);
    let mut need = with_text(found, said.as_ref());
    if let (Some(settled), Some(answer)) = (&mut need.settled, answer) {
        settled.answer = Some(reveal(&answer.msg));
    }
    let whole = need.whole.get_or_insert_default();
    // A prompt is no word of the agent.
    let began = |it: &Notification| matches!(TurnMark::of(it), Some(TurnMark::Began { .. }));
    let before = before.filter(|it| !began(it));
    whole.context = before.as_ref().map(asked::words);
    if need.kind.asks() {
        whole.request = said.as_ref().and_then(request_of_approval);
        whole.controls = said.as_ref().map(controls).unwrap_or_default();
    } else if need.answerable {
        whole.controls = vec![Control::Reply];
    }
    need
}

/// A need with its kind, title and texts.
fn with_text(it: FoundNeed, said: Option<&Notification>) -> Need {
    let mut need = it.need;
    let mut is_whole = true;
    if let Some(said) = said {
        need.kind = kind_of(need.kind, asked::dialog_of(said));
        need.priority = said.priority;
        need.to.clone_from(&said.to);
        let by_rule = said
            .muted_by
            .as_ref()
            .map(|it| format!("muted by the rule {it}"));
        let by_person = need.silenced.take();
        let by_person = by_person.filter(|_| said.priority != Priority::Urgent);
        need.silenced = by_rule.or(by_person);
        let Asked { text, complete } = text_of(said, need.kind.asks());
        is_whole = complete;
        need.whole.get_or_insert_default().text = text;
    }
    let request = said.and_then(asked::request_of);
    need.title = match &it.untaken {
        Some(_) => NOT_TAKEN.into(),
        None if need.resume.is_some_and(|it| it.chosen) => GOES_ON.into(),
        None => title(need.kind, request.unwrap_or(&Value::Null)),
    };
    need.untaken = it.untaken.is_some();
    if let Some(why) = it.untaken {
        let whole = need.whole.get_or_insert_default();
        whole.text.insert_str(0, &why);
    }
    let text = need.whole.as_ref().map_or("", |it| &it.text);
    let words = said.map_or_else(|| line::of_text(text), line::of);
    need.line = [words, need.title.clone()]
        .into_iter()
        .find(|it| !it.is_empty())
        .unwrap_or_default();
    need.brief = brief(&reveal(text));
    need.complete = is_whole && need.brief == text;
    need.alert = alert(need.kind, need.priority);
    need.closable = !need.kind.asks();
    let is_muted = need.closable && need.silenced.as_deref() == Some(MUTED);
    let ends_itself = matches!(need.kind, NeedKind::Limit | NeedKind::Silent);
    need.counts = need.is_open() && !is_muted && !ends_itself;
    if let Some(said) = said.filter(|_| need.kind.asks() && need.answerable && need.complete) {
        need.quick = quick(&controls(said));
    }
    need
}

/// The content of a notification outside of the hub: a brief text, and the answers that may be given from it alone.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Preview {
    /// The text, at most [`BRIEF`] characters.
    pub brief: String,
    /// Whether `brief` is all of it.
    pub complete: bool,
    /// The answers.
    pub quick: Vec<Quick>,
}

impl Preview {
    /// The preview of a notification, whether it asks or not.
    pub fn of(said: &Notification) -> Self {
        let asks = matches!(said.kind, Kind::Question | Kind::Approval);
        let Asked { text, complete } = text_of(said, asks);
        let brief = brief(&reveal(&text));
        let complete = complete && brief == text;
        let quick = if asks && complete {
            quick(&controls(said))
        } else {
            Vec::new()
        };
        Self {
            brief,
            complete,
            quick,
        }
    }
}

/// The text of a notification; of one that asks, what an answer allows or settles.
fn text_of(said: &Notification, asks: bool) -> Asked {
    if asks {
        return asked::asked(said);
    }
    Asked {
        text: asked::titled_words(said),
        complete: true,
    }
}

/// The state of the preferences by which a need calls the person; `None` if it calls them whatever they have chosen.
pub fn alert(kind: NeedKind, priority: Priority) -> Option<Alert> {
    match kind {
        NeedKind::Urgent => None,
        _ if priority == Priority::Urgent && !kind.asks() => None,
        NeedKind::Turn => Some(Alert::YourTurn),
        NeedKind::Died | NeedKind::Error | NeedKind::Limit | NeedKind::Silent => {
            Some(Alert::Blocked)
        }
        _ => Some(Alert::NeedsYou),
    }
}

/// The answers that need nothing but a brief text that is whole: a decision on a permission, or one of a few options.
fn quick(controls: &[Control]) -> Vec<Quick> {
    let decision = |label: &str, decision| Quick {
        label: label.into(),
        answer: AnswerPost::new(Answer::Verdict(decision, None)),
    };
    let option = |offer: &Offer| Quick {
        label: reveal(&offer.label),
        answer: AnswerPost::new(Answer::Choices(vec![Chosen {
            labels: vec![offer.label.clone()],
            text: None,
        }])),
    };
    let fits = |offer: &Offer| offer.label.chars().count() <= MAX_LABEL;
    match controls {
        [
            Control::Verdict {
                allow: true,
                edits: false,
                ..
            },
        ] => vec![
            decision("Approve", Decision::Allow),
            decision("Deny", Decision::Deny),
        ],
        [Control::Choice(it)]
            if !it.many && it.options.len() <= MAX_OPTIONS && it.options.iter().all(fits) =>
        {
            it.options.iter().map(option).collect()
        }
        _ => Vec::new(),
    }
}

/// A question's kind, as its dialog says.
pub(crate) fn kind_of(kind: NeedKind, dialog: &Value) -> NeedKind {
    match (kind, dialog["tool_name"].as_str()) {
        (NeedKind::Question, Some(tool)) if PLANS.contains(&tool) => NeedKind::Plan,
        (NeedKind::Question, _) if dialog["requested_schema"].is_object() => NeedKind::Form,
        (kind, _) => kind,
    }
}

pub(crate) fn title(kind: NeedKind, request: &Value) -> String {
    match kind {
        NeedKind::Urgent => "has an urgent message".into(),
        NeedKind::Permission => asked::wish(request),
        NeedKind::Question => "asks".into(),
        NeedKind::Plan => "has a plan".into(),
        NeedKind::Form => "asks for details".into(),
        NeedKind::Died => "has died".into(),
        NeedKind::Error => "has an error".into(),
        NeedKind::Turn => "has stopped".into(),
        NeedKind::Limit => "cannot go on for now".into(),
        NeedKind::Silent => "has been silent".into(),
    }
}

/// The beginning of a text. The mark of a heading is for views that draw Markdown, which have the whole.
fn brief(text: &str) -> String {
    let text = line::without_mark(text);
    let end = text.match_indices('\n').nth(BRIEF_LINES - 1);
    let lines = end.map_or(text, |(end, _)| &text[..end]);
    if first_chars(lines, BRIEF).len() == text.len() {
        return text.to_owned();
    }
    format!("{}…", first_chars(lines, BRIEF - 1).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brief_text_is_the_whole_one_or_ends_with_an_ellipsis() {
        for whole in ["", "one", "a\nb\nc\nd", &"x".repeat(BRIEF)] {
            assert_eq!(brief(whole), whole);
        }
        assert_eq!(brief("a\nb\nc\n\ne"), "a\nb\nc…");
        assert_eq!(brief("# Plan: a\n\nb"), "Plan: a\n\nb");
        let long = brief(&"é".repeat(BRIEF + 1));
        assert_eq!((long.chars().count(), long.ends_with('…')), (BRIEF, true));
    }
}
