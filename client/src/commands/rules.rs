//! `hubctl rules`: lists the hub's rules, and tests rules on its log.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use hub_protocol::Span;
use serde::Deserialize;

use crate::error::Error;
use crate::exit_code::Exit;
use crate::hub::{Path, Request, parse};
use crate::identity::Context;
use crate::output::println;
use crate::output::text::{json_line, line};

/// How long the hub may read its log.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hubctl rules
  hubctl rules test --since 1d
  hubctl rules test --config ~/.config/hub/config.toml")]
/// The arguments of `hubctl rules`.
pub(crate) struct RulesArgs {
    #[command(subcommand)]
    action: Option<RulesAction>,
    /// Print the hub's answer as JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum RulesAction {
    /// Show the notifications on which the rules would have fired, without firing them
    Test {
        /// How far to go back in the log, such as 90s, 10m, 2h or 7d
        #[arg(long, value_name = "TIME", default_value = "1d")]
        since: Span,
        /// Test the rules of this configuration file [default: those of the hub]
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
}

/// The text in the hub's answer.
#[derive(Deserialize)]
struct RulesText {
    text: String,
}

pub(crate) async fn run(args: &RulesArgs, context: &Context) -> Result<Exit, Error> {
    let path = Path::new("/rules");
    let request = match &args.action {
        None => Request::get(path),
        Some(RulesAction::Test { since, config }) => {
            let body = match config {
                None => "{}".into(),
                Some(path) => {
                    let text = std::fs::read_to_string(path);
                    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
                    serde_json::json!({ "config": text }).to_string()
                }
            };
            let path = path.segment("test").with("seconds", since.0.as_secs());
            Request::post(path, body)
        }
    };
    let answer = context.hub()?.text_within(&request, PATIENCE).await?;
    if args.json {
        println(json_line(&answer))?;
        return Ok(Exit::DONE);
    }
    for text in parse::<RulesText>(&answer)?.text.lines() {
        println(line(text))?;
    }
    Ok(Exit::DONE)
}
