//! A write request, decoded.

use super::budget::{Budget, check_label_count};
use super::columns::Samples;
use super::error::RemoteError;
use super::exemplars::{Exemplars, SentExemplar};
use super::histogram_columns::Histograms;
use super::sent_series::{SentSeries, SeriesCache, label_bytes};
use crate::histogram::Histogram;
use std::ops::RangeInclusive;
use std::sync::Arc;
use strum::{FromRepr, IntoStaticStr};

/// The bytes of a sample in columns.
const SAMPLE_BYTES: usize = 20;

/// The bytes of a histogram without its buckets, with its series and time.
const HISTOGRAM_BYTES: usize = size_of::<Histogram>() + 12;

/// The bytes of an exemplar without its labels.
const EXEMPLAR_BYTES: usize = 20 + size_of::<String>();

/// The size of a metric's metadata in bytes without its texts.
const METADATA_BYTES: usize = 96;

/// The times that the tables accept, in milliseconds since 1970: those of the years -262143 to 262142.
const TIMES: RangeInclusive<i64> = -8_334_601_228_800_000..=8_210_266_876_799_999;

/// The kind of a metric, with its number in both versions of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, FromRepr, IntoStaticStr)]
#[repr(u8)]
#[strum(serialize_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum MetricKind {
    Unknown = 0,
    Counter = 1,
    Gauge = 2,
    Histogram = 3,
    GaugeHistogram = 4,
    Summary = 5,
    Info = 6,
    Stateset = 7,
}

impl MetricKind {
    /// The kind of a number. Numbers of newer versions are unknown kinds.
    pub(super) fn of(number: u64) -> Self {
        u8::try_from(number).ok().and_then(Self::from_repr).unwrap_or(Self::Unknown)
    }

    /// The name in the API.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The metadata that a sender gives for a metric.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Metadata {
    /// The metric's name.
    pub metric: String,
    /// The kind of the metric.
    pub kind: MetricKind,
    /// The description of the metric.
    pub help: String,
    /// Its unit.
    pub unit: String,
}

/// The parts of a request that can never be stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refused {
    /// The number of series.
    pub series: usize,
    /// The number of native histograms, with those of these series.
    pub histograms: usize,
    /// The number of exemplars of these series.
    pub exemplars: usize,
    /// The reason why the first of them was refused.
    pub reason: String,
}

impl Refused {
    /// Returns whether everything can be stored.
    pub fn is_empty(&self) -> bool {
        self.series == 0 && self.histograms == 0
    }
}

/// A write request.
#[derive(Debug)]
pub struct WriteRequest {
    /// The samples in columns.
    pub samples: Samples,
    /// The metadata of metrics.
    pub metadata: Vec<Metadata>,
    /// The native histograms, whose series are among those of the samples.
    pub histograms: Histograms,
    /// The exemplars, whose series are among those of the samples.
    pub exemplars: Exemplars,
    /// The series and histograms that were left out.
    pub refused: Refused,
    budget: Budget,
}

impl WriteRequest {
    /// An empty request that may grow to this many bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            samples: Samples::default(),
            metadata: Vec::new(),
            histograms: Histograms::default(),
            exemplars: Exemplars::default(),
            refused: Refused::default(),
            budget: Budget::new(bytes_max),
        }
    }

    /// About how many bytes it holds.
    pub fn byte_count(&self) -> usize {
        self.budget.spent()
    }

    /// Counts bytes that decoding needs.
    pub(crate) fn spend(&mut self, bytes: usize) -> Result<(), RemoteError> {
        self.budget.spend(bytes)
    }

    /// Fails if a text of this length could be too large after escaping.
    pub(crate) fn check_text(&self, byte_count: usize) -> Result<(), RemoteError> {
        self.budget.check(byte_count.saturating_mul(2))
    }

    /// The number of the series with these labels; `None` if it can never be stored, which is counted.
    pub(crate) fn series_number(&mut self, labels: &mut Vec<(&str, &str)>) -> Result<Option<u32>, RemoteError> {
        match self.new_series(labels)? {
            Some(series) => self.number_of(series).map(Some),
            None => Ok(None),
        }
    }

    /// The same for labels that were sent as these bytes. `labels` reads them, unless the cache has the series.
    pub(super) fn cached_series_number<'a>(
        &mut self,
        cache: &SeriesCache,
        key: &[u8],
        labels: impl FnOnce() -> Result<Vec<(&'a str, &'a str)>, RemoteError>,
    ) -> Result<Option<u32>, RemoteError> {
        if let Some(series) = cache.get(key) {
            // A request is refused or not whatever was sent before it.
            self.check_text(series.label_bytes())?;
            return self.number_of(series).map(Some);
        }
        let Some(series) = self.new_series(&mut labels()?)? else { return Ok(None) };
        cache.put(key, &series);
        self.number_of(series).map(Some)
    }

    /// The series with these labels; `None` if it can never be stored, which is counted.
    fn new_series(&mut self, labels: &mut Vec<(&str, &str)>) -> Result<Option<Arc<SentSeries>>, RemoteError> {
        self.check_text(label_bytes(labels))?;
        match SentSeries::new(labels) {
            Ok(series) => Ok(Some(Arc::new(series))),
            Err(reason) => {
                if self.refused.is_empty() {
                    self.refused.reason = reason;
                }
                self.refused.series += 1;
                Ok(None)
            }
        }
    }

    fn number_of(&mut self, series: Arc<SentSeries>) -> Result<u32, RemoteError> {
        let before = self.samples.series_bytes();
        let number = self.samples.series_number(series);
        self.budget.spend(self.samples.series_bytes() - before)?;
        Ok(number)
    }

    /// Adds a sample of a series that has a number.
    pub(crate) fn push_sample(&mut self, series: u32, time: i64, value: f64) -> Result<(), RemoteError> {
        check_time(time)?;
        self.budget.spend(SAMPLE_BYTES)?;
        self.samples.push(series, time, value);
        Ok(())
    }

    /// Adds a histogram of a series that has a number. Its buckets are counted before.
    pub(crate) fn push_histogram(&mut self, series: u32, time: i64, histogram: Histogram) -> Result<(), RemoteError> {
        check_time(time)?;
        self.budget.spend(HISTOGRAM_BYTES)?;
        self.histograms.push(series, time, histogram);
        Ok(())
    }

    /// Adds an exemplar of a series that has a number.
    pub(crate) fn push_exemplar(&mut self, series: u32, exemplar: &SentExemplar<'_>) -> Result<(), RemoteError> {
        check_label_count(exemplar.labels.len())?;
        check_time(exemplar.time)?;
        // In JSON, a byte becomes at most six.
        let byte_count: usize = exemplar.labels.iter().map(|(name, value)| name.len() + value.len() + 6).sum();
        self.budget.check(byte_count.saturating_mul(6))?;
        let label_bytes = self.exemplars.push(series, exemplar);
        self.budget.spend(EXEMPLAR_BYTES + label_bytes)
    }

    /// Counts a histogram that can never be stored.
    pub(super) fn refuse_histogram(&mut self, reason: String) {
        if self.refused.is_empty() {
            self.refused.reason = reason;
        }
        self.refused.histograms += 1;
    }

    /// Adds the metadata of a metric, unless it is empty or repeats the previous metadata.
    pub(crate) fn push_metadata(&mut self, metadata: Metadata) -> Result<(), RemoteError> {
        let says = metadata.kind != MetricKind::Unknown || !metadata.help.is_empty() || !metadata.unit.is_empty();
        if says && !metadata.metric.is_empty() && self.metadata.last() != Some(&metadata) {
            let text_bytes = metadata.metric.len() + metadata.help.len() + metadata.unit.len();
            self.budget.spend(METADATA_BYTES + text_bytes)?;
            self.metadata.push(metadata);
        }
        Ok(())
    }
}

fn check_time(time: i64) -> Result<(), RemoteError> {
    if TIMES.contains(&time) {
        return Ok(());
    }
    Err(RemoteError::malformed(format!("the time {time} ms is beyond the range of times")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_name_no_kind_are_unknown() {
        assert_eq!(MetricKind::of(4).name(), "gaugehistogram");
        assert_eq!([0, 8, u64::MAX].map(MetricKind::of), [MetricKind::Unknown; 3]);
    }
}
