//! The context of every command: the environment and the settings.

use hub_protocol::{HistoryPage, InboxName, NotificationId, ProjectName, Seq};

use crate::error::Error;
use crate::hub::{Hub, Path, Request, parse};
use crate::settings::{HubLocation, Settings};
use crate::system::env::{Env, Sourced};

/// The context of a command.
#[derive(Debug)]
pub(crate) struct Context {
    /// The environment.
    pub env: Env,
    /// The settings for finding the hub.
    pub settings: Settings,
}

impl Context {
    /// Reads the environment of this process, and resolves the settings from it and the flags.
    pub(crate) fn new(location: &HubLocation) -> Result<Self, Error> {
        let env = Env::context();
        let settings = Settings::resolve(location, &env)?;
        Ok(Self { env, settings })
    }

    /// Opens the hub that the settings name.
    pub(crate) fn hub(&self) -> Result<Hub, Error> {
        Hub::open(&self.settings)
    }

    /// The project that the command concerns.
    pub(crate) async fn project(
        &self,
        given: Option<&ProjectName>,
    ) -> Result<Sourced<ProjectName>, Error> {
        crate::identity::project::project(self, given).await
    }

    /// The inboxes to read. Only if none are given is this process's session looked up.
    pub(crate) async fn inboxes(
        &self,
        given: &[InboxName],
    ) -> Result<Sourced<Vec<InboxName>>, Error> {
        let session = if given.is_empty() {
            crate::identity::sender::session(self).await?
        } else {
            None
        };
        Ok(crate::identity::sender::inboxes(
            &self.env,
            given,
            session.as_ref(),
        ))
    }
}

/// The id of the newest notification, or 0: the position in the log that means "from now on".
pub(crate) async fn newest(hub: &Hub) -> Result<Seq, Error> {
    let mut before = None;
    loop {
        let path = Path::new("/notifications")
            .with("limit", 1)
            .maybe("before", before);
        let page: HistoryPage = parse(&hub.text(&Request::get(path)).await?)?;
        if let Some(newest) = page.notifications.first() {
            return parse::<NotificationId>(newest.get()).map(|it| it.id);
        }
        // The hub searches only a limited number of records a request, so an empty page may have a next one.
        match page.next {
            Some(next) => before = Some(next),
            None => return Ok(0),
        }
    }
}
