//! `GET /dashboard`: all data that the dashboard needs for its first view, in one answer.

use std::collections::HashSet;

use axum::extract::State;
use axum::{Extension, Json};
use hub_core::asked::is_of_hook;
use hub_engine::follow;
use hub_protocol::{About, Device, HistoryPage, Need, Preferences, Seq, Sessions};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::to_raw_value;

use super::about::AboutState;
use super::sessions::{self, SessionListParams};
use super::{history, login, needs, preferences};
use crate::error::ApiError;
use crate::login::{DashboardSession, LoginState};
use crate::request::params::Params;

/// The needs that a page shows or loads ahead at first: `AHEAD` in `web/elements/hub-queue.js`.
const FIRST_NEEDS: usize = 3;
/// The most bytes of words that a row shows.
const MAX_ROW: usize = 300;

#[derive(Debug, Serialize)]
pub(super) struct Dashboard {
    hub: About,
    sessions: Sessions,
    needs: Vec<Need>,
    /// The first needs with all that they say.
    wholes: Vec<Need>,
    history: HistoryPage,
    preferences: Preferences,
    devices: Vec<Device>,
    tags: Tags,
}

/// Names of the contents of the lists that `GET /events` streams: a stream that is told them sends the lists only once
/// they have changed.
#[derive(Debug, Serialize)]
struct Tags {
    sessions: String,
    needs: String,
}

/// Reads the log's head first, so a client that applies the events from `EPOCH-HEAD` on misses nothing.
pub(super) async fn dashboard(
    State(state): State<AboutState>,
    State(login): State<LoginState>,
    session: Option<Extension<DashboardSession>>,
) -> Result<Json<Dashboard>, ApiError> {
    let about = state.about();
    let hub = || State(state.hub.clone());
    let sessions = sessions::list(hub(), Params(SessionListParams::default()));
    let sessions = sessions.await?.0;
    let (needs, wholes) = needs::with_first(&state.hub, FIRST_NEEDS).await?;
    let shown = sessions.sessions.iter().filter_map(|it| it.last);
    let mut history = history::newest(&state.hub).await?;
    leave_words_out(&mut history, &shown.collect());
    let tags = Tags {
        sessions: follow::tag(&sessions),
        needs: follow::tag(&needs),
    };
    Ok(Json(Dashboard {
        hub: about,
        devices: login::signed_in(&login, session.as_deref()),
        tags,
        sessions,
        wholes,
        needs,
        history,
        preferences: preferences::get(hub()).await?.0,
    }))
}

/// Leaves the whole words of agents out of the notifications that the first view shows only as a row: they would be most of it.
fn leave_words_out(page: &mut HistoryPage, shown: &HashSet<Seq>) {
    for json in &mut page.notifications {
        if !json.get().contains("\"said\"") {
            continue;
        }
        let Ok(mut notification) = serde_json::from_str::<Value>(json.get()) else {
            continue;
        };
        let is_shown = notification["id"]
            .as_u64()
            .is_some_and(|it| shown.contains(&it));
        let is_long = |it: &Value| it["said"].as_str().is_some_and(|it| it.len() > MAX_ROW);
        let data = notification.get_mut("data");
        let data = data.filter(|it| !is_shown && is_of_hook(it) && is_long(it));
        let data = data.and_then(Value::as_object_mut);
        let words = data.and_then(|it| it.shift_remove("said"));
        if words.is_some()
            && let Ok(shorter) = to_raw_value(&notification)
        {
            *json = shorter;
        }
    }
}
