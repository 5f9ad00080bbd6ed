//! The result: one row a comparison, as a table or as JSON.

use serde::Serialize;

use crate::slices::median;

/// One side of a comparison.
#[derive(Debug, Clone)]
pub(crate) struct Side {
    name: String,
    values: Vec<f64>,
}

/// What a ratio should be.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bound {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
}

/// How much it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    Must,
    Aim,
}

/// Whether the target is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// It is.
    Ok,
    /// It is, with the allowance of two for a p99.
    Allowed,
    /// It is not.
    Miss,
}

/// One comparison.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<(Level, Bound)>,
    #[serde(skip)]
    allowance: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
}

impl Side {
    /// The value of each slice of one side.
    pub(crate) fn new(name: &str, values: &[f64]) -> Self {
        Self {
            name: name.to_owned(),
            values: values.to_vec(),
        }
    }
}

impl Row {
    /// Compares slice by slice; a side with one value is compared with every slice of the other.
    pub(crate) fn compare(name: &str, unit: &'static str, hub: &Side, other: &Side) -> Self {
        let against = other.values.iter().cycle();
        let ratios: Vec<f64> = hub.values.iter().zip(against).map(|(a, b)| a / b).collect();
        Self {
            name: name.to_owned(),
            unit,
            value: median(&hub.values),
            reference: other.name.clone(),
            against: median(&other.values),
            ratio: median(&ratios),
            target: None,
            allowance: 1.0,
            verdict: None,
        }
    }

    /// Holds an absolute value against a fixed one.
    pub(crate) fn fixed(
        name: &str,
        unit: &'static str,
        value: f64,
        reference: &str,
        against: f64,
    ) -> Self {
        Self::compare(
            name,
            unit,
            &Side::new("", &[value]),
            &Side::new(reference, &[against]),
        )
    }

    /// A count of what must not happen.
    pub(crate) fn count(name: &str, found: usize) -> Self {
        #[allow(clippy::cast_precision_loss)] // a handful
        let row = Self::fixed(name, "", found as f64, "", 1.0);
        row.must(Bound::AtMost(0.0))
    }

    /// The ratio must keep to `bound`.
    #[must_use]
    pub(crate) fn must(self, bound: Bound) -> Self {
        self.target(Level::Must, bound)
    }

    /// The ratio should keep to `bound`.
    #[must_use]
    pub(crate) fn aim(self, bound: Bound) -> Self {
        self.target(Level::Aim, bound)
    }

    /// A p99 may be twice its bound, and is shown as such.
    #[must_use]
    pub(crate) fn with_allowance(mut self) -> Self {
        self.allowance = 2.0;
        self.judged()
    }

    /// Whether a must is missed.
    pub(crate) fn is_missed(&self) -> bool {
        matches!(self.target, Some((Level::Must, _))) && self.verdict == Some(Verdict::Miss)
    }

    fn target(mut self, level: Level, bound: Bound) -> Self {
        self.target = Some((level, bound));
        self.judged()
    }

    fn judged(mut self) -> Self {
        self.verdict = self.target.map(|(_, bound)| {
            let kept = |allowance: f64| match bound {
                Bound::AtLeast(least) => self.ratio * allowance >= least,
                Bound::AtMost(most) => self.ratio <= most * allowance,
            };
            match (kept(1.0), kept(self.allowance)) {
                (true, _) => Verdict::Ok,
                (false, true) => Verdict::Allowed,
                (false, false) => Verdict::Miss,
            }
        });
        self
    }

    fn cells(&self) -> [String; 6] {
        let target = match self.target {
            None => String::new(),
            Some((level, bound)) => {
                let level = match level {
                    Level::Must => "must",
                    Level::Aim => "aim ",
                };
                match bound {
                    Bound::AtLeast(least) => format!("{level} ≥ {least:.2}"),
                    Bound::AtMost(most) => format!("{level} ≤ {most:.2}"),
                }
            }
        };
        let verdict = match self.verdict {
            None => "",
            Some(Verdict::Ok) => "ok",
            Some(Verdict::Allowed) => "ok with ×2",
            Some(Verdict::Miss) => "MISS",
        };
        [
            self.name.clone(),
            format!("{} {}", figure(self.value), self.unit),
            format!("{} {}", figure(self.against), self.reference),
            format!("{:.2}", self.ratio),
            target,
            verdict.to_owned(),
        ]
    }
}

/// The rows below their headings, columns aligned.
pub(crate) fn render(rows: &[Row]) -> String {
    let heads = ["row", "hub", "reference", "ratio", "target", ""].map(str::to_owned);
    let lines: Vec<_> = std::iter::once(heads)
        .chain(rows.iter().map(Row::cells))
        .collect();
    let width = |column: usize| {
        let cells = lines.iter().map(|line| line[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut text = String::new();
    for line in &lines {
        let cells: Vec<_> = line
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Four digits are enough.
fn figure(value: f64) -> String {
    match value {
        value if value >= 1000.0 => {
            let text = format!("{value:.0}");
            let (head, tail) = text.split_at(text.len() - 3);
            format!("{head},{tail}")
        }
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
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
