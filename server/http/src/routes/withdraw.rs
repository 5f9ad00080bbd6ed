//! `DELETE /notifications`: withdraws notifications from every inbox.
//!
//! The person would no longer see them. So an agent withdraws for the person only what its own session has sent, and nobody
//! else what an agent's dialog shows.

use axum::Json;
use axum::extract::State;
use hub_core::command::Command;
use hub_core::fold::{Question, State as Fold};
use hub_engine::Hub;
use hub_engine::draft;
use hub_protocol::{InboxName, ProjectName, Seq, Withdrawn};
use serde::Deserialize;

use super::{history, refused};
use crate::error::ApiError;
use crate::request::caller::Caller;
use crate::request::evidence::Witness;
use crate::request::local::Origin;
use crate::request::params::{Params, PathParam};

#[derive(Debug, Deserialize)]
pub(super) struct KeyParams {
    #[serde(default)]
    project: ProjectName,
    key: String,
    from: Option<InboxName>,
}

/// `DELETE /notifications/{id}`: withdraws one notification from every inbox.
pub(super) async fn one(
    State(hub): State<Hub>,
    PathParam(id): PathParam<Seq>,
    (caller, witness): (Caller, Witness),
    origin: Origin,
) -> Result<Json<Withdrawn>, ApiError> {
    history::find(&hub, id).await?;
    demand_right(&hub, (caller, &witness), &origin, |_| vec![id]).await?;
    withdrawn(&hub, Command::Withdraw { ids: vec![id] }).await
}

/// `DELETE /notifications`: withdraws the pending notifications with a collapse key.
pub(super) async fn with_key(
    State(hub): State<Hub>,
    Params(KeyParams { project, key, from }): Params<KeyParams>,
    (caller, witness): (Caller, Witness),
    origin: Origin,
) -> Result<Json<Withdrawn>, ApiError> {
    draft::check_key(&key)?;
    let ids = |state: &Fold| {
        let is_it = |it: &Question| {
            let is_from = from.as_ref().is_none_or(|from| *from == it.from);
            it.project == project && is_from && it.key.as_ref() == Some(&key)
        };
        let asked = state.questions.open().filter(|(_, it)| is_it(it));
        let mut ids = state.inboxes.keyed(&project, from.as_ref(), &key);
        ids.extend(asked.map(|(id, _)| id));
        ids
    };
    demand_right(&hub, (caller, &witness), &origin, ids).await?;
    withdrawn(&hub, Command::WithdrawKey { project, from, key }).await
}

async fn withdrawn(hub: &Hub, command: Command) -> Result<Json<Withdrawn>, ApiError> {
    let withdrawn = hub.submit(command).await?.settled;
    Ok(Json(Withdrawn { withdrawn }))
}

/// Refuses those who may not take one of these from the person's sight.
async fn demand_right(
    hub: &Hub,
    (caller, witness): (Caller, &Witness),
    origin: &Origin,
    ids: impl FnOnce(&Fold) -> Vec<Seq>,
) -> Result<(), ApiError> {
    let (kept, shown) = hub.read(|state, _| {
        let (ids, sight) = (ids(state), Sight { state, origin });
        let kept = ids.iter().find(|id| sight.keeps(**id)).copied();
        let shown = ids.iter().find(|id| sight.shows(**id)).copied();
        (kept, shown)
    })?;
    refused::demand_person(hub, (caller, witness), kept).await?;
    if let Some(id) = shown {
        let allowed = caller.refuse_agents(hub).await;
        refused::withdraw(hub, witness, id, allowed).await?;
    }
    Ok(())
}

/// The notifications that the person sees, for a request of this origin.
pub(super) struct Sight<'a> {
    pub(super) state: &'a Fold,
    pub(super) origin: &'a Origin,
}

impl Sight<'_> {
    /// Whether it is an open question that only a person takes back: an agent's dialog, or what another session of this machine
    /// asks the person.
    pub(super) fn keeps(&self, id: Seq) -> bool {
        let is_others = |it: &Question| self.is_of(&it.project, &it.from) == Some(false);
        let is_kept =
            |it: &Question| it.is_kept_for_person() || it.is_for_person() && is_others(it);
        self.open(id).is_some_and(is_kept)
    }

    /// Whether it is a question or a message for the person that the request's own session has not sent.
    fn shows(&self, id: Seq) -> bool {
        let asked = self.open(id).filter(|it| it.is_for_person());
        let sent = || {
            let places = { &self.state.inboxes }.pending_in(id);
            let mut places = places.into_iter();
            let (project, name) = places.find(|(_, name)| name.as_str() == InboxName::PERSON)?;
            let item = self.state.inboxes.get(&project, &name)?.get(id)?;
            Some((project, item.from.clone()))
        };
        let sender = asked.map(|it| (it.project.clone(), it.from.clone()));
        let sender = sender.or_else(sent);
        sender.is_some_and(|(project, from)| self.is_of(&project, &from) != Some(true))
    }

    fn open(&self, id: Seq) -> Option<&Question> {
        let question = self.state.questions.get(id);
        question.filter(|it| !it.state.is_final())
    }

    fn is_of(&self, project: &ProjectName, sender: &InboxName) -> Option<bool> {
        let session = self.state.sessions.with_name(project, sender)?;
        self.origin.runs(session)
    }
}
