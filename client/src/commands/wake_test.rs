//! `hubctl wake-test`: whether a session is woken, shown by waking it.

use std::time::Duration;

use hub_protocol::{InboxName, Kind, Post, ProjectName, Published, Seq, Timestamp};
use serde_json::Value;
use tokio::time::Instant;

use crate::error::{Error, Exit};
use crate::fields::{list, text};
use crate::here::Here;
use crate::hub::{Hub, Path, Request};
use crate::out::println;
use crate::sender;
use crate::session::{session, who};
use crate::text::line;

/// How long to follow what becomes of it.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often to look.
const LOOK: Duration = Duration::from_millis(200);

/// When the test is not offered any more, in seconds: nobody is to be woken by an old one.
const TTL: u64 = 60;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Says something to the session's inbox, and follows it for 30 seconds: stored, leased by a waiter, emitted (shown),
acked (the session went on with it). Exits 0 only when it arrived. A session that tries itself while it works proves it
only with its next hook: try it from another terminal, while the session is idle.

Examples:
  hubctl wake-test worker-1
  hubctl wake-test primary")]
/// Whom to wake.
pub(crate) struct Args {
    /// The session, or `primary` [default: this session]
    #[arg(value_name = "SESSION")]
    session: Option<InboxName>,
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// How long to follow it: seconds, or 90s, 10m
    #[arg(long, value_name = "SPAN", hide = true)]
    patience: Option<crate::span::Span>,
}

pub(crate) async fn run(args: &Args, here: &Here) -> Result<Exit, Error> {
    let project = here.project(args.project.as_ref())?.value;
    let own = sender::session(&here.env)?.map(|found| found.value);
    let named = args.session.clone().or(own).ok_or_else(|| {
        Error::Usage("this is no agent's session: name the one to wake, see hubctl sessions".into())
    })?;
    let hub = here.hub()?;
    let (inbox, name) = if named.as_str() == InboxName::PRIMARY {
        (named.clone(), named.to_string())
    } else {
        let session = session(&hub, &named, &project).await?;
        let id = text(&session, "id").parse();
        (id.unwrap_or(named), who(&session))
    };
    let id = send(&hub, &inbox, &project).await?;
    println(format_args!("wake test {id} for {name}"))?;
    let patience = args.patience.map_or(PATIENCE, |span| span.0);
    let followed = Followed::of(&hub, id, patience).await?;
    println(followed.verdict(id, &inbox))?;
    Ok(if followed.arrived() {
        Exit::DONE
    } else {
        Exit::REFUSED
    })
}

async fn send(hub: &Hub, inbox: &InboxName, project: &ProjectName) -> Result<Seq, Error> {
    let post = Post {
        msg: "This is a wake test: there is nothing to do.".into(),
        from: "wake-test".parse().ok(),
        to: Some(inbox.clone()),
        kind: Some(Kind::Message),
        project: Some(project.clone()),
        key: Some("hub:wake-test".into()),
        ttl: Some(TTL),
        ..Post::default()
    };
    let body = serde_json::to_string(&post).map_err(anyhow::Error::from)?;
    let published: Published = hub.json(&Request::post(Path::new("/notify"), body)).await?;
    Ok(published.id)
}

/// What became of it so far.
#[derive(Default)]
struct Followed {
    /// Each step's state and who made it.
    steps: Vec<(String, String)>,
    stored: Option<Timestamp>,
}

impl Followed {
    /// Follows it to its end, and prints each step as it comes.
    async fn of(hub: &Hub, id: Seq, patience: Duration) -> Result<Self, Error> {
        let path = Path::new("/notifications").segment(id).segment("trace");
        let request = Request::get(path);
        let began = Instant::now();
        let mut followed = Self::default();
        loop {
            let trace: Value = hub.json(&request).await?;
            for step in list(&trace, "steps") {
                followed.take(step, began.elapsed())?;
            }
            if followed.is_over() || began.elapsed() >= patience {
                return Ok(followed);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Prints a step that is new, with the time since it was stored.
    fn take(&mut self, step: &Value, elapsed: Duration) -> Result<(), Error> {
        let key = (text(step, "state").to_owned(), text(step, "by").to_owned());
        if self.steps.contains(&key) {
            return Ok(());
        }
        let at: Option<Timestamp> = text(step, "at").parse().ok();
        let stored = *self.stored.get_or_insert(at.unwrap_or_default());
        // A lease has no time of its own.
        let millis = at.map_or(elapsed.as_millis(), |at| {
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

    /// Who made the first step of this state.
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

    /// How it ended, and what to do where it should not have.
    fn verdict(&self, id: Seq, inbox: &InboxName) -> String {
        let reader = self.by("emitted").or(self.by("leased"));
        if let Some(acked) = self.by("acked") {
            return match (reader, acked) {
                (Some(reader), "resumed") => {
                    format!("woken: {} showed it, and the session went on", way(reader))
                }
                (_, reader) => format!("arrived: {} took it", way(reader)),
            };
        }
        if self.by("emitted").is_some() {
            return format!(
                "shown by {}, but no hook of the session proved it yet: see `hubctl trace {id}`; if it stays so, \
                 `hubctl hooks status`",
                way(reader.unwrap_or_default())
            );
        }
        if self.by("leased").is_some() {
            return format!(
                "a reader of {inbox} has it and did not acknowledge it: see `hubctl inboxes`"
            );
        }
        if self.is_over() {
            return "it was taken back before anybody had it: try again".into();
        }
        format!(
            "not woken: nobody waits at {inbox}. In Claude Code run `hubctl hooks install claude` and restart the \
             session; else let the session run `hubctl wait` in the background"
        )
    }
}

/// The way that a reader's name tells.
fn way(reader: &str) -> String {
    match reader.split_once(':') {
        Some(("rewake", _)) => "rewake".into(),
        Some(("hook", _)) => "a hook (riding along)".into(),
        _ if reader.is_empty() => "a reader without a name".into(),
        _ => format!("the waiter {}", line(reader)),
    }
}
