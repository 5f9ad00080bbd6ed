//! The service on macOS: an agent of launchd. The hub binds its sockets itself there.

use std::fmt::Write as _;

use super::{Place, Service, text, words};
use crate::error::Error;
use crate::identity::Context;

const AGENT: &str = include_str!("hubd.plist");

pub(super) fn service(place: &Place, context: &Context) -> Result<Service, Error> {
    let home = context.env.path("HOME");
    let home = home.ok_or_else(|| anyhow::anyhow!("HOME is not set"))?;
    let file = home.join("Library/LaunchAgents/hubd.plist");
    let log = place.state_dir.join("hubd.log");
    let mut arguments = String::new();
    for word in place.command()? {
        // Writing to a String cannot fail.
        let _ = writeln!(arguments, "\t\t<string>{}</string>", escaped(word));
    }
    let agent = AGENT.replace("@ARGUMENTS@", &arguments);
    let agent = agent.replace("@LOG@", &escaped(text(&log)?));
    let domain = format!("gui/{}", rustix::process::getuid().as_raw());
    let unload = words(&format!("launchctl bootout {domain}/hubd"));
    let load = ["launchctl", "bootstrap", &domain, text(&file)?];
    Ok(Service {
        start: vec![load.map(str::to_owned).into()],
        stop: vec![unload],
        is_used: Vec::new(),
        forget: Vec::new(),
        status: words(&format!("launchctl print {domain}/hubd")),
        logs: ["tail", text(&log)?].map(str::to_owned).into(),
        files: vec![(file, agent)],
        hint: "it runs while you are logged in",
    })
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
