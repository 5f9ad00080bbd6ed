//! `hubctl wait`: waits for notifications; its exit wakes an agent.

mod acknowledgement;
mod identity;
mod rewake;
mod waiter;

use hub_protocol::{InboxName, Kind, Priority, ProjectName, Span};

use self::waiter::Waiter;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::identity::Context;
use crate::output::{demand_stdout, unread};
use crate::system::parent;

#[derive(Debug, Clone, clap::Args)]
#[allow(clippy::struct_excessive_bools)] // each a flag of its own
#[command(after_help = "\
Prints each notification on stdout as one line of JSON, acknowledges them once they are flushed, and exits. Inside an \
agent's session, a line by the hub comes first, and notifications that exceed the size of one batch stay pending. At \
the timeout it prints a reminder on stderr, with the number of notifications that a wake limit holds back, and exits \
0, as it does when the project is reset. It keeps its deadline while the hub restarts. It ends with the agent's \
process (CLAUDE_PID), or else with its parent process, unless `setsid -f` has detached it. With --rewake it is the \
hook that wakes an idle session; `hubctl hooks install claude` installs it. SIGINT and SIGTERM end it as usual (130 \
and 143 in a shell); notifications that it has not printed stay pending.

Examples:
  hubctl wait
  hubctl wait --inbox primary,ops --timeout 10m
  hubctl wait --all worker-1,worker-2 --timeout 1h
  hubctl wait --any worker-1,worker-2
  hubctl wait --types error,question --keep | while read -r line; do echo \"$line\"; done")]
/// The arguments of `hubctl wait`.
pub(crate) struct WaitArgs {
    /// The inboxes to read [default: this session's own; primary outside any agent; both for `HUB_ROLE=primary`]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    inbox: Vec<InboxName>,
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// How long to wait: seconds, or 10m, 2h; 0 only prints what is pending
    #[arg(long, value_name = "SPAN", default_value = "570")]
    timeout: Span,
    /// Only these types
    #[arg(long, value_name = "a,b", value_delimiter = ',')]
    types: Vec<Kind>,
    /// Only from this sender
    #[arg(long, value_name = "ID")]
    from: Option<InboxName>,
    /// Only of this priority or a higher one
    #[arg(long, value_name = "P")]
    min_priority: Option<Priority>,
    /// After the first notification, wait until none has arrived for this many milliseconds
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(..=5000))]
    settle: Option<u64>,
    /// Wait until each of these sessions or senders is complete, failed or over
    #[arg(long, value_name = "a,b", value_delimiter = ',')]
    all: Vec<InboxName>,
    /// Wait until at least one of these sessions or senders is complete, failed or over
    #[arg(long, value_name = "a,b", value_delimiter = ',')]
    any: Vec<InboxName>,
    /// Wait until this many notifications are pending
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Ignore notifications that are already pending
    #[arg(long)]
    new: bool,
    /// End the waiter that holds the inbox
    #[arg(long)]
    takeover: bool,
    /// Continue after the first batch, until the timeout
    #[arg(long)]
    keep: bool,
    /// As an `asyncRewake` hook of Claude Code: reads its JSON from stdin, waits as long as the session lives, prints on
    /// stderr, and exits 2
    #[arg(long, conflicts_with_all = OF_A_WAIT)]
    rewake: bool,
    /// State that the rewake hook belongs to the plugin: it does nothing if the settings have hooks too
    #[arg(long, requires = "rewake", hide = true)]
    plugin: bool,
    /// The exit code at the timeout
    #[arg(long, value_name = "N", default_value_t = 0)]
    timeout_code: u8,
    /// Print only the JSON lines, also inside an agent's session
    #[arg(long)]
    json: bool,
}

/// The options that `--rewake` excludes.
const OF_A_WAIT: [&str; 15] = [
    "inbox",
    "project",
    "timeout",
    "types",
    "from",
    "min_priority",
    "settle",
    "all",
    "any",
    "count",
    "new",
    "takeover",
    "keep",
    "timeout_code",
    "json",
];

pub(crate) async fn run(args: &WaitArgs, context: &Context) -> Result<Exit, Error> {
    if args.rewake {
        return Ok(rewake::run(context, args.plugin).await);
    }
    // Without this check, notifications could be leased that cannot be printed.
    demand_stdout()?;
    let mut waiter = Waiter::new(args, context).await?;
    tokio::select! {
        ended = waiter.run() => ended,
        // The process that would read the exit code has ended.
        () = parent::ended(&context.env) => Ok(Exit::DONE),
        () = unread() => Err(Error::Unread),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewake_conflicts_with_every_other_option_of_wait() {
        let wait = <WaitArgs as clap::Args>::augment_args(clap::Command::new("wait"));
        let options = wait.get_arguments().map(|it| it.get_id().as_str());
        let others: Vec<_> = options
            .filter(|id| !["rewake", "plugin"].contains(id))
            .collect();
        assert_eq!(others, OF_A_WAIT);
    }
}
