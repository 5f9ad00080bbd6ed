//! The statistics in lines for people, as `hubctl stats` prints them.

use hub_protocol::{Counted, WhyDetail};

use super::{FalseWakeRate, Percentiles, Stats};

/// The most sessions or senders that are listed.
const LISTED: usize = 10;

/// The most important numbers in one line, and all of them in lines.
pub(super) fn of(stats: &Stats) -> (String, Vec<WhyDetail>) {
    let summary = format!(
        "{}; notification to proof {}",
        false_wakes(&stats.false_wakes),
        times(&stats.proofs)
    );
    let mut lines = Vec::new();
    for it in stats.answers_by_session.iter().take(LISTED) {
        lines.push(format!("time to answer {}: {}", it.name, times(&it.times)));
    }
    for it in stats.tokens_by_sender.iter().take(LISTED) {
        lines.push(format!(
            "tokens by {}: about {} in {} (bytes / 4)",
            it.name,
            it.tokens,
            Counted(it.notifications, "notification")
        ));
    }
    if stats.partial {
        lines.push("part of this time is missing: the log or the hub's memory begins later".into());
    }
    let detail = |text| WhyDetail { at: None, text };
    let from = WhyDetail {
        at: Some(stats.from),
        text: "the window begins".into(),
    };
    let lines = lines.into_iter().map(detail);
    (summary, [from].into_iter().chain(lines).collect())
}

fn false_wakes(FalseWakeRate { wakes, idle, rate }: &FalseWakeRate) -> String {
    match rate {
        Some(rate) => format!(
            "{idle} of {} led to nothing ({:.0} %)",
            Counted(*wakes, "wake"),
            rate * 100.0
        ),
        None => "no wakes".into(),
    }
}

fn times(
    Percentiles {
        count,
        p50_ms,
        p95_ms,
    }: &Percentiles,
) -> String {
    match (p50_ms, p95_ms) {
        (Some(p50), Some(p95)) => format!("p50 {p50} ms, p95 {p95} ms ({count})"),
        _ => "not measured".into(),
    }
}
