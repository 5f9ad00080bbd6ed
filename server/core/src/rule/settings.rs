//! The `[[on]]` tables: how they are written, and what is wrong with one, with its key and the fix.

use std::time::Duration;

use hub_protocol::{InboxName, Kind, PhaseName, Priority, Span};
use regex::RegexBuilder;
use serde::Deserialize;
use toml::Table;

use super::invalid::{Fault, InvalidRule, line_of, one_line};
use super::{Actions, NotifyAction, Rule, RuleSet, Selector, Template};

/// The most rules.
const MAX_RULES: usize = 100;
/// The most characters of a rule's name.
const MAX_NAME: usize = 64;
/// The most bytes of a compiled expression, which with the length of the text bounds the time of a match.
const MAX_REGEX: usize = 128 * 1024;
/// The most bytes that each search with an expression keeps to be fast. It is slower once it needs more.
const MAX_DFA: usize = 256 * 1024;
/// The default cooldown.
const COOLDOWN: &str = "1m";
/// How long a program may run by default.
const TIMEOUT: &str = "60s";
/// How long a program may run at most, in milliseconds. Only four run at a time, so a program that hangs delays others.
const MAX_TIMEOUT_MS: u64 = 3600 * 1000;
/// The longest time that a rule can name, in milliseconds.
const MAX_SPAN_MS: i64 = 30 * 24 * 3600 * 1000;

const PHASES: [PhaseName; 6] = [
    PhaseName::NeedsYou,
    PhaseName::Blocked,
    PhaseName::YourTurn,
    PhaseName::Working,
    PhaseName::Done,
    PhaseName::Gone,
];

/// One `[[on]]` table.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    name: String,
    #[serde(rename = "type", default)]
    kinds: Vec<Kind>,
    #[serde(default)]
    from: Vec<String>,
    #[serde(default)]
    project: Vec<String>,
    min_priority: Option<Priority>,
    text: Option<String>,
    #[serde(default, alias = "state")]
    phase: Vec<String>,
    #[serde(rename = "for")]
    lasting: Option<String>,
    notify: Option<NotifySettings>,
    forward: Option<String>,
    run: Option<Vec<String>>,
    timeout: Option<String>,
    escalate: Option<String>,
    #[serde(default)]
    mute: bool,
    cooldown: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct NotifySettings {
    to: String,
    #[serde(rename = "type")]
    kind: Option<String>,
    priority: Option<String>,
    msg: String,
}

/// Parses the `[[on]]` tables of a configuration file, which may contain other settings.
pub fn parse(text: &str) -> Result<RuleSet, String> {
    let invalid = |it: toml::de::Error| {
        let line = line_of(text, it.span().map_or(0, |span| span.start));
        format!("line {line}: {}", one_line(it.message()))
    };
    let mut file: Table = text.parse().map_err(invalid)?;
    let Some(tables) = file.remove("on") else {
        return Ok(RuleSet::default());
    };
    let tables = tables.try_into::<Vec<Table>>();
    let tables = tables.map_err(|_| "on: begin each rule with a line [[on]], in two brackets")?;
    RuleSet::try_from(tables).map_err(|it| it.in_file(text))
}

impl<'de> Deserialize<'de> for RuleSet {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tables = Vec::<Table>::deserialize(deserializer)?;
        Self::try_from(tables).map_err(serde::de::Error::custom)
    }
}

impl TryFrom<Vec<Table>> for RuleSet {
    type Error = InvalidRule;

    fn try_from(tables: Vec<Table>) -> Result<Self, InvalidRule> {
        let mut rules: Vec<Rule> = Vec::with_capacity(tables.len());
        for (at, table) in (1..).zip(tables) {
            let name = table.get("name").and_then(|it| it.as_str());
            let label = name.map_or_else(|| format!("number {at}"), |name| format!("'{name}'"));
            let invalid = |fault| InvalidRule {
                number: at,
                rule: label.clone(),
                fault,
            };
            let settings = table.try_into::<Settings>();
            let settings = settings.map_err(|it| invalid(Fault::of_key(&it)))?;
            let rule = settings.rule().map_err(&invalid)?;
            if rules.iter().any(|it| it.name == rule.name) {
                let text = "two rules have it; each needs its own";
                return Err(invalid(Fault::of("name", text)));
            }
            if at > MAX_RULES {
                let text = format!("there are at most {MAX_RULES} rules");
                return Err(invalid(Fault::of_rule(text)));
            }
            rules.push(rule);
        }
        Ok(Self(rules))
    }
}

impl RuleSet {
    /// Checks that each `forward` names one of these forwards.
    pub fn check_forwards(&self, forwards: &[&str]) -> Result<(), InvalidRule> {
        for (number, rule) in (1..).zip(self.iter()) {
            let Some(name) = rule.actions.forward.as_deref() else {
                continue;
            };
            if forwards.contains(&name) {
                continue;
            }
            let known = match forwards {
                [] => String::new(),
                _ => format!("use {}, or ", forwards.join(" or ")),
            };
            return Err(InvalidRule {
                number,
                rule: format!("'{}'", rule.name),
                fault: Fault::of(
                    "forward",
                    format!(
                        "there is no [[forward]] with the name '{name}': {known}add one (docs/how-to/forward.md)"
                    ),
                ),
            });
        }
        Ok(())
    }
}

impl Settings {
    fn rule(self) -> Result<Rule, Fault> {
        let is_text = |c: char| c.is_alphanumeric() || " ._-:@+/".contains(c);
        let long = self.name.chars().count() > MAX_NAME;
        if self.name.trim().is_empty() || long || !self.name.chars().all(is_text) {
            let text = format!("use 1 to {MAX_NAME} letters, digits, spaces and . _ - : @ + /");
            return Err(Fault::of("name", text));
        }
        self.check_combination()?;
        let (when, then) = (self.when(), self.then());
        let cooldown_ms = span("cooldown", self.cooldown.as_deref().unwrap_or(COOLDOWN))?;
        Ok(Rule {
            when,
            then,
            on: self.selector()?,
            stay: self.stay()?,
            actions: self.actions()?,
            cooldown_ms,
            name: self.name,
        })
    }

    fn check_combination(&self) -> Result<(), Fault> {
        let refuse = |key, text| Err(Fault::at(key, text));
        let is_lasting = self.lasting.is_some();
        let by_sender = !self.from.is_empty() || !self.project.is_empty();
        let by_content =
            !self.kinds.is_empty() || self.min_priority.is_some() || self.text.is_some();
        if is_lasting == self.phase.is_empty() {
            let given = if is_lasting { "for" } else { "phase" };
            return refuse(
                given,
                "phase and for belong together: phase = [\"blocked\"], for = \"10m\"",
            );
        }
        if !is_lasting && !by_sender && !by_content {
            let text =
                "add a condition: type, from, project, min_priority, text, or phase with for";
            return Err(Fault::of_rule(text));
        }
        if is_lasting && by_content {
            let given = match (&self.text, self.min_priority) {
                (Some(_), _) => "text",
                (None, Some(_)) => "min_priority",
                (None, None) => "type",
            };
            return refuse(
                given,
                "type, min_priority and text match notifications; with phase, use from and project",
            );
        }
        if is_lasting && (self.mute || self.escalate.is_some() || self.forward.is_some()) {
            let given = match (&self.escalate, &self.forward) {
                (Some(_), _) => "escalate",
                (None, Some(_)) => "forward",
                (None, None) => "mute",
            };
            return refuse(
                given,
                "mute, forward and escalate need a notification; with phase, use notify or run",
            );
        }
        if is_lasting && self.cooldown.is_some() {
            let text = "leave it out; with phase, each stay fires once";
            return Err(Fault::of("cooldown", text));
        }
        if self.timeout.is_some() && self.run.is_none() {
            let text = "it limits the program of run: add run, or leave timeout out";
            return Err(Fault::of("timeout", text));
        }
        if self.notify.is_none()
            && self.forward.is_none()
            && self.run.is_none()
            && self.escalate.is_none()
            && !self.mute
        {
            let text = "add an action: notify, forward, run, escalate or mute";
            return Err(Fault::of_rule(text));
        }
        Ok(())
    }

    fn selector(&self) -> Result<Selector, Fault> {
        let text = self.text.as_deref().map(|text| {
            let mut builder = RegexBuilder::new(text);
            builder
                .size_limit(MAX_REGEX)
                .dfa_size_limit(MAX_DFA)
                .nest_limit(50);
            builder
                .build()
                .map_err(|it| Fault::of("text", regex_error(&it)))
        });
        Ok(Selector {
            kinds: self.kinds.clone(),
            from: self.from.clone(),
            projects: self.project.clone(),
            min_priority: self.min_priority,
            text: text.transpose()?,
        })
    }

    fn stay(&self) -> Result<Option<(Vec<PhaseName>, i64)>, Fault> {
        let phases = self.phase.iter().map(|it| phase(it));
        let phases: Vec<PhaseName> = phases.collect::<Result<_, _>>()?;
        let patience_ms = self
            .lasting
            .as_deref()
            .map(|it| span("for", it))
            .transpose()?;
        if patience_ms == Some(0) {
            return Err(Fault::of("for", "use at least 1s"));
        }
        Ok(patience_ms.map(|ms| (phases, ms)))
    }

    fn actions(&self) -> Result<Actions, Fault> {
        let run = self.run.as_ref();
        if run.is_some_and(|it| it.first().is_none_or(|program| program.trim().is_empty())) {
            let text = "name a program, then its arguments: run = [\"mpv\", \"bell.ogg\"]";
            return Err(Fault::of("run", text));
        }
        if run.is_some_and(|it| it.iter().any(|word| word.contains('\0'))) {
            let text = "a program and its arguments contain no NUL";
            return Err(Fault::of("run", text));
        }
        let notify = self
            .notify
            .as_ref()
            .map(NotifySettings::action)
            .transpose()?;
        let uses_id = notify.as_ref().is_some_and(|it| it.msg.uses("id"));
        if self.lasting.is_some() && uses_id {
            let text = "{id} needs a notification; with phase, use {session}";
            return Err(Fault::of("notify.msg", text));
        }
        let escalate = self.escalate.as_deref().map(|it| span("escalate", it));
        Ok(Actions {
            notify,
            forward: self.forward.clone(),
            run: run.cloned().zip(Some(self.limit()?)),
            escalate_ms: escalate.transpose()?,
            mute: self.mute,
        })
    }

    /// Returns how long the program may run.
    fn limit(&self) -> Result<Duration, Fault> {
        let ms = span("timeout", self.timeout.as_deref().unwrap_or(TIMEOUT))?;
        let ms = u64::try_from(ms)
            .ok()
            .filter(|ms| (1..=MAX_TIMEOUT_MS).contains(ms));
        let limit = ms.map(Duration::from_millis);
        limit.ok_or_else(|| Fault::of("timeout", "use 1s to 1h"))
    }

    /// Returns the condition, for people.
    fn when(&self) -> String {
        let kinds: Vec<_> = self.kinds.iter().map(ToString::to_string).collect();
        let list = |name: &str, values: &[String]| {
            (!values.is_empty()).then(|| format!("{name} {}", values.join(" or ")))
        };
        let parts = [
            list("type", &kinds),
            list("from", &self.from),
            list("project", &self.project),
            self.min_priority.map(|it| format!("min_priority {it}")),
            self.text.as_ref().map(|it| format!("text /{it}/")),
            list("phase", &self.phase),
            self.lasting.as_ref().map(|it| format!("for {it}")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Returns the actions, for people.
    fn then(&self) -> String {
        let parts = [
            self.mute.then(|| "mute".to_owned()),
            self.notify.as_ref().map(|it| format!("notify {}", it.to)),
            self.forward.as_ref().map(|it| format!("forward to {it}")),
            self.run.as_ref().map(|it| format!("run {}", it.join(" "))),
            self.escalate
                .as_ref()
                .map(|it| format!("escalate after {it}")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl NotifySettings {
    fn action(&self) -> Result<NotifyAction, Fault> {
        let to: InboxName = self.to.parse().map_err(|it| Fault::of("notify.to", it))?;
        let kind = self.kind.as_deref().unwrap_or("message").parse::<Kind>();
        let kind = kind.map_err(|it| Fault::of("notify.type", it))?;
        if matches!(
            kind,
            Kind::Question | Kind::Approval | Kind::Answer | Kind::Ended
        ) {
            let text = "a rule can send complete, waiting, testing, error, progress or message";
            return Err(Fault::of("notify.type", text));
        }
        let priority = self
            .priority
            .as_deref()
            .unwrap_or("normal")
            .parse::<Priority>();
        if self.msg.trim().is_empty() || self.msg.contains('\0') || self.msg.len() > 4000 {
            let text = "use 1 to 4000 bytes of text without NUL";
            return Err(Fault::of("notify.msg", text));
        }
        let unknown = |name| {
            let text = format!(
                "unknown placeholder '{{{name}}}' (use {{from}}, {{msg}}, {{session}}, {{project}} or {{id}})"
            );
            Fault::of("notify.msg", text)
        };
        Ok(NotifyAction {
            to,
            kind,
            priority: priority.map_err(|it| Fault::of("notify.priority", it))?,
            msg: Template::new(self.msg.clone()).map_err(unknown)?,
        })
    }
}

fn phase(text: &str) -> Result<PhaseName, Fault> {
    let wanted = text.replace([' ', '-'], "_");
    let known = PHASES.into_iter().find(|it| it.as_str() == wanted);
    let names = || PHASES.map(PhaseName::as_str).join(", ");
    known.ok_or_else(|| {
        let text = format!("unknown phase '{text}' (expected one of: {})", names());
        Fault::of("phase", text)
    })
}

/// Parses a time with its unit, in milliseconds.
fn span(key: &str, text: &str) -> Result<i64, Fault> {
    let has_unit = text.ends_with(char::is_alphabetic);
    let parsed = text.parse().ok().filter(|_| has_unit);
    let millis = parsed.and_then(|Span(it)| i64::try_from(it.as_millis()).ok());
    millis.filter(|it| *it <= MAX_SPAN_MS).ok_or_else(|| {
        let text = format!("invalid duration '{text}': use 90s, 10m, 2h or 7d, at most 30d");
        Fault::of(key, text)
    })
}

/// The reason in one line, without the drawing of the expression.
fn regex_error(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => {
            "the expression is too large; use fewer or smaller repetitions".into()
        }
        other => {
            let text = other.to_string();
            let reason = text.lines().next_back().unwrap_or_default();
            let reason = reason.strip_prefix("error: ").unwrap_or(reason);
            format!("not a regular expression: {reason}; \\ in TOML needs '…' around the text")
        }
    }
}
