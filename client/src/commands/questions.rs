//! `hubctl questions`: lists the questions that need an answer.

use hub_protocol::{Question, Questions, Timestamp};

use crate::error::{Error, Exit};
use crate::here::Here;
use crate::hub::parse;
use crate::out::{println, say};
use crate::question::{describe, request};
use crate::scope::Scope;
use crate::text::json_line;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Oldest first. `hubctl answer ID \"…\"` answers one.

Examples:
  hubctl questions
  hubctl questions --all --all-projects --json")]
/// Which.
pub(crate) struct Args {
    /// Those that are settled too
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    scope: Scope,
    /// Print the hub's answer as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args, here: &Here) -> Result<Exit, Error> {
    let project = args.scope.project(here)?;
    let answer = here
        .hub()?
        .text(&request(project.as_ref(), args.all))
        .await?;
    if args.json {
        println(json_line(&answer))?;
        return Ok(Exit::DONE);
    }
    let Questions::<Question> { questions } = parse(&answer)?;
    if questions.is_empty() {
        say("no question is open");
    }
    let now = Timestamp::now();
    for question in questions {
        let place = if args.scope.all_projects {
            format!("  in {}", question.project)
        } else {
            String::new()
        };
        println(format_args!("{}{place}", describe(&question, now)))?;
    }
    Ok(Exit::DONE)
}
