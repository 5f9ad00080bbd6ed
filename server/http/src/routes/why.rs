//! `GET /why/{target}`: why a session was or was not woken, or a notification woke its readers or did not.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use hub_core::fold::{Inbox, SessionKey, State as Fold};
use hub_core::time::Now;
use hub_engine::why::{Explainer, Found};
use hub_engine::{Hub, needs};
use hub_log::journal::JournalError;
use hub_protocol::{InboxName, ProjectName, Reason, Seq, Why, WhyDetail, WhyItem};

use super::{history, stored, trace};
use crate::error::ApiError;
use crate::login::LoginState;
use crate::request::params::{Params, PathParam, ProjectParam};

mod past;

/// At most this many pending notifications are listed.
const MAX_ITEMS: usize = 500;

/// `GET /why/{target}`: a number is a notification; anything else is a session or an inbox.
pub(super) async fn why(
    State(hub): State<Hub>,
    State(login): State<LoginState>,
    PathParam(target): PathParam<InboxName>,
    Params(ProjectParam { project }): Params<ProjectParam>,
) -> Result<Json<Why>, ApiError> {
    let is_reached = hub.has_dashboard() || !login.devices.subscribers(Now::read()).is_empty();
    let why = match target.as_str().parse::<Seq>() {
        Ok(id) => of_notification(&hub, is_reached, id).await?,
        Err(_) => of_reader(&hub, is_reached, project, target).await?,
    };
    Ok(Json(why))
}

async fn of_notification(hub: &Hub, is_reached: bool, id: Seq) -> Result<Why, ApiError> {
    history::find(hub, id).await?;
    let now = Now::read();
    let found = hub.list(move |state, waiters| {
        let needs = needs::kinds(state, waiters);
        let waiters = waiters.read();
        let explainer = Explainer::new(state, &waiters, needs, is_reached, now);
        let places = state.inboxes.pending_in(id).into_iter();
        let found = places.filter_map(|place| {
            let item = state.inboxes.get(&place.0, &place.1)?.get(id)?;
            Some(explainer.find(&place, item))
        });
        found.collect::<Vec<_>>()
    });
    let found = found.await?;
    let log = Arc::clone(hub.log());
    let mut items = with_words(hub, found).await?;
    let scanned = stored::scan(move |allowance| trace::steps(&log, id, None, 0, allowance));
    let (steps, next) = scanned.await?;
    let why = hub.read(|state, _| {
        let ended = state.questions.get(id).and_then(past::ended);
        items.extend(past::settled(id, &steps, &items, ended.as_deref()));
        let line = |it: &WhyItem| item_line(state, it);
        let open = items.iter().filter(|it| is_open(it.reason));
        let first = open.clone().next().or(items.first());
        let mut details = past::lines(state, &steps);
        if next.is_some() {
            details.push(now_line(format!(
                "the log goes on: hubctl trace {id} reads all of it"
            )));
        }
        details.extend(open.map(|it| now_line(line(it))));
        Why {
            reason: first.map_or(Reason::Recorded, |it| it.reason),
            summary: first.map_or_else(|| past::recorded(id), line),
            more: 0,
            details,
            items: items.clone(),
        }
    });
    Ok(why?)
}

async fn of_reader(
    hub: &Hub,
    is_reached: bool,
    project: ProjectName,
    target: InboxName,
) -> Result<Why, ApiError> {
    let now = Now::read();
    let read = hub.list(move |state, waiters| {
        let (place, inboxes) = reader(state, &project, &target)?;
        let needs = needs::kinds(state, waiters);
        let waiters = waiters.read();
        let explainer = Explainer::new(state, &waiters, needs, is_reached, now);
        let mut items: Vec<_> = inboxes
            .iter()
            .flat_map(|inbox| {
                let pending = state.inboxes.get(&place.0, inbox).into_iter();
                pending.flat_map(Inbox::pending).map(move |it| (inbox, it))
            })
            .collect();
        items.sort_by_key(|(_, item)| (!item.wakes, item.priority, item.seq));
        let more = items.len().saturating_sub(MAX_ITEMS) as u64;
        let listed = items.into_iter().take(MAX_ITEMS);
        let found =
            listed.map(|(inbox, item)| explainer.find(&(place.0.clone(), inbox.clone()), item));
        let found: Vec<Found> = found.collect();
        let name = state.sessions.shown_name(&place.0, &place.1).to_owned();
        Ok::<_, ApiError>((found, more, explainer.present(&place), place, inboxes, name))
    });
    let (found, more, present, place, inboxes, name) = read.await??;
    let items = with_words(hub, found).await?;
    let log = Arc::clone(hub.log());
    let project = place.0.clone();
    let past = stored::scan(move |allowance| past::of_inboxes(&log, &project, &inboxes, allowance));
    let past = past.await?;
    let (reason, summary) = match items.first() {
        Some(first) => (
            first.reason,
            summary(&name, first, items.len() as u64 + more),
        ),
        None => past.last(&name),
    };
    let mut details = past.details;
    details.extend(present.into_iter().chain(counts(&items)).map(now_line));
    Ok(Why {
        summary,
        reason,
        items,
        more,
        details,
    })
}

/// The session or the inbox that `target` means, and the inboxes that it reads.
fn reader(
    state: &Fold,
    project: &ProjectName,
    target: &InboxName,
) -> Result<(SessionKey, Vec<InboxName>), ApiError> {
    let own = |key: &InboxName| ((project.clone(), key.clone()), vec![target.clone()]);
    match target.as_str() {
        InboxName::PERSON => return Ok(own(target)),
        InboxName::PRIMARY => return Ok(own(state.sessions.primary(project).unwrap_or(target))),
        _ => {}
    }
    match state.sessions.find(project, target) {
        Ok(place) => {
            let inboxes = state.sessions.inboxes_of(&place.0, &place.1);
            Ok((place, inboxes))
        }
        Err(_) if state.inboxes.get(project, target).is_some() => Ok(own(target)),
        Err(refusal) => Err(refusal.into()),
    }
}

/// The items, with the reasons that only the stored notifications give.
async fn with_words(hub: &Hub, found: Vec<Found>) -> Result<Vec<WhyItem>, ApiError> {
    let log = Arc::clone(hub.log());
    let complete = move |found: Found| match &found.words_at {
        Some(location) => {
            let event = log.get(*location)?;
            Ok(found.with_words(&event.and_then(|it| it.json()).unwrap_or_default()))
        }
        None => Ok::<_, JournalError>(found.item),
    };
    stored::blocking(move || found.into_iter().map(complete).collect()).await
}

/// Whether a reason is one of a wake that has not happened.
fn is_open(reason: Reason) -> bool {
    !matches!(
        reason,
        Reason::Woken | Reason::DeliveredByHook | Reason::Settled | Reason::Recorded
    )
}

fn summary(name: &str, first: &WhyItem, pending: u64) -> String {
    let others = match pending {
        1 => String::new(),
        more => format!(" ({} more pending)", more - 1),
    };
    format!("{name}: notification {}{others}: {}", first.id, first.text)
}

fn item_line(state: &Fold, item: &WhyItem) -> String {
    let to = item.inbox.as_ref();
    let shown = |it| state.sessions.shown_name(&item.project, it);
    let to = to.map_or("no inbox", shown);
    format!("notification {} to {to}: {}", item.id, item.text)
}

fn now_line(text: String) -> WhyDetail {
    WhyDetail { at: None, text }
}

/// How many notifications have each reason, the most frequent first.
fn counts(items: &[WhyItem]) -> Vec<String> {
    let mut by_text: BTreeMap<(Reason, &str), Vec<Seq>> = BTreeMap::new();
    for item in items {
        let same = by_text.entry((item.reason, &item.text)).or_default();
        same.push(item.id);
    }
    let mut all: Vec<_> = by_text.into_iter().collect();
    all.sort_by_key(|(_, ids)| std::cmp::Reverse(ids.len()));
    let line = |((reason, text), ids): ((Reason, &str), Vec<Seq>)| {
        let shown: Vec<String> = ids.iter().take(5).map(ToString::to_string).collect();
        let more = if ids.len() > 5 { ", …" } else { "" };
        format!(
            "{} pending ({}{more}): {}: {text}",
            ids.len(),
            shown.join(", "),
            reason.as_str()
        )
    };
    all.into_iter().map(line).collect()
}
