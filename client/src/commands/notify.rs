//! `hubctl notify`: publishes a notification.

mod dry_run;

use std::io::Read;

use hub_protocol::{
    Counted, InboxName, InboxTouched, Kind, MAX_ITEM_BYTES, Post, Priority, ProjectName, Published,
    Seq, Span, Timestamp,
};
use serde_json::Value;

use super::listen::NewListener;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::parse;
use crate::identity::Context;
use crate::identity::sender::{is_outside, sender};
use crate::output::{println, say};
use crate::publish::{Attempt, publish, send_spooled, warn_about};
use crate::system::env::Sourced;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
While the hub is down, the notification is stored in the state directory, and the hub reads it when it starts. If a \
sandbox blocks sockets, a state (complete, question, testing, error, progress) is written into the session's status \
file instead: $HUB_STATUS_FILE, or .hub/status/SESSION in the worktree.

Examples:
  hubctl notify \"backup done\"
  hubctl notify --to reviewer --type testing --title \"Login form\" \"please try it\"
  git log -1 --format=%B | hubctl notify --type progress -
  hubctl notify --key build --ttl 1h --data '{\"exit\":1}' --type error \"the build failed\"
  hubctl notify --to worker-1 --listen \"please fix the login form\"
  hubctl notify --dry-run \"who am I?\"")]
/// The arguments of `hubctl notify`.
pub(crate) struct NotifyArgs {
    /// The text; `-` reads it from stdin
    #[arg(required = true, value_name = "MESSAGE")]
    message: Vec<String>,
    /// The sender [default: this agent session; outside any agent the person at a terminal, else USER@HOST]
    #[arg(long, value_name = "ID")]
    from: Option<InboxName>,
    /// The inbox: primary, person, a session, all, or any name; the sender itself is never woken [default: by the type]
    #[arg(long, value_name = "INBOX")]
    to: Option<InboxName>,
    /// complete, waiting, question, approval, testing, error, progress, message, answer or ended
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<Kind>,
    /// urgent, high, normal or low (delivered with the next one that wakes)
    #[arg(long, value_name = "P")]
    priority: Option<Priority>,
    /// The project [default: `HUB_PROJECT`, git config hub.project, the main worktree's path, default]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// A line above the text
    #[arg(long, value_name = "T")]
    title: Option<String>,
    /// Any JSON value, for programs
    #[arg(long, value_name = "JSON", value_parser = json)]
    data: Option<Value>,
    /// Supersede the sender's pending notification with the same key
    #[arg(long, value_name = "K")]
    key: Option<String>,
    /// When it expires: seconds, or 90s, 10m, 2h, 7d [default: 7d, questions 30d]
    #[arg(long, value_name = "SPAN")]
    ttl: Option<Span>,
    /// The notification that it replies to
    #[arg(long, value_name = "ID")]
    reply_to: Option<Seq>,
    /// The session that the sender is a worker of [default: `HUB_PARENT`]
    #[arg(long, value_name = "ID")]
    parent: Option<InboxName>,
    /// The session whose state it changes [default: the sender]
    #[arg(long, value_name = "ID")]
    session: Option<InboxName>,
    /// Be notified of the next stop of the session that --to names
    #[arg(long, requires = "to")]
    listen: bool,
    /// Print the notification and the source of each value instead of sending it
    #[arg(long)]
    dry_run: bool,
    /// Print the hub's answer as JSON
    #[arg(long)]
    json: bool,
}

/// Parses an argument as JSON.
pub(super) fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))
}

/// A post, and the sources of the values that the command line did not give.
#[derive(Debug)]
struct Draft {
    post: Post,
    from: Sourced<InboxName>,
    project: Sourced<ProjectName>,
    parent: Option<Sourced<InboxName>>,
}

pub(crate) async fn run(args: &NotifyArgs, context: &Context) -> Result<Exit, Error> {
    let draft = draft(args, context, Timestamp::now()).await?;
    if args.dry_run {
        return dry_run::show(&draft, args.json);
    }
    if args.listen {
        listen(&draft, context).await?;
    }
    match publish(context, &draft.post).await? {
        Attempt::Sent(sent) => {
            report(&sent.answer, args.json)?;
            send_spooled(&sent.hub, context).await;
        }
        Attempt::Unsent(unsent) => unsent.leave(context, &draft.post)?,
    }
    Ok(Exit::DONE)
}

/// Makes the sender listen for the next stop of the recipient. This is done before publishing, so that no stop is
/// missed.
async fn listen(draft: &Draft, context: &Context) -> Result<(), Error> {
    // The parser requires --to.
    let Some(target) = &draft.post.to else {
        return Ok(());
    };
    let caller = if is_outside(&draft.from) {
        InboxName::primary()
    } else {
        draft.from.value.clone()
    };
    let listener = NewListener {
        target,
        caller: &caller,
        project: &draft.project.value,
        within: None,
        fresh: true,
    };
    let put = match context.hub() {
        Ok(hub) => listener.put(&hub).await,
        Err(error) => Err(error),
    };
    match put {
        Ok(_) => Ok(()),
        // The notification will be spooled, but a listener that is set later could miss the stop.
        Err(error) if error.is_passing() => {
            say(format!(
                "could not set a listener of {caller} for {target}: {error}"
            ));
            Ok(())
        }
        Err(error) => Err(error),
    }
}

async fn draft(args: &NotifyArgs, context: &Context, now: Timestamp) -> Result<Draft, Error> {
    let from = sender(context, args.from.as_ref()).await?;
    let project = context.project(args.project.as_ref()).await?;
    let parent = match &args.parent {
        Some(parent) => Some(Sourced::new(parent.clone(), "--parent")),
        None => context.env.parsed("HUB_PARENT")?,
    };
    // A reply belongs to the project of the notification that it answers, so none is sent.
    let is_placed = args.reply_to.is_some() && args.project.is_none();
    let post = Post {
        msg: text(&args.message)?,
        from: Some(from.value.clone()),
        to: args.to.clone(),
        kind: args.kind,
        priority: args.priority,
        project: (!is_placed).then(|| project.value.clone()),
        title: args.title.clone(),
        data: args.data.clone(),
        session: args.session.clone().or_else(|| unknown_session(&from)),
        parent: parent.as_ref().map(|parent| parent.value.clone()),
        key: args.key.clone(),
        reply_to: args.reply_to,
        expires_at: None,
        ttl: args.ttl.map(|span| span.0.as_secs()),
        options: None,
        ts: Some(now),
    };
    Ok(Draft {
        post,
        from,
        project,
        parent,
    })
}

/// Returns `unknown` for a person's notification, so that it changes the state of no session; `None` for a session's.
fn unknown_session(from: &Sourced<InboxName>) -> Option<InboxName> {
    is_outside(from)
        .then(|| InboxName::UNKNOWN.parse().ok())
        .flatten()
}

/// Joins the words of a message; `-` alone reads the message from stdin.
pub(super) fn text(message: &[String]) -> Result<String, Error> {
    let text = if message == ["-"] {
        let mut bytes = Vec::new();
        // One byte above the limit shows that the text is too long.
        let most = MAX_ITEM_BYTES as u64 + 1;
        std::io::stdin()
            .take(most)
            .read_to_end(&mut bytes)
            .map_err(|error| Error::Usage(format!("stdin: {error}")))?;
        let end = bytes.iter().rposition(|byte| !b"\r\n".contains(byte));
        bytes.truncate(end.map_or(0, |last| last + 1));
        decoded(bytes)
    } else {
        message.join(" ")
    };
    // The hub would refuse it too, but for a spooled message that would be too late to tell the sender.
    if text.trim().is_empty() {
        return Err(Error::Usage("the message is empty".into()));
    }
    Ok(text)
}

/// Decodes a text as UTF-8. If it is not, decodes it as Latin-1, in which every byte is a character, and marks that at
/// its end.
fn decoded(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        say("stdin is not UTF-8: reading it as Latin-1");
        let mut text: String = error.as_bytes().iter().copied().map(char::from).collect();
        text.push_str("\n[not UTF-8: read as Latin-1]");
        text
    })
}

fn report(answer: &str, json: bool) -> Result<(), Error> {
    let published: Published = parse(answer)?;
    warn_about(&published);
    if json {
        return println(crate::output::text::json_line(answer));
    }
    println(summary(&published))
}

fn summary(published: &Published) -> String {
    let name = |inbox| InboxTouched::shown(inbox);
    let names: Vec<&str> = published.inboxes.iter().map(name).collect();
    let whereto = if names.is_empty() {
        "recorded".into()
    } else {
        format!("stored for {}", names.join(", "))
    };
    match published.woken {
        0 => format!("{} {whereto}", published.id),
        woken => {
            let woken = Counted(woken, "waiter");
            format!("{} {whereto}; {woken} woken", published.id)
        }
    }
}
