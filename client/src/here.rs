//! What every command starts from: the surroundings, and the hub that they name.

use hub_protocol::{InboxName, ProjectName, Seq};
use serde::Deserialize;

use crate::env::{Env, Sourced};
use crate::error::Error;
use crate::hub::{Hub, Path, Request};
use crate::settings::{Place, Settings};

/// The surroundings of a command.
#[derive(Debug)]
pub(crate) struct Here {
    /// The environment.
    pub env: Env,
    /// Where the hub is.
    pub settings: Settings,
}

impl Here {
    /// The surroundings of this process.
    pub(crate) fn new(place: &Place) -> Result<Self, Error> {
        let env = Env::here();
        let settings = Settings::resolve(place, &env)?;
        Ok(Self { env, settings })
    }

    /// The hub.
    pub(crate) fn hub(&self) -> Result<Hub, Error> {
        Hub::open(&self.settings)
    }

    /// The project, by its rule.
    pub(crate) fn project(
        &self,
        given: Option<&ProjectName>,
    ) -> Result<Sourced<ProjectName>, Error> {
        crate::project::project(&self.env, given)
    }

    /// The inboxes to read, by their rule.
    pub(crate) fn inboxes(&self, given: &[InboxName]) -> Result<Sourced<Vec<InboxName>>, Error> {
        crate::sender::inboxes(&self.env, given)
    }
}

/// The newest notification's number, 0 if there is none: a place in the log that means "from now on".
pub(crate) async fn newest(hub: &Hub) -> Result<Seq, Error> {
    #[derive(Deserialize)]
    struct Page {
        notifications: Vec<Numbered>,
        #[serde(default)]
        next: Option<Seq>,
    }
    #[derive(Deserialize)]
    struct Numbered {
        id: Seq,
    }
    let mut before = None;
    loop {
        let path = Path::new("/notifications")
            .with("limit", 1)
            .maybe("before", before);
        let page: Page = hub.json(&Request::get(path)).await?;
        if let Some(newest) = page.notifications.first() {
            return Ok(newest.id);
        }
        // One answer looks at so many records and no more.
        match page.next {
            Some(next) => before = Some(next),
            None => return Ok(0),
        }
    }
}
