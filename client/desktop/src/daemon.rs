//! The notification daemon of the desktop, by the Desktop Notifications Specification 1.2 over D-Bus.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Context as _;
use futures_util::StreamExt as _;
use hub_protocol::{Alert, Priority, reveal};
use tokio::time::timeout;
use zbus::fdo::{DBusProxy, RequestNameFlags};
use zbus::names::WellKnownName;
use zbus::proxy::{CacheProperties, OwnerChangedStream, SignalStream};
use zbus::zvariant::Value;

use crate::desk::Card;
use crate::output::say;

/// The name on the bus that only one instance has.
const NAME: &str = "local.hub.desktop";
/// How long the daemon may take for a call.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the report of a failed action is shown, in milliseconds.
const REPORT: i32 = 10_000;

#[zbus::proxy(
    interface = "org.freedesktop.Notifications",
    default_service = "org.freedesktop.Notifications",
    default_path = "/org/freedesktop/Notifications",
    gen_blocking = false
)]
trait Notifications {
    fn get_capabilities(&self) -> zbus::Result<Vec<String>>;
    #[allow(clippy::too_many_arguments)] // the specification's signature
    fn notify(
        &self,
        app_name: &str,
        replaces_id: u32,
        app_icon: &str,
        summary: &str,
        body: &str,
        actions: &[&str],
        hints: HashMap<&str, Value<'_>>,
        expire_timeout: i32,
    ) -> zbus::Result<u32>;
    fn close_notification(&self, id: u32) -> zbus::Result<()>;
}

/// An event of the daemon.
#[derive(Debug)]
pub(crate) enum Signal {
    /// The person chose an action of a notification, by its tag and the key of the action.
    Chosen(String, String),
    /// The notification of a tag is no longer shown.
    Closed(String),
    /// A daemon has started: nothing is shown there yet.
    Started,
}

/// The daemon, and the notifications that it shows.
pub(crate) struct Daemon {
    proxy: NotificationsProxy<'static>,
    signals: SignalStream<'static>,
    owners: OwnerChangedStream<'static>,
    can_act: bool,
    has_markup: bool,
    /// The numbers of the notifications that are shown, by tag.
    numbers: HashMap<String, u32>,
    /// The tags of notifications that the daemon was asked to close, until it has done so: an action may be on its way.
    closing: HashMap<u32, String>,
}

/// The texts of a notification.
struct Shape {
    summary: String,
    body: String,
    actions: Vec<(String, String)>,
    icon: &'static str,
    urgency: u8,
    /// In milliseconds; 0 for never, -1 for what the daemon prefers.
    expires: i32,
}

impl Daemon {
    /// Connects to the session bus. An error if another instance runs there; a daemon need not run yet.
    pub(crate) async fn connect() -> anyhow::Result<Self> {
        let bus = zbus::Connection::session().await;
        let bus = bus.context("cannot connect to the session bus (DBUS_SESSION_BUS_ADDRESS)")?;
        be_alone(&bus).await?;
        let proxy = NotificationsProxy::builder(&bus);
        let proxy = proxy.cache_properties(CacheProperties::No).build().await?;
        let signals = proxy.inner().receive_all_signals().await?;
        let owners = proxy.inner().receive_owner_changed().await?;
        let mut daemon = Self {
            proxy,
            signals,
            owners,
            can_act: false,
            has_markup: false,
            numbers: HashMap::new(),
            closing: HashMap::new(),
        };
        daemon.read_capabilities().await;
        Ok(daemon)
    }

    /// Asks the daemon what it can do. Call it again for each daemon that has started.
    pub(crate) async fn read_capabilities(&mut self) {
        let known = timeout(PATIENCE, self.proxy.get_capabilities()).await;
        let known = known.unwrap_or_else(|_| Ok(Vec::new())).unwrap_or_default();
        let has = |name: &str| known.iter().any(|it| it == name);
        (self.can_act, self.has_markup) = (has("actions"), has("body-markup"));
    }

    /// Waits for the next signal that concerns this program. Dropping the future loses none.
    pub(crate) async fn next(&mut self) -> anyhow::Result<Signal> {
        loop {
            tokio::select! {
                // In order: a daemon closes a notification right after its action.
                signal = self.signals.next() => {
                    let message = signal.context("the session bus is gone")?;
                    if let Some(signal) = self.signal(&message) {
                        return Ok(signal);
                    }
                }
                owner = self.owners.next() => {
                    self.numbers.clear();
                    self.closing.clear();
                    if owner.context("the session bus is gone")?.is_some() {
                        return Ok(Signal::Started);
                    }
                }
            }
        }
    }

    fn signal(&mut self, message: &zbus::Message) -> Option<Signal> {
        let header = message.header();
        let body = message.body();
        match header.member()?.as_str() {
            "ActionInvoked" => {
                let (number, action) = body.deserialize::<(u32, String)>().ok()?;
                Some(Signal::Chosen(self.tag(number)?, action))
            }
            "NotificationClosed" => {
                let (number, _reason) = body.deserialize::<(u32, u32)>().ok()?;
                if self.closing.remove(&number).is_some() {
                    return None;
                }
                let tag = self.tag(number)?;
                self.numbers.remove(&tag);
                Some(Signal::Closed(tag))
            }
            _ => None,
        }
    }

    fn tag(&self, number: u32) -> Option<String> {
        let of = self.numbers.iter().find(|(_, known)| **known == number);
        of.map(|(tag, _)| tag)
            .or_else(|| self.closing.get(&number))
            .cloned()
    }

    /// Shows a card, in place of the one with this tag. Without a daemon, the next one gets it.
    pub(crate) async fn show(&mut self, tag: &str, card: &Card) {
        let replaces = self.numbers.get(tag).copied().unwrap_or(0);
        if let Some(number) = self.notify(replaces, Shape::of(card)).await {
            self.numbers.insert(tag.to_owned(), number);
        }
    }

    /// Shows for some seconds why an action failed.
    pub(crate) async fn report(&mut self, title: &str, text: &str) {
        let report = Shape {
            summary: title.to_owned(),
            body: text.to_owned(),
            actions: Vec::new(),
            icon: "dialog-warning",
            urgency: 1,
            expires: REPORT,
        };
        self.notify(0, report).await;
    }

    async fn notify(&self, replaces: u32, shape: Shape) -> Option<u32> {
        let body = reveal(&shape.body);
        let body = if self.has_markup {
            escaped(&body)
        } else {
            body
        };
        let actions = shape.actions.iter().filter(|_| self.can_act);
        let actions: Vec<&str> = actions
            .flat_map(|(key, label)| [key.as_str(), label])
            .collect();
        let hints = HashMap::from([
            ("urgency", Value::U8(shape.urgency)),
            ("suppress-sound", Value::Bool(true)),
        ]);
        let summary = reveal(&shape.summary);
        let call = self.proxy.notify(
            "hub",
            replaces,
            shape.icon,
            &summary,
            &body,
            &actions,
            hints,
            shape.expires,
        );
        match timeout(PATIENCE, call).await {
            Ok(Ok(number)) => Some(number),
            Ok(Err(error)) => {
                say(format_args!("a notification is not shown: {error}"));
                None
            }
            Err(_) => {
                say("a notification is not shown: the notification daemon does not answer");
                None
            }
        }
    }

    /// Closes the notification of a tag, if it is shown.
    pub(crate) async fn close(&mut self, tag: &str) {
        if let Some(number) = self.numbers.remove(tag) {
            self.closing.insert(number, tag.to_owned());
            // It may have been closed in between, which is an error for some daemons.
            let _ = timeout(PATIENCE, self.proxy.close_notification(number)).await;
        }
    }
}

/// Takes the name on the bus; an error if another instance has it.
async fn be_alone(bus: &zbus::Connection) -> anyhow::Result<()> {
    let name = WellKnownName::from_static_str(NAME)?;
    let taken = bus
        .request_name_with_flags(name.clone(), RequestNameFlags::DoNotQueue.into())
        .await;
    match taken {
        Ok(_) => Ok(()),
        Err(zbus::Error::NameTaken) => {
            let pid = DBusProxy::new(bus)
                .await?
                .get_connection_unix_process_id(name.into())
                .await;
            let pid = pid.map_or(String::new(), |pid| format!(" as process {pid}"));
            anyhow::bail!("hub-desktop runs already{pid}; one shows the notifications of a desktop")
        }
        Err(error) => Err(error.into()),
    }
}

impl Shape {
    fn of(card: &Card) -> Self {
        let open = |key: &str| (key.to_owned(), "Open".to_owned());
        let mut actions = vec![open("default")];
        let Some(need) = &card.need else {
            return Self {
                summary: card.title.clone(),
                body: String::new(),
                actions: [actions, vec![open("open")]].concat(),
                icon: "dialog-information",
                urgency: 1,
                expires: -1,
            };
        };
        let answers = need.quick.iter().enumerate();
        actions.extend(answers.map(|(at, it)| (format!("answer-{at}"), it.label.clone())));
        actions.push(open("open"));
        let body = match (need.title.as_str(), need.brief.as_str()) {
            ("asks", text) if !text.is_empty() => text.to_owned(),
            (verb, "") => verb.to_owned(),
            (verb, text) => format!("{verb}\n{text}"),
        };
        Self {
            summary: card.title.clone(),
            body,
            actions,
            icon: match need.alert {
                Some(Alert::NeedsYou) => "dialog-question",
                Some(Alert::YourTurn) => "dialog-information",
                Some(Alert::Blocked) | None => "dialog-warning",
            },
            urgency: if need.priority == Priority::Urgent {
                2
            } else {
                1
            },
            expires: if need.alert == Some(Alert::NeedsYou) {
                0
            } else {
                -1
            },
        }
    }
}

/// Text for a body that the daemon reads as markup.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
