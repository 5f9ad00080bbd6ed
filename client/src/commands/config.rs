//! `hubctl config`: prints each setting and its source.

use hub_protocol::InboxName;
use serde_json::{Map, json};

use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::SOON;
use crate::identity::Context;
use crate::identity::sender::{inboxes, sender, session};
use crate::output::println;
use crate::output::text::{json_line, line};
use crate::settings::Address;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hubctl config
  HUB_PROJECT=app hubctl config --json")]
/// The arguments of `hubctl config`.
pub(crate) struct ConfigArgs {
    /// Print the settings as JSON
    #[arg(long)]
    json: bool,
}

struct Setting {
    name: &'static str,
    value: String,
    source: &'static str,
}

pub(crate) async fn run(args: &ConfigArgs, context: &Context) -> Result<Exit, Error> {
    let settings = collect(context).await?;
    if args.json {
        let all: Map<_, _> = settings
            .iter()
            .map(|it| {
                (
                    it.name.into(),
                    json!({"value": it.value, "source": it.source}),
                )
            })
            .collect();
        println(json_line(&serde_json::Value::Object(all).to_string()))?;
        return Ok(Exit::DONE);
    }
    for it in settings {
        println(format_args!(
            "{:10} {}  ({})",
            it.name,
            line(&it.value),
            it.source
        ))?;
    }
    Ok(Exit::DONE)
}

/// The URL of the running hub, as a setting; `None` if the address is already a URL.
async fn url(context: &Context) -> Option<Setting> {
    if let Address::Url(_) = context.settings.address.value {
        return None;
    }
    let found = match context.hub() {
        Ok(hub) => hub.url(SOON).await,
        Err(error) => Err(error),
    };
    let (value, source) = match found {
        Ok(url) => (url, "the running hub"),
        Err(_) => ("unknown".into(), "no hub answers; `hubctl up` starts one"),
    };
    Some(Setting {
        name: "url",
        value,
        source,
    })
}

async fn collect(context: &Context) -> Result<Vec<Setting>, Error> {
    let setting = |name, value: String, source| Setting {
        name,
        value,
        source,
    };
    let settings = &context.settings;
    let address = &settings.address;
    let kind = match &address.value {
        Address::Socket(_) => "socket",
        Address::Url(_) => "url",
    };
    let from = sender(context, None).await?;
    let project = context.project(None).await?;
    // If the hub does not answer, the session is left out, and the other settings are still shown.
    let session = session(context).await.ok();
    let read = session.as_ref().map(|session| {
        let found = inboxes(&context.env, &[], session.as_ref());
        let names: Vec<&str> = found.value.iter().map(InboxName::as_str).collect();
        setting("inboxes", names.join(","), found.source)
    });
    let url = url(context).await;
    let mut all = vec![
        setting(
            "state_dir",
            settings.state_dir.value.display().to_string(),
            settings.state_dir.source,
        ),
        setting(kind, address.value.to_string(), address.source),
        setting(
            "token_file",
            settings.token_file.value.display().to_string(),
            settings.token_file.source,
        ),
        setting("project", project.value.to_string(), project.source),
        setting("from", from.value.to_string(), from.source),
    ];
    all.extend(read);
    all.extend(url);
    if let Some(session) = session.flatten() {
        all.push(setting(
            "session",
            session.value.to_string(),
            session.source,
        ));
    }
    for (name, variable) in [("role", "HUB_ROLE"), ("parent", "HUB_PARENT")] {
        if let Some(value) = context.env.var(variable) {
            all.push(setting(
                name,
                value.to_string_lossy().into_owned(),
                variable,
            ));
        }
    }
    Ok(all)
}
