//! The past in the log: how a notification was delivered, and how a session was last woken.

use std::collections::BTreeMap;

use hub_core::fold::{Question, State as Fold};
use hub_core::record::{Record, SettleReason, Turn, TurnCause, kinds};
use hub_log::journal::JournalError;
use hub_log::{CHUNK_BYTES, Log};
use hub_protocol::{InboxName, ProjectName, Reason, Seq, Step, Timestamp, Way, WhyDetail, WhyItem};

use crate::budget::Allowance;

/// How many of the last records are searched for the past of a session.
const RECENT: u64 = 50_000;
/// How many lines of a session's past are shown.
const LINES: usize = 12;

/// The past of a session.
#[derive(Default)]
pub(super) struct Past {
    pub(super) details: Vec<WhyDetail>,
    /// The last delivery.
    last: Option<(Reason, String)>,
}

impl Past {
    /// The reason and the summary of a session for which nothing is pending.
    pub(super) fn last(&self, name: &str) -> (Reason, String) {
        if let Some((reason, text)) = &self.last {
            return (*reason, format!("{name}: nothing is pending; {text}"));
        }
        let text = format!("{name}: nothing is pending, and nothing was delivered lately");
        (Reason::NothingPending, text)
    }

    fn push(&mut self, at: Timestamp, text: String) {
        if self.details.len() == LINES {
            self.details.remove(0);
        }
        self.details.push(WhyDetail { at: Some(at), text });
    }

    fn take(&mut self, record: &Record, is_of: impl Fn(&ProjectName, &InboxName) -> bool) {
        match record {
            Record::Emitted(it) if is_of(&it.project, &it.inbox) => {
                let reason = by_way(it.way);
                let how = match reason {
                    Reason::Woken => "it was woken by",
                    _ => "the answer to a hook carried",
                };
                let text = format!("{how} notification {} ({})", ids(&it.ids), it.way.as_str());
                self.last = Some((reason, format!("{text} at {}", it.at)));
                self.push(it.at, text);
            }
            Record::Settled(it) if it.how == SettleReason::Acked => {
                let here = it
                    .inbox
                    .as_ref()
                    .is_some_and(|(project, inbox)| is_of(project, inbox));
                let by = it.by.as_deref().unwrap_or("a reader");
                if here && by != "resumed" {
                    let text = format!("{by} acknowledged notification {}", ids(&it.ids));
                    self.last = Some((Reason::Settled, format!("{text} at {}", it.at)));
                    self.push(it.at, text);
                }
            }
            Record::Returned(it) if is_of(&it.project, &it.inbox) => {
                let why = it
                    .why
                    .as_deref()
                    .unwrap_or("no hook event proved that it arrived");
                self.push(
                    it.at,
                    format!("notification {} was offered again: {why}", ids(&it.ids)),
                );
            }
            Record::TurnNoted(it) if is_of(&it.project, &it.session) => {
                let text = match &it.turn {
                    Turn::Began {
                        by: TurnCause::Wake,
                        ..
                    } => "a wake by the hub began a turn",
                    Turn::Began { .. } => "a turn began",
                    Turn::Attributed { .. } => "another session had sent the prompt",
                    Turn::Stopped { .. } => "the turn stopped",
                    Turn::Failed { .. } => "the agent's model failed",
                    Turn::Resumes { on: true } => "the person let it go on after its limit",
                    Turn::Resumes { on: false } => {
                        "the hub no longer waits for the end of its limit"
                    }
                };
                self.push(it.at, text.into());
            }
            _ => {}
        }
    }
}

/// Reads the last records about these inboxes of one project.
pub(super) fn of_inboxes(
    log: &Log,
    project: &ProjectName,
    inboxes: &[InboxName],
    allowance: &Allowance,
) -> Result<Past, JournalError> {
    const KINDS: [u8; 4] = [
        kinds::EMITTED,
        kinds::SETTLED,
        kinds::RETURNED,
        kinds::TURN_NOTED,
    ];
    let mut past = Past::default();
    let head = log.head();
    let mut cursor = head.saturating_sub(RECENT).max(log.earliest() - 1);
    while cursor < head {
        allowance.go_on()?;
        let events = log.read(cursor, CHUNK_BYTES)?;
        let Some(last) = events.last() else { break };
        cursor = last.seq();
        let relevant = events.iter().filter(|it| KINDS.contains(&it.kind()));
        for record in relevant.filter_map(|it| it.record()) {
            past.take(record, |of, inbox| of == project && inboxes.contains(inbox));
        }
    }
    Ok(past)
}

/// The inboxes in which a notification is no longer pending, each with its reason.
/// `ended` is how a question ended without an answer that counts.
pub(super) fn settled(
    id: Seq,
    steps: &[Step],
    pending: &[WhyItem],
    ended: Option<&str>,
) -> Vec<WhyItem> {
    let mut places: BTreeMap<&InboxName, &ProjectName> = BTreeMap::new();
    for step in steps {
        if let (Some(inbox), Some(project)) = (&step.inbox, &step.project) {
            places.insert(inbox, project);
        }
    }
    let is_pending = |inbox: &InboxName| pending.iter().any(|it| it.inbox.as_ref() == Some(inbox));
    let gone = places.into_iter().filter(|(inbox, _)| !is_pending(inbox));
    let item = |(inbox, project): (&InboxName, &ProjectName)| {
        let (reason, text) = end(steps, inbox, ended);
        WhyItem {
            id,
            project: project.clone(),
            inbox: Some(inbox.clone()),
            reason,
            text,
            until: None,
            by: None,
            ways: Vec::new(),
        }
    };
    gone.map(item).collect()
}

/// How a question ended without an answer that counts, and when.
pub(super) fn ended(question: &Question) -> Option<String> {
    let (state, by) = (question.state, question.by.as_deref());
    let word = state.ended(by)?;
    let by = by.filter(|_| !state.is_by_terminal(by));
    let by = by.map_or(String::new(), |by| format!(" by {by}"));
    let at = question.settled_at;
    let at = at.map_or(String::new(), |at| format!(" at {at}"));
    Some(format!("{word}{by}{at}"))
}

/// How a notification stopped being pending in an inbox.
fn end(steps: &[Step], inbox: &InboxName, ended: Option<&str>) -> (Reason, String) {
    let here = steps
        .iter()
        .filter(|it| it.inbox.as_ref().is_none_or(|it| it == inbox));
    let mut shown: Option<&Step> = None;
    let mut end: Option<&Step> = None;
    for step in here {
        match &*step.state {
            // The first way counts: a hook delivers what a wake announced.
            "emitted" => shown = shown.or(Some(step)),
            "returned" => shown = None,
            "acked" | "expired" | "evicted" | "superseded" | "withdrawn" | "dropped"
            | "answered" => end = Some(step),
            _ => {}
        }
    }
    let at = |it: &Step| it.at.map_or(String::new(), |at| format!(" at {at}"));
    let by = |it: &Step| {
        it.by
            .as_ref()
            .map_or(String::new(), |by| format!(" by {by}"))
    };
    match (end, shown) {
        (Some(end), Some(shown)) if end.state == "acked" => {
            let way = shown.way.unwrap_or(Way::Hook);
            let text = match by_way(way) {
                Reason::Woken => format!("it woke the session{} ({})", at(shown), way.as_str()),
                _ => format!(
                    "the answer to a hook of a running turn delivered it{}",
                    at(shown)
                ),
            };
            (by_way(way), text)
        }
        (Some(end), _) => {
            // An answer may turn out not to count.
            let ended = ended.filter(|_| matches!(&*end.state, "answered" | "withdrawn"));
            let text = || format!("{}{}{}", end.state, by(end), at(end));
            (Reason::Settled, ended.map_or_else(text, str::to_owned))
        }
        (None, _) => (Reason::Settled, "it is no longer pending".into()),
    }
}

/// The steps as lines, in the order of time.
pub(super) fn lines(state: &Fold, steps: &[Step]) -> Vec<WhyDetail> {
    let line = |step: &Step| {
        let place = step.project.as_ref().zip(step.inbox.as_ref());
        let place = place
            .map(|(project, inbox)| format!(" in {}", state.sessions.shown_name(project, inbox)));
        let by = step.by.as_ref().map(|by| format!(" by {by}"));
        let way = step.way.map(|way| format!(" ({})", way.as_str()));
        let whys = [&step.rides_along, &step.why].into_iter().flatten();
        let parts = [place, by, way].into_iter().flatten();
        let parts = parts.chain(whys.map(|why| format!(": {why}")));
        let text = [step.state.to_string()].into_iter().chain(parts).collect();
        WhyDetail { at: step.at, text }
    };
    steps.iter().map(line).collect()
}

/// The summary of a notification that went to no inbox.
pub(super) fn recorded(id: Seq) -> String {
    format!("notification {id} went to no inbox: it is only recorded")
}

fn by_way(way: Way) -> Reason {
    match way {
        Way::Hook => Reason::DeliveredByHook,
        _ => Reason::Woken,
    }
}

fn ids(ids: &[Seq]) -> String {
    let shown: Vec<String> = ids.iter().take(5).map(ToString::to_string).collect();
    let more = if ids.len() > 5 { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}
