//! `hubctl resume`: lets sessions go on by themselves when their usage limit ends.

use hub_protocol::{Need, Needs};
use reqwest::Method;

use super::needs;
use crate::api::need;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Request, parse};
use crate::identity::Context;
use crate::output::println;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The hub wakes the session once when its limit ends, unless it has gone on by then. `hubctl needs` lists the sessions \
at a limit. With `resume_after_limit = true` in the hub's configuration, all of them go on. Agents may not do this.

Examples:
  hubctl resume worker-1
  hubctl resume s41 worker-2
  hubctl resume worker-1 --undo")]
/// The arguments of `hubctl resume`.
pub(crate) struct ResumeArgs {
    /// The sessions at a limit: their names, or the ids of their needs
    #[arg(value_name = "NEED", required = true)]
    needs: Vec<String>,
    /// Let the sessions wait for you instead
    #[arg(long)]
    undo: bool,
}

pub(crate) async fn run(args: &ResumeArgs, context: &Context) -> Result<Exit, Error> {
    let Needs { needs } = parse(&needs::list(context).await?)?;
    let hub = context.hub()?;
    let (method, what) = if args.undo {
        (Method::DELETE, "waits for you")
    } else {
        (Method::POST, "goes on when its limit ends")
    };
    for named in &args.needs {
        for Need { id, name, .. } in find(&needs, named)? {
            let path = need::path(id).segment("resume");
            hub.text(&Request::new(method.clone(), path)).await?;
            println(format_args!("{name} {what}: {id}"))?;
        }
    }
    Ok(Exit::DONE)
}

/// The needs with this id, or of the sessions with this name, after which the hub can let a session go on.
fn find<'a>(needs: &'a [Need], named: &str) -> Result<Vec<&'a Need>, Error> {
    let limited = needs.iter().filter(|it| it.resume.is_some());
    let named_so = limited.filter(|it| it.id == named || need::is_of_session(it, named));
    let found: Vec<_> = named_so.collect();
    if found.is_empty() {
        let why = "waits for no limit whose end is known: `hubctl needs` lists the limits";
        return Err(anyhow::anyhow!("{named} {why}").into());
    }
    Ok(found)
}
