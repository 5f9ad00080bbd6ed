//! A private session bus, and a notification daemon on it.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use hub_harness::DEADLINE;
use tokio::sync::watch;
use zbus::object_server::SignalEmitter;
use zbus::zvariant::OwnedValue;

const PATH: &str = "/org/freedesktop/Notifications";
const NAME: &str = "org.freedesktop.Notifications";

/// A session bus that starts no service; killed when dropped.
pub(crate) struct Bus {
    process: Child,
    pub(crate) address: String,
}

impl Bus {
    /// Starts a bus with its socket in `dir`.
    pub(crate) fn start(dir: &Path) -> Self {
        let config = dir.join("bus.conf");
        let allow = "<allow send_destination=\"*\" eavesdrop=\"true\"/><allow eavesdrop=\"true\"/><allow own=\"*\"/>";
        let rules = format!("<policy context=\"default\">{allow}</policy>");
        let text = format!(
            "<busconfig><type>session</type><listen>unix:dir={}</listen>{rules}</busconfig>",
            dir.display()
        );
        std::fs::write(&config, text).expect("a file");
        let mut process = Command::new("dbus-daemon")
            .arg("--config-file")
            .arg(config)
            .args(["--nofork", "--print-address"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("dbus-daemon starts: install the package dbus");
        let mut address = String::new();
        let stdout = process.stdout.take().expect("a pipe");
        BufReader::new(stdout)
            .read_line(&mut address)
            .expect("its address");
        let address = address.trim().to_owned();
        Self { process, address }
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A notification as it was sent to the daemon.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Note {
    pub(crate) id: u32,
    pub(crate) title: String,
    pub(crate) body: String,
    /// The keys and labels of its buttons.
    pub(crate) actions: Vec<(String, String)>,
    pub(crate) urgency: u8,
    pub(crate) expires: i32,
}

impl Note {
    /// The labels of the buttons, without the default action.
    pub(crate) fn buttons(&self) -> Vec<&str> {
        let buttons = self.actions.iter().filter(|(key, _)| key != "default");
        buttons.map(|(_, label)| label.as_str()).collect()
    }
}

/// The notifications that a daemon shows, and how often it was asked to show something.
#[derive(Debug, Clone, Default)]
pub(crate) struct Screen {
    pub(crate) notes: Vec<Note>,
    pub(crate) calls: usize,
}

impl Screen {
    pub(crate) fn titles(&self) -> Vec<&str> {
        self.notes.iter().map(|it| it.title.as_str()).collect()
    }
}

/// A running notification daemon.
pub(crate) struct Daemon {
    bus: zbus::Connection,
    screen: watch::Receiver<Screen>,
}

struct Server {
    screen: watch::Sender<Screen>,
    capabilities: Vec<String>,
}

impl Daemon {
    /// Starts a daemon with these capabilities.
    pub(crate) async fn start(address: &str, capabilities: &[&str]) -> Self {
        let (screen, shown) = watch::channel(Screen::default());
        let capabilities = capabilities.iter().map(|&it| it.to_owned()).collect();
        let server = Server {
            screen,
            capabilities,
        };
        let bus = zbus::connection::Builder::address(address).expect("an address");
        let bus = bus
            .serve_at(PATH, server)
            .expect("a path")
            .name(NAME)
            .expect("a name");
        let bus = bus.build().await.expect("the bus");
        Self { bus, screen: shown }
    }

    /// Ends the daemon; the bus notices it.
    pub(crate) async fn stop(&self) {
        self.bus.clone().close().await.expect("it is open");
    }

    /// Returns what is shown now.
    pub(crate) fn screen(&self) -> Screen {
        self.screen.borrow().clone()
    }

    /// Waits until `wanted` accepts what is shown; panics with the content.
    pub(crate) async fn until(
        &mut self,
        what: &str,
        wanted: impl FnMut(&Screen) -> bool,
    ) -> Screen {
        let found = tokio::time::timeout(DEADLINE, self.screen.wait_for(wanted)).await;
        let found = found.map(|it| it.expect("the daemon runs").clone());
        found.unwrap_or_else(|_| panic!("still waiting until {what}: {:#?}", self.screen()))
    }

    /// Waits until exactly these titles are shown, in any order; returns their notifications in this order.
    pub(crate) async fn shows(&mut self, titles: &[&str]) -> Vec<Note> {
        let sorted = |mut titles: Vec<&str>| {
            titles.sort_unstable();
            titles.join(", ")
        };
        let wanted = sorted(titles.to_vec());
        let what = format!("exactly these are shown: {wanted}");
        let screen = self
            .until(&what, |screen| sorted(screen.titles()) == wanted)
            .await;
        let of = |title: &&str| screen.notes.iter().find(|it| it.title == **title).cloned();
        titles.iter().filter_map(of).collect()
    }

    /// Waits until one notification is shown.
    pub(crate) async fn one(&mut self) -> Note {
        let screen = self
            .until("one is shown", |screen| screen.notes.len() == 1)
            .await;
        screen.notes[0].clone()
    }

    /// Presses the button with this label, as a person does: the notification is gone then.
    pub(crate) async fn press(&self, note: &Note, label: &str) {
        let action = note
            .actions
            .iter()
            .find(|(key, text)| text == label && key != "default");
        let (key, _) = action.unwrap_or_else(|| panic!("no button {label}: {note:?}"));
        self.choose(note, key).await;
    }

    /// Clicks the notification itself.
    pub(crate) async fn click(&self, note: &Note) {
        self.choose(note, "default").await;
    }

    async fn choose(&self, note: &Note, key: &str) {
        let server = self.bus.object_server();
        let server = server
            .interface::<_, Server>(PATH)
            .await
            .expect("the daemon");
        let emitter = server.signal_emitter();
        Server::action_invoked(emitter, note.id, key)
            .await
            .expect("the bus");
        self.dismiss(note).await;
    }

    /// Closes the notification as a person does.
    pub(crate) async fn dismiss(&self, note: &Note) {
        let server = self.bus.object_server();
        let server = server
            .interface::<_, Server>(PATH)
            .await
            .expect("the daemon");
        server.get().await.remove(note.id);
        Server::notification_closed(server.signal_emitter(), note.id, 2)
            .await
            .expect("the bus");
    }
}

impl Server {
    fn remove(&self, id: u32) {
        self.screen
            .send_modify(|screen| screen.notes.retain(|it| it.id != id));
    }
}

#[zbus::interface(name = "org.freedesktop.Notifications")]
impl Server {
    fn get_capabilities(&self) -> Vec<String> {
        self.capabilities.clone()
    }

    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // the specification's signature
    fn notify(
        &self,
        app_name: &str,
        replaces_id: u32,
        app_icon: &str,
        summary: &str,
        body: &str,
        actions: Vec<String>,
        hints: HashMap<String, OwnedValue>,
        expire_timeout: i32,
    ) -> u32 {
        assert!(app_name == "hub" && app_icon.starts_with("dialog-"));
        let mut id = replaces_id;
        self.screen.send_modify(|screen| {
            screen.calls += 1;
            let old = screen.notes.iter().position(|it| it.id == id);
            if old.is_none() {
                id = u32::try_from(screen.calls).expect("few");
            }
            let note = Note {
                id,
                title: summary.to_owned(),
                body: body.to_owned(),
                actions: actions
                    .chunks(2)
                    .map(|it| (it[0].clone(), it[1].clone()))
                    .collect(),
                urgency: hints["urgency"].downcast_ref::<u8>().expect("a byte"),
                expires: expire_timeout,
            };
            match old {
                Some(at) => screen.notes[at] = note,
                None => screen.notes.push(note),
            }
        });
        id
    }

    async fn close_notification(
        &self,
        id: u32,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) -> zbus::fdo::Result<()> {
        self.remove(id);
        Ok(Self::notification_closed(&emitter, id, 3).await?)
    }

    #[zbus(signal)]
    async fn action_invoked(emitter: &SignalEmitter<'_>, id: u32, key: &str) -> zbus::Result<()>;

    #[zbus(signal)]
    async fn notification_closed(
        emitter: &SignalEmitter<'_>,
        id: u32,
        reason: u32,
    ) -> zbus::Result<()>;
}
