//! Alternating slices: the sides are measured in turn, again and again, so that other load on the machine affects them
//! alike; ratios are taken slice by slice, and their median counts.

use std::time::Duration;

use anyhow::Result;

use crate::bench::Bench;
use crate::server::Server;
use crate::system;
use crate::table::Row;

/// How many slices, and how long each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) count: usize,
    pub(crate) length: Duration,
}

/// The requests of one slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slice {
    /// Requests a second.
    pub(crate) rate: f64,
    /// The median of their latencies, in µs.
    pub(crate) p50: f64,
    /// The 99th percentile of their latencies, in µs.
    pub(crate) p99: f64,
    /// The server's processor time per request in µs; NaN where the system does not report it.
    pub(crate) cpu: f64,
}

impl Slice {
    /// Runs `requests` of a server for `time`, and measures its processor time. They return their latencies in µs.
    pub(crate) fn of(
        server: &Server,
        time: Duration,
        requests: impl FnOnce() -> Result<Vec<f64>>,
    ) -> Result<Self> {
        let before = system::processor_time(server.pid());
        let latencies = requests()?;
        let spent = system::processor_time(server.pid()).zip(before);
        let spent = spent.map(|(after, before)| after.saturating_sub(before));
        #[allow(clippy::cast_precision_loss)] // some hundred thousand
        let count = latencies.len() as f64;
        Ok(Self {
            rate: count / time.as_secs_f64(),
            p50: quantile(&latencies, 0.5),
            p99: quantile(&latencies, 0.99),
            cpu: spent.map_or(f64::NAN, micros) / count,
        })
    }
}

/// Measures one side for a time.
pub(crate) type Measure<'a, T> = Box<dyn FnMut(Duration) -> Result<T> + 'a>;

/// The samples of each side.
pub(crate) struct Samples<T>(Vec<Vec<T>>);

impl<T> Samples<T> {
    /// One figure of each slice of one side.
    pub(crate) fn of(&self, side: usize, figure: impl Fn(&T) -> f64) -> Vec<f64> {
        self.0[side].iter().map(figure).collect()
    }

    /// Compares one figure of the side `hub` with that of a reference, given by its name and side.
    pub(crate) fn row(
        &self,
        name: &str,
        unit: &'static str,
        figure: impl Fn(&T) -> f64,
        hub: usize,
        (reference, side): (&str, usize),
    ) -> Row {
        let against = self.of(side, &figure);
        Row::compare(name, unit, &self.of(hub, figure), (reference, &against))
    }
}

impl Bench {
    /// Measures all sides slice by slice, after one short warm-up slice each.
    pub(crate) fn alternate<T>(
        &self,
        name: &str,
        mut sides: Vec<Measure<'_, T>>,
    ) -> Result<Samples<T>> {
        let plan = self.plan;
        let mut samples: Vec<Vec<T>> = sides.iter().map(|_| Vec::new()).collect();
        for side in &mut sides {
            side(plan.length / 4)?;
        }
        for slice in 1..=plan.count {
            self.progress.step(name, slice, plan.count);
            for (side, samples) in sides.iter_mut().zip(&mut samples) {
                samples.push(side(plan.length)?);
            }
        }
        Ok(Samples(samples))
    }
}

/// The value below which `quantile` of them lie; 0 without values.
pub(crate) fn quantile(values: &[f64], quantile: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss
    )] // a place among a few thousand
    let at = (sorted.len().saturating_sub(1) as f64 * quantile).round() as usize;
    sorted.get(at).copied().unwrap_or(0.0)
}

pub(crate) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

pub(crate) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
