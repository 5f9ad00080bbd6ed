//! Checks whether this session and the primary would be woken.

use hub_protocol::{InboxName, ProjectName, Session};

use super::finding::Finding;
use crate::api::session::{display_name, primary, session, waiter};
use crate::commands::inboxes;
use crate::error::Error;
use crate::hub::Hub;
use crate::identity::Context;
use crate::identity::sender;

pub(super) async fn check(
    context: &Context,
    hub: &Hub,
    project: &ProjectName,
) -> Result<Vec<Finding>, Error> {
    let mut found = Vec::new();
    if let Some(own) = sender::session(context).await? {
        found.push(own_session(hub, &own.value, project).await?);
    }
    found.push(primary_session(hub, project).await?);
    for inbox in inboxes::read(&inboxes::fetch(hub, Some(project)).await?)? {
        let held = inboxes::held(&inbox);
        found.extend(held.map(|held| {
            Finding::warn(
                format!("inbox {}: {held}", inbox.name),
                "they are delivered with the next wake; `hubctl trace ID` names the limit, and hubd's settings \
                 wake.per_sender_per_minute and wake.per_hour change it",
            )
        }));
    }
    Ok(found)
}

async fn own_session(hub: &Hub, own: &InboxName, project: &ProjectName) -> Result<Finding, Error> {
    match session(hub, own, project).await {
        Ok(session) => Ok(woken("this session", &session)),
        Err(Error::Refused(problem)) if problem.code == "unknown_session" => Ok(Finding::warn(
            format!("the hub does not know this session, {own}"),
            "if its agent's hooks are installed, restart it; without hooks, `hubctl wait` still works",
        )),
        Err(error) => Err(error),
    }
}

async fn primary_session(hub: &Hub, project: &ProjectName) -> Result<Finding, Error> {
    if let Some((session, _)) = primary(hub, project).await? {
        return Ok(woken("the primary", &session));
    }
    let known = inboxes::read(&inboxes::fetch(hub, Some(project)).await?)?;
    let waits = known
        .iter()
        .any(|it| it.name.as_str() == InboxName::PRIMARY && it.waiter.is_some());
    if waits {
        return Ok(Finding::ok(format!(
            "a waiter is connected to the inbox primary of {project}"
        )));
    }
    Ok(Finding::warn(
        format!("no session is the primary of {project}, and no waiter is connected to its inbox"),
        "hubctl primary --take NAME, or hubctl wait outside any agent",
    ))
}

/// The finding about the waiter of a session.
fn woken(which: &str, session: &Session) -> Finding {
    let who = display_name(session);
    if let Some(why) = &session.unreachable {
        let todo = "type a prompt in its terminal; then hubctl wake-test";
        return Finding::warn(format!("the hub cannot wake {which}, {who}: {why}"), todo);
    }
    match waiter(session) {
        "none" => Finding::warn(
            format!("nothing wakes {which}, {who}"),
            "Claude Code: hubctl hooks install claude, then restart it; others: run `hubctl wait` in its background; \
             then hubctl wake-test",
        ),
        way => Finding::ok(format!("{which}, {who}, has a waiter ({way})")),
    }
}
