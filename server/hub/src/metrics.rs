//! The counters and gauges of a hub, served in Prometheus' text format at `/metrics`.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

/// The counters and gauges of one hub.
pub struct Metrics {
    registry: Registry,
    /// Notifications stored.
    pub notifications: Counter,
    /// Records stored.
    pub records: Counter,
    /// Commits made durable.
    pub commits: Counter,
    /// Waiters woken.
    pub wakes: Counter,
    /// Pending notifications that the byte cap evicted.
    pub evicted: Counter,
    /// Commits that the storage refused.
    pub storage_errors: Counter,
    /// Repairs of one copy of the records from the other.
    pub repairs: Counter,
    /// Open waits.
    pub waiters: Gauge,
    /// Event streams that are open.
    pub streams: Gauge,
    /// Bytes that the journal occupies.
    pub journal_bytes: Gauge<u64, AtomicU64>,
}

impl Metrics {
    /// Creates the metrics, all zero.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("hub");
        let counter = |registry: &mut Registry, name: &str, help: &str| {
            let counter = Counter::default();
            registry.register(name, help, counter.clone());
            counter
        };
        let gauge = |registry: &mut Registry, name: &str, help: &str| {
            let gauge = Gauge::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        let journal_bytes = Gauge::default();
        registry.register_with_unit(
            "journal",
            "Bytes kept in the journal",
            Unit::Bytes,
            journal_bytes.clone(),
        );
        Self {
            notifications: counter(&mut registry, "notifications", "Notifications stored"),
            records: counter(&mut registry, "records", "Records stored"),
            commits: counter(&mut registry, "commits", "Commits made durable"),
            wakes: counter(&mut registry, "wakes", "Waiters woken"),
            evicted: counter(
                &mut registry,
                "evicted",
                "Pending notifications evicted at the byte cap",
            ),
            storage_errors: counter(
                &mut registry,
                "storage_errors",
                "Commits that the storage refused",
            ),
            repairs: counter(
                &mut registry,
                "repairs",
                "Repairs of a damaged copy of the records from the other",
            ),
            waiters: gauge(&mut registry, "waiters", "Open waits"),
            streams: gauge(&mut registry, "streams", "Open event streams"),
            journal_bytes,
            registry,
        }
    }

    /// Formats the metrics as Prometheus text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("writing to a string succeeds");
        text
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}
