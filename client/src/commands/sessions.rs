//! `hubctl sessions`: lists sessions and their states.

use hub_protocol::{InboxName, ProjectName, Session, Sessions, Timestamp};

use crate::api::session::{doing, phase, request, sessions, waiter};
use crate::arguments::projects::{ProjectScope, none_of};
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Hub, parse};
use crate::identity::Context;
use crate::output::table::table;
use crate::output::text::{cut, json_line, line};
use crate::output::{print, println, say};

/// How many characters of a title or a directory are shown.
const WIDTH: usize = 60;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A * marks the primary session. PHASE is whether a session needs you: needs you (it asks), blocked (an error, a limit, \
or silence), your turn (it stopped, until `hubctl done`), working, done or gone. WAITER is what wakes a session: \
rewake (its own hooks), wait (hubctl wait), live (another reader) or none. Outside of a repository the sessions of all \
projects are listed, by project.

Examples:
  hubctl sessions
  hubctl sessions --all --all-projects
  hubctl sessions --json")]
/// The arguments of `hubctl sessions`.
pub(crate) struct SessionsArgs {
    /// Include ended sessions
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    scope: ProjectScope,
    /// Print the hub's answer as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &SessionsArgs, context: &Context) -> Result<Exit, Error> {
    let project = args.scope.project_or_all(context).await?;
    let hub = context.hub()?;
    let answer = hub.text(&request(project.as_ref(), args.all)).await?;
    if args.json {
        println(json_line(&answer))?;
        return Ok(Exit::DONE);
    }
    let Sessions::<Session> {
        sessions: mut all, ..
    } = parse(&answer)?;
    if all.is_empty() {
        say(match elsewhere(&hub, project.as_ref()).await? {
            0 => "no sessions; `hubctl hooks install claude` registers an agent's sessions".into(),
            count => none_of("sessions", count, "sessions"),
        });
        return Ok(Exit::DONE);
    }
    let header = [
        "NAME", "PHASE", "DOING", "WAITER", "PENDING", "PARENT", "ABOUT",
    ];
    let mut rows = vec![header.map(str::to_owned)];
    let now = Timestamp::now();
    all.sort_by(|one, other| one.project.cmp(&other.project));
    let of = |it| row(it, project.is_none(), now);
    rows.extend(all.iter().map(of));
    print(&table(&rows))?;
    for session in &all {
        if let Some(why) = &session.unreachable {
            let name = line(&session.name);
            println(format_args!("the hub cannot wake {name}: {}", line(why)))?;
        }
    }
    Ok(Exit::DONE)
}

/// How many sessions run in other projects, if `project` has none.
async fn elsewhere(hub: &Hub, project: Option<&ProjectName>) -> Result<usize, Error> {
    if project.is_none() {
        return Ok(0);
    }
    Ok(sessions(hub, None, false).await?.len())
}

fn row(session: &Session, with_project: bool, now: Timestamp) -> [String; 7] {
    let mark = if session.primary { " *" } else { "" };
    let info = &session.info;
    let title = info.title.as_ref().filter(|title| !title.is_empty());
    let about = title.or(info.cwd.as_ref());
    let about = about.map_or("", String::as_str);
    let mut about = cut(&line(about), WIDTH).into_owned();
    if with_project {
        about = format!("{about}  in {}", session.project);
    }
    let parent = info.parent.as_ref().map_or("-", InboxName::as_str);
    [
        format!("{}{mark}", line(&session.name)),
        phase(&session.phase, now),
        cut(&doing(&session.phase), WIDTH).into_owned(),
        waiter(session).to_owned(),
        session.pending.to_string(),
        parent.to_owned(),
        about,
    ]
}
