//! `hubctl listen`: notifies a session of the next stop of others.

use hub_protocol::{InboxName, Listening, ProjectName, Span};
use reqwest::Method;

use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Hub, Path, Request, parse};
use crate::identity::Context;
use crate::identity::sender::caller;
use crate::output::text::{json_line, line};
use crate::output::{println, say};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A listener is notified once, of the session's next stop: done, waiting, a question, an error, the end. If the session \
has already stopped, the notification arrives at once, unless --fresh is given. With --within, you are notified at the \
deadline too.

Examples:
  hubctl listen worker-1 worker-2
  hubctl listen worker-1 --fresh --within 10m
  hubctl listen worker-1 --as reviewer")]
/// The arguments of `hubctl listen`.
pub(crate) struct ListenArgs {
    /// The sessions: a name, an id, or a unique prefix of one; in full with --within
    #[arg(required = true, value_name = "TARGET")]
    targets: Vec<InboxName>,
    /// The inbox to notify [default: this session; primary outside any agent]
    #[arg(long = "as", value_name = "CALLER")]
    caller: Option<InboxName>,
    /// Also notify if it has not stopped in this time: seconds, or 90s, 10m, 2h, 7d
    #[arg(long, value_name = "SPAN")]
    within: Option<Span>,
    /// Only a stop from now on
    #[arg(long)]
    fresh: bool,
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// Print the hub's answers as lines of JSON
    #[arg(long)]
    json: bool,
}

/// A listener to be set.
pub(super) struct NewListener<'a> {
    pub(super) target: &'a InboxName,
    pub(super) caller: &'a InboxName,
    pub(super) project: &'a ProjectName,
    pub(super) within: Option<Span>,
    pub(super) fresh: bool,
}

pub(crate) async fn run(args: &ListenArgs, context: &Context) -> Result<Exit, Error> {
    let project = context.project(args.project.as_ref()).await?.value;
    let caller = caller(context, args.caller.as_ref()).await?;
    let hub = context.hub()?;
    let mut exit = Exit::DONE;
    for target in &args.targets {
        let listener = NewListener {
            target,
            caller: &caller,
            project: &project,
            within: args.within,
            fresh: args.fresh,
        };
        match listener.put(&hub).await {
            Ok(answer) => show(&answer, &caller, args.json)?,
            // One invalid name must not prevent the others.
            Err(error @ Error::Refused(_)) => {
                say(&error);
                exit = error.exit();
            }
            Err(error) => return Err(error),
        }
    }
    Ok(exit)
}

impl NewListener<'_> {
    /// Sets the listener and returns the hub's answer.
    pub(super) async fn put(&self, hub: &Hub) -> Result<String, Error> {
        let path = path(self.target, self.caller, self.project)
            .maybe("within", self.within.map(|span| span.0.as_secs()))
            .maybe("fresh", self.fresh.then_some(true));
        hub.text(&Request::new(Method::PUT, path)).await
    }
}

/// The path of a listener.
pub(super) fn path(target: &InboxName, caller: &InboxName, project: &ProjectName) -> Path {
    Path::new("/sessions")
        .segment(target)
        .segment("listeners")
        .segment(caller)
        .with("project", project)
}

/// Prints the hub's answer about a listener.
pub(super) fn show(answer: &str, caller: &InboxName, json: bool) -> Result<(), Error> {
    if json {
        return println(json_line(answer));
    }
    let it: Listening = parse(answer)?;
    let name = it.target_name.as_deref();
    let target = line(name.unwrap_or(it.target.as_str()));
    let doing = it
        .state
        .map_or(String::new(), |state| format!(" (now {})", state.as_str()));
    if it.fired {
        println(format_args!(
            "{target} has already stopped{doing}: {caller} is notified at once"
        ))
    } else if it.created {
        println(format_args!(
            "{caller} will be notified when {target}{doing} stops"
        ))
    } else {
        println(format_args!("{caller} already listens to {target}{doing}"))
    }
}
