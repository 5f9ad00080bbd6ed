//! `hubctl primary`: shows or sets the session that the person talks to.

use hub_protocol::{InboxName, ProjectName, Timestamp};
use reqwest::Method;

use crate::api::session::{display_name, primary, state};
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Path, Request, parse};
use crate::identity::Context;
use crate::identity::sender::session;
use crate::output::println;
use crate::output::text::json_line;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The primary reads the inbox `primary` in addition to its own. It is the session that took the role or was started with \
HUB_ROLE=primary, or else the first session in the project's main worktree that has no parent.

Examples:
  hubctl primary
  hubctl primary --take
  hubctl primary --take worker-1")]
/// The arguments of `hubctl primary`.
pub(crate) struct PrimaryArgs {
    /// Make this session the primary, or TARGET
    #[arg(long)]
    take: bool,
    /// The session: its name, an id, or a unique prefix of one
    #[arg(value_name = "TARGET", requires = "take")]
    target: Option<InboxName>,
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// Print the session as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &PrimaryArgs, context: &Context) -> Result<Exit, Error> {
    let project = context.project(args.project.as_ref()).await?.value;
    let hub = context.hub()?;
    let found = if args.take {
        let path = Path::new("/sessions")
            .segment(target(args, context).await?)
            .segment("primary")
            .with("project", &project);
        Some(hub.text(&Request::new(Method::POST, path)).await?)
    } else {
        let found = primary(&hub, &project).await?;
        found.map(|(_, json)| json.get().to_owned())
    };
    if args.json {
        let session = found.as_deref().unwrap_or("null");
        println(json_line(&format!("{{\"primary\":{session}}}")))?;
        return Ok(Exit::DONE);
    }
    match found.map(|json| parse(&json)).transpose()? {
        Some(it) => println(format_args!(
            "{} is the primary of {project}: {}",
            display_name(&it),
            state(&it, Timestamp::now())
        ))?,
        None => println(format_args!(
            "no session is the primary of {project}; `hubctl primary --take NAME` makes one"
        ))?,
    }
    Ok(Exit::DONE)
}

async fn target(args: &PrimaryArgs, context: &Context) -> Result<InboxName, Error> {
    if let Some(target) = &args.target {
        return Ok(target.clone());
    }
    let own = session(context).await?.map(|found| found.value);
    own.ok_or_else(|| {
        Error::Usage(
            "this is not an agent's session: name a session; `hubctl sessions` lists them".into(),
        )
    })
}
