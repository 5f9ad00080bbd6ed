//! Forwards: notifications are passed on to other services, such as an ntfy topic on the person's phone.
//!
//! Each forward reads the log from a position of its own, in a task of its own. The position is in the log too, and moves
//! only after the target has accepted a notification, so each is passed on at least once. A forward that starts for the
//! first time starts at the head. In a cluster, only the active hub forwards.

use std::sync::Arc;

use anyhow::Context as _;
use hub_config::state_dir::read_private;
use hub_config::{ForwardKind, ForwardSettings};
use hub_core::secret::{Secret, Token};
use hub_engine::Hub;
use hub_protocol::{ForwardInfo, Seq};
use tokio_util::sync::CancellationToken;

mod answers;
pub mod backoff;
mod buttons;
mod delivery;
mod filter;
mod message;
pub mod poster;
mod progress;

use delivery::Delivery;
use poster::Poster;
use progress::ForwardProgress;

/// The forwards of a hub; clones share them.
#[derive(Clone)]
pub struct Forwards(Arc<[Arc<Forward>]>);

/// One forward.
struct Forward {
    settings: ForwardSettings,
    /// The head of the log when the hub started.
    first: Seq,
    token: Option<Secret>,
    /// The key of its buttons.
    buttons: Token,
    poster: Poster,
    progress: ForwardProgress,
}

impl Forwards {
    /// Prepares the forwards of a hub whose log ends at `head`: reads their tokens, and the certificates of the system if a
    /// target needs them.
    pub fn open(all: &[ForwardSettings], head: Seq) -> anyhow::Result<Self> {
        if all.is_empty() {
            return Ok(Self(Arc::default()));
        }
        let poster = Poster::new(all.iter().any(|it| it.url.expose().starts_with("https:")))?;
        let open = |settings: &ForwardSettings| -> anyhow::Result<Arc<Forward>> {
            let token = token(settings)
                .with_context(|| format!("[[forward]] '{}': token_file", settings.name))?;
            Ok(Arc::new(Forward {
                settings: settings.clone(),
                first: head,
                token,
                buttons: Token::generate()?,
                poster: poster.clone(),
                progress: ForwardProgress::default(),
            }))
        };
        Ok(Self(all.iter().map(open).collect::<Result<_, _>>()?))
    }

    /// Forwards until `shutdown`.
    pub async fn run(self, hub: Hub, shutdown: CancellationToken) {
        let mut tasks = tokio::task::JoinSet::new();
        for forward in self.0.iter() {
            let delivery = Delivery::new(hub.clone(), Arc::clone(forward));
            tasks.spawn(delivery.run(shutdown.clone()));
            if forward.settings.reply_topic.is_some() {
                let forward = Arc::clone(forward);
                tasks.spawn(answers::read_all(hub.clone(), forward, shutdown.clone()));
            }
        }
        while tasks.join_next().await.is_some() {}
    }

    /// Describes the forwards; empty on a standby.
    pub fn info(&self, hub: &Hub) -> Vec<ForwardInfo> {
        if hub.is_standby() {
            return Vec::new();
        }
        let head = hub.log().head();
        let info = |forward: &Arc<Forward>| {
            let ForwardSettings { name, kind, .. } = &forward.settings;
            forward.progress.info(name, kind.as_str(), head)
        };
        self.0.iter().map(info).collect()
    }
}

impl Forward {
    fn name(&self) -> &str {
        &self.settings.name
    }

    /// The address to which a notification is posted.
    fn address(&self) -> String {
        let url = self.settings.url.expose();
        // An ntfy server takes JSON at its root.
        let end = if self.settings.kind == ForwardKind::Ntfy {
            "/"
        } else {
            ""
        };
        format!("{url}{end}")
    }
}

/// Reads the access token of a forward, if it has one.
fn token(settings: &ForwardSettings) -> anyhow::Result<Option<Secret>> {
    let Some(path) = &settings.token_file else {
        return Ok(settings.token.clone());
    };
    let text = read_private(path)?;
    let text = text.with_context(|| format!("{} does not exist", path.display()))?;
    let token = text.trim();
    anyhow::ensure!(
        !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()),
        "{} holds no access token (expected one line of printable ASCII)",
        path.display()
    );
    Ok(Some(token.into()))
}
