//! `hubctl dashboard --devices` and `--revoke`: the browsers that are signed in.

use hub_protocol::{Device, Devices, PhoneAccess, Timestamp};
use reqwest::Method;

use crate::error::Error;
use crate::hub::{Hub, Path, Request, parse};
use crate::output::age::age;
use crate::output::table::table;
use crate::output::text::{json_line, line};
use crate::output::{print, println, say};

/// Prints the browsers that are signed in.
pub(super) async fn list(hub: &Hub, json: bool) -> Result<(), Error> {
    let answer = hub.text(&Request::get(Path::new("/login/devices"))).await?;
    if json {
        return println(json_line(&answer));
    }
    let Devices { devices } = parse(&answer)?;
    if devices.is_empty() {
        say("no browser is signed in");
    }
    let now = Timestamp::now();
    let row = |it: &Device| {
        [
            line(&it.id).into_owned(),
            line(&it.name).into_owned(),
            match it.access {
                None => "browser",
                Some(PhoneAccess::Answers) => "phone, answers",
                Some(PhoneAccess::Reads) => "phone, only reads",
            }
            .to_owned(),
            format!("signed in {} ago", age(it.created_at, now)),
            format!("last used {} ago", age(it.used_at, now)),
            format!("until {}", it.expires_at),
        ]
    };
    print(&table(&devices.iter().map(row).collect::<Vec<_>>()))
}

/// Signs out the browser `id`, or `all`.
pub(super) async fn revoke(hub: &Hub, id: &str, json: bool) -> Result<(), Error> {
    let path = Path::new("/login/devices").segment(id);
    let answer = hub.text(&Request::new(Method::DELETE, path)).await?;
    if json {
        return println(json_line(&answer));
    }
    println(format_args!("signed out: {id}"))
}
