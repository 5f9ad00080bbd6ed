//! `/preferences`: the notifications that the person wants to see, and when.

use axum::Json;
use axum::extract::State;
use hub_core::command::Command;
use hub_engine::Hub;
use hub_protocol::{Preferences, Quiet};

use crate::error::ApiError;
use crate::request::caller::Caller;
use crate::request::payload::Payload;

/// No person makes this many choices by hand.
const MAX_MUTES: usize = 1000;
/// Largest preferences in bytes of JSON, because they are one record and every dashboard receives them.
const MAX_BYTES: usize = 64 * 1024;

/// Longest template of the editor's link, in bytes.
const MAX_EDITOR: usize = 300;
/// The schemes of editors. A link of another scheme could run code in the dashboard, or leave the machine.
const EDITOR_SCHEMES: [&str; 14] = [
    "vscode",
    "vscode-insiders",
    "vscodium",
    "cursor",
    "windsurf",
    "zed",
    "idea",
    "jetbrains",
    "subl",
    "txmt",
    "mvim",
    "emacs",
    "org-protocol",
    "nvim",
];

/// `GET /preferences`: the current preferences.
pub(super) async fn get(State(hub): State<Hub>) -> Result<Json<Preferences>, ApiError> {
    let known = hub.read(|state, _| state.preferences.clone());
    Ok(Json(known?))
}

/// `PUT /preferences`: replaces all preferences. An agent mutes nothing for the person.
pub(super) async fn put(
    State(hub): State<Hub>,
    caller: Caller,
    payload: Payload,
) -> Result<Json<Preferences>, ApiError> {
    caller.refuse_agents(&hub).await?;
    let mut wanted: Preferences = payload.json()?;
    check(&wanted)?;
    wanted.editor.as_deref().map_or(Ok(()), check_editor)?;
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

fn check_editor(template: &str) -> Result<(), ApiError> {
    let scheme = template.split_once(':').map(|(scheme, _)| scheme);
    let is_known = scheme.is_some_and(|it| EDITOR_SCHEMES.contains(&it));
    if is_known && template.contains("{path}") && template.len() <= MAX_EDITOR {
        return Ok(());
    }
    Err(ApiError::invalid(format!(
        "editor is a link with {{path}} of at most {MAX_EDITOR} bytes, and its scheme one of {}",
        EDITOR_SCHEMES.join(", ")
    )))
}

/// Checks the hours and normalizes the zone's name to the spelling of the time zone database.
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
