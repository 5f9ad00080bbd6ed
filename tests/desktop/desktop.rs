//! A desktop for each test: a hub, a bus with a daemon, and `hub-desktop`.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use hub_harness::{Client, Hub, binary, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::daemon::{Bus, Daemon};

/// The capabilities of most daemons.
pub(crate) const USUAL: [&str; 3] = ["actions", "body", "body-markup"];

/// The parts of a desktop. Dropping it ends all of them.
pub(crate) struct Desktop {
    // Drop order matters: the program first, or it reports that the others are gone.
    pub(crate) program: Program,
    pub(crate) hub: Hub,
    pub(crate) bus: Bus,
    pub(crate) daemon: Daemon,
    pub(crate) client: Client,
}

/// A running `hub-desktop`; killed when dropped.
pub(crate) struct Program(Child);

impl Desktop {
    /// Starts a desktop whose person has these preferences.
    pub(crate) async fn with(preferences: Value) -> Self {
        Self::on(Hub::builder().memory().start(), preferences, &USUAL).await
    }

    /// Starts a desktop with the preferences of a new hub.
    pub(crate) async fn new() -> Self {
        Self::with(json!({})).await
    }

    /// Starts a desktop of this hub, whose daemon has these capabilities.
    pub(crate) async fn on(hub: Hub, preferences: Value, capabilities: &[&str]) -> Self {
        let bus = Bus::start(hub.scratch());
        let daemon = Daemon::start(&bus.address, capabilities).await;
        let client = hub.client();
        client
            .put_json("/preferences", preferences)
            .await
            .expect(200);
        let program = Program::start(&hub, &bus);
        let desktop = Self {
            program,
            hub,
            bus,
            daemon,
            client,
        };
        desktop.reads().await;
        desktop
    }

    /// Waits until the program reads the hub's stream.
    pub(crate) async fn reads(&self) {
        loop {
            let metrics = self.client.get("/metrics").await.expect(200).text();
            let count = metrics
                .lines()
                .find_map(|it| it.split_once("streams ").filter(|_| !it.starts_with('#')));
            if count.is_some_and(|(_, count)| count.trim() != "0") {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    /// Asks a question of the person; returns its id.
    pub(crate) async fn ask(&self, from: &str, msg: &str) -> u64 {
        let ask = json!({ "from": from, "type": "question", "msg": msg });
        self.client.notify(ask).await
    }

    /// Ends the program with SIGTERM, and starts it again after `between`.
    pub(crate) async fn restart_program(&mut self, between: impl AsyncFnOnce(&mut Self)) {
        self.program.end();
        between(self).await;
        self.program = Program::start(&self.hub, &self.bus);
    }
}

impl Program {
    fn start(hub: &Hub, bus: &Bus) -> Self {
        Self(command(hub, bus).spawn().expect("hub-desktop starts"))
    }

    /// Starts `hub-desktop` as the last argument of another command, which ends with it.
    pub(crate) fn under(mut command: Command, hub: &Hub, bus: &Bus) -> Self {
        let own = self::command(hub, bus);
        let set = own
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?)));
        command.env_clear().envs(set).arg(own.get_program());
        Self(command.spawn().expect("it starts"))
    }

    /// Sends SIGTERM, and waits for the end.
    pub(crate) fn end(&mut self) {
        kill_process(Pid::from_child(&self.0), Signal::TERM).expect("it runs");
        assert!(self.0.wait().expect("a child").success());
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The command `hub-desktop` in the environment of a graphical session with a fake browser.
pub(crate) fn command(hub: &Hub, bus: &Bus) -> Command {
    let bin = hub.scratch().join("bin");
    std::fs::create_dir_all(&bin).expect("a directory");
    let note = note(hub);
    let script = format!(
        "#!/bin/sh\nprintf %s \"$1\" >{0}.new\nmv {0}.new {0}\n",
        note.display()
    );
    let browser = bin.join("xdg-open");
    if !browser.exists() {
        // Another process writes it: a file that a forked child has open for writing cannot be executed.
        let mut install = Command::new("install")
            .args(["-m", "755", "/dev/stdin"])
            .arg(&browser)
            .stdin(Stdio::piped())
            .spawn()
            .expect("coreutils");
        std::io::Write::write_all(
            &mut install.stdin.take().expect("a pipe"),
            script.as_bytes(),
        )
        .expect("it reads");
        assert!(install.wait().expect("a child").success());
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(env!("CARGO_BIN_EXE_hub-desktop"));
    command
        .env_clear()
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("HOME", hub.scratch())
        .env("DISPLAY", ":0")
        .env("DBUS_SESSION_BUS_ADDRESS", &bus.address)
        .env("HUB_STATE_DIR", hub.state_dir())
        .stdin(Stdio::null());
    // `hubctl dashboard` runs beside the program.
    assert!(binary("hubctl").is_file());
    command
}

/// Runs a second program to its end.
pub(crate) fn second(hub: &Hub, bus: &Bus) -> Output {
    command(hub, bus).output().expect("hub-desktop starts")
}

fn note(hub: &Hub) -> PathBuf {
    hub.scratch().join("opened")
}

/// Waits for the browser; returns the address to which its page redirects.
pub(crate) fn browser(hub: &Hub) -> String {
    let page = until("a browser is opened", || {
        std::fs::read_to_string(note(hub)).ok()
    });
    let page = std::fs::read_to_string(page).expect("a page");
    let (_, url) = page.split_once("0;url=").expect("a link");
    url.split('"').next().expect("its end").to_owned()
}
