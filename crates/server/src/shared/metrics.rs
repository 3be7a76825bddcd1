//! Counters and gauges, and their text for Prometheus. A room registers its metrics by name when it starts, and keeps
//! the handles. This file does not know the individual metrics. It is written by hand, since it needs
//! counters and gauges alone.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// A number that only increases.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counter(Arc<AtomicU64>);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn increment(&self) {
        self.add(1);
    }

    pub(crate) fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that goes up and down.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gauge(Arc<AtomicI64>);

impl Gauge {
    /// Increments the gauge until the guard is dropped.
    pub(crate) fn hold(&self) -> GaugeGuard {
        self.0.fetch_add(1, Ordering::Relaxed);
        GaugeGuard(self.clone())
    }

    pub(crate) fn value(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A guard that a gauge counts.
#[derive(Debug)]
pub(crate) struct GaugeGuard(Gauge);

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// All metrics of the server, by name.
#[derive(Debug, Default)]
pub(crate) struct Metrics(Mutex<BTreeMap<&'static str, (&'static str, Metric)>>);

#[derive(Debug, Clone)]
enum Metric {
    Counter(Counter),
    Gauge(Gauge),
}

impl Metrics {
    /// The counter with this name, which ends with `_total`. Registering a name again returns the same counter.
    pub(crate) fn counter(&self, name: &'static str, help: &'static str) -> Counter {
        let mut all = self.0.lock();
        match &all.entry(name).or_insert_with(|| (help, Metric::Counter(Counter::default()))).1 {
            Metric::Counter(counter) => counter.clone(),
            Metric::Gauge(_) => Counter::default(),
        }
    }

    /// The gauge with this name.
    pub(crate) fn gauge(&self, name: &'static str, help: &'static str) -> Gauge {
        let mut all = self.0.lock();
        match &all.entry(name).or_insert_with(|| (help, Metric::Gauge(Gauge::default()))).1 {
            Metric::Gauge(gauge) => gauge.clone(),
            Metric::Counter(_) => Gauge::default(),
        }
    }
}

/// The exposition format of Prometheus, version 0.0.4, of several registries: that of the server, and one for each
/// database, whose name is a label.
pub(crate) fn exposition(registries: &[(Option<&str>, &Metrics)]) -> String {
    /// The help of a metric, and its samples, each with its labels.
    type Samples = (&'static str, Vec<(String, Metric)>);
    let mut all: BTreeMap<&'static str, Samples> = BTreeMap::new();
    for (database, metrics) in registries {
        let labels = database.map_or_else(String::new, |name| format!("{{database=\"{}\"}}", escaped(name)));
        for (name, (help, metric)) in metrics.0.lock().iter() {
            all.entry(name).or_insert_with(|| (help, Vec::new())).1.push((labels.clone(), metric.clone()));
        }
    }
    let mut text = String::new();
    for (name, (help, samples)) in all {
        let kind = if matches!(samples.first(), Some((_, Metric::Counter(_)))) { "counter" } else { "gauge" };
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for (labels, metric) in samples {
            let value = match metric {
                Metric::Counter(counter) => counter.value().to_string(),
                Metric::Gauge(gauge) => gauge.value().to_string(),
            };
            let _ = writeln!(text, "{name}{labels} {value}");
        }
    }
    text
}

/// A label's value as Prometheus writes it.
pub(crate) fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_name_is_the_same_metric() {
        let metrics = Metrics::default();
        metrics.counter("a_total", "As.").add(2);
        metrics.counter("a_total", "As.").increment();
        let held = metrics.gauge("b", "Bs.").hold();
        let text = "# HELP a_total As.\n# TYPE a_total counter\na_total 3\n# HELP b Bs.\n# TYPE b gauge\nb 1\n";
        assert_eq!(exposition(&[(None, &metrics)]), text);
        drop(held);
        assert_eq!(metrics.gauge("b", "Bs.").value(), 0);
    }

    #[test]
    fn each_database_has_a_label() {
        let (server, air, other) = (Metrics::default(), Metrics::default(), Metrics::default());
        server.counter("a_total", "As.").add(1);
        air.counter("b_total", "Bs.").add(2);
        other.counter("b_total", "Bs.").add(3);
        let text = exposition(&[(None, &server), (Some("air"), &air), (Some("x\"y"), &other)]);
        assert_eq!(text.matches("# TYPE b_total counter").count(), 1);
        assert!(text.starts_with("# HELP a_total As.\n# TYPE a_total counter\na_total 1\n"), "{text}");
        assert!(text.ends_with("b_total{database=\"air\"} 2\nb_total{database=\"x\\\"y\"} 3\n"), "{text}");
    }
}
