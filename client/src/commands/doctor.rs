//! `hubctl doctor`: checks the setup, and prints what to do about each problem.

mod codex_trust;
mod finding;
mod hooks;
mod hub;
mod machine;
mod wakes;

use hub_protocol::ProjectName;
use serde_json::json;

use self::finding::Finding;
use crate::api::session::sessions;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::identity::Context;
use crate::output::println;
use crate::output::text::{json_line, line};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each line is ok, warn or PROBLEM, with the next step below it. Exits 1 if there is a problem. `hubctl wake-test` tests \
that a session is really woken; `hubd doctor` checks the log of a hub that is not running.

Examples:
  hubctl doctor
  hubctl doctor --json")]
/// The arguments of `hubctl doctor`.
pub(crate) struct DoctorArgs {
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &DoctorArgs, context: &Context) -> Result<Exit, Error> {
    let found = check(args, context).await?;
    if args.json {
        let findings: Vec<_> = found.iter().map(Finding::json).collect();
        println(json_line(&json!({ "findings": findings }).to_string()))?;
    } else {
        for finding in &found {
            println(format_args!("{:8} {}", finding.level, line(&finding.what)))?;
            if let Some(todo) = &finding.todo {
                println(format_args!("{:8} -> {}", "", line(todo)))?;
            }
        }
    }
    Ok(if found.iter().any(Finding::is_problem) {
        Exit::REFUSED
    } else {
        Exit::DONE
    })
}

async fn check(args: &DoctorArgs, context: &Context) -> Result<Vec<Finding>, Error> {
    let project = context.project(args.project.as_ref()).await?.value;
    let (mut found, hub) = hub::check(context).await;
    found.extend(machine::check(context, hub.is_some()));
    let Some(hub) = hub else {
        found.extend(hooks::check(context, None).await?);
        return Ok(found);
    };
    let all = sessions(&hub, None, true).await?;
    found.extend(hooks::check(context, Some(&all)).await?);
    found.extend(wakes::check(context, &hub, &project).await?);
    Ok(found)
}
