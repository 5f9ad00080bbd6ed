//! `hubctl ack`: acknowledges notifications.

use hub_protocol::{AckRequest, Acked, InboxName, ProjectName, Seq};

use super::clear::numbers;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Path, Request, json, parse};
use crate::identity::Context;
use crate::output::println;
use crate::output::text::json_line;

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["ids", "lease"]))]
#[command(after_help = "\
`hubctl wait` acknowledges by itself the notifications that it has printed.

Examples:
  hubctl ack 41 42
  hubctl ack --inbox reviewer 41")]
/// The arguments of `hubctl ack`.
pub(crate) struct AckArgs {
    /// The ids of the notifications
    #[arg(value_name = "ID")]
    ids: Vec<Seq>,
    /// The batch with this lease
    #[arg(long, value_name = "LEASE")]
    lease: Option<String>,
    /// The inbox [default: as for wait]
    #[arg(long, value_name = "NAME")]
    inbox: Option<InboxName>,
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// Print the hub's answer as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &AckArgs, context: &Context) -> Result<Exit, Error> {
    let given: Vec<InboxName> = args.inbox.iter().cloned().collect();
    let project = context.project(args.project.as_ref()).await?.value;
    let body = match &args.lease {
        Some(lease) => AckRequest {
            lease: Some(lease.clone()),
            ..AckRequest::default()
        },
        None => AckRequest {
            ids: Some(args.ids.clone()),
            ..AckRequest::default()
        },
    };
    let body = json(&body)?;
    let hub = context.hub()?;
    for inbox in context.inboxes(&given).await?.value {
        let path = Path::new("/inboxes")
            .segment(&inbox)
            .segment("ack")
            .with("project", &project);
        let answer = hub.text(&Request::post(path, body.clone())).await?;
        if args.json {
            println(json_line(&answer))?;
            continue;
        }
        let Acked { acked } = parse(&answer)?;
        match acked.as_slice() {
            [] => println(format_args!("{inbox}: none of these was pending"))?,
            acked => println(format_args!("{inbox}: acknowledged {}", numbers(acked)))?,
        }
    }
    Ok(Exit::DONE)
}
