//! `/preferences`: what the person wants to be told, and when.

use axum::Json;
use axum::extract::State;
use hub_protocol::{Preferences, Quiet};

use super::ApiError;
use super::payload::Payload;
use crate::command::Command;
use crate::hub::Hub;

/// More is no choice that somebody made.
const MAX_MUTES: usize = 1000;
/// Bytes of JSON: they are one record, and go to every dashboard.
const MAX_BYTES: usize = 64 * 1024;

/// The preferences as they are.
pub(super) async fn get(State(hub): State<Hub>) -> Result<Json<Preferences>, ApiError> {
    let known = hub.query(|state, _| state.preferences().clone());
    Ok(Json(known.await?))
}

/// Replaces them.
pub(super) async fn put(
    State(hub): State<Hub>,
    payload: Payload,
) -> Result<Json<Preferences>, ApiError> {
    let mut wanted: Preferences = payload.json()?;
    check(&wanted)?;
    if let Some(quiet) = &mut wanted.quiet {
        check_quiet(quiet)?;
    }
    hub.submit(Command::SetPreferences(Box::new(wanted.clone())))
        .await?;
    Ok(Json(wanted))
}

fn check(wanted: &Preferences) -> Result<(), ApiError> {
    let bytes = serde_json::to_vec(wanted).map_or(usize::MAX, |json| json.len());
    if wanted.mutes.len() > MAX_MUTES || bytes > MAX_BYTES {
        return Err(ApiError::invalid(format!(
            "preferences have at most {MAX_MUTES} mutes and {MAX_BYTES} bytes of JSON"
        )));
    }
    Ok(())
}

/// Names the zone as the time zone database does, whatever its case.
fn check_quiet(quiet: &mut Quiet) -> Result<(), ApiError> {
    if quiet.from == quiet.to {
        return Err(ApiError::invalid(
            "quiet hours begin and end at the same time; to have none, give null",
        ));
    }
    let known = jiff::tz::TimeZone::get(quiet.zone.as_str());
    let known = known.ok().filter(|zone| !zone.is_unknown());
    let name = known.as_ref().and_then(|zone| zone.iana_name());
    let name = name.and_then(|name| name.parse().ok());
    quiet.zone = name.ok_or_else(|| ApiError::invalid(quiet.zone.unknown()))?;
    Ok(())
}
