//! Converts points to samples.

use super::exponential::histogram_of;
use super::naming::{label_name, metric_name, unit_name};
use super::points::{
    Attributes, ExponentialPoint, HistogramPoint, MetricHead, NumberPoint, PointExemplar, PointHead, PointKind,
    SummaryPoint, Temporality,
};
use crate::evaluate::{STALE_BITS, shown};
use crate::labels::METRIC_NAME;
use crate::remote::{Metadata, MetricKind, RemoteError, SentExemplar, WriteRequest};
use std::collections::BTreeMap;

/// The attributes of a resource that identify the target.
const IDENTIFYING: [&str; 3] = ["service.namespace", "service.name", "service.instance.id"];

/// Milliseconds between the samples of `target_info` while a resource has points: half of the lookback.
const TARGET_STEP_MS: i64 = 150_000;

/// The maximum number of `target_info` samples for one resource.
const TARGET_SAMPLES_MAX: i64 = 1_000;

/// A request of OTLP, decoded.
#[derive(Debug)]
pub struct OtlpRequest {
    /// The request with the samples to store.
    pub write: WriteRequest,
    /// The number of points that cannot be stored.
    pub rejected_points: usize,
    /// The reason why the first of them was rejected.
    pub reason: String,
}

/// The labels of a series, by name.
type LabelMap = BTreeMap<String, String>;

/// Converts point by point.
pub(super) struct Converter {
    request: OtlpRequest,
    resource: Attributes,
    /// `job` and `instance`.
    target: Vec<(&'static str, String)>,
    /// The first and the last time of the resource's points.
    times: Option<(i64, i64)>,
    metric: Option<Metric>,
}

/// The metric whose points are being converted.
struct Metric {
    name: String,
    refused: Option<String>,
}

/// A point whose labels are known, without its values.
struct BegunPoint {
    labels: LabelMap,
    /// The time in milliseconds since the Unix epoch.
    time: i64,
    is_empty: bool,
    exemplars: Vec<PointExemplar>,
}

impl BegunPoint {
    /// The value to store: a stale marker if the point has none.
    fn value(&self, value: f64) -> f64 {
        if self.is_empty { f64::from_bits(STALE_BITS) } else { value }
    }
}

fn milliseconds(time_ns: u64) -> i64 {
    (time_ns / 1_000_000) as i64
}

impl Converter {
    pub(super) fn new(bytes_max: usize) -> Self {
        let request = OtlpRequest { write: WriteRequest::new(bytes_max), rejected_points: 0, reason: String::new() };
        Self { request, resource: Vec::new(), target: Vec::new(), times: None, metric: None }
    }

    pub(super) fn finish(self) -> OtlpRequest {
        self.request
    }

    fn reject(&mut self, count: usize, reason: &str) {
        if self.request.rejected_points == 0 {
            reason.clone_into(&mut self.request.reason);
        }
        self.request.rejected_points += count;
    }

    /// Begins a resource, whose attributes identify the target of the points.
    pub(super) fn begin_resource(&mut self, attributes: Attributes) {
        let of = |name: &str| attributes.iter().find(|pair| pair.0 == name).map(|pair| pair.1.clone());
        self.target.clear();
        if let Some(service) = of("service.name") {
            let job = of("service.namespace").map_or_else(|| service.clone(), |space| format!("{space}/{service}"));
            self.target.push(("job", job));
        }
        if let Some(instance) = of("service.instance.id") {
            self.target.push(("instance", instance));
        }
        (self.resource, self.times) = (attributes, None);
    }

    /// Ends a resource. Its other attributes become the labels of `target_info`.
    pub(super) fn end_resource(&mut self) -> Result<(), RemoteError> {
        let Some((first, last)) = self.times.take() else { return Ok(()) };
        let mut others = std::mem::take(&mut self.resource);
        others.retain(|pair| !IDENTIFYING.contains(&pair.0.as_str()));
        if others.is_empty() || self.target.is_empty() {
            return Ok(());
        }
        let labels = self.labels(others);
        let about = Metadata {
            metric: "target_info".to_owned(),
            kind: MetricKind::Gauge,
            help: "Target metadata".to_owned(),
            unit: String::new(),
        };
        self.request.write.push_metadata(about)?;
        let step = TARGET_STEP_MS.max((last - first) / TARGET_SAMPLES_MAX);
        let mut time = first;
        while time < last {
            self.push("target_info", &labels, None, time, 1.0)?;
            time += step;
        }
        self.push("target_info", &labels, None, last, 1.0)
    }

    /// Begins a metric, whose points follow.
    pub(super) fn begin_metric(&mut self, head: &MetricHead) -> Result<(), RemoteError> {
        let name = metric_name(&head.name, &head.unit, head.kind);
        let (kind, temporality) = match head.kind {
            PointKind::Gauge => (MetricKind::Gauge, Temporality::Cumulative),
            PointKind::Sum { temporality, is_monotonic: true } => (MetricKind::Counter, temporality),
            PointKind::Sum { temporality, .. } => (MetricKind::Gauge, temporality),
            PointKind::Histogram { temporality } | PointKind::Exponential { temporality } => {
                (MetricKind::Histogram, temporality)
            }
            PointKind::Summary => (MetricKind::Summary, Temporality::Cumulative),
        };
        let refused = match (&name, temporality) {
            (None, _) => Some("it has no letter that a name can have"),
            (_, Temporality::Delta) => Some("delta temporality is not supported, send cumulative values"),
            (_, Temporality::Unspecified) => Some("its temporality is not specified"),
            _ => None,
        };
        let refused = refused.map(|reason| format!("metric {:?}: {reason}", head.name));
        let name = name.unwrap_or_default();
        if refused.is_none() {
            let (help, unit) = (head.description.clone(), unit_name(&head.unit));
            self.request.write.check_text(name.len() + help.len() + unit.len())?;
            self.request.write.push_metadata(Metadata { metric: name.clone(), kind, help, unit })?;
        }
        self.metric = Some(Metric { name, refused });
        Ok(())
    }

    /// The metric's name; `None`, and the point is counted, if its points cannot be stored.
    fn accepted(&mut self) -> Option<String> {
        let metric = self.metric.take()?;
        let name = metric.refused.is_none().then(|| metric.name.clone());
        if let Some(reason) = &metric.refused {
            self.reject(1, reason);
        }
        self.metric = Some(metric);
        name
    }

    /// Counts bytes that decoding needs.
    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), RemoteError> {
        self.request.write.spend(bytes)
    }

    /// Adds an exemplar to a point, which holds all of its own at once.
    pub(super) fn add_exemplar(&mut self, head: &mut PointHead, exemplar: PointExemplar) -> Result<(), RemoteError> {
        self.spend(size_of_val(&exemplar) + size_of_val(&exemplar.attributes[..]))?;
        head.exemplars.push(exemplar);
        Ok(())
    }

    pub(super) fn number(&mut self, point: NumberPoint) -> Result<(), RemoteError> {
        let Some(name) = self.accepted() else { return Ok(()) };
        let begun = self.begin_point(point.head);
        if let Some(series) = self.series(&name, &begun.labels, None)? {
            self.request.write.push_sample(series, begun.time, begun.value(point.value))?;
            self.push_exemplars(series, &begun, &begun.exemplars)?;
        }
        Ok(())
    }

    pub(super) fn histogram(&mut self, point: HistogramPoint) -> Result<(), RemoteError> {
        let Some(name) = self.accepted() else { return Ok(()) };
        let mut begun = self.begin_point(point.head);
        // NaN is in the last bucket.
        begun.exemplars.sort_by(|one, other| {
            let (one, other) = (one.value, other.value);
            one.is_nan().cmp(&other.is_nan()).then(one.total_cmp(&other))
        });
        if let Some(sum) = point.sum {
            self.push(&format!("{name}_sum"), &begun.labels, None, begun.time, begun.value(sum))?;
        }
        let count = begun.value(point.count as f64);
        self.push(&format!("{name}_count"), &begun.labels, None, begun.time, count)?;
        let mut exemplars = &begun.exemplars[..];
        let mut total = 0_u64;
        for (bound, own) in point.bounds.iter().zip(&point.bucket_counts) {
            total = total.saturating_add(*own);
            let (inside, above) = exemplars.split_at(exemplars.partition_point(|exemplar| exemplar.value <= *bound));
            self.bucket(&name, &begun, *bound, begun.value(total as f64), inside)?;
            exemplars = above;
        }
        self.bucket(&name, &begun, f64::INFINITY, count, exemplars)
    }

    /// Adds the bucket up to a bound, with the exemplars in it.
    fn bucket(
        &mut self,
        name: &str,
        begun: &BegunPoint,
        bound: f64,
        count: f64,
        exemplars: &[PointExemplar],
    ) -> Result<(), RemoteError> {
        let le = shown(bound);
        let Some(series) = self.series(&format!("{name}_bucket"), &begun.labels, Some(("le", &le)))? else {
            return Ok(());
        };
        self.request.write.push_sample(series, begun.time, count)?;
        self.push_exemplars(series, begun, exemplars)
    }

    pub(super) fn exponential(&mut self, point: ExponentialPoint) -> Result<(), RemoteError> {
        let Some(name) = self.accepted() else { return Ok(()) };
        let histogram = match histogram_of(&point) {
            Ok(histogram) => histogram,
            Err(reason) => {
                self.reject(1, &format!("metric {name:?}: {reason}"));
                return Ok(());
            }
        };
        let begun = self.begin_point(point.head);
        for side in [&histogram.positive, &histogram.negative] {
            self.spend(size_of_val(&side.spans[..]) + size_of_val(&side.counts[..]))?;
        }
        if let Some(series) = self.series(&name, &begun.labels, None)? {
            self.request.write.push_histogram(series, begun.time, histogram)?;
            self.push_exemplars(series, &begun, &begun.exemplars)?;
        }
        Ok(())
    }

    pub(super) fn summary(&mut self, point: SummaryPoint) -> Result<(), RemoteError> {
        let Some(name) = self.accepted() else { return Ok(()) };
        let begun = self.begin_point(point.head);
        let (labels, time) = (&begun.labels, begun.time);
        self.push(&format!("{name}_sum"), labels, None, time, begun.value(point.sum))?;
        self.push(&format!("{name}_count"), labels, None, time, begun.value(point.count as f64))?;
        for (quantile, own) in point.quantiles {
            let quantile = shown(quantile);
            self.push(&name, labels, Some(("quantile", &quantile)), time, begun.value(own))?;
        }
        Ok(())
    }

    fn begin_point(&mut self, head: PointHead) -> BegunPoint {
        let time = milliseconds(head.time_ns);
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first.min(time), last.max(time)));
        let labels = self.labels(head.attributes);
        BegunPoint { labels, time, is_empty: head.is_empty, exemplars: head.exemplars }
    }

    /// Adds exemplars of a point. One without a time has the point's. Their attributes keep their names, as in
    /// Prometheus.
    fn push_exemplars(
        &mut self,
        series: u32,
        begun: &BegunPoint,
        exemplars: &[PointExemplar],
    ) -> Result<(), RemoteError> {
        for exemplar in exemplars {
            let attributes = exemplar.attributes.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            let ids = [("trace_id", exemplar.trace_id.as_str()), ("span_id", exemplar.span_id.as_str())];
            let labels = attributes.chain(ids.into_iter().filter(|(_, id)| !id.is_empty())).collect();
            let time = if exemplar.time_ns == 0 { begun.time } else { milliseconds(exemplar.time_ns) };
            self.request.write.push_exemplar(series, &SentExemplar { time, value: exemplar.value, labels })?;
        }
        Ok(())
    }

    /// Attributes as labels, sorted by their own names. Values of names that become the same are joined. The target's
    /// labels come first.
    fn labels(&self, mut attributes: Attributes) -> LabelMap {
        attributes.sort();
        let mut labels = LabelMap::new();
        for (name, value) in attributes {
            let Some(name) = label_name(&name).filter(|name| name != METRIC_NAME) else { continue };
            let own = labels.entry(name).or_default();
            if !own.is_empty() {
                own.push(';');
            }
            own.push_str(&value);
        }
        labels.extend(self.target.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        labels
    }

    fn series(
        &mut self,
        name: &str,
        labels: &LabelMap,
        extra: Option<(&str, &str)>,
    ) -> Result<Option<u32>, RemoteError> {
        let own = labels.iter().filter(|(name, _)| extra.is_none_or(|extra| extra.0 != name.as_str()));
        let mut pairs: Vec<(&str, &str)> = own.map(|(name, value)| (name.as_str(), value.as_str())).collect();
        pairs.push((METRIC_NAME, name));
        pairs.extend(extra);
        self.request.write.series_number(&mut pairs)
    }

    fn push(
        &mut self,
        name: &str,
        labels: &LabelMap,
        extra: Option<(&str, &str)>,
        time: i64,
        value: f64,
    ) -> Result<(), RemoteError> {
        if let Some(series) = self.series(name, labels, extra)? {
            self.request.write.push_sample(series, time, value)?;
        }
        Ok(())
    }
}
