//! `hubctl notify`: say something.

mod dry_run;

use std::io::Read;

use hub_protocol::{
    InboxName, InboxTouched, Kind, MAX_ITEM_BYTES, Post, Priority, ProjectName, Published, Seq,
    Timestamp,
};
use serde_json::Value;

use crate::env::Sourced;
use crate::error::{Error, Exit};
use crate::here::Here;
use crate::hub::parse;
use crate::out::{println, say};
use crate::publish::{Attempt, publish};
use crate::sender::sender;
use crate::span::Span;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
When the hub is down the notification is kept in the state directory, and the hub takes it in when it starts.
Where a sandbox blocks sockets, a state (complete, question, testing, error, progress) is written into the
session's status file instead: $HUB_STATUS_FILE, or .hub/status/SESSION in the worktree.

Examples:
  hubctl notify \"backup done\"
  hubctl notify --to reviewer --type testing --title \"Login form\" \"please try it\"
  git log -1 --format=%B | hubctl notify --type progress -
  hubctl notify --key build --ttl 1h --data '{\"exit\":1}' --type error \"the build failed\"
  hubctl notify --dry-run \"who am I?\"")]
/// What to say, and to whom.
pub(crate) struct Args {
    /// The text; `-` reads it from stdin
    #[arg(required = true, value_name = "MESSAGE")]
    message: Vec<String>,
    /// Who says it [default: this agent session, or the linked worktree's name]
    #[arg(long, value_name = "ID")]
    from: Option<InboxName>,
    /// The inbox to reach: primary, person, a session, all, or any name [default: by the type]
    #[arg(long, value_name = "INBOX")]
    to: Option<InboxName>,
    /// complete, waiting, question, approval, testing, error, progress, message, answer or ended
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<Kind>,
    /// urgent, high, normal or low (rides along, wakes nobody)
    #[arg(long, value_name = "P")]
    priority: Option<Priority>,
    /// The project [default: `HUB_PROJECT`, git config hub.project, the main worktree's path, default]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// A line above the text
    #[arg(long, value_name = "T")]
    title: Option<String>,
    /// Anything for programs
    #[arg(long, value_name = "JSON", value_parser = json)]
    data: Option<Value>,
    /// Replaces what is pending under the same key from the same sender
    #[arg(long, value_name = "K")]
    key: Option<String>,
    /// When it stops being offered: seconds, or 90s, 10m, 2h, 7d [default: 7d, questions 30d]
    #[arg(long, value_name = "SPAN")]
    ttl: Option<Span>,
    /// The notification that this answers
    #[arg(long, value_name = "ID")]
    reply_to: Option<Seq>,
    /// Whose worker the sender is [default: `HUB_PARENT`]
    #[arg(long, value_name = "ID")]
    parent: Option<InboxName>,
    /// Whose state this changes [default: the sender]
    #[arg(long, value_name = "ID")]
    session: Option<InboxName>,
    /// Print what would be sent, and which rule gave each value
    #[arg(long)]
    dry_run: bool,
    /// Print the hub's answer as JSON
    #[arg(long)]
    json: bool,
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))
}

/// A post, and the rules that gave what the command line did not.
#[derive(Debug)]
struct Draft {
    post: Post,
    from: Sourced<InboxName>,
    project: Sourced<ProjectName>,
    parent: Option<Sourced<InboxName>>,
}

pub(crate) async fn run(args: &Args, here: &Here) -> Result<Exit, Error> {
    let draft = draft(args, here, Timestamp::now())?;
    if args.dry_run {
        return dry_run::show(&draft, args.json);
    }
    match publish(here, &draft.post).await? {
        Attempt::Sent(sent) => {
            tell(&sent.answer, args.json)?;
            sent.send_spooled(here).await;
        }
        Attempt::Unsent(unsent) => unsent.leave(here, &draft.post)?,
    }
    Ok(Exit::DONE)
}

fn draft(args: &Args, here: &Here, now: Timestamp) -> Result<Draft, Error> {
    let from = sender(&here.env, args.from.as_ref())?;
    let project = here.project(args.project.as_ref())?;
    let parent = match &args.parent {
        Some(parent) => Some(Sourced::new(parent.clone(), "--parent")),
        None => here.env.parsed("HUB_PARENT")?,
    };
    let post = Post {
        msg: text(&args.message)?,
        from: Some(from.value.clone()),
        to: args.to.clone(),
        kind: args.kind,
        priority: args.priority,
        project: Some(project.value.clone()),
        title: args.title.clone(),
        data: args.data.clone(),
        session: args.session.clone(),
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

fn text(message: &[String]) -> Result<String, Error> {
    let text = if message == ["-"] {
        let mut text = String::new();
        // One byte more than can be sent is enough to know that it is too much.
        let most = MAX_ITEM_BYTES as u64 + 1;
        std::io::stdin()
            .take(most)
            .read_to_string(&mut text)
            .map_err(|error| Error::Usage(format!("stdin: {error}")))?;
        text.truncate(text.trim_end_matches(['\n', '\r']).len());
        text
    } else {
        message.join(" ")
    };
    // The hub would say so too, but not to a sender that spooled it and is gone.
    if text.trim().is_empty() {
        return Err(Error::Usage("the message is empty".into()));
    }
    Ok(text)
}

fn tell(answer: &str, json: bool) -> Result<(), Error> {
    let published: Published = parse(answer)?;
    for inbox in &published.inboxes {
        if let Some(note) = creation_note(inbox) {
            say(note);
        }
    }
    if let Some(hint) = &published.hint {
        say(hint);
    }
    if json {
        return println(crate::text::json_line(answer));
    }
    println(summary(&published))
}

fn creation_note(inbox: &InboxTouched) -> Option<String> {
    let expected = [InboxName::PRIMARY, InboxName::PERSON].contains(&inbox.name.as_str());
    if !inbox.created || expected {
        return None;
    }
    Some(match &inbox.nearest {
        Some(nearest) => format!(
            "'{}' is a new inbox; the nearest known one is '{nearest}'",
            inbox.name
        ),
        None => format!("'{}' is a new inbox", inbox.name),
    })
}

fn summary(published: &Published) -> String {
    let names: Vec<&str> = published
        .inboxes
        .iter()
        .map(|inbox| inbox.name.as_str())
        .collect();
    let whereto = if names.is_empty() {
        "recorded".into()
    } else {
        format!("stored for {}", names.join(", "))
    };
    match published.woken {
        0 => format!("{} {whereto}", published.id),
        1 => format!("{} {whereto}; 1 waiter woken", published.id),
        woken => format!("{} {whereto}; {woken} waiters woken", published.id),
    }
}
