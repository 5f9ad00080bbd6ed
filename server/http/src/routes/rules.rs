//! `/rules`: the rules by which the hub acts on notifications, and dry runs of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use hub_core::fold::SessionKey;
use hub_core::guarded_file::check_program;
use hub_core::rule::{self, RuleSet};
use hub_engine::dry_run::DryRun;
use hub_engine::{Hub, phase};
use hub_log::journal::JournalError;
use hub_log::timeline::Segment;
use hub_log::{CHUNK_BYTES, Log};
use hub_protocol::{RuleInfo, RuleList, RuleMatch, Timestamp, first_chars, one_line};
use serde::{Deserialize, Serialize};

use super::{stats, stored};
use crate::budget::{Allowance, Budget};
use crate::error::ApiError;
use crate::request::params::Params;

/// The longest time of a dry run, in seconds.
const MAX_SECONDS: u32 = 366 * 24 * 3600;
const DEFAULT_SECONDS: u32 = 24 * 3600;
/// The largest configuration to test, in bytes.
const MAX_CONFIG: usize = 64 * 1024;
/// The most characters of a text on a line for people.
const MAX_LINE: usize = 80;
/// The longest rest between tests. `hubctl rules test` waits for two minutes.
const LONGEST_REST: Duration = Duration::from_secs(30);

/// Tests of rules, one at a time: the expressions of one may need all of a processor, and a megabyte each. A test that
/// takes longer reports on what it has read.
static TESTS: Budget = Budget::new(1, 1, Duration::from_secs(2)).resting_for(LONGEST_REST);

/// `GET /rules`: the rules, with how often each fired, and why the hub refuses to run the program of one.
pub(super) async fn list(State(hub): State<Hub>) -> Result<Json<RuleList>, ApiError> {
    let rules = Arc::clone(hub.rule_set());
    let mut infos = hub.read(|state, _| {
        let info = |it: &rule::Rule| {
            let tally = state.rules.tally(&it.name);
            RuleInfo {
                name: it.name.clone(),
                when: it.when.clone(),
                then: it.then.clone(),
                fired: tally.map_or(0, |it| it.fired),
                last: tally.map(|it| it.last),
                fault: None,
            }
        };
        rules.iter().map(info).collect::<Vec<_>>()
    })?;
    let infos = stored::blocking(move || {
        for (info, rule) in infos.iter_mut().zip(rules.iter()) {
            info.fault = fault(rule);
        }
        Ok::<_, ApiError>(infos)
    });
    let infos = infos.await?;
    let text = lines(&infos);
    Ok(Json(RuleList { rules: infos, text }))
}

/// Why the hub does not run the program of a rule.
fn fault(rule: &rule::Rule) -> Option<String> {
    let (words, _) = rule.actions.run.as_ref()?;
    let unguarded = check_program(words.first()?).err()?;
    Some(unguarded.to_string())
}

fn lines(rules: &[RuleInfo]) -> String {
    if rules.is_empty() {
        return "no rules: write an [[on]] table in the hub's config.toml (docs/how-to/rules.md)"
            .into();
    }
    let width = rules
        .iter()
        .map(|it| it.name.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for it in rules {
        let last = it.last.map_or("never".into(), |at| at.to_string());
        let (name, when, then) = (&it.name, one_line(&it.when), one_line(&it.then));
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{name:width$}  {:5} fired, last {last:24}  {when}: {then}",
            it.fired
        );
        if let Some(fault) = &it.fault {
            let _ = writeln!(text, "{:width$}  does not run: {}", "", one_line(fault));
        }
    }
    text
}

#[derive(Debug, Deserialize)]
pub(super) struct TestParams {
    seconds: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct TestPost {
    /// A configuration file with the rules to test; without it, those of the hub.
    config: Option<String>,
}

/// The answer of a dry run.
#[derive(Debug, Serialize)]
pub(super) struct TestReport {
    from: Timestamp,
    to: Timestamp,
    fired: Vec<RuleMatch>,
    counts: BTreeMap<String, u64>,
    /// Whether the log no longer has the whole time, or is too long to be read at once.
    partial: bool,
    text: String,
}

/// `POST /rules/test`: the rules that would have fired on the log. Nothing is done or stored.
pub(super) async fn test(
    State(hub): State<Hub>,
    Params(TestParams { seconds }): Params<TestParams>,
    request: Request,
) -> Result<Json<TestReport>, ApiError> {
    let seconds = seconds.unwrap_or(DEFAULT_SECONDS);
    if !(1..=MAX_SECONDS).contains(&seconds) {
        return Err(ApiError::invalid(format!("seconds is 1 to {MAX_SECONDS}")));
    }
    let to = Timestamp::now();
    let from = to.plus_millis(-i64::from(seconds) * 1000);
    let found = TESTS.run_on(request, move |payload, allowance| {
        let TestPost { config } = payload.json()?;
        let rules = rules(&hub, config.as_deref())?;
        let run = DryRun::new(rules, from);
        let (mut run, partial) = read(hub.log(), run, allowance)?;
        if run.rules().lasting().next().is_some() {
            run = with_stays(&hub, run, (from, to))?;
        }
        Ok::<_, ApiError>((run.finish(), partial))
    });
    let ((fired, counts), partial) = found.await?;
    let text = report(&fired, &counts, partial);
    Ok(Json(TestReport {
        from,
        to,
        fired,
        counts,
        partial,
        text,
    }))
}

fn rules(hub: &Hub, config: Option<&str>) -> Result<RuleSet, ApiError> {
    match config {
        None => Ok(hub.rule_set().as_ref().clone()),
        Some(text) if text.len() > MAX_CONFIG => Err(ApiError::invalid(format!(
            "config has at most {MAX_CONFIG} bytes"
        ))),
        Some(text) => rule::parse(text).map_err(ApiError::invalid),
    }
}

/// Reads the log to its end, or as far as the allowance goes. Returns whether some of it was left out.
fn read(log: &Log, mut run: DryRun, allowance: &Allowance) -> Result<(DryRun, bool), JournalError> {
    let head = log.head();
    let (start, cut) = stats::beginning(log, head, run.reads_from())?;
    let mut cursor = start - 1;
    while cursor < head {
        let events = log.read(cursor, CHUNK_BYTES)?;
        let Some(last) = events.last() else { break };
        cursor = last.seq();
        let read = events.iter().filter(|event| event.seq() <= head);
        for event in read.filter(|event| !log.hides(event)) {
            let Some(record) = event.record() else {
                continue;
            };
            if !run.take(event.seq(), record, || allowance.is_over()) {
                return Ok((run, true));
            }
        }
    }
    Ok((run, cut))
}

/// Adds the firings on sessions that stayed in a phase, of the last two days.
fn with_stays(
    hub: &Hub,
    mut run: DryRun,
    (from, to): (Timestamp, Timestamp),
) -> Result<DryRun, ApiError> {
    let run = hub.read_timeline_blocking(move |state, timeline, waiters| {
        let rules = run.rules().clone();
        for key in timeline.sessions() {
            let heard = phase::heard(waiters, key, to);
            let segments = timeline.segments(key, state, heard, (from, to, to));
            let ends = segments.iter().skip(1).map(|it| it.start).chain([to]);
            let session = state.sessions.get(&key.0, &key.1);
            let name = session.and_then(|it| it.shown_name());
            for (segment, end) in segments.iter().zip(ends) {
                take_stays(&mut run, &rules, (key, name), (segment, end));
            }
        }
        run
    });
    Ok(run?)
}

fn take_stays(
    run: &mut DryRun,
    rules: &RuleSet,
    ((project, session), name): (&SessionKey, Option<&str>),
    (segment, end): (&Segment, Timestamp),
) {
    for rule in rules.lasting() {
        let patience_ms = rule.patience_ms(project, session.as_str(), name, segment.phase);
        let at = patience_ms.map(|ms| segment.start.plus_millis(ms));
        if let Some(at) = at.filter(|at| *at <= end) {
            let text = segment.phase.as_str().replace('_', " ");
            run.take_stay(rule, (project, session), (text, at));
        }
    }
}

/// The firings and their numbers, for people.
fn report(fired: &[RuleMatch], counts: &BTreeMap<String, u64>, partial: bool) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for it in fired {
        let id = it
            .notification
            .map_or_else(|| "-".into(), |id| id.to_string());
        let line = one_line(&it.text);
        let said = first_chars(&line, MAX_LINE);
        let _ = writeln!(text, "{}  {id:>6}  {}  {}: {said}", it.at, it.rule, it.from);
    }
    let listed = u64::try_from(fired.len()).unwrap_or(u64::MAX);
    let all: u64 = counts.values().sum();
    if all > listed {
        let _ = writeln!(text, "… and {} more", all - listed);
    }
    for (rule, count) in counts {
        let _ = writeln!(text, "{rule}: {count}");
    }
    if counts.is_empty() {
        text.push_str("no rules to test\n");
    }
    if partial {
        text.push_str(
            "the log does not have all of this time, or it is too long; try a shorter --since\n",
        );
    }
    text
}
