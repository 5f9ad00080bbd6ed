//! `hubctl wake-test`: wakes a session, and shows each step of the delivery.

mod series;

use std::time::Duration;

use hub_protocol::{
    InboxName, Kind, Post, ProjectName, Published, Seq, Span, Step, Timestamp, Trace,
    WAKE_TEST_KEY, Way,
};
use tokio::time::Instant;

use self::series::Series;
use crate::api::session::{display_name, session};
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Hub, Path, Request, json, parse};
use crate::identity::Context;
use crate::identity::sender;
use crate::output::println;
use crate::output::text::line;

/// How long to follow the delivery.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often to ask for the trace.
const LOOK: Duration = Duration::from_millis(200);

/// Seconds until the test expires, so that an old test wakes no session.
const TTL: u64 = 60;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Publishes a test notification to the session's inbox and follows it for 30 seconds: stored, leased by a waiter, \
emitted (shown), acked (the session continued with it). Exits 0 only if it arrived. Run it from another terminal while \
the session is idle: a session that tests itself proves the delivery only with its next hook.

With --count it wakes the session so often, one wake after the other, and prints how many arrived, in which way, and \
after what time they were shown to the session. Wake limits apply: they hold back what comes too fast.

Examples:
  hubctl wake-test worker-1
  hubctl wake-test primary
  hubctl wake-test primary --count 20 --way module
  hubctl wake-test worker-1 --count 300 --pause 5s")]
/// The arguments of `hubctl wake-test`.
pub(crate) struct WakeTestArgs {
    /// The session, or `primary` [default: this session]
    #[arg(value_name = "SESSION")]
    session: Option<InboxName>,
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// Wake the session this many times, and print a summary
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    count: Option<u32>,
    /// Wait a random time before each wake, at most this long: seconds, or 90s
    #[arg(long, value_name = "SPAN", requires = "count")]
    pause: Option<Span>,
    /// Wake the session when it waits in this way, one of those in `hubctl trace`, such as `module`; fail unless each wake
    /// arrives in it
    #[arg(long, value_name = "WAY", value_parser = parse_way, requires = "count")]
    way: Option<Way>,
    /// How long to follow the delivery: seconds, or 90s, 10m
    #[arg(long, value_name = "SPAN", hide = true)]
    patience: Option<Span>,
}

pub(crate) async fn run(args: &WakeTestArgs, context: &Context) -> Result<Exit, Error> {
    let project = context.project(args.project.as_ref()).await?.value;
    let own = sender::session(context).await?.map(|found| found.value);
    let named = args.session.clone().or(own).ok_or_else(|| {
        Error::Usage("this is not an agent's session: name the session to wake; `hubctl sessions` lists them".into())
    })?;
    let hub = context.hub()?;
    let (inbox, name) = if named.as_str() == InboxName::PRIMARY {
        (named.clone(), named.to_string())
    } else {
        let session = session(&hub, &named, &project).await?;
        let name = display_name(&session);
        (session.id, name)
    };
    let patience = args.patience.map_or(PATIENCE, |span| span.0);
    if let Some(count) = args.count {
        let series = Series {
            hub: &hub,
            inbox: &inbox,
            project: &project,
            patience,
            pause: args.pause.map_or(Duration::ZERO, |span| span.0),
        };
        return series.run(count, args.way).await;
    }
    let id = send(&hub, &inbox, &project).await?;
    println(format_args!("wake test {id} for {name}"))?;
    let followed = Followed::of(&hub, id, patience).await?;
    println(followed.verdict(id, &inbox))?;
    Ok(if followed.arrived() {
        Exit::DONE
    } else {
        Exit::REFUSED
    })
}

fn parse_way(name: &str) -> Result<Way, &'static str> {
    let found = Way::ALL.into_iter().find(|way| way.as_str() == name);
    found.ok_or("use module, rewake, file_changed, socket, app_server, wait, pane or hook")
}

async fn send(hub: &Hub, inbox: &InboxName, project: &ProjectName) -> Result<Seq, Error> {
    let post = Post {
        msg: "This is a wake test: there is nothing to do.".into(),
        from: "wake-test".parse().ok(),
        to: Some(inbox.clone()),
        kind: Some(Kind::Message),
        project: Some(project.clone()),
        key: Some(WAKE_TEST_KEY.into()),
        ttl: Some(TTL),
        ..Post::default()
    };
    let request = Request::post(Path::new("/notify"), json(&post)?);
    let published: Published = parse(&hub.text(&request).await?)?;
    Ok(published.id)
}

/// The steps of the delivery so far.
#[derive(Default)]
struct Followed {
    /// The state of each step, and the reader that caused it.
    steps: Vec<(String, String)>,
    stored: Option<Timestamp>,
    /// Why the hub cannot wake the session, or could not.
    unreachable: Option<String>,
    /// The time until which a wake limit holds the test back, and that limit.
    held: Option<(Timestamp, String)>,
}

impl Followed {
    /// Follows the delivery until it ends or `patience` is over, and prints each step.
    async fn of(hub: &Hub, id: Seq, patience: Duration) -> Result<Self, Error> {
        let path = Path::new("/notifications").segment(id).segment("trace");
        let request = Request::get(path);
        let began = Instant::now();
        let mut followed = Self::default();
        loop {
            let trace: Trace = parse(&hub.text(&request).await?)?;
            (followed.held, followed.unreachable) = (None, None);
            for step in &trace.steps {
                followed.take(step, began.elapsed())?;
            }
            if followed.is_over() || began.elapsed() >= patience {
                return Ok(followed);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Prints a step that is new, with the time since the test was stored.
    fn take(&mut self, step: &Step, elapsed: Duration) -> Result<(), Error> {
        let key = (step.state.to_string(), step.by.clone().unwrap_or_default());
        if matches!(key.0.as_str(), "unreachable" | "returned") {
            self.unreachable.clone_from(&step.why);
        }
        if key.0 == "held" {
            self.held = step.until.zip(step.limit.clone());
        }
        if self.steps.contains(&key) {
            return Ok(());
        }
        let stored = *self.stored.get_or_insert(step.at.unwrap_or_default());
        // The step of a lease has no time.
        let millis = step.at.map_or(elapsed.as_millis(), |at| {
            u128::try_from(at.as_millis() - stored.as_millis()).unwrap_or_default()
        });
        let by = match key.1.as_str() {
            "" => String::new(),
            by => format!(" by {}", line(by)),
        };
        let (seconds, millis) = (millis / 1000, millis % 1000);
        println(format_args!(
            "{seconds:>4}.{millis:03} s  {}{by}",
            line(&key.0)
        ))?;
        self.steps.push(key);
        Ok(())
    }

    /// The reader that caused the first step with this state.
    fn by(&self, state: &str) -> Option<&str> {
        let step = self.steps.iter().find(|(it, _)| it == state)?;
        Some(&step.1)
    }

    fn arrived(&self) -> bool {
        self.by("acked").is_some()
    }

    fn is_over(&self) -> bool {
        let ends = ["acked", "expired", "superseded", "withdrawn", "dropped"];
        ends.into_iter().any(|state| self.by(state).is_some())
    }

    /// The result in a sentence, with the next step for the person if the session was not woken.
    fn verdict(&self, id: Seq, inbox: &InboxName) -> String {
        let reader = self.by("emitted").or(self.by("leased"));
        if let Some(acked) = self.by("acked") {
            return match (reader, acked) {
                (Some(reader), "resumed") => {
                    format!(
                        "woken: {} showed it, and the session continued",
                        way(reader)
                    )
                }
                (_, reader) => format!("arrived: {} acknowledged it", way(reader)),
            };
        }
        if let Some(why) = &self.unreachable {
            return format!("not woken: {}", line(why));
        }
        if self.by("emitted").is_some() {
            return format!(
                "shown by {}, but no hook of the session has proved it yet: see `hubctl trace {id}`; if this lasts, \
                 run `hubctl hooks status`",
                way(reader.unwrap_or_default())
            );
        }
        if self.by("leased").is_some() {
            return format!(
                "a reader of {inbox} leased it and did not acknowledge it: see `hubctl inboxes`"
            );
        }
        if let Some((until, limit)) = &self.held {
            return format!(
                "not woken yet: a wake limit ({}) holds it until {}; see `wake.` in hubd --print-config",
                line(limit),
                until
            );
        }
        if self.is_over() {
            return "it was settled before a reader got it: try again".into();
        }
        format!(
            "not woken: no waiter is connected to {inbox}. For Claude Code, run `hubctl hooks install claude` and restart the \
             session; for other agents, let the session run `hubctl wait` in the background"
        )
    }
}

/// The way of delivery that a reader's name shows.
fn way(reader: &str) -> String {
    match reader.split_once(':') {
        Some(("module", _)) => "the module".into(),
        Some(("rewake", _)) => "rewake".into(),
        Some(("hook", _)) => "a hook (riding along)".into(),
        _ if reader.is_empty() => "a reader without a name".into(),
        _ => format!("the waiter {}", line(reader)),
    }
}
