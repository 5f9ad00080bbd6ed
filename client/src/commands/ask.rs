//! `hubctl ask`: asks a question, and waits for the answer if asked to.

use std::time::Duration;

use hub_protocol::{
    AckRequest, Framed, InboxName, Kind, Post, ProjectName, Published, Question, QuestionState,
    Seq, Span, Timestamp,
};
use serde_json::Value;
use tokio::time::Instant;

use super::notify::{json as any_json, text as message};
use crate::api::question::{outcome, path};
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::backoff::Backoff;
use crate::hub::{Hub, PATIENCE, Path, Request, json, parse};
use crate::identity::Context;
use crate::identity::sender::{is_outside, sender, session};
use crate::output::text::{json_for, json_line, line};
use crate::output::{demand_stdout, print, println, say, unread};
use crate::publish::{Attempt, publish, send_spooled, warn_about};
use crate::system::env::Sourced;
use crate::system::parent;

/// The longest single request. The deadline may be many requests away.
const LONGEST_POLL: Duration = Duration::from_secs(600);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints the question's id. With --wait it prints the answer instead and acknowledges it; inside an agent's session the \
answer has the form that `hubctl wait` prints. If no answer arrives in time, it prints a note on stderr and exits 0: \
the answer will arrive in your inbox. If the question was withdrawn or has expired, it exits 1.

Examples:
  hubctl ask \"Which database?\" --option postgres --option sqlite
  answer=$(hubctl ask \"Which database?\" --wait)
  hubctl ask --approval --to person \"May I force-push?\" --wait 10m
  hubctl ask --key plan --data '{\"files\":[\"a.rs\"]}' \"Is this plan good?\"")]
/// The arguments of `hubctl ask`.
pub(crate) struct AskArgs {
    /// The question; `-` reads it from stdin
    #[arg(required = true, value_name = "TEXT")]
    message: Vec<String>,
    /// An answer to offer; may be given several times
    #[arg(long = "option", value_name = "A")]
    options: Vec<String>,
    /// The inbox to ask [default: primary, and the sender's parent; for an approval the person]
    #[arg(long, value_name = "INBOX")]
    to: Option<InboxName>,
    /// Any JSON value, for programs
    #[arg(long, value_name = "JSON", value_parser = any_json)]
    data: Option<Value>,
    /// Ask a person for a permission; the answer is allow or deny
    #[arg(long)]
    approval: bool,
    /// Supersede the sender's open question with the same key
    #[arg(long, value_name = "K")]
    key: Option<String>,
    /// Wait for the answer, at most this long: 90, 10m or 2h [default: 570]
    #[arg(long, value_name = "SPAN", num_args = 0..=1, default_missing_value = "570")]
    wait: Option<Span>,
    /// The sender, whose inbox gets the answer [default: as for notify]
    #[arg(long, value_name = "ID")]
    from: Option<InboxName>,
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// Print the hub's answer as JSON; with --wait, the question in its final state
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &AskArgs, context: &Context) -> Result<Exit, Error> {
    if args.wait.is_some() {
        // Without this check, an answer could be acknowledged that was never printed.
        demand_stdout()?;
    }
    let from = sender(context, args.from.as_ref()).await?;
    let post = post(args, context, &from).await?;
    let sent = match publish(context, &post).await? {
        Attempt::Sent(sent) => sent,
        Attempt::Unsent(unsent) => {
            unsent.leave(context, &post)?;
            return Ok(Exit::DONE);
        }
    };
    let published: Published = parse(&sent.answer)?;
    warn_about(&published);
    let outside = is_outside(&from);
    if outside && args.wait.is_none() {
        say(format!(
            "this is not an agent's session: the answer goes to the inbox '{0}'; --wait or hubctl wait --inbox {0} prints it",
            from.value
        ));
    }
    let Some(patience) = args.wait else {
        if args.json {
            println(json_line(&sent.answer))?;
        } else {
            println(published.id)?;
        }
        send_spooled(&sent.hub, context).await;
        return Ok(Exit::DONE);
    };
    say(format!("asked as {}", published.id));
    // Inside a session a model reads the output, even if --from names another sender.
    let in_session = !outside && (args.from.is_none() || session(context).await?.is_some());
    tokio::select! {
        settled = settled(&sent.hub, published.id, patience.0) => report(&sent.hub, settled?, args.json, in_session).await,
        // The process that would read the answer has ended.
        () = parent::ended(&context.env) => Ok(Exit::DONE),
        () = unread() => Err(Error::Unread),
    }
}

async fn post(args: &AskArgs, context: &Context, from: &Sourced<InboxName>) -> Result<Post, Error> {
    let kind = if args.approval {
        Kind::Approval
    } else {
        Kind::Question
    };
    let parent = context.env.parsed("HUB_PARENT")?;
    Ok(Post {
        msg: message(&args.message)?,
        from: Some(from.value.clone()),
        to: args.to.clone(),
        kind: Some(kind),
        project: Some(context.project(args.project.as_ref()).await?.value),
        data: args.data.clone(),
        parent: parent.map(|parent| parent.value),
        key: args.key.clone(),
        options: (!args.options.is_empty()).then(|| args.options.clone()),
        ts: Some(Timestamp::now()),
        ..Post::default()
    })
}

/// The question once it is settled, or its state after `patience`, with the hub's JSON. The hub may restart meanwhile.
async fn settled(hub: &Hub, id: Seq, patience: Duration) -> Result<(Question, String), Error> {
    let until = Instant::now() + patience;
    let mut backoff = Backoff::local();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        // Whole seconds, rounded up: rounded down, the last request would have a timeout of 0, and be repeated without
        // a pause.
        let asked = left.min(LONGEST_POLL);
        let seconds = asked.as_secs() + u64::from(asked.subsec_nanos() > 0);
        let request = Request::get(path(id).with("timeout", seconds));
        let patience = Duration::from_secs(seconds) + PATIENCE;
        match hub.text_within(&request, patience).await {
            Ok(answer) => {
                let question: Question = parse(&answer)?;
                if question.state.is_final() || left.is_zero() {
                    return Ok((question, answer));
                }
            }
            Err(error) if error.is_passing() && !left.is_zero() => backoff.pause().await,
            Err(error) => return Err(error),
        }
    }
}

/// Prints the answer, and acknowledges it after the output is flushed.
async fn report(
    hub: &Hub,
    (question, text): (Question, String),
    as_json: bool,
    in_session: bool,
) -> Result<Exit, Error> {
    if as_json {
        print(&(json_for(&text, in_session) + "\n"))?;
    }
    if !question.state.is_final() {
        say(format!(
            "question {} is still open; the answer will arrive in your inbox",
            question.id
        ));
        return Ok(Exit::DONE);
    }
    if question.state != QuestionState::Answered {
        say(outcome(&question));
        return Ok(Exit::REFUSED);
    }
    let answer_id = question.answer_id.unwrap_or_default();
    if !as_json && in_session {
        let answer = Path::new("/notifications").segment(answer_id);
        let answer = hub.text(&Request::get(answer)).await?;
        print(Framed::new(&[&answer], 0).as_str())?;
    } else if !as_json {
        // Escape each line by itself, so that the answer keeps its lines.
        let answer = question.answer.unwrap_or_default();
        let lines = answer.lines().map(line);
        print(&(lines.collect::<Vec<_>>().join("\n") + "\n"))?;
    }
    let path = Path::new("/inboxes")
        .segment(&question.from)
        .segment("ack")
        .with("project", &question.project);
    let body = AckRequest {
        ids: Some(vec![answer_id]),
        by: Some("hubctl ask".into()),
        ..AckRequest::default()
    };
    if let Err(error) = hub.text(&Request::post(path, json(&body)?)).await {
        say(format!(
            "not acknowledged, so it will be delivered again: {error}"
        ));
    }
    Ok(Exit::DONE)
}
