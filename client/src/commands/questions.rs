//! `hubctl questions`: lists the questions that need an answer.

use hub_protocol::{Question, Questions, Timestamp};
use serde_json::value::RawValue;

use crate::api::question::{describe, questions};
use crate::arguments::projects::ProjectScope;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{json, parse};
use crate::identity::Context;
use crate::output::text::json_line;
use crate::output::{println, say};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Oldest first. `hubctl answer ID \"…\"` answers one.

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
    let project = args.scope.project(context).await?;
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
        say("no open questions");
    }
    let now = Timestamp::now();
    for json in questions {
        let question: Question = parse(json.get())?;
        let place = if args.scope.all_projects {
            format!("  in {}", question.project)
        } else {
            String::new()
        };
        println(format_args!("{}{place}", describe(&question, now)))?;
    }
    Ok(Exit::DONE)
}
