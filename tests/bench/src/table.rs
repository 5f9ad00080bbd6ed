//! The result: one row a comparison, as a table or as JSON.

use std::fmt;

use serde::Serialize;

use crate::slices::{median, quantile};

const COLUMNS: usize = 8;

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

/// Whether the ratio keeps to its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Ok,
    /// The ratio of a p99 keeps to twice its bound.
    Allowed,
    Miss,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    name: String,
    unit: &'static str,
    /// The median of the slices.
    value: f64,
    reference: String,
    /// The median of the reference's slices.
    against: f64,
    /// The median of the slices' ratios.
    ratio: f64,
    /// The lowest and the highest of these ratios.
    spread: [f64; 2],
    /// The median with the hub first, and with the reference first; only if both orders were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    orders: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    must: Option<Target>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aim: Option<Target>,
}

/// A bound and the verdict on it.
#[derive(Debug, Clone, Copy, Serialize)]
struct Target {
    bound: Bound,
    verdict: Verdict,
}

impl Row {
    /// Compares the hub's slices with those of a reference one by one. A reference with one value is compared with every
    /// slice of the hub.
    pub(crate) fn compare(
        name: &str,
        unit: &'static str,
        hub: &[f64],
        (reference, against): (&str, &[f64]),
    ) -> Self {
        let pairs = hub.iter().zip(against.iter().cycle());
        let ratios: Vec<f64> = pairs.map(|(a, b)| a / b).collect();
        Self {
            name: name.to_owned(),
            unit,
            value: median(hub),
            reference: reference.to_owned(),
            against: median(against),
            ratio: median(&ratios),
            spread: [quantile(&ratios, 0.0), quantile(&ratios, 1.0)],
            orders: None,
            must: None,
            aim: None,
        }
    }

    /// Compares the hub's slices with those of a reference in two orders: with the hub first, and with the reference
    /// first.
    pub(crate) fn compare_orders(
        name: &str,
        unit: &'static str,
        reference: &str,
        orders: [(Vec<f64>, Vec<f64>); 2],
    ) -> Self {
        let compare = |(hub, against): (Vec<f64>, Vec<f64>)| {
            Self::compare(name, unit, &hub, (reference, &against))
        };
        let [(hub, against), (later_hub, earlier)] = orders.clone();
        let all = ([hub, later_hub].concat(), [against, earlier].concat());
        Self {
            orders: Some(orders.map(|order| compare(order).ratio)),
            ..compare(all)
        }
    }

    /// Compares an absolute value with a fixed one.
    pub(crate) fn fixed(
        name: &str,
        unit: &'static str,
        value: f64,
        reference: &str,
        against: f64,
    ) -> Self {
        Self::compare(name, unit, &[value], (reference, &[against]))
    }

    /// The ratio must keep to `bound`.
    #[must_use]
    pub(crate) fn must(mut self, bound: Bound) -> Self {
        self.must = Some(Target::judge(self.ratio, bound, 1.0));
        self
    }

    /// The ratio, of a p99, must keep to `bound`; up to twice the bound is shown as allowed.
    #[must_use]
    pub(crate) fn must_with_allowance(mut self, bound: Bound) -> Self {
        self.must = Some(Target::judge(self.ratio, bound, 2.0));
        self
    }

    /// The ratio should keep to `bound`.
    #[must_use]
    pub(crate) fn aim(mut self, bound: Bound) -> Self {
        self.aim = Some(Target::judge(self.ratio, bound, 1.0));
        self
    }

    /// Returns whether a required bound is missed.
    pub(crate) fn is_missed(&self) -> bool {
        self.must.is_some_and(|must| must.verdict == Verdict::Miss)
    }

    fn cells(&self) -> [String; COLUMNS] {
        let target = |target: Option<Target>| target.map_or(String::new(), |it| it.to_string());
        let [lowest, highest] = self.spread;
        let against = match self.reference.as_str() {
            "" => [const { String::new() }; 3],
            reference => [
                format!("{} {reference}", figure(self.against)),
                format!("{:.2}", self.ratio),
                format!("{lowest:.2}-{highest:.2}"),
            ],
        };
        let [reference, ratio, spread] = against;
        let both = |[first, second]: [f64; 2]| format!("{first:.2} {second:.2}");
        [
            self.name.clone(),
            format!("{} {}", figure(self.value), self.unit),
            reference,
            ratio,
            spread,
            self.orders.map_or(String::new(), both),
            target(self.must),
            target(self.aim),
        ]
    }
}

impl Target {
    fn judge(ratio: f64, bound: Bound, allowance: f64) -> Self {
        let kept = |allowance: f64| match bound {
            Bound::AtLeast(least) => ratio * allowance >= least,
            Bound::AtMost(most) => ratio <= most * allowance,
        };
        let verdict = match (kept(1.0), kept(allowance)) {
            (true, _) => Verdict::Ok,
            (false, true) => Verdict::Allowed,
            (false, false) => Verdict::Miss,
        };
        Self { bound, verdict }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bound {
            Bound::AtLeast(least) => write!(f, "≥ {least:.2}")?,
            Bound::AtMost(most) => write!(f, "≤ {most:.2}")?,
        }
        f.write_str(match self.verdict {
            Verdict::Ok => " ok",
            Verdict::Allowed => " ok with ×2",
            Verdict::Miss => " MISS",
        })
    }
}

/// The rows below their headings, columns aligned; without the columns that are empty.
pub(crate) fn render(rows: &[Row]) -> String {
    let heads = [
        "row",
        "hub",
        "reference",
        "ratio",
        "slices",
        "orders",
        "must",
        "aim",
    ];
    let heads = heads.map(str::to_owned);
    let lines: Vec<_> = std::iter::once(heads)
        .chain(rows.iter().map(Row::cells))
        .collect();
    let width = |column: usize| {
        let cells = || lines.iter().map(|line| line[column].chars().count());
        let is_empty = cells().skip(1).all(|width| width == 0);
        cells().max().filter(|_| !is_empty).unwrap_or(0)
    };
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let mut text = String::new();
    for line in &lines {
        let cells: Vec<_> = line
            .iter()
            .zip(widths)
            .filter(|(_, width)| *width > 0)
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Formats with four digits.
fn figure(value: f64) -> String {
    match value {
        value if value >= 1000.0 => {
            let text = format!("{value:.0}");
            let (head, tail) = text.split_at(text.len() - 3);
            format!("{head},{tail}")
        }
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        0.0 => "0".to_owned(),
        value => format!("{value:.2}"),
    }
}

/// Prints the result on stdout.
pub(crate) fn print(machine: &str, rows: &[Row], json: bool) -> anyhow::Result<()> {
    if json {
        let result = serde_json::json!({ "machine": machine, "rows": rows });
        println!("{}", serde_json::to_string_pretty(&result)?);
        return Ok(());
    }
    println!("{machine}\n\n{}", render(rows));
    match rows.iter().filter(|row| row.is_missed()).count() {
        0 => println!("no must is missed"),
        count => println!("{count} must missed"),
    }
    Ok(())
}
