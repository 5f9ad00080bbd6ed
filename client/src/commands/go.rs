//! `hubctl go`: shows a session's tmux pane.

use hub_protocol::{InboxName, ProjectName, ShownPane};
use reqwest::Method;

use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Path, Request, parse};
use crate::identity::Context;
use crate::output::println;
use crate::output::text::json_line;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The pane becomes the active one in the tmux client that you used last, unless a client already shows its tmux session. \
The session must have been started in tmux, on this machine, by you. Only a person may do this.

Examples:
  hubctl go worker-1
  hubctl go worker-1 --json")]
/// The arguments of `hubctl go`.
pub(crate) struct GoArgs {
    /// The session: its name, an id, or a unique prefix of one
    #[arg(value_name = "TARGET")]
    target: InboxName,
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// Print the hub's answer as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &GoArgs, context: &Context) -> Result<Exit, Error> {
    let path = Path::new("/sessions")
        .segment(&args.target)
        .segment("go")
        .with(
            "project",
            context.project(args.project.as_ref()).await?.value,
        );
    let answer = context
        .hub()?
        .text(&Request::new(Method::POST, path))
        .await?;
    if args.json {
        println(json_line(&answer))?;
        return Ok(Exit::DONE);
    }
    let shown: ShownPane = parse(&answer)?;
    let ShownPane { pane, attach, .. } = shown;
    println(if shown.attached {
        format!("pane {pane} of {} is active", args.target)
    } else {
        format!(
            "no terminal shows tmux; to see pane {pane} of {}: {attach}",
            args.target
        )
    })?;
    Ok(Exit::DONE)
}
