//! `GET /dashboard`: all data that the dashboard needs for its first view, in one answer.

use axum::Json;
use axum::extract::State;
use hub_protocol::{About, HistoryPage, Need, Preferences, Questions, Sessions};
use serde::Serialize;

use super::about::AboutState;
use super::questions::{self, QuestionListParams};
use super::sessions::{self, SessionListParams};
use super::{history, needs, preferences};
use crate::http::error::ApiError;
use crate::http::request::params::Params;

#[derive(Debug, Serialize)]
pub(super) struct Dashboard {
    hub: About,
    sessions: Sessions,
    questions: Questions,
    needs: Vec<Need>,
    history: HistoryPage,
    preferences: Preferences,
}

/// Reads the log's head first, so a client that applies the events from `EPOCH-HEAD` on misses nothing.
pub(super) async fn dashboard(
    State(state): State<AboutState>,
) -> Result<Json<Dashboard>, ApiError> {
    let about = state.about();
    let hub = || State(state.hub.clone());
    Ok(Json(Dashboard {
        hub: about,
        sessions: sessions::list(hub(), Params(SessionListParams::default()))
            .await?
            .0,
        questions: questions::list(hub(), Params(QuestionListParams::default()))
            .await?
            .0,
        needs: needs::list(hub()).await?.0.needs,
        history: history::newest(&state.hub).await?,
        preferences: preferences::get(hub()).await?.0,
    }))
}
