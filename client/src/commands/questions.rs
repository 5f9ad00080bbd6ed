//! `hubctl questions`: lists the questions that need an answer.

use hub_protocol::{ProjectName, Question, Questions, Timestamp};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::api::question::{describe, questions};
use crate::arguments::projects::{ProjectScope, none_of};
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Hub, json, parse};
use crate::identity::Context;
use crate::output::text::json_line;
use crate::output::{println, say};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Oldest first. `hubctl answer ID \"…\"` answers one. Outside of a repository the questions of all projects are listed.

Examples:
  hubctl questions
  hubctl questions --all --all-projects --json")]
/// The arguments of `hubctl questions`.
pub(crate) struct QuestionsArgs {
    /// Include settled questions
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    scope: ProjectScope,
    /// Print the hub's answer as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &QuestionsArgs, context: &Context) -> Result<Exit, Error> {
    let project = args.scope.project_or_all(context).await?;
    let hub = context.hub()?;
    let questions: Vec<Box<RawValue>> = questions(&hub, project.as_ref(), args.all).await?;
    if args.json {
        let all = Questions {
            questions,
            next: None,
        };
        println(json_line(&json(&all)?))?;
        return Ok(Exit::DONE);
    }
    if questions.is_empty() {
        let count = elsewhere(&hub, project.as_ref()).await?;
        say(none_of("open questions", count, "questions"));
    }
    let now = Timestamp::now();
    for json in questions {
        let question: Question = parse(json.get())?;
        let place = project.is_none().then_some(&question.project);
        println(describe(&question, place, now))?;
    }
    Ok(Exit::DONE)
}

/// How many open questions other projects have, if `project` has none.
async fn elsewhere(hub: &Hub, project: Option<&ProjectName>) -> Result<usize, Error> {
    if project.is_none() {
        return Ok(0);
    }
    Ok(questions::<IgnoredAny>(hub, None, false).await?.len())
}
