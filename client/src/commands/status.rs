//! `hubctl status`: shows whether the hub runs, and whether waiters are connected.

use std::collections::BTreeMap;

use hub_protocol::{ClusterInfo, Hello, InboxName, PhaseName, ProjectName, Session};
use serde_json::json;

mod status_line;

use self::status_line::Format;
use super::inboxes::{describe, fetch, read};
use crate::api::session::sessions;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{PATIENCE, Path, Request, parse};
use crate::identity::Context;
use crate::output::println;
use crate::output::text::{json_line, line};
use crate::system::random::random_hex;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exits 5 if an inbox has no waiter, 3 if the hub cannot be reached. Notifications that a wake limit holds back are \
shown as held, with the time until then.

Examples:
  hubctl status
  hubctl status --line --format tmux
  hubctl status --inbox reviewer || echo \"no waiter\"")]
/// The arguments of `hubctl status`.
pub(crate) struct StatusArgs {
    /// The inboxes to check [default: as for wait]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    inbox: Vec<InboxName>,
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// Print the state as JSON
    #[arg(long)]
    json: bool,
    /// Print one line for a status bar: the sessions of all projects that need you; empty if there are none
    #[arg(long, conflicts_with_all = ["inbox", "project", "json"])]
    line: bool,
    /// The format: that of the program that shows the line
    #[arg(
        long,
        value_enum,
        default_value_t,
        requires = "line",
        value_name = "FORMAT"
    )]
    format: Format,
}

pub(crate) async fn run(args: &StatusArgs, context: &Context) -> Result<Exit, Error> {
    if args.line {
        return status_line::run(args.format, context).await;
    }
    let project = context.project(args.project.as_ref()).await?.value;
    let names = context.inboxes(&args.inbox).await?.value;
    let hub = context.hub()?;
    hub.text(&Request::get(Path::new("/healthz"))).await?;
    let hello = Path::new("/hello").with("nonce", random_hex()?);
    let Hello { version, .. } = parse(&hub.text(&Request::get(hello)).await?)?;
    let url = hub.url(PATIENCE).await.ok();
    let cluster = hub.about(PATIENCE).await.ok().and_then(|it| it.cluster);
    let answer = fetch(&hub, Some(&project)).await?;
    let known = read(&answer)?;
    let phases = phases(&sessions(&hub, Some(&project), false).await?);
    let find = |name: &InboxName| known.iter().find(|inbox| inbox.name == *name);
    let waits = |name: &InboxName| find(name).is_some_and(|inbox| inbox.waiter.is_some());
    if args.json {
        let inboxes: Vec<_> = names
            .iter()
            .map(|name| {
                let held = find(name).and_then(|inbox| Some((inbox.held?, inbox.held_until?)));
                let (held, until) = held.unzip();
                json!({"name": name, "known": find(name).is_some(), "waiter": waits(name),
                    "held": held.unwrap_or(0), "held_until": until})
            })
            .collect();
        let shown = json!({"version": version, "url": url, "project": project, "inboxes": inboxes,
            "phases": phases, "cluster": cluster});
        println(json_line(&shown.to_string()))?;
    } else {
        let place = &context.settings.address.value;
        println(format_args!(
            "hub {} at {} ({place})",
            line(&version),
            url.as_deref().unwrap_or("an unknown address")
        ))?;
        if let Some(cluster) = &cluster {
            println(line(&describe_cluster(cluster, &version)))?;
        }
        println(format_args!("project {project}"))?;
        let counts = phases
            .iter()
            .map(|(name, count)| format!("{count} {}", name.as_str().replace('_', " ")));
        let counts: Vec<String> = counts.collect();
        if !counts.is_empty() {
            println(format_args!("sessions {}", counts.join(", ")))?;
        }
        for name in &names {
            match find(name) {
                Some(inbox) => println(describe(inbox))?,
                None => println(format_args!("{name:24} never used; no waiter"))?,
            }
        }
    }
    Ok(if names.iter().all(waits) {
        Exit::DONE
    } else {
        Exit::NO_WAITER
    })
}

/// The active hub, this hub's part, and the other hubs.
fn describe_cluster(cluster: &ClusterInfo, version: &str) -> String {
    let mut parts = vec![match (&cluster.active, cluster.since) {
        (Some(active), Some(since)) => format!("cluster: {active} is active since {since}"),
        _ => "cluster: no hub is active".to_owned(),
    }];
    let (node, role, behind) = (&cluster.node, &cluster.role, cluster.behind);
    parts.push(format!("{node} (here) {role}, {behind} behind"));
    let newest = cluster.nodes.iter().map(|it| it.head).max().unwrap_or(0);
    let others = cluster.nodes.iter();
    for it in others {
        let mut part = match (it.role.as_str(), newest - it.head) {
            ("silent", _) => format!("{} silent since {}", it.node, it.seen_at),
            // Its last report may be older than those of the others, but it is never behind them.
            (role @ "active", _) | (role, 0) => format!("{} {role}", it.node),
            (role, behind) => format!("{} {role}, {behind} behind", it.node),
        };
        if it.version != version {
            part += ", version ";
            part += &it.version;
        }
        if let Some(fault) = &it.fault {
            part += ": ";
            part += fault;
        }
        parts.push(part);
    }
    parts.extend(cluster.fault.iter().map(|it| format!("here: {it}")));
    parts.extend(cluster.damage.clone());
    parts.join("; ")
}

/// How many sessions are in each phase, the most urgent first.
fn phases(sessions: &[Session]) -> BTreeMap<PhaseName, usize> {
    let mut counts = BTreeMap::new();
    for session in sessions {
        *counts.entry(session.phase.name).or_default() += 1;
    }
    counts
}
