//! `hubctl done`: ends what sessions need of the person.

use hub_protocol::{Need, Needs, Snooze, Span, Timestamp};
use reqwest::Method;

use super::needs;
use crate::api::need;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Hub, Path, Request, json, parse};
use crate::identity::Context;
use crate::output::println;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Ends the need of a session until the session reports something else, and acknowledges an urgent message: `hubctl \
needs` lists both. A question ends by `hubctl answer`.

Examples:
  hubctl done worker-1
  hubctl done s41 --for 1h
  hubctl done s41 --undo")]
/// The arguments of `hubctl done`.
pub(crate) struct DoneArgs {
    /// The needs: their ids, or the names of their sessions
    #[arg(value_name = "NEED", required = true)]
    needs: Vec<String>,
    /// Snooze it for this time; it then opens again, unless the session has gone on
    #[arg(long = "for", value_name = "SPAN", conflicts_with = "undo")]
    span: Option<Span>,
    /// Open the need again; takes ids only
    #[arg(long)]
    undo: bool,
}

pub(crate) async fn run(args: &DoneArgs, context: &Context) -> Result<Exit, Error> {
    let hub = context.hub()?;
    if args.undo {
        // A closed need is in no list.
        for id in &args.needs {
            end(&hub, id, args).await?;
        }
        return Ok(Exit::DONE);
    }
    let Needs { mut needs } = parse(&needs::list(context).await?)?;
    needs.retain(Need::is_open);
    for named in &args.needs {
        for id in find(&needs, named)? {
            end(&hub, id, args).await?;
        }
    }
    Ok(Exit::DONE)
}

/// The needs with this id, or of the sessions with this name: not their questions, which end by an answer.
fn find<'a>(needs: &'a [Need], named: &str) -> Result<Vec<&'a str>, Error> {
    if let Some(found) = needs.iter().find(|it| it.id == named) {
        return Ok(vec![&found.id]);
    }
    let mut own = needs.iter().filter(|it| need::is_of_session(it, named));
    if let Some(question) = own.clone().find(|it| !it.closable) {
        let id = &question.id;
        return Err(anyhow::anyhow!("{named} asks: `hubctl answer {id} …`").into());
    }
    let Some(first) = own.next() else {
        return Err(
            anyhow::anyhow!("{named} has no open need: `hubctl needs` lists the needs").into(),
        );
    };
    Ok([first]
        .into_iter()
        .chain(own)
        .map(|it| it.id.as_str())
        .collect())
}

async fn end(hub: &Hub, id: &str, args: &DoneArgs) -> Result<(), Error> {
    let path = Path::new("/needs").segment(id);
    let (request, what) = match args.span {
        Some(Span(span)) => {
            let ms = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
            let until = Timestamp::now().plus_millis(ms);
            let body = json(&Snooze { until })?;
            (Request::post(path.segment("snooze"), body), "put off")
        }
        None if args.undo => (
            Request::new(Method::DELETE, path.segment("done")),
            "open again",
        ),
        None => (Request::new(Method::POST, path.segment("done")), "done"),
    };
    hub.text(&request).await?;
    println(format_args!("{what}: {id}"))
}
