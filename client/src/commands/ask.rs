//! `hubctl ask`: a question, and perhaps its answer.

use std::time::Duration;

use hub_protocol::{InboxName, Kind, Post, ProjectName, Published, Seq, Timestamp};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::notify::{json as any_json, text as message};
use crate::backoff::Backoff;
use crate::env::Sourced;
use crate::error::{Error, Exit};
use crate::fields::{number, text};
use crate::here::Here;
use crate::hub::{Hub, PATIENCE, Path, Request, parse};
use crate::out::{demand_stdout, hand_over, println, say};
use crate::parent;
use crate::publish::{Attempt, notes, publish};
use crate::question::{outcome, path};
use crate::sender::sender;
use crate::span::Span;
use crate::text::{json_line, line};

/// The longest single request; the deadline may lie behind many of them.
const LONGEST_POLL: Duration = Duration::from_secs(600);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints the question's number. With --wait it prints the answer instead, and acknowledges it; when the time is over it
says so and exits 0: the answer will come to your inbox. A question that was taken back or has expired exits 1.

Examples:
  hubctl ask \"Which database?\" --option postgres --option sqlite
  answer=$(hubctl ask \"Which database?\" --wait)
  hubctl ask --approval --to person \"May I force-push?\" --wait 10m
  hubctl ask --key plan --data '{\"files\":[\"a.rs\"]}' \"Is this plan good?\"")]
/// What, and whom.
pub(crate) struct Args {
    /// The question; `-` reads it from stdin
    #[arg(required = true, value_name = "TEXT")]
    message: Vec<String>,
    /// An answer to offer; may be given several times
    #[arg(long = "option", value_name = "A")]
    options: Vec<String>,
    /// The inbox to ask [default: primary, and the sender's parent; for an approval the person]
    #[arg(long, value_name = "INBOX")]
    to: Option<InboxName>,
    /// Anything for programs
    #[arg(long, value_name = "JSON", value_parser = any_json)]
    data: Option<Value>,
    /// Ask for a permission, which only a person gives: allow or deny
    #[arg(long)]
    approval: bool,
    /// Replaces what is asked under the same key by the same sender
    #[arg(long, value_name = "K")]
    key: Option<String>,
    /// Wait for the answer so long
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "570")]
    wait: Option<Span>,
    /// Who asks, and gets the answer [default: as for notify]
    #[arg(long, value_name = "ID")]
    from: Option<InboxName>,
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// Print the hub's answer as JSON; with --wait, the question as it stands in the end
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args, here: &Here) -> Result<Exit, Error> {
    if args.wait.is_some() {
        // Nothing is acknowledged that could not be shown.
        demand_stdout()?;
    }
    let from = sender(here, args.from.as_ref()).await?;
    let post = post(args, here, &from)?;
    let sent = match publish(here, &post).await? {
        Attempt::Sent(sent) => sent,
        Attempt::Unsent(unsent) => {
            unsent.leave(here, &post)?;
            return Ok(Exit::DONE);
        }
    };
    let published: Published = parse(&sent.answer)?;
    notes(&published);
    if from.value.as_str() == InboxName::UNKNOWN {
        say(
            "nothing says who asks: the answer goes to the inbox 'unknown'; --from or HUB_SESSION gives a name",
        );
    }
    let Some(patience) = args.wait else {
        if args.json {
            println(json_line(&sent.answer))?;
        } else {
            println(published.id)?;
        }
        sent.send_spooled(here).await;
        return Ok(Exit::DONE);
    };
    say(format!("asked as {}", published.id));
    tokio::select! {
        settled = settled(&sent.hub, published.id, patience.0) => tell(&sent.hub, &settled?, args.json).await,
        // Whoever would read the answer is gone.
        () = parent::ended(&here.env) => Ok(Exit::DONE),
    }
}

fn post(args: &Args, here: &Here, from: &Sourced<InboxName>) -> Result<Post, Error> {
    let kind = if args.approval {
        Kind::Approval
    } else {
        Kind::Question
    };
    let parent = here.env.parsed("HUB_PARENT")?;
    Ok(Post {
        msg: message(&args.message)?,
        from: Some(from.value.clone()),
        to: args.to.clone(),
        kind: Some(kind),
        project: Some(here.project(args.project.as_ref())?.value),
        data: args.data.clone(),
        parent: parent.map(|parent| parent.value),
        key: args.key.clone(),
        options: (!args.options.is_empty()).then(|| args.options.clone()),
        ts: Some(Timestamp::now()),
        ..Post::default()
    })
}

/// The question once it is settled, or as it stands after `patience`; through any number of hubs.
async fn settled(hub: &Hub, id: Seq, patience: Duration) -> Result<Value, Error> {
    let until = Instant::now() + patience;
    let mut backoff = Backoff::local();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        // Whole seconds, rounded up: a hub that answered early would be asked again and again.
        let asked = left.min(LONGEST_POLL);
        let seconds = asked.as_secs() + u64::from(asked.subsec_nanos() > 0);
        let request = Request::get(path(id).with("timeout", seconds));
        let patience = Duration::from_secs(seconds) + PATIENCE;
        match hub.text_within(&request, patience).await {
            Ok(answer) => {
                let question: Value = parse(&answer)?;
                let open = matches!(text(&question, "state"), "open" | "claimed");
                if !open || left.is_zero() {
                    return Ok(question);
                }
            }
            Err(error) if error.is_passing() && !left.is_zero() => backoff.pause().await,
            Err(error) => return Err(error),
        }
    }
}

/// Prints the answer, and acknowledges it once it is out.
async fn tell(hub: &Hub, question: &Value, json: bool) -> Result<Exit, Error> {
    let state = text(question, "state");
    if json {
        hand_over(&(json_line(&question.to_string()) + "\n"))?;
    }
    if matches!(state, "open" | "claimed") {
        say(format!(
            "question {} is still open, the answer will come to your inbox",
            number(question, "id")
        ));
        return Ok(Exit::DONE);
    }
    if state != "answered" {
        say(outcome(question));
        return Ok(Exit::REFUSED);
    }
    if !json {
        // Lines stay lines.
        let lines = text(question, "answer").lines();
        hand_over(&(lines.map(line).collect::<Vec<_>>().join("\n") + "\n"))?;
    }
    let inbox = Path::new("/inboxes").segment(text(question, "from"));
    let path = inbox
        .segment("ack")
        .with("project", text(question, "project"));
    let body = json!({"ids": [number(question, "answer_id")], "by": "hubctl ask"});
    if let Err(error) = hub.text(&Request::post(path, body.to_string())).await {
        say(format!("not acknowledged, will come again: {error}"));
    }
    Ok(Exit::DONE)
}
