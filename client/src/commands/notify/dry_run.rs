//! `hubctl notify --dry-run`: prints the record that would be sent, and the source of each value.

use hub_protocol::{InboxName, Kind};
use serde_json::json;

use super::Draft;
use crate::error::Error;
use crate::exit_code::Exit;
use crate::output::println;
use crate::output::text::{json_line, line};

/// Prints the record and the source of each value.
pub(super) fn show(draft: &Draft, as_json: bool) -> Result<Exit, Error> {
    let record = serde_json::to_string(&draft.post).map_err(anyhow::Error::from)?;
    let rules = rules(draft);
    if as_json {
        let rules: serde_json::Map<_, _> = rules
            .iter()
            .map(|rule| {
                (
                    rule.name.into(),
                    json!({"value": rule.value, "source": rule.source}),
                )
            })
            .collect();
        let shown = json!({"record": draft.post, "rules": rules}).to_string();
        println(json_line(&shown))?;
        return Ok(Exit::DONE);
    }
    println(json_line(&record))?;
    for rule in rules {
        println(format_args!(
            "{:9} {}  ({})",
            rule.name,
            line(&rule.value),
            rule.source
        ))?;
    }
    Ok(Exit::DONE)
}

struct Rule {
    name: &'static str,
    value: String,
    source: &'static str,
}

fn rules(draft: &Draft) -> Vec<Rule> {
    let post = &draft.post;
    let rule = |name, value: String, source| Rule {
        name,
        value,
        source,
    };
    let kind = post.kind.unwrap_or(Kind::Complete);
    let mut rules = vec![
        rule("from", draft.from.value.to_string(), draft.from.source),
        match (&post.project, post.reply_to) {
            (None, Some(id)) => rule("project", format!("that of {id}"), "--reply-to"),
            _ => rule(
                "project",
                draft.project.value.to_string(),
                draft.project.source,
            ),
        },
        match post.kind {
            Some(kind) => rule("type", kind.to_string(), "--type"),
            None => rule(
                "type",
                kind.to_string(),
                "default; does not change a session's state",
            ),
        },
        match &post.to {
            Some(to) => rule("to", to.to_string(), "--to"),
            None => rule("to", default_target(kind).into(), "by the type"),
        },
        match post.priority {
            Some(priority) => rule("priority", priority.to_string(), "--priority"),
            None => rule("priority", "normal".into(), "default"),
        },
    ];
    if let Some(parent) = &draft.parent {
        rules.push(rule("parent", parent.value.to_string(), parent.source));
    }
    rules
}

fn default_target(kind: Kind) -> &'static str {
    match kind {
        Kind::Approval => "person, and primary without waking it",
        Kind::Progress => "no inbox, recorded only",
        Kind::Answer => "the asker",
        _ => InboxName::PRIMARY,
    }
}
