//! `hubctl answer`: answers a need: a question, or a session that waits for the person.

use hub_protocol::{
    Answer, AnswerDelivery, AnswerPost, Chosen, Control, Need, Offer, Question, Seq, single_spaced,
};

use super::notify::text;
use crate::api::need::{self, need};
use crate::api::question::settled;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Request, json, parse};
use crate::identity::Context;
use crate::identity::sender::by;
use crate::output::text::{json_line, said};
use crate::output::{println, say};

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["answer", "option", "each"]))]
// Clap would print the group before the identifier.
#[command(override_usage = "hubctl answer [OPTIONS] <ID> <TEXT|--option <N>|--each <TEXT>>")]
#[command(after_help = "\
A dialog with several questions takes an answer for each, in their order: --each or --option as often as it has \
questions. Answer a permission with allow, allow always (what `hubctl questions` shows), or deny: why; a plan with \
approve, approve: accept edits, or reject: why; an MCP server's form with accept: {JSON}, decline or cancel. These \
need a terminal outside any agent. The first answer counts; the hub refuses later ones and shows the first. A dialog \
that the hub does not hold must be answered in its own terminal; the hub refuses an answer and shows where that \
terminal is. A session that has stopped gets the text as a message; if it does not take that, its need is open again \
and says why.

Exits with 0 if the session has the answer or gets it with its next turn, with 6 if the answer does not reach the \
session.

Examples:
  hubctl answer 41 \"use postgres\"
  hubctl answer 41 --option 2
  hubctl answer 43 --each \"keep both; rename mine\" --each no
  hubctl answer 42 allow
  hubctl answer 42 \"allow always\"
  hubctl answer 42 \"deny: not on main\"
  hubctl answer s44 \"now the tests\"")]
/// The arguments of `hubctl answer`.
pub(crate) struct AnswerArgs {
    /// The need, as `hubctl needs` lists it
    #[arg(value_name = "ID")]
    id: String,
    /// The answer; `-` reads it from stdin
    #[arg(value_name = "TEXT")]
    answer: Vec<String>,
    /// One of the answers that the question offers, by its number or its text; for a dialog with several questions, one
    /// of each
    #[arg(long, value_name = "N")]
    option: Vec<String>,
    /// The answer to the next question of a dialog that has several
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    each: Vec<String>,
    /// Answer only if the need still says what it did in this revision (`hubctl needs --json`)
    #[arg(long, value_name = "N")]
    revision: Option<Seq>,
    /// Print the hub's answer as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &AnswerArgs, context: &Context) -> Result<Exit, Error> {
    let hub = context.hub()?;
    let asked = need(&hub, &args.id).await?;
    let answer = match (&args.option[..], &args.each[..]) {
        ([], []) => Answer::of_words(&text(&args.answer)?, controls(&asked)),
        ([], each) => Answer::Choices(each.iter().map(|it| typed(it)).collect()),
        (options, _) => offered(&asked, options)?,
    };
    let by = by(context).await?;
    let shown = answer.to_string();
    let body = json(&AnswerPost {
        session: by.session,
        by: by.by,
        revision: Some(args.revision.unwrap_or(asked.revision)),
        ..AnswerPost::new(answer)
    })?;
    let path = need::path(&args.id).segment("answer");
    let Some(text) = settled(&hub, &args.id, Request::post(path, body)).await? else {
        return Ok(Exit::REFUSED);
    };
    if args.json {
        println(json_line(&text))?;
    } else {
        println(format_args!(
            "answered {} ({}): {}",
            args.id,
            said(&single_spaced(need::text(&asked))),
            said(&shown)
        ))?;
    }
    let (progress, exit) = if asked.kind.asks() {
        progress(&parse(&text)?)
    } else {
        (REPLIED, Exit::DONE)
    };
    if exit != Exit::DONE {
        say(progress);
    } else if !args.json {
        println(progress)?;
    }
    Ok(exit)
}

/// What becomes of a message to a session that has stopped.
const REPLIED: &str =
    "stored; the session gets it with its next turn, and `hubctl needs` says if it does not";

/// How far the answer has come, and the exit code for it.
fn progress(question: &Question) -> (&'static str, Exit) {
    use AnswerDelivery::{Delivered, Taken, Terminal};
    match question.delivery {
        Some(Terminal) => (
            "the answer did not reach the session: its dialog waits in its own terminal",
            Exit::UNDELIVERED,
        ),
        _ if !question.deliverable => (
            "the session that asked is over: it reads the answer only if it is resumed within a day",
            Exit::UNDELIVERED,
        ),
        Some(Delivered | Taken) => ("the session has it", Exit::DONE),
        _ => (
            "stored; it is delivered with the session's next turn",
            Exit::DONE,
        ),
    }
}

fn typed(text: &str) -> Chosen {
    Chosen {
        labels: Vec::new(),
        text: Some(text.to_owned()).filter(|it| !it.trim().is_empty()),
    }
}

/// The controls that answer a need.
fn controls(need: &Need) -> &[Control] {
    need.whole.as_ref().map_or(&[], |it| &it.controls)
}

/// Returns the options that match `chosen`, one for each question of a dialog.
fn offered(need: &Need, chosen: &[String]) -> Result<Answer, Error> {
    let id = &need.id;
    let choices = controls(need).iter().filter_map(|it| match it {
        Control::Choice(choice) => Some(&choice.options[..]),
        _ => None,
    });
    let questions: Vec<_> = choices.collect();
    if questions.is_empty() {
        return Err(Error::Usage(format!(
            "question {id} offers no options: answer it with text"
        )));
    }
    if chosen.len() != questions.len() {
        let (count, given) = (questions.len(), chosen.len());
        return Err(Error::Usage(format!(
            "question {id} needs {count} times --option, in the order of its questions, and was given {given}"
        )));
    }
    let found = questions.iter().zip(chosen);
    let found = found.map(|(all, one)| {
        let label = option(id, all, one)?;
        Ok(Chosen {
            labels: vec![label],
            text: None,
        })
    });
    Ok(Answer::Choices(found.collect::<Result<_, Error>>()?))
}

/// Returns the option that matches `option`: by its text, or by its number as `hubctl questions` shows it.
fn option(id: &str, options: &[Offer], option: &str) -> Result<String, Error> {
    let labels: Vec<_> = options.iter().map(|it| &it.label).collect();
    let numbered = || labels.get(option.parse::<usize>().ok()?.checked_sub(1)?);
    match labels.iter().find(|it| **it == option).or_else(numbered) {
        Some(found) => Ok((*found).clone()),
        None if options.is_empty() => Err(Error::Usage(format!(
            "question {id} offers no options: answer it with text"
        ))),
        None => Err(Error::Usage(format!(
            "question {id} has no option '{option}'; it offers: {}",
            { labels.iter() }
                .map(|it| said(it))
                .collect::<Vec<_>>()
                .join(", ")
        ))),
    }
}
